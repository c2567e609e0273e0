#include "cli/cmd.h"

#include "base/fs.h"
#include "base/mem.h"
#include "cli/print_result.h"
#include "cli/terminal.h"
#include "engine/fault_tree.h"
#include "engine/interrupt.h"
#include "report/fault.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct strv classes;
static const char *check_command, *mode, *layer, *call, *caller, *path, *replay;
static const char *packet_dir;
static struct gate_opts gate;
static int points, nth;
static bool no_fork;
static uint64_t time_ms;

static const struct option_row rows[] = {
	{"classes", "C,…", "of calls: memory, file, net, process, db (all)", OPTION_LIST,
	 &classes, 0, 0},
	{"mode", "MODE",
	 "once; or forever: all later calls of the classes fail, too (once)", OPTION_TEXT,
	 &mode, 0, 0},
	{"layer", "NAME", "where calls fail: libc, python (as the command is)",
	 OPTION_TEXT, &layer, 0, 0},
	{"call", "NAME", "only this function", OPTION_TEXT, &call, 0, 0},
	{"caller", "NAME", "only calls with that function in their chain", OPTION_TEXT,
	 &caller, 0, 0},
	{"path", "GLOB", "only calls that work on such a path", OPTION_TEXT, &path, 0, 0},
	{"check", "CMD", "shell command that must pass after each run, with its files",
	 OPTION_COMMAND, &check_command, 0, 0},
	{"points", "N", "at most so many points (all)", OPTION_NUMBER, &points, 1,
	 1 << 20},
	{"time", "DUR", "begin no run after that (no limit)", OPTION_DURATION, &time_ms,
	 0, 0},
	{"nth", "N", "the N-th time that each point is reached (1)", OPTION_NUMBER, &nth,
	 1, 1 << 30},
	{"no-fork", NULL, "explore each point by a run of its own", OPTION_FLAG, &no_fork,
	 0, 0},
	{"replay", "KEY", "only the point of that key", OPTION_TEXT, &replay, 0, 0},
	{"base", "REV", "blame only what is good there", OPTION_TEXT, &gate.base, 0, 0},
	{"candidate", "REV", "what is proposed (WORKTREE: the working tree)", OPTION_TEXT,
	 &gate.candidate, 0, 0},
	{"repairs", NULL, "the patch repairs: base must be bad, the candidate not",
	 OPTION_FLAG, &gate.repairs, 0, 0},
	{"setup", "CMD", "shell command that builds a revision, once each",
	 OPTION_COMMAND, &gate.setup, 0, 0},
	{"timeout", "DUR", "deadline of the run without a fault (60s)", OPTION_DURATION,
	 &gate.timeout_ms, 0, 0},
	{"lifecycle", "NAME", "only this lifecycle of the contract", OPTION_TEXT,
	 &gate.only, 0, 0},
	{"fresh", NULL, "begin anew, build again", OPTION_FLAG, &gate.fresh, 0, 0},
	{"packet", "DIR", "write packet.md and packet.json for the repairing agent",
	 OPTION_TEXT, &packet_dir, 0, 0},
	{"diff", "REV", "points of code that changed since come first", OPTION_TEXT,
	 &gate.diff, 0, 0},
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
			err_hint(err, "classes are memory, file, net, process, db");
			return -1;
		}
		set |= 1u << c;
	}
	*ret = set;
	return 0;
}

static const char *wanted_format(void)
{
	return common.format ? common.format : common.json ? "json" : "text";
}

static int check_layer(struct fault_opts *opts, char **command, struct err *err)
{
	const struct fault_layer *l = layer ? fault_layer_find(layer) : NULL;

	if (!layer && *command)
		l = fault_layer_for(command, opts->dir);
	else if (!layer)
		return 0; /* that of each lifecycle */
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
	if (parse_classes(&opts->classes, err) < 0)
		return -1;
	if (mode && strcmp(mode, "once") != 0 && strcmp(mode, "forever") != 0)
		return err_set(err, ERR_USAGE, "--mode: `%s` is not once or forever",
			       mode);
	opts->forever = mode && !strcmp(mode, "forever");
	if (check_layer(opts, command, err) < 0)
		return -1;
	if (replay && !engine_fault_key(replay, &opts->key))
		return err_set(err, ERR_USAGE, "--replay: `%s` is no key of 16 digits",
			       replay);
	return 0;
}

