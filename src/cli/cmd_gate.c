/* `exitpath gate` and `exitpath leak`: the same flags, the same engine. */
#include "cli/cmd.h"
#include "cli/print_result.h"
#include "cli/terminal.h"

#include "base/fs.h"
#include "base/mem.h"
#include "engine/gate.h"
#include "engine/interrupt.h"
#include "model/contract.h"

#include <string.h>

static struct gate_opts opts;
static const char *packet_dir;
static int jobs = 1;

static const struct option_row rows[] = {
	{"base", "REV", "where the patch starts (merge-base with the default branch)",
	 OPTION_TEXT, &opts.base, 0, 0},
	{"candidate", "REV", "what is proposed (WORKTREE: the working tree)", OPTION_TEXT,
	 &opts.candidate, 0, 0},
	{"setup", "CMD", "shell command that builds a revision, once each",
	 OPTION_COMMAND, &opts.setup, 0, 0},
	{"detector", "NAME,…",
	 "lsan, heap, valgrind, ledger, go, python, node, pg (all that fit)", OPTION_TEXT,
	 &opts.detectors, 0, 0},
	{"pg", "URL",
	 "PostgreSQL server of the command, or '$NAME' of a variable with it",
	 OPTION_TEXT, &opts.pg, 0, 0},
	{"lifecycle", "NAME", "only this lifecycle of the contract", OPTION_TEXT,
	 &opts.only, 0, 0},
	{"warmup", "N", "runs that are not measured (1)", OPTION_NUMBER, &opts.warmup, 0,
	 100},
	{"cycles", "N", "measured runs (5)", OPTION_NUMBER, &opts.cycles, 1, MAX_CYCLES},
	{"timeout", "DUR", "deadline of each run (60s)", OPTION_DURATION,
	 &opts.timeout_ms, 0, 0},
	{"suite", "CMD", "shell command that must still pass after a clean check",
	 OPTION_COMMAND, &opts.suite, 0, 0},
	{"repairs", NULL, "the patch repairs a leak: base must leak, the candidate not",
	 OPTION_FLAG, &opts.repairs, 0, 0},
	{"fresh", NULL, "measure base again, build again", OPTION_FLAG, &opts.fresh, 0,
	 0},
	{"jobs", "N", "2: base and candidate side by side (1)", OPTION_NUMBER, &jobs, 1,
	 2},
	{"packet", "DIR", "write packet.md and packet.json for the repairing agent",
	 OPTION_TEXT, &packet_dir, 0, 0},
	{0},
};

static int run_gate(char **argv, struct options *o)
{
	CLEANUP(strv) struct strv operands = {0};
	CLEANUP(result) struct result r = {0};
	struct err err = {0};
	char **rest;
	int status, printed, rc;

	opts.warmup = opts.cycles = -1;
	opts.command = argv[0];
	o->rows = rows;
	o->command = true;
	if (!command_start(o, argv, &operands, &rest, &status))
		return status;
	if (check_format(&err) < 0 ||
	    (packet_dir && make_dirs(packet_dir, 0777, &err) < 0))
		return command_fail(&err);
	opts.dir = ".";
	opts.store = common.store;
	opts.contract = common.contract;
	opts.isolation = common.isolation;
	opts.jobs = (unsigned)jobs;
	opts.argv = rest;
	opts.progress = progress_line(common.quiet);
	interrupt_catch();
	rc = engine_gate(&opts, &r, &err);
	progress_clear();
	if (rc < 0 && !r.reproduce) /* nothing was decided */
		return command_fail(&err);
	printed = print_result(&r);
	if (rc < 0) /* decided, but not recorded */
		return command_fail(&err);
	if (packet_dir && write_packet(&r, packet_dir, &err) < 0)
		return command_fail(&err);
	return printed ? printed : outcome_exit_code(r.outcome);
}

static int run_gate_command(char **argv)
{
	struct options o = {
		.usage = "exitpath gate [OPTION…] [-- COMMAND…]",
		.about =
			"Runs the whole contract on base and candidate: with `review` "
			"and `scan` in the contract\nwhat reading the patch shows, every "
			"lifecycle under its detectors, with `faults` its\ncalls that "
			"can fail, then the suite.\n\nExit status: 0 clean, "
			"10 behavior_failed, 20 leak or defect, 30 baseline_invalid,\n"
			"40 inconclusive, 50 harness_error, 60 rejected, 2 usage.",
	};

	return run_gate(argv, &o);
}

static int run_leak_command(char **argv)
{
	struct options o = {
		.usage = "exitpath leak [OPTION…] [-- COMMAND…]",
		.about = "The leak gate alone: runs the lifecycle on base and candidate "
			 "and "
			 "says whether the\ncandidate holds on to something that base "
			 "released. Without a contract:\n\n"
			 "  exitpath leak --base main --setup 'make build' --cycles 5 -- "
			 "./build/worker_test\n\nExit status as for `exitpath gate`.",
	};

	return run_gate(argv, &o);
}

const struct command command_gate = {
	"gate",
	"the whole contract, base against candidate: the main job",
	run_gate_command,
};
const struct command command_leak = {
	"leak",
	"does the candidate leak what base released?",
	run_leak_command,
};
