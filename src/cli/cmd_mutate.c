#include "cli/cmd.h"
#include "cli/terminal.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "engine/mutate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN_TESTS = 3 };

static struct strv targets;
static const char *setup, *diff, *schema;
static int jobs, threshold;
static uint64_t limit_ms = 60000;
static bool no_fork;

static const struct option_row rows[] = {
	{"target", "PATH,…", "files and directories to mutate (all that are no tests)",
	 OPTION_LIST, &targets, 0, 0},
	{"setup", "CMD", "what builds the program, in a checkout of the working tree",
	 OPTION_COMMAND, &setup, 0, 0},
	{"diff", "REV", "only lines that changed since this revision, one mutant each",
	 OPTION_TEXT, &diff, 0, 0},
	{"report", "FILE", "write mutation-testing-report-schema 2, for its viewers",
	 OPTION_TEXT, &schema, 0, 0},
	{"threshold", "N", "fail when fewer than N % are killed", OPTION_NUMBER,
	 &threshold, 0, 100},
	{"time", "DUR", "the tests may take, without a mutant (1m)", OPTION_DURATION,
	 &limit_ms, 0, 0},
	{"jobs", "N", "forks at a time (the processors)", OPTION_NUMBER, &jobs, 1, 16},
	{"no-fork", NULL, "run the tests once for each mutant", OPTION_FLAG, &no_fork, 0,
	 0},
	{0},
};

/* The lines from first to last of a text. */
static void print_lines(const char *text, const char *mark)
{
	for (const char *end; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		if (end != text || *end)
			printf("%s%.*s\n", mark, (int)(end - text), text);
	}
}

/* As a diff of whole lines: what was there, what stands there instead. */
static bool print_diff(const struct mutate_row *r)
{
	CLEANUP(buf) struct buf text = {0}, new = {0};
	CLEANUP_FREE char *old = NULL;
	const char *first, *end;

	if (read_file(r->path, SIZE_MAX, &text, NULL) < 0 || r->end > text.len)
		return false;
	first = text.data + r->start;
	while (first > text.data && first[-1] != '\n')
		first--;
	end = text.data + r->end;
	while (end < text.data + text.len && *end != '\n')
		end++;
	old = xstrndup(first, (size_t)(end - first));
	buf_add(&new, first, (size_t)(text.data + r->start - first));
	buf_adds(&new, r->after);
	buf_add(&new, text.data + r->end, (size_t)(end - text.data) - r->end);
	printf("@@ -%u +%u @@\n", r->line, r->line);
	print_lines(old, "-");
	print_lines(buf_str(&new), "+");
	return true;
}

static void print_tests(const struct mutate_row *r)
{
	for (size_t i = 0; i < r->tests.n && i < SHOWN_TESTS; i++)
		printf("  reached by %s\n", r->tests.v[i]);
	if (r->reached > SHOWN_TESTS && r->tests.n)
		printf("  and %zu more\n", r->reached - SHOWN_TESTS);
	if (r->why)
		printf("  %s\n", r->why);
}

static void print_row(const struct mutate_row *r)
{
	const char *end;

	printf("%s  %s:%u:%u  %s\n", mutant_verdict_name(r->verdict), r->path, r->line,
	       r->column, r->operator_);
	if (!r->whole || !print_diff(r)) {
		end = strchrnul(r->before, '\n');
		printf("  - %.*s%s\n", (int)(end - r->before), r->before,
		       *end ? " …" : "");
		printf("  + %s\n", *r->after ? r->after : "(nothing)");
	}
	print_tests(r);
}

static void print_text(const struct mutate_report *r)
{
	static const enum mutant_verdict shown[] = {MUTANT_SURVIVED, MUTANT_UNREACHED,
						    MUTANT_UNDECIDED};

	for (size_t v = 0; v < ARRAY_SIZE(shown); v++)
		for (size_t i = 0; i < r->n; i++)
			if (r->v[i].verdict == shown[v] &&
			    (shown[v] != MUTANT_UNREACHED || common.verbose))
				print_row(&r->v[i]);
	for (size_t i = 0; i < r->notes.n; i++)
		printf("note: %s\n", r->notes.v[i]);
	printf("%zu mutants:", r->n);
	for (int v = 0; v < MUTANT_VERDICTS; v++)
		printf("%s %zu %s", v ? "," : "", r->count[v],
		       mutant_verdict_name((enum mutant_verdict)v));
	if (mutate_score(r) >= 0)
		printf("\nscore %.1f %% of those that are decided",
		       100 * mutate_score(r));
	printf("\n");
}

