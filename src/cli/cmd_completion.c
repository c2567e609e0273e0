#include "cli/cmd.h"

#include "base/buf.h"

static int run_completion(char **argv)
{
	struct options o = {
		.usage = "exitpath completion",
		.about = "Prints a completion script for bash: eval \"$(exitpath "
			 "completion)\"",
	};
	CLEANUP(strv) struct strv operands = {0};
	CLEANUP(buf) struct buf text = {0};
	char **rest;
	int status;

	if (!command_start(&o, argv, &operands, &rest, &status))
		return status;
	buf_adds(&text, "_exitpath() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
			"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
			"\t\tCOMPREPLY=($(compgen -W '");
	for (size_t i = 0; commands[i]; i++)
		buf_addf(&text, "%s ", commands[i]->name);
	buf_adds(&text,
		 "help' -- \"$cur\"))\n\telse\n"
		 "\t\tCOMPREPLY=($(compgen -W \"$(exitpath \"${COMP_WORDS[1]}\" --help "
		 "2>/dev/null | grep -o -e '^  --[a-z-]*')\" -- \"$cur\"))\n"
		 "\tfi\n}\ncomplete -o default -F _exitpath exitpath\n");
	return command_print(buf_str(&text));
}

const struct command command_completion = {
	"completion",
	"a completion script for bash",
	run_completion,
};
