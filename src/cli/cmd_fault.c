#include "cli/cmd.h"

#include "base/mem.h"
#include "cli/terminal.h"
#include "engine/fault.h"
#include "engine/interrupt.h"
#include "report/fault.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct strv classes;
static const char *check_command, *mode, *layer, *call, *replay, *base, *candidate, *diff;
static int points;
static bool no_fork;
static uint64_t time_ms;

static const struct option_row rows[] = {
	{"classes", "C,…", "of calls: memory, file, net, process (all)", OPTION_LIST,
	 &classes, 0, 0},
	{"mode", "MODE",
	 "once; or forever: all later calls of the classes fail, too (once)", OPTION_TEXT,
	 &mode, 0, 0},
	{"layer", "NAME", "where calls fail: libc, python (as the command is)",
	 OPTION_TEXT, &layer, 0, 0},
	{"call", "NAME", "only this function", OPTION_TEXT, &call, 0, 0},
	{"check", "CMD", "shell command that must pass after each run, with its files",
	 OPTION_COMMAND, &check_command, 0, 0},
	{"points", "N", "at most so many points (all)", OPTION_NUMBER, &points, 1,
	 1 << 20},
	{"time", "DUR", "begin no run after that (no limit)", OPTION_DURATION, &time_ms,
	 0, 0},
	{"no-fork", NULL, "explore each point by a run of its own", OPTION_FLAG, &no_fork,
	 0, 0},
	{"replay", "KEY", "only the point of that key", OPTION_TEXT, &replay, 0, 0},
	{"base", "REV", "not yet", OPTION_TEXT, &base, 0, 0},
	{"candidate", "REV", "not yet", OPTION_TEXT, &candidate, 0, 0},
	{"diff", "REV", "not yet", OPTION_TEXT, &diff, 0, 0},
	{0},
};

static int parse_classes(uint32_t *ret, struct err *err)
{
	uint32_t set = 0;

	for (size_t i = 0; i < classes.n; i++) {
		enum fault_class c;

		if (!engine_fault_class(classes.v[i], &c)) {
			err_set(err, ERR_USAGE, "--classes: there is no class `%s`",
				classes.v[i]);
			err_hint(err, "classes are memory, file, net, process");
			return -1;
		}
		if (c == FAULT_CLASS_DATABASE)
			return err_set(err, ERR_USAGE, "--classes db: not yet");
		set |= 1u << c;
	}
	*ret = set ? set : (1u << FAULT_CLASS_DATABASE) - 1;
	return 0;
}

static int refuse_later(struct err *err)
{
	const char *name = base ? "base" : candidate ? "candidate" : diff ? "diff" : NULL;

	if (name)
		return err_set(err, ERR_USAGE, "--%s: not yet", name);
	return 0;
}

static const char *wanted_format(void)
{
	return common.format ? common.format : common.json ? "json" : "text";
}

static int check_layer(struct fault_opts *opts, char **command, struct err *err)
{
	const struct fault_layer *l =
		layer ? fault_layer_find(layer) : fault_layer_for(command);

	opts->layer = layer ? l : NULL;
	if (!l) {
		CLEANUP(buf) struct buf all = {0};

		for (size_t i = 0; fault_layers[i]; i++)
			buf_addf(&all, "%s%s", i ? ", " : "", fault_layers[i]->name);
		err_set(err, ERR_USAGE, "--layer: there is no layer `%s`", layer);
		err_hint(err, "layers are: %s", buf_str(&all));
		return -1;
	}
	if (call && l->knows_call && !l->knows_call(call))
		return err_set(err, ERR_USAGE,
			       "--call: `%s` is no call that can be made to fail", call);
	return 0;
}

static int check(struct fault_opts *opts, char **command, struct err *err)
{
	if (!*command) {
		err_set(err, ERR_USAGE, "which command?");
		err_hint(err, "exitpath fault -- ./tests");
		return -1;
	}
	if (refuse_later(err) < 0 || parse_classes(&opts->classes, err) < 0)
		return -1;
	if (mode && strcmp(mode, "once") != 0 && strcmp(mode, "forever") != 0)
		return err_set(err, ERR_USAGE, "--mode: `%s` is not once or forever",
			       mode);
	opts->forever = mode && !strcmp(mode, "forever");
	if (check_layer(opts, command, err) < 0)
		return -1;
	if (!fault_format_find(wanted_format()))
		return err_set(err, ERR_USAGE, "--format %s: not yet; text or json",
			       common.format);
	if (replay && !engine_fault_key(replay, &opts->key))
		return err_set(err, ERR_USAGE, "--replay: `%s` is no key of 16 digits",
			       replay);
	return 0;
}

static int fault_with(char **command)
{
	CLEANUP_FREE char *dir = getcwd(NULL, 0);
	CLEANUP(buf) struct buf text = {0};
	CLEANUP(fault_report) struct fault_report report = {0};
	struct fault_opts opts = {
		.dir = dir,
		.isolation = common.isolation,
		.call = call,
		.check = check_command,
		.points = (unsigned)points,
		.no_fork = no_fork,
		.time_ms = time_ms,
		.progress = progress_line(common.quiet),
	};
	const struct report_opts print = {
		.verbose = common.verbose,
		.width = terminal_width(STDOUT_FILENO),
	};
	struct err err = {0};
	int status;

	if (!dir) {
		err_errno(&err, ERR_ENVIRONMENT, errno, "cannot tell where this is");
		return command_fail(&err);
	}
	if (check(&opts, command, &err) < 0)
		return command_fail(&err);
	interrupt_catch();
	if (engine_fault(&opts, command, &report, &err) < 0) {
		progress_clear();
		return command_fail(&err);
	}
	progress_clear();
	fault_format_find(wanted_format())->write(&report, &print, &text);
	status = command_print(buf_str(&text));
	return status ? status : outcome_exit_code(report.outcome);
}

static int run_fault(char **argv)
{
	struct options o = {
		.usage = "exitpath fault [OPTION…] -- COMMAND…",
		.about = "Runs a test that passes, finds each place where a call could "
			 "fail, "
			 "and runs it again for\neach of them with that call failing. "
			 "What "
			 "crashes, hangs, keeps something, leaves a file, or\nsays "
			 "nothing of "
			 "data that was lost, is a defect. Runs are sandboxed; what they "
			 "write "
			 "in the\nproject is thrown away. Durations are 5s or 500ms.\n\n"
			 "Exit status: 0 clean, 20 defects, 30 when the command fails "
			 "without "
			 "a fault, 40 when it\ndiffers from run to run, 50 when calls "
			 "cannot be "
			 "made to fail, as in static programs.",
		.rows = rows,
		.command = true,
	};
	CLEANUP(strv) struct strv operands = {0};
	char **rest;
	int status;

	if (command_start(&o, argv, &operands, &rest, &status))
		status = fault_with(rest);
	strv_release(&classes);
	return status;
}

extern const struct command command_fault;
const struct command command_fault = {
	"fault",
	"make each call that can fail do so, and see whether it is survived",
	run_fault,
};
