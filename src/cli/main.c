#include "cli/cmd.h"

#include "base/version.h"
#include "model/outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * A descriptor 0, 1 or 2 that is closed would be that of the next file we open: reports
 * would go into the evidence. What stands in gives an error when it is used.
 * A reader that went away, or a limit of file sizes, is an error of write(), so that we
 * can end in order. What we run gets the defaults (proc/spawn.c).
 */
static void secure_process(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

static int help(void)
{
	puts("usage: exitpath COMMAND [OPTION…] [-- CMD…]\n\n"
	     "A merge gate for code that somebody else wrote: runs the project's own "
	     "tests "
	     "on base and\ncandidate, finds what the candidate does not release, and "
	     "says so "
	     "with its evidence and the\none command that reproduces it.\n\ncommands:");
	for (size_t i = 0; commands[i]; i++)
		printf("  %-11s %s\n", commands[i]->name, commands[i]->summary);
	return command_print("\n`exitpath help COMMAND` says more; the manual is "
			     "exitpath(1).\n");
}

static int no_command(const char *name)
{
	struct err err = {0};

	if (name)
		err_set(&err, ERR_USAGE, "there is no command `%s`", name);
	else
		err_set(&err, ERR_USAGE, "which command?");
	err_hint(&err, "`exitpath --help` lists them; `exitpath init` begins");
	return command_fail(&err);
}

int main(int argc, char **argv)
{
	static char help_option[] = "--help";
	const struct command *c;
	const char *name;
	bool asked;

	secure_process();
	if (argc < 2)
		return no_command(NULL);
	name = argv[1];
	if (!strcmp(name, "--version"))
		return command_print("exitpath " EXITPATH_VERSION "\n");
	asked = !strcmp(name, "--help") || !strcmp(name, "help") || !strcmp(name, "-h");
	if (asked && argc == 2)
		return help();
	if (asked) {
		argv[1] = argv[2];
		argv[2] = help_option;
		name = argv[1];
	}
	c = command_find(name);
	return c ? c->run(argv + 1) : no_command(name);
}
