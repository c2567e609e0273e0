#include "cli/cmd.h"

#include "base/fs.h"
#include "base/mem.h"
#include "engine/interrupt.h"
#include "engine/run.h"
#include "model/outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* As timeout(1) and env(1). */
enum {
	EXIT_LIMIT = 124,
	EXIT_OURS = 125, /* no sandbox, or something of ours broke */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

static struct limits limits = GENERATED_LIMITS;
static uint64_t wall_ms = GENERATED_WALL_MS;
static const char *network, *batch, *warm;
static bool discard, ordered;
static int workers, queue;
static struct strv read_paths;

static const struct option_row rows[] = {
	{"memory", "SIZE", "resident memory, /tmp and /dev/shm of all processes (256M)",
	 OPTION_LIMIT_BYTES, &limits.memory, 0, 0},
	{"wall", "DUR", "time (5s)", OPTION_LIMIT_MS, &wall_ms, 0, 0},
	{"cpu", "DUR", "CPU time of all processes (5s)", OPTION_LIMIT_MS, &limits.cpu_ms,
	 0, 0},
	{"pids", "N", "processes and threads at the same time (64)", OPTION_LIMIT_COUNT,
	 &limits.pids, 0, 0},
	{"disk", "SIZE", "bytes written to files (64M)", OPTION_LIMIT_BYTES, &limits.disk,
	 0, 0},
	{"output", "SIZE", "bytes on stdout and stderr (1M)", OPTION_LIMIT_BYTES,
	 &limits.output, 0, 0},
	{"files", "N", "open files of each process (1024)", OPTION_LIMIT_COUNT,
	 &limits.files, 0, 0},
	{"network", "KIND", "none, or loopback: an interface of its own (none)",
	 OPTION_TEXT, &network, 0, 0},
	{"discard", NULL, "what is written below the project is thrown away", OPTION_FLAG,
	 &discard, 0, 0},
	{"read", "PATH,…", "show these of the machine, too, to be read", OPTION_LIST,
	 &read_paths, 0, 0},
	{"batch", "FILE", "run many: one JSON object a line in (-: stdin) and out",
	 OPTION_TEXT, &batch, 0, 0},
	{"warm", "KIND", "batch: python: python3 … is a fork of one that is loaded",
	 OPTION_TEXT, &warm, 0, 0},
	{"ordered", NULL, "batch: results in the order of the lines", OPTION_FLAG,
	 &ordered, 0, 0},
	{"workers", "N", "batch: runs at the same time (the processors, at most 8)",
	 OPTION_NUMBER, &workers, 1, 64},
	{"queue", "N", "batch: lines that wait, before no more is read (32)",
	 OPTION_NUMBER, &queue, 1, 4096},
	{0},
};

static int fail(const struct err *err)
{
	int status = command_fail(err);

	return err->kind == ERR_ENVIRONMENT ? EXIT_OURS : status;
}

static char *show_ms(uint64_t ms)
{
	return ms % 1000 ? xasprintf("%" PRIu64 " ms", ms)
			 : xasprintf("%" PRIu64 " s", ms / 1000);
}

static char *show_bytes(uint64_t n)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	size_t i = 0;

	while (n % 1024 == 0 && n && i + 1 < ARRAY_SIZE(units)) {
		n /= 1024;
		i++;
	}
	return xasprintf("%" PRIu64 " %s", n, units[i]);
}

/* "wall limit of 5 s reached"; the caller frees. */
static char *show_limit(const struct run_result *r)
{
	const struct {
		enum run_end end;
		const char *name;
		uint64_t limit;
		char *(*show)(uint64_t n);
	} kinds[] = {
		{RUN_TIMED_OUT, "wall", wall_ms, show_ms},
		{RUN_OVER_CPU, "CPU", limits.cpu_ms, show_ms},
		{RUN_OVER_MEMORY, "memory", limits.memory, show_bytes},
		{RUN_OVER_OUTPUT, "output", limits.output, show_bytes},
		{RUN_OVER_DISK, "disk", limits.disk, show_bytes},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].end == r->end && kinds[i].limit) {
			CLEANUP_FREE char *text = kinds[i].show(kinds[i].limit);

			return xasprintf("%s limit of %s reached", kinds[i].name, text);
		}
	if (r->end == RUN_OVER_PIDS)
		return xasprintf("limit of %" PRIu64 " processes reached", limits.pids);
	return run_result_describe(r);
}

