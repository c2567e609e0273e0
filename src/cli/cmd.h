/* A command: one file, one const struct, one row in commands.c. */
#ifndef EXITPATH_CLI_CMD_H
#define EXITPATH_CLI_CMD_H

#include "base/err.h"
#include "cli/options.h"

struct command {
	const char *name;
	const char *summary; /* one line of `exitpath --help` */
	/* argv[0] is the command's name. Returns the exit status; on an error prints it.
	 */
	int (*run)(char **argv);
};

extern const struct command *const commands[]; /* NULL at the end */
const struct command *command_find(const char *name);

/* Parses with options_parse(); prints help or a usage error. Returns true when the
 * command shall go on; else *ret_status is the exit status. */
bool command_start(struct options *o, char **argv, struct strv *ret_operands,
		   char ***ret_rest, int *ret_status);
/* Prints "exitpath: …" and the hint on stderr; returns the exit status of its kind. */
int command_fail(const struct err *err);
/* stdout, with an error when it cannot be written (a full disk, a closed pipe). */
int command_print(const char *text);

#endif