static json_t *row_json(const struct mutate_row *r)
{
	json_t *j = json_object();

	json_put(j, "file", r->path);
	json_put_int(j, "line", r->line);
	json_put_int(j, "column", r->column);
	json_put_int(j, "end_line", r->end_line);
	json_put_int(j, "end_column", r->end_column);
	json_put_int(j, "start", r->start);
	json_put_int(j, "end", r->end);
	json_put(j, "operator", r->operator_);
	json_put(j, "before", r->before);
	json_put(j, "after", r->after);
	json_put(j, "verdict", mutant_verdict_name(r->verdict));
	json_put(j, "killed_by", r->by);
	json_put(j, "why", r->why);
	if (r->tests.n) {
		json_t *tests = json_array();

		for (size_t i = 0; i < r->tests.n; i++)
			json_array_append_new(tests, json_text(r->tests.v[i]));
		json_object_set_new(j, "tests", tests);
		json_put_int(j, "reached", (int64_t)r->reached);
	}
	return j;
}

static int print_json(const struct mutate_report *r)
{
	CLEANUP_JSON json_t *j = json_object();
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FREE char *line = NULL;
	json_t *rows_json = json_array(), *counts = json_object();

	for (size_t i = 0; i < r->n; i++)
		json_array_append_new(rows_json, row_json(&r->v[i]));
	for (int v = 0; v < MUTANT_VERDICTS; v++)
		json_put_int(counts, mutant_verdict_name((enum mutant_verdict)v),
			     (int64_t)r->count[v]);
	json_put(j, "outcome", outcome_name(r->outcome));
	json_object_set_new(j, "counts", counts);
	if (mutate_score(r) >= 0)
		json_object_set_new(j, "score", json_real(mutate_score(r)));
	json_put_int(j, "decided_by_fork", (int64_t)r->forked);
	json_put_int(j, "runs", (int64_t)r->reruns);
	json_put_int(j, "builds", (int64_t)r->builds);
	json_put_int(j, "build_us", (int64_t)r->build_us);
	json_put_int(j, "test_us", (int64_t)r->test_us);
	json_put_int(j, "fork_us", (int64_t)r->fork_us);
	json_put_int(j, "wall_us", (int64_t)r->wall_us);
	json_object_set_new(j, "mutants", rows_json);
	text = json_dumps(j, JSON_COMPACT);
	line = xasprintf("%s\n", text);
	return command_print(line);
}

static int write_schema(const struct mutate_report *r, const char *dir, struct err *err)
{
	CLEANUP_JSON json_t *j = mutate_schema(r, dir);
	CLEANUP_FREE char *text = json_pretty(j);

	return write_file(schema, text, strlen(text), err);
}

static int run(char **argv)
{
	struct options o = {
		.usage = "exitpath mutate [OPTION…] -- COMMAND…",
		.about = "Changes the code under test, a little each time, and runs its "
			 "tests: "
			 "which changes\ndo they not notice? C: all changes are in one "
			 "build, and a run chooses one. Python:\nwhere the command is "
			 "pytest or unittest, and no --setup is given.\n\nExit status: "
			 "0, or 60 below --threshold; 2 when it does not build or its "
			 "tests fail.",
		.rows = rows,
		.command = true,
	};
	CLEANUP(strv) struct strv operands = {0};
	CLEANUP(mutate_report) struct mutate_report report = {0};
	CLEANUP_FREE char *dir = NULL;
	struct mutate_opts opts = {.targets = &targets};
	struct err err = {0};
	char **rest;
	int status;

	if (!command_start(&o, argv, &operands, &rest, &status))
		return status;
	if (!*rest) {
		err_set(&err, ERR_USAGE, "the tests are missing");
		err_hint(&err, "exitpath mutate --setup 'make tests' -- ./tests");
		return command_fail(&err);
	}
	dir = getcwd(NULL, 0);
	if (!dir) {
		err_set(&err, ERR_USAGE, "the working directory is gone");
		return command_fail(&err);
	}
	opts.dir = dir;
	opts.progress = progress_line(common.quiet);
	opts.store = common.store;
	opts.isolation = common.isolation;
	opts.setup = setup;
	opts.diff = diff;
	opts.argv = rest;
	opts.limit_ms = limit_ms;
	opts.jobs = jobs ? (unsigned)jobs : (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	opts.fork = !no_fork;
	status = engine_mutate(&opts, &report, &err);
	progress_clear();
	if (status < 0)
		return command_fail(&err);
	if (schema && write_schema(&report, dir, &err) < 0)
		return command_fail(&err);
	if (threshold && mutate_score(&report) * 100 < threshold)
		report.outcome = OUTCOME_REJECTED;
	if (common.json) {
		status = print_json(&report);
	} else {
		print_text(&report);
		status = command_print("");
	}
	return status ? status : outcome_exit_code(report.outcome);
}

const struct command command_mutate = {
	.name = "mutate",
	.summary = "do the tests notice when the code is changed?",
	.run = run,
};