/* Two revisions, or the lifecycles of the contract. */
static bool is_gate(char **command)
{
	return gate.base || gate.candidate || gate.repairs || gate.only || packet_dir ||
	       !*command;
}

static void fill_gate(const struct fault_opts *opts, char **command)
{
	gate.command = "fault";
	gate.dir = ".";
	gate.store = common.store;
	gate.contract = common.contract;
	gate.isolation = common.isolation;
	gate.warmup = gate.cycles = -1;
	gate.jobs = 1;
	gate.argv = command;
	gate.progress = opts->progress;
	gate.fault = opts;
	gate.fault_forever = mode ? opts->forever : -1;
}

static int fault_on_revisions(void)
{
	CLEANUP(result) struct result r = {0};
	struct err err = {0};
	int printed, rc;

	if (check_format(&err) < 0 ||
	    (packet_dir && make_dirs(packet_dir, 0777, &err) < 0))
		return command_fail(&err);
	rc = engine_gate(&gate, &r, &err);
	progress_clear();
	if (rc < 0 && !r.reproduce) /* nothing was decided */
		return command_fail(&err);
	printed = print_result(&r);
	if (rc < 0 || (packet_dir && write_packet(&r, packet_dir, &err) < 0))
		return command_fail(&err);
	return printed ? printed : outcome_exit_code(r.outcome);
}

/* The working tree as it is. */
static int fault_here(char **command)
{
	CLEANUP(buf) struct buf text = {0};
	CLEANUP(fault_report) struct fault_report report = {0};
	const struct report_opts print = {
		.verbose = common.verbose,
		.width = terminal_width(STDOUT_FILENO),
	};
	struct err err = {0};
	int status;

	if (!fault_format_find(wanted_format())) {
		err_set(&err, ERR_USAGE, "--format %s: not yet; text or json",
			common.format);
		return command_fail(&err);
	}
	if (engine_fault_tree(&gate, command, &report, &err) < 0) {
		progress_clear();
		return command_fail(&err);
	}
	progress_clear();
	fault_format_find(wanted_format())->write(&report, &print, &text);
	status = command_print(buf_str(&text));
	return status ? status : outcome_exit_code(report.outcome);
}

static int fault_with(char **command)
{
	CLEANUP_FREE char *dir = getcwd(NULL, 0);
	struct fault_opts opts = {
		.dir = dir,
		.isolation = common.isolation,
		.call = call,
		.caller = caller,
		.path = path,
		.check = check_command,
		.points = (unsigned)points,
		.no_fork = no_fork,
		.nth = (unsigned)nth,
		.time_ms = time_ms,
		.progress = progress_line(common.quiet),
	};
	struct err err = {0};

	if (!dir) {
		err_errno(&err, ERR_ENVIRONMENT, errno, "cannot tell where this is");
		return command_fail(&err);
	}
	if (check(&opts, command, &err) < 0)
		return command_fail(&err);
	if (nth > 1 && is_gate(command)) {
		err_set(&err, ERR_USAGE, "--nth is for a command on the working tree");
		err_hint(&err,
			 "leave out --base, --candidate, --repairs, --lifecycle and "
			 "--packet");
		return command_fail(&err);
	}
	interrupt_catch();
	fill_gate(&opts, command);
	return is_gate(command) ? fault_on_revisions() : fault_here(command);
}

static int run_fault(char **argv)
{
	struct options o = {
		.usage = "exitpath fault [OPTION…] [-- COMMAND…]",
		.about =
			"Runs a test that passes, finds each place where a call could "
			"fail, "
			"and runs it again for\neach of them with that call failing. "
			"What "
			"crashes, hangs, keeps something, leaves a file, or\nsays "
			"nothing of "
			"data that was lost, is a defect. Runs are sandboxed; what they "
			"write "
			"in the\nproject is thrown away. With --base, and without a "
			"command (the contract's lifecycles), base\nand candidate are "
			"compared as `exitpath leak` does. Durations are 5s or 500ms.\n\n"
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