static int not_started(const struct run_result *r)
{
	if (strcmp(r->step, "exec") != 0)
		return EXIT_OURS;
	return r->errnum == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int exit_status(const struct run_report *r)
{
	switch (r->run.end) {
	case RUN_EXITED:
		return r->run.status;
	case RUN_SIGNALED:
		return 128 + r->run.signal;
	case RUN_CANCELLED:
		return 128 + (interrupt_signal() ? interrupt_signal() : SIGPIPE);
	case RUN_TIMED_OUT:
	case RUN_OVER_CPU:
	case RUN_OVER_MEMORY:
	case RUN_OVER_PIDS:
	case RUN_OVER_OUTPUT:
	case RUN_OVER_DISK:
		return EXIT_LIMIT;
	case RUN_NOT_STARTED:
		return not_started(&r->run);
	case RUN_LOST:
	case RUN_SANDBOX_FAILED:
	case RUN_ENDS:
		break;
	}
	return EXIT_OURS;
}

/* What the command could not say itself. */
static void explain(const struct run_report *r, const char *program)
{
	CLEANUP_FREE char *text = NULL;

	if (r->run.end == RUN_EXITED || r->run.end == RUN_CANCELLED)
		return;
	text = show_limit(&r->run);
	if (r->run.end == RUN_NOT_STARTED)
		fprintf(stderr, "exitpath: %s %s\n", program, text);
	else
		fprintf(stderr, "exitpath: %s\n", r->error ? r->error : text);
	if (r->hint)
		fprintf(stderr, "  next: %s\n", r->hint);
}

static int run_one(const struct run_opts *opts, char **argv)
{
	CLEANUP(run_report) struct run_report r = {0};
	struct err err = {0};

	if (engine_run(opts, argv, common.json, &r, &err) < 0)
		return fail(&err);
	if (r.out_closed)
		return 128 + SIGPIPE;
	explain(&r, argv[0]);
	return exit_status(&r);
}

static int run_many(struct run_opts *opts)
{
	struct batch_report r = {0};
	struct err err = {0};
	CLEANUP_FD int file = -1;

	if (strcmp(batch, "-") != 0) {
		/* Of a FIFO nobody needs to have opened the other end yet. */
		file = open(batch, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (file < 0) {
			err_errno(&err, ERR_USAGE, errno, "cannot open %s", batch);
			return fail(&err);
		}
	}
	opts->in = file < 0 ? STDIN_FILENO : file;
	if (engine_run_batch(opts, &r, &err) < 0)
		return fail(&err);
	if (r.out_closed)
		return 128 + SIGPIPE;
	if (interrupt_signal())
		return 128 + interrupt_signal();
	if (r.broken)
		return EXIT_OURS;
	return r.bad ? EXIT_USAGE : 0;
}

static int check_isolation(struct err *err)
{
	const char *name = discard	  ? "discard"
			   : network	  ? "network"
			   : read_paths.n ? "read"
			   : warm	  ? "warm"
					  : NULL;

	if (common.isolation == ISOLATION_SANDBOX || !name)
		return 0;
	return err_set(err, ERR_USAGE, "--%s: only a sandbox can do that", name);
}

static int check(struct run_opts *opts, char **command, struct err *err)
{
	if (batch && *command)
		return err_set(err, ERR_USAGE,
			       "--batch reads the commands: `%s` is one "
			       "too many",
			       *command);
	if (!batch && !*command) {
		err_set(err, ERR_USAGE, "which command?");
		err_hint(err, "exitpath run -- make test, or --batch FILE");
		return -1;
	}
	if (!batch && (ordered || workers || queue || warm))
		return err_set(err, ERR_USAGE, "--%s is for --batch",
			       ordered	 ? "ordered"
			       : workers ? "workers"
			       : queue	 ? "queue"
					 : "warm");
	if (warm && warm_parse(warm, &opts->warm) < 0)
		return err_set(err, ERR_USAGE, "--warm: `%s` is not python or none",
			       warm);
	if (network &&
	    (network_parse(network, &opts->network) < 0 || opts->network == NETWORK_HOST))
		return err_set(err, ERR_USAGE, "--network: `%s` is not none or loopback",
			       network);
	return check_isolation(err);
}

static int run_with(char **command)
{
	CLEANUP_FREE char *dir = getcwd(NULL, 0);
	struct run_opts opts = {
		.dir = dir,
		.isolation = common.isolation,
		.read = &read_paths,
		.discard = discard,
		.wall_ms = wall_ms,
		.limits = limits,
		.out = STDOUT_FILENO,
		.err = STDERR_FILENO,
		.workers = (unsigned)workers,
		.queue = (unsigned)queue,
		.ordered = ordered,
	};
	struct err err = {0};

	if (!dir) {
		err_errno(&err, ERR_ENVIRONMENT, errno, "cannot tell where this is");
		return fail(&err);
	}
	if (check(&opts, command, &err) < 0)
		return fail(&err);
	interrupt_catch();
	return batch ? run_many(&opts) : run_one(&opts, command);
}

static int run_run(char **argv)
{
	struct options o = {
		.usage = "exitpath run [OPTION…] -- COMMAND… | --batch FILE",
		.about = "Runs a command in the sandbox: it can write the project around "
			 "the working directory and\nits own /tmp, read what programs "
			 "need, and reach nothing else. Every limit is on by default;\n"
			 "0 or none lifts one. Sizes are 256M, durations 5s or 500ms.\n\n"
			 "Exit status: the command's own, 128+N after signal N, 124 when "
			 "a limit was reached, 125 when\nthere is no sandbox, 126 or 127 "
			 "when the command cannot be started. Of a batch: 0 when every\n"
			 "line was run, 2 when some were bad input.",
		.rows = rows,
		.command = true,
	};
	CLEANUP(strv) struct strv operands = {0};
	char **rest;
	int status;

	if (command_start(&o, argv, &operands, &rest, &status))
		status = run_with(rest);
	strv_release(&read_paths);
	return status;
}

const struct command command_run = {
	"run",
	"one command, or many, in the sandbox and within limits",
	run_run,
};
