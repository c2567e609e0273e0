#include "cli/cmd.h"
#include "cli/print_result.h"

#include "engine/evidence.h"

static int run_report(char **argv)
{
	struct options o = {
		.usage = "exitpath report [RUN] [--format text|json|packet|packet-json]",
		.about = "Prints a recorded run again, the newest by default. RUN is an "
			 "id such "
			 "as run-7, as\n`exitpath evidence list` shows. `packet` is what "
			 "a "
			 "coding agent receives for repair.",
		.operands = 1,
	};
	CLEANUP(strv) struct strv operands = {0};
	CLEANUP(result) struct result r = {0};
	struct err err = {0};
	char **rest;
	int status;

	if (!command_start(&o, argv, &operands, &rest, &status))
		return status;
	if (check_format(&err) < 0)
		return command_fail(&err);
	if (evidence_result(&(struct evidence_at){".", common.store},
			    operands.n ? operands.v[0] : NULL, &r, &err) < 0)
		return command_fail(&err);
	return print_result(&r);
}

const struct command command_report = {
	"report",
	"print a recorded run in another format",
	run_report,
};
