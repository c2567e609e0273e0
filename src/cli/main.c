#include "cli/cmd.h"

#include "base/version.h"
#include "model/outcome.h"

#include <stdio.h>
#include <string.h>

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
	puts("\n`exitpath COMMAND --help` says more; the manual is exitpath(1).");
	return 0;
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
	const struct command *c;

	if (argc < 2)
		return no_command(NULL);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help") ||
	    !strcmp(argv[1], "-h"))
		return help();
	if (!strcmp(argv[1], "--version")) {
		puts("exitpath " EXITPATH_VERSION);
		return 0;
	}
	c = command_find(argv[1]);
	return c ? c->run(argv + 1) : no_command(argv[1]);
}
