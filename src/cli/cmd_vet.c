#include "cli/cmd.h"
#include "cli/terminal.h"

#include "base/mem.h"
#include "engine/interrupt.h"
#include "engine/vet.h"
#include "engine/vet_store.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { REPORT_MAX = 4 << 20 }; /* bytes that are said about a test */

static struct strv targets;
static const char *buggy, *python;
static int workers, queue;
static bool all;
static uint64_t memory = UINT64_C(256) << 20, limit_ms;

static const struct option_row rows[] = {
	{"target", "PATH,…", "files and directories that the tests are about",
	 OPTION_LIST, &targets, 0, 0},
	{"buggy", "REV", "a revision with the bug: tests must fail there", OPTION_TEXT,
	 &buggy, 0, 0},
	{"python", "PATH", "the interpreter (python3)", OPTION_TEXT, &python, 0, 0},
	{"time", "DUR", "one execution of a test (5s)", OPTION_DURATION, &limit_ms, 0, 0},
	{"memory", "SIZE", "all processes of a test (256M)", OPTION_LIMIT_BYTES, &memory,
	 0, 0},
	{"workers", "N", "tests at the same time (the processors, at most 8)",
	 OPTION_NUMBER, &workers, 1, 64},
	{"queue", "N", "tests that wait, before no more is read (32)", OPTION_NUMBER,
	 &queue, 1, 4096},
	{"all", NULL, "export: every accepted test, not the fewest with the same kills",
	 OPTION_FLAG, &all, 0, 0},
	{0},
};

static void print_reasons(const struct vet_reasons *r, const char *path,
			  const char *before)
{
	for (size_t i = 0; i < r->n; i++) {
		printf("  %s%s: ", before, vet_stage_name(r->v[i].stage));
		if (r->v[i].line)
			printf("%s%sline %u: ", path ? path : "", path ? ", " : "",
			       r->v[i].line);
		printf("%s\n", r->v[i].text);
	}
}

static void print_text(const struct vet_test *t)
{
	printf("%s  %s", vet_verdict_name(t->verdict), t->name);
	if (t->score >= 0)
		printf("  score %.2f", t->score);
	if (t->coverage >= 0)
		printf("  coverage %.0f %%", 100 * t->coverage);
	if (t->kill_rate >= 0)
		printf("  kills %.0f %%", 100 * t->kill_rate);
	printf("\n");
	print_reasons(&t->reasons, t->path, "");
	print_reasons(&t->feedback, t->path, "could be better: ");
}

/* One line a test, at once: a generator may wait for it. */
static bool tell(void *ctx, const struct vet_test *t)
{
	int *errnum = ctx;

	if (common.json) {
		CLEANUP_JSON json_t *j = vet_test_json(t);
		CLEANUP_FREE char *text =
			json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(6));

		printf("%s\n", text);
	} else if (!common.quiet || t->verdict != VET_ACCEPTED) {
		print_text(t);
	}
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	*errnum = errno ? errno : EIO;
	return false;
}

/* Nobody has heard all verdicts: whatever they were, this is no success. */
static int not_written(int errnum)
{
	struct err err = {0};

	if (errnum == EPIPE)
		return 128 + SIGPIPE;
	err_errno(&err, ERR_ENVIRONMENT, errnum, "cannot write to standard output");
	return command_fail(&err);
}

static int check(const struct strv *paths, struct err *err)
{
	if (common.format && !strcmp(common.format, "json"))
		common.json = true;
	else if (common.format && strcmp(common.format, "text") != 0)
		return err_set(err, ERR_USAGE,
			       "there is no format \"%s\"; vet has text "
			       "and json",
			       common.format);
	if (common.isolation != ISOLATION_SANDBOX) {
		err_set(err, ERR_USAGE,
			"generated tests are executed in the sandbox alone: "
			"what they do to processes and files is not known");
		err_hint(err, "leave out --isolation none and $EXITPATH_ISOLATION; "
			      "`exitpath doctor` says whether there is a sandbox");
		return -1;
	}
	if (paths->n || !isatty(STDIN_FILENO))
		return 0;
	err_set(err, ERR_USAGE, "no tests: standard input is a terminal");
	err_hint(err,
		 "name files, or write {\"test\": \"name\", \"source\": \"…\"} lines to "
		 "standard input");
	return -1;
}

static int summarize(const struct vet_report *r)
{
	for (size_t i = 0; i < r->notes.n && !common.quiet; i++)
		fprintf(stderr, "exitpath: %s\n", r->notes.v[i]);
	if (!common.quiet)
		fprintf(stderr,
			"exitpath: vet: %zu accepted, %zu rejected, %zu not judged; "
			"%" PRIu64 " executions\n",
			r->accepted, r->rejected, r->broken, r->executions);
	if (r->accepted + r->rejected + r->broken == 0)
		fprintf(stderr, "exitpath: there was no test\n");
	return outcome_exit_code(r->outcome);
}

/* ---- what was judged ---- */

