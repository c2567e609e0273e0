#include "cli/cmd.h"

#include "base/json.h"
#include "base/mem.h"
#include "engine/evidence.h"
#include "model/outcome.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int limit = 20, checkout_days = 14, evidence_days;
static bool list_artifacts;
static const char *artifact;

static const struct option_row rows[] = {
	{"limit", "N", "list: at most N runs, 0 for all (20)", OPTION_NUMBER, &limit, 0,
	 1000000},
	{"artifacts", NULL, "show: the names of the run's artifacts", OPTION_FLAG,
	 &list_artifacts, 0, 0},
	{"artifact", "NAME", "show: the bytes of one artifact", OPTION_TEXT, &artifact, 0,
	 0},
	{"checkouts", "DAYS", "gc: remove checkouts unused for DAYS (14; 0: all)",
	 OPTION_NUMBER, &checkout_days, 0, 36500},
	{"keep", "DAYS", "gc: remove bodies of runs older than DAYS (0: keep all)",
	 OPTION_NUMBER, &evidence_days, 0, 36500},
	{0},
};

static struct evidence_at at(void)
{
	return (struct evidence_at){".", common.store};
}

static int list(const struct strv *operands, struct err *err)
{
	CLEANUP_JSON json_t *runs = NULL;
	const struct evidence_at where = at();
	size_t i;
	json_t *j;

	(void)operands;
	if (evidence_list(&where, (size_t)limit, &runs, err) < 0)
		return command_fail(err);
	if (common.json) {
		CLEANUP_FREE char *text = json_pretty(runs);

		return command_print(text);
	}
	json_array_foreach (runs, i, j) {
		const char *outcome = json_get(j, "outcome", json_get(j, "state", "?"));

		printf("%-10s %-16s %-20s %-6s %.10s..%.10s\n",
		       json_get(j, "run_id", "?"), outcome, json_get(j, "started", "?"),
		       json_get(j, "command", "?"), json_get(j, "base", ""),
		       json_get(j, "candidate", ""));
	}
	return command_print("");
}

static int show(const struct strv *operands, struct err *err)
{
	const char *run = operands->n > 1 ? operands->v[1] : NULL;
	CLEANUP(strv) struct strv names = {0};
	CLEANUP(buf) struct buf text = {0};
	const struct evidence_at where = at();

	if (artifact) {
		if (evidence_artifact(&where, run, artifact, &text, err) < 0)
			return command_fail(err);
		fwrite(buf_str(&text), 1, text.len, stdout);
		return command_print("");
	}
	if (list_artifacts) {
		if (evidence_artifacts(&where, run, &names, err) < 0)
			return command_fail(err);
		for (size_t i = 0; i < names.n; i++)
			buf_addf(&text, "%s\n", names.v[i]);
		return command_print(buf_str(&text));
	}
	if (evidence_show(&where, run, common.json, &text, err) < 0)
		return command_fail(err);
	return command_print(buf_str(&text));
}

static int verify(const struct strv *operands, struct err *err)
{
	struct evidence_verified v = {0};
	const struct evidence_at where = at();
	CLEANUP(buf) struct buf text = {0};
	int status;

	(void)operands;
	if (evidence_verify(&where, &v, err) < 0)
		return command_fail(err);
	for (size_t i = 0; i < v.problems.n; i++)
		buf_addf(&text, "%s\n", v.problems.v[i]);
	buf_addf(&text, "%zu records and %zu artifacts checked: %s\n", v.records,
		 v.artifacts,
		 v.problems.n ? "NOT as they were recorded" : "as they were recorded");
	status = v.problems.n ? outcome_exit_code(OUTCOME_HARNESS_ERROR) : 0;
	strv_release(&v.problems);
	return command_print(buf_str(&text)) ? EXIT_INTERNAL : status;
}

static int export(const struct strv *operands, struct err *err)
{
	const struct evidence_at where = at();

	if (operands->n != 3) {
		err_set(err, ERR_USAGE, "export needs a run and a directory");
		err_hint(err, "exitpath evidence export run-7 evidence/");
		return command_fail(err);
	}
	if (evidence_export(&where, operands->v[1], operands->v[2], err) < 0)
		return command_fail(err);
	return 0;
}

static int gc(const struct strv *operands, struct err *err)
{
	struct evidence_gc g = {0};
	const struct evidence_at where = at();
	CLEANUP_FREE char *text = NULL;

	(void)operands;
	if (evidence_gc(&where, (unsigned)checkout_days, (unsigned)evidence_days, &g,
			err) < 0)
		return command_fail(err);
	text = xasprintf(
		"%u checkouts and %u scratch directories removed, %llu KiB freed\n",
		g.checkouts, g.scratch, (unsigned long long)(g.bytes / 1024));
	return command_print(text);
}

static const struct {
	const char *name;
	int (*run)(const struct strv *operands, struct err *err);
	size_t max; /* operands, its name included */
} actions[] = {
	{"list", list, 1},     {"show", show, 2}, {"verify", verify, 1},
	{"export", export, 3}, {"gc", gc, 1},
};

static int run_evidence(char **argv)
{
	struct options o = {
		.usage = "exitpath evidence list | show [RUN] | verify | export RUN DIR "
			 "| gc",
		.about = "What was recorded: summaries, full reports, and the chain that "
			 "proves "
			 "they are as they\nwere. `export` writes a directory for CI "
			 "artifacts "
			 "with an in-toto statement.",
		.rows = rows,
		.operands = 3,
	};
	CLEANUP(strv) struct strv operands = {0};
	struct err err = {0};
	char **rest;
	int status;

	if (!command_start(&o, argv, &operands, &rest, &status))
		return status;
	for (size_t i = 0; operands.n && i < ARRAY_SIZE(actions); i++) {
		if (strcmp(operands.v[0], actions[i].name))
			continue;
		if (operands.n <= actions[i].max)
			return actions[i].run(&operands, &err);
		err_set(&err, ERR_USAGE, "unexpected `%s`", operands.v[actions[i].max]);
		return command_fail(&err);
	}
	err_set(&err, ERR_USAGE,
		operands.n ? "evidence cannot `%s`" : "evidence needs a verb%s",
		operands.n ? operands.v[0] : "");
	err_hint(&err, "one of: list, show, verify, export, gc");
	return command_fail(&err);
}

const struct command command_evidence = {
	"evidence",
	"list, show, verify, export what was recorded; gc",
	run_evidence,
};
