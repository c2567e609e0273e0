/* What a command line does with Python, as far as its words tell. */
#ifndef EXITPATH_DETECT_PYTHON_COMMAND_H
#define EXITPATH_DETECT_PYTHON_COMMAND_H

#include "base/strv.h"

#include <stdbool.h>

enum python_use {
	PYTHON_NONE,	/* none of these words */
	PYTHON_TESTS,	/* pytest or unittest */
	PYTHON_CODE,	/* python3 -c CODE */
	PYTHON_PROGRAM, /* python3 SCRIPT, python3 -m MODULE */
};

/* Looks into the text of a shell command as well. */
enum python_use python_command_use(const struct strv *argv);

/* Does an option of the interpreter (-I, -E, -S) keep the adapter out? */
bool python_command_isolated(const struct strv *argv);

/* Puts path first wherever the command sets PYTHONPATH itself: a word of its own
 * (env PYTHONPATH=src), or within the text of a shell command. */
void python_command_lead(struct strv *argv, const char *path);

#endif