static struct vet_kept kept(void)
{
	return (struct vet_kept){".", common.store, &targets};
}

static int list(const struct strv *operands, struct err *err)
{
	CLEANUP_JSON json_t *tests = NULL;
	const struct vet_kept where = kept();
	size_t i;
	json_t *j;

	(void)operands;
	if (engine_vet_list(&where, NULL, false, &tests, err) < 0)
		return command_fail(err);
	if (common.json) {
		CLEANUP_FREE char *text = json_pretty(tests);

		return command_print(text);
	}
	json_array_foreach (tests, i, j) {
		const json_t *reason = json_array_get(json_object_get(j, "reasons"), 0);

		printf("%s  %-8s  %s  %s%s%s\n", json_get(j, "key", "?"),
		       json_get(j, "verdict", "?"), json_get(j, "target", "?"),
		       json_get(j, "test", "?"), reason ? "  " : "",
		       json_get(reason, "stage", ""));
	}
	return command_print("");
}

static int show(const struct strv *operands, struct err *err)
{
	CLEANUP_JSON json_t *tests = NULL;
	CLEANUP_FREE char *text = NULL;
	const struct vet_kept where = kept();

	if (operands->n != 2) {
		err_set(err, ERR_USAGE, "show needs the name or the key of a test");
		err_hint(err, "`exitpath vet list` shows them");
		return command_fail(err);
	}
	if (engine_vet_list(&where, operands->v[1], true, &tests, err) < 0)
		return command_fail(err);
	text = json_pretty(tests);
	return command_print(text);
}

static int export(const struct strv *operands, struct err *err)
{
	const struct vet_kept where = kept();
	CLEANUP_FREE char *text = NULL;
	size_t written = 0, accepted = 0;

	if (operands->n != 2) {
		err_set(err, ERR_USAGE, "export needs a directory");
		err_hint(err, "exitpath vet export tests/generated");
		return command_fail(err);
	}
	if (engine_vet_export(&where, operands->v[1], all, &written, &accepted, err) < 0)
		return command_fail(err);
	text = xasprintf("%zu of %zu accepted tests written to %s\n", written, accepted,
			 operands->v[1]);
	return command_print(text);
}

static const struct {
	const char *name;
	int (*run)(const struct strv *operands, struct err *err);
} verbs[] = {{"list", list}, {"show", show}, {"export", export}};

/* -1: there is none;. */
static int run_verb(const struct strv *operands, struct err *err)
{
	for (size_t i = 0; operands->n && i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(operands->v[0], verbs[i].name))
			return verbs[i].run(operands, err);
	return -1;
}

static int run(char **argv)
{
	struct options o = {
		.usage = "exitpath vet [OPTION…] --target PATH,… [PATH…|-]\n"
			 "       exitpath vet list | show TEST | export DIR",
		.about = "Judges generated tests by executing them: each must pass on "
			 "the right code, again\nin other surroundings, leave nothing "
			 "behind, and fail when what it expects is changed.\nTests come "
			 "from files and directories, or as {\"test\": NAME, \"source\": "
			 "TEXT} lines from\nstandard input. One verdict a test, as soon "
			 "as it is known, with its reasons.\n\nExit status: 0 all are "
			 "accepted, 60 some are rejected, 50 some could not be judged.",
		.rows = rows,
		.operands = 4096,
	};
	CLEANUP(strv) struct strv paths = {0};
	CLEANUP(vet_report) struct vet_report report = {0};
	CLEANUP_FREE char *dir = NULL;
	int errnum = 0; /* why standard output cannot be written */
	struct vet_opts opts = {
		.targets = &targets,
		.paths = &paths,
		.in = STDIN_FILENO,
		.limits = GENERATED_LIMITS,
		.tell = tell,
		.ctx = &errnum,
	};
	struct err err = {0};
	char **rest;
	int status;

	if (!command_start(&o, argv, &paths, &rest, &status))
		return status;
	status = run_verb(&paths, &err);
	if (status >= 0)
		return status;
	if (paths.n == 1 && !strcmp(paths.v[0], "-"))
		strv_release(&paths);
	dir = getcwd(NULL, 0);
	if (!dir) {
		err_set(&err, ERR_USAGE, "the working directory is gone");
		return command_fail(&err);
	}
	opts.dir = dir;
	opts.store = common.store;
	opts.buggy = buggy;
	opts.python = python;
	opts.workers = (unsigned)workers;
	opts.queue = (unsigned)queue;
	opts.limits.memory = memory;
	opts.limits.output = REPORT_MAX;
	opts.limit_ms = limit_ms;
	opts.contract = common.contract;
	interrupt_catch();
	if (check(&paths, &err) < 0 || engine_vet(&opts, &report, &err) < 0)
		return command_fail(&err);
	return errnum ? not_written(errnum) : summarize(&report);
}

const struct command command_vet = {
	.name = "vet",
	.summary = "are generated tests fit? executed, perturbed, judged",
	.run = run,
};
