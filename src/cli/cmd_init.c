#include "cli/cmd.h"

#include "base/mem.h"
#include "engine/init.h"

#include <string.h>

static int run_init(char **argv)
{
	struct options o = {
		.usage = "exitpath init",
		.about = "Looks at the project in this directory (Makefile, meson, "
			 "CMake, cargo, go.mod,\npyproject, package.json) and writes a "
			 "commented "
			 "exitpath.yaml, never over an existing one.",
	};
	CLEANUP(strv) struct strv operands = {0};
	CLEANUP_FREE char *path = NULL, *text = NULL;
	const char *kind = NULL;
	struct err err = {0};
	char **rest;
	int status;

	if (!command_start(&o, argv, &operands, &rest, &status))
		return status;
	if (engine_init(".", &path, &kind, &err) < 0)
		return command_fail(&err);
	text = strcmp(kind, "unknown")
		       ? xasprintf("wrote %s for a %s project; read it, then: exitpath "
				   "gate\n",
				   path, kind)
		       : xasprintf("wrote %s; this kind of project was not recognised: "
				   "fill in what is marked, then: exitpath gate\n",
				   path);
	return command_print(text);
}

const struct command command_init = {
	"init",
	"write a contract after looking at the project",
	run_init,
};
