#include "vet/judge.h"

#include "base/mem.h"

#include <string.h>

enum { FEEDBACK_MAX = 5 };

struct judging {
	const struct vet_settings *settings;
	const json_t *seen;
	struct vet_test *test;
};

static bool ended(const json_t *run, const char *how)
{
	return !strcmp(json_get(run, "end", ""), how);
}

static bool passed(const json_t *run)
{
	return ended(run, "passed");
}

static unsigned line_of(const json_t *j)
{
	int64_t line = json_get_int(j, "line", 0);

	return line > 0 && line < 1 << 30 ? (unsigned)line : 0;
}

static void reject(struct judging *j, enum vet_stage stage, unsigned line,
		   const char *text)
{
	vet_reason_add(&j->test->reasons, stage, line, "%s", text);
	j->test->verdict = VET_REJECTED;
}

/* How one execution ended, when it did not pass. The caller frees. */
static char *describe(const json_t *run)
{
	const char *error = json_get(run, "error", NULL);

	if (ended(run, "timeout"))
		return xasprintf("does not end in time");
	if (ended(run, "killed"))
		return xasprintf("is killed by signal %lld",
				 (long long)json_get_int(run, "signal", 0));
	if (ended(run, "exited"))
		return xasprintf("ends its process with status %lld, past all "
				 "assertions",
				 (long long)json_get_int(run, "status", 0));
	if (ended(run, "left"))
		return xasprintf("leaves by %s", error ? error : "SystemExit");
	if (ended(run, "skipped"))
		return xasprintf("is skipped: %s", error ? error : "no reason given");
	return xasprintf("%s: %s", ended(run, "failed") ? "fails" : "raises",
			 error ? error : "no message");
}

/* ---- a process that did not come to its end ---- */

static char *describe_end(const struct vet_sight *s)
{
	CLEANUP_FREE char *how = run_result_describe(&s->run);

	if (s->run.end == RUN_OVER_MEMORY)
		return xasprintf("takes more memory than a test may have");
	if (s->run.end == RUN_OVER_PIDS)
		return xasprintf("starts more processes than a test may have");
	if (s->run.end == RUN_OVER_DISK)
		return xasprintf("writes more to files than a test may");
	if (run_result_late(&s->run))
		return xasprintf("does not end in time");
	return xasprintf("ends the process that executes it (%s)", how);
}

static bool is_ours(const struct vet_sight *s)
{
	return !s->stage || s->broken || s->run.end == RUN_SANDBOX_FAILED ||
	       s->run.end == RUN_LOST || s->run.end == RUN_NOT_STARTED ||
	       s->run.end == RUN_CANCELLED;
}

/* True: it has one. */
static bool judge_unseen(struct judging *j, const struct vet_sight *s)
{
	CLEANUP_FREE char *text = NULL;

	if (s->seen)
		return false;
	if (is_ours(s)) {
		CLEANUP_FREE char *how = run_result_describe(&s->run);

		j->test->verdict = VET_ERROR;
		vet_reason_add(&j->test->reasons, VET_RUNS, 0, "not judged: %s%s%s", how,
			       s->said ? ": " : "", s->said ? s->said : "");
		return true;
	}
	text = describe_end(s);
	reject(j,
	       run_result_over_limit(&s->run) || run_result_late(&s->run) ? VET_COST
									  : VET_CLEAN,
	       0, text);
	return true;
}

/* ---- the stages ---- */

static void judge_runs(struct judging *j)
{
	const json_t *run = json_object_get(j->seen, "run");
	const json_t *syntax = json_object_get(j->seen, "syntax");
	CLEANUP_FREE char *how = NULL;

	if (syntax) {
		reject(j, VET_SYNTAX, line_of(syntax), json_get(syntax, "text", "?"));
		return;
	}
	if (!json_is_object(run)) {
		j->test->verdict = VET_ERROR;
		vet_reason_add(&j->test->reasons, VET_RUNS, 0,
			       "not judged: the report has no run");
		return;
	}
	if (passed(run)) {
		if (!j->test->asserts)
			reject(j, VET_RUNS, 0,
			       "no assertion is executed, so nothing can make it fail");
		return;
	}
	how = describe(run);
	if (ended(run, "timeout"))
		reject(j, VET_COST, 0, how);
	else if (ended(run, "killed") || ended(run, "exited") || ended(run, "left"))
		reject(j, VET_CLEAN, 0, how);
	else if (!strcmp(json_get(run, "where", ""), "import") || ended(run, "skipped"))
		reject(j, VET_RUNS, line_of(run), how);
	else
		reject(j, VET_PASSES, line_of(run), how);
}

static const char *left_words(const char *kind)
{
	static const struct {
		const char *kind, *words;
	} known[] = {
		{"thread", "a thread goes on"},
		{"descriptor", "a descriptor stays open"},
		{"file", "a file is left"},
		{"unclosed", "something is not closed"},
		{"environment", "an environment variable is another afterwards"},
		{"directory", "the working directory"},
		{"patched", "a replaced function is not put back"},
		{"process", "a process is left"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i].kind, kind))
			return known[i].words;
	return kind;
}

static void judge_clean(struct judging *j)
{
	const json_t *run = json_object_get(j->seen, "run");
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(run, "left"), i, one) {
		const char *kind = json_string_value(json_array_get(one, 0));
		const char *what = json_string_value(json_array_get(one, 1));
		CLEANUP_FREE char *text = xasprintf(
			"%s: %s", left_words(kind ? kind : "?"), what ? what : "?");

		reject(j, VET_CLEAN, 0, text);
	}
	json_array_foreach (json_object_get(run, "network"), i, one) {
		CLEANUP_FREE char *text =
			xasprintf("it uses the network: %s", json_string_value(one));

		reject(j, VET_CLEAN, 0, text);
		break;
	}
}

/* Unchanged runs that did not pass, of those made when a changed one had failed. */
static unsigned unchanged_failures(const struct judging *j)
{
	const json_t *one;
	unsigned n = 0;
	size_t i;

	json_array_foreach (json_object_get(j->seen, "plain"), i, one)
		if (!json_is_string(one) || strcmp(json_string_value(one), "passed") != 0)
			n++;
	return n;
}

static char *causes(const json_t *run)
{
	CLEANUP(strv) struct strv names = {0};
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(run, "causes"), i, one)
		if (json_is_string(one))
			strv_add(&names, json_string_value(one));
	if (!strcmp(json_get(run, "name", ""), "order"))
		return xasprintf("a second time in one process");
	if (!names.n)
		return xasprintf("now and then");
	else {
		CLEANUP_FREE char *all = strv_join(&names, ", ");

		return xasprintf("with another %s", all);
	}
}

static void judge_repeats(struct judging *j, const struct vet_sight *again)
{
	unsigned flaky = unchanged_failures(j);
	const json_t *repeats = json_object_get(j->seen, "repeats"), *one;
	size_t i;

	if (json_array_size(repeats) == 0) {
		reject(j, VET_REPEATABLE, 0, "it was not repeated");
		return;
	}
	json_array_foreach (repeats, i, one) {
		CLEANUP_FREE char *how = NULL, *when = NULL, *text = NULL;

		if (passed(one))
			continue;
		how = describe(one);
		when = flaky ? xasprintf("without any change") : causes(one);
		text = xasprintf("%s it %s", when, how);
		reject(j, VET_REPEATABLE, 0, text);
	}
	if (j->test->verdict == VET_REJECTED || !again->asked)
		return;
	if (again->seen && passed(json_object_get(again->seen, "run")))
		return;
	if (again->seen) {
		CLEANUP_FREE char *how = describe(json_object_get(again->seen, "run"));
		CLEANUP_FREE char *text = xasprintf(
			"in another process, with another hash seed it %s", how);

		reject(j, VET_REPEATABLE, 0, text);
	} else {
		judge_unseen(j, again);
	}
}

static void judge_reordered(struct judging *j)
{
	const json_t *run = json_object_get(j->seen, "reordered");
	CLEANUP_FREE char *how = NULL, *text = NULL;

	if (passed(run))
		return;
	how = describe(run);
	text = xasprintf(
		"with sets, and dicts that functions return, in another order it "
		"%s",
		how);
	reject(j, VET_CONSTRAINED, 0, text);
}

/* Returns how many assertions are without effect. */
static unsigned judge_asserts(struct judging *j)
{
	const json_t *one;
	unsigned good = 0, idle = 0;
	size_t i;

	json_array_foreach (json_object_get(j->seen, "asserts"), i, one) {
		const char *constant = json_get(one, "constant", NULL);
		const char *text = json_get(one, "text", "");
		const char *perturb = json_get(one, "perturb", NULL);
		const char *negate = json_get(one, "negate", NULL);

		if (!json_get_int(one, "executed", 0))
			continue;
		if (constant)
			vet_reason_add(&j->test->feedback, VET_ASSERTS, line_of(one),
				       "`%s` %s", text, constant);
		else if (negate && !strcmp(negate, "passed"))
			vet_reason_add(&j->test->feedback, VET_ASSERTS, line_of(one),
				       "the failure of `%s` is swallowed", text);
		else if (perturb && !strcmp(perturb, "passed"))
			vet_reason_add(&j->test->feedback, VET_ASSERTS, line_of(one),
				       "`%s` passes with another expected value, too",
				       text);
		else {
			good++;
			continue;
		}
		idle++;
	}
	if (good)
		return idle;
	for (i = 0; i < j->test->feedback.n; i++)
		reject(j, VET_ASSERTS, j->test->feedback.v[i].line,
		       j->test->feedback.v[i].text);
	if (!j->test->feedback.n)
		reject(j, VET_ASSERTS, 0, "no assertion matters");
	vet_reasons_release(&j->test->feedback);
	return idle;
}

/* What is missing, for the author; at most a few of them. */
static void tell_missing(struct judging *j, const json_t *coverage)
{
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(coverage, "missing"), i, one) {
		const char *file = json_string_value(json_array_get(one, 0));
		const char *function = json_string_value(json_array_get(one, 2));
		const char *words = json_string_value(json_array_get(one, 3));

		if (i >= FEEDBACK_MAX)
			break;
		vet_reason_add(&j->test->feedback, VET_COVERAGE, 0, "%s:%lld, in %s: %s",
			       file ? file : "?",
			       (long long)json_integer_value(json_array_get(one, 1)),
			       function ? function : "?", words ? words : "?");
	}
}

static char *names_of(const json_t *list)
{
	CLEANUP(strv) struct strv names = {0};
	const json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (json_is_string(one) && i < FEEDBACK_MAX)
			strv_add(&names, json_string_value(one));
	if (json_array_size(list) > FEEDBACK_MAX)
		strv_add(&names, "…");
	return strv_join(&names, ", ");
}

static void take_branches(struct vet_test *t, const json_t *coverage)
{
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(coverage, "branches"), i, one)
		strv_addf(&t->branches, "%lld", (long long)json_integer_value(one));
}

static void judge_coverage(struct judging *j)
{
	const json_t *coverage = json_object_get(j->seen, "coverage");
	const json_t *functions = json_object_get(coverage, "functions");
	int64_t taken = json_get_int(coverage, "taken", 0);
	int64_t all = json_get_int(coverage, "all", 0);
	CLEANUP_FREE char *names = names_of(functions), *text = NULL;

	take_branches(j->test, coverage);
	if (!json_array_size(functions)) {
		j->test->coverage = 0;
		reject(j, VET_COVERAGE, 0, "it enters no function of the target");
		return;
	}
	if (taken < 0 || taken > all)
		taken = 0; /* it cannot be */
	j->test->coverage = all > 0 ? (double)taken / (double)all : 1;
	tell_missing(j, coverage);
	if (j->test->coverage >= j->settings->coverage)
		return;
	text = xasprintf("it takes %lld of %lld branches of %s, less than %.0f %%",
			 (long long)taken, (long long)all, names,
			 100 * j->settings->coverage);
	reject(j, VET_COVERAGE, 0, text);
}

struct tally {
	unsigned killed, survived, undecided;
};

/* Feedback about the mutants that live on. */
static struct tally count_mutants(struct judging *j)
{
	const json_t *one;
	struct tally n = {0};
	size_t i;

	json_array_foreach (json_object_get(j->seen, "mutants"), i, one) {
		const char *end = json_get(one, "end", "");

		if (!strcmp(end, "killed")) {
			n.killed++;
			strv_add(&j->test->kills, json_get(one, "key", "?"));
		} else if (!strcmp(end, "undecided")) {
			n.undecided++;
		} else if (n.survived++ < FEEDBACK_MAX) {
			vet_reason_add(&j->test->feedback, VET_KILLS, 0,
				       "%s:%u, in %s: it passes when %s",
				       json_get(one, "file", "?"), line_of(one),
				       json_get(one, "in", "?"),
				       json_get(one, "text", "?"));
		}
	}
	return n;
}

/* errors: lesser faults, each of which costs a fifth. */
static void judge_kills(struct judging *j, unsigned errors)
{
	struct tally n = count_mutants(j);
	unsigned decided = n.killed + n.survived, tried = decided + n.undecided;
	struct vet_test *t = j->test;
	double most = tried ? 1 - (double)n.undecided / tried : 1;

	t->kill_rate = decided ? (double)n.killed / decided : 0;
	t->score = vet_score(t->coverage, t->kill_rate, errors);
	/* What is not known is not to its credit. */
	if (t->score > most)
		t->score = most;
	if (!tried)
		reject(j, VET_KILLS, 0, "it reaches nothing that could be changed");
	else if (t->kill_rate < j->settings->kill_rate)
		vet_reason_add(&t->reasons, VET_KILLS, 0,
			       "it notices %u of %u changes of the code that it reaches, "
			       "less than %.0f %%",
			       n.killed, decided, 100 * j->settings->kill_rate);
	else if (t->score < j->settings->score)
		vet_reason_add(&t->reasons, VET_KILLS, 0,
			       "its score is %.2f, less than %.2f (%u of %u mutants are "
			       "undecided, %u assertions are idle)",
			       t->score, j->settings->score, n.undecided, tried, errors);
	if (t->reasons.n)
		t->verdict = VET_REJECTED;
}

double vet_score(double coverage, double kill_rate, unsigned errors)
{
	double score = 0.4 * coverage + 0.6 * kill_rate - 0.2 * errors;

	return score < 0 ? 0 : score > 1 ? 1 : score;
}

static void judge_buggy(struct judging *j, const struct vet_sight *buggy)
{
	const json_t *run = json_object_get(buggy->seen, "run");

	if (!buggy->asked)
		return;
	if (!buggy->seen) {
		if (is_ours(buggy))
			judge_unseen(j, buggy);
		return; /* it ends otherwise than on the right code */
	}
	if (passed(run))
		reject(j, VET_BUGGY, 0,
		       "it passes on the buggy revision as well: it does not see the "
		       "bug");
	else if (!strcmp(json_get(run, "where", ""), "import"))
		reject(j, VET_BUGGY, line_of(run),
		       "on the buggy revision it cannot be loaded, which says nothing "
		       "about the bug");
}

static void judge_cost(struct judging *j)
{
	const json_t *run = json_object_get(j->seen, "run");

	j->test->ms = json_number_value(json_object_get(run, "ms_test"));
	if (j->test->ms > (double)j->settings->time_ms) {
		CLEANUP_FREE char *text =
			xasprintf("it takes %.1f s, more than %.1f s", j->test->ms / 1000,
				  (double)j->settings->time_ms / 1000);

		reject(j, VET_COST, 0, text);
	}
}

static void count_asserts(struct judging *j)
{
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(j->seen, "asserts"), i, one)
		if (json_get_int(one, "executed", 0) > 0)
			j->test->asserts++;
}

static unsigned executions_of(const struct vet_sight *s)
{
	int64_t n = json_get_int(s->seen, "executions", 0);

	return n > 0 && n < 1 << 20 ? (unsigned)n : 0;
}

/* Of a file of several tests what is kept is the one. */
static void take_alone(struct vet_test *t, const char *source)
{
	if (!source)
		return;
	free(t->source);
	t->source = xstrdup(source);
}

bool vet_promising(const struct vet_sight *judge, const struct vet_settings *settings)
{
	const struct vet_sights s = {.judge = *judge};
	CLEANUP(vet_test) struct vet_test t = {0};

	vet_judge(&s, settings, &t);
	return t.verdict == VET_ACCEPTED;
}

void vet_judge(const struct vet_sights *s, const struct vet_settings *settings,
	       struct vet_test *ret)
{
	struct judging j = {settings, s->judge.seen, ret};
	unsigned errors = 0;

	ret->verdict = VET_ACCEPTED;
	ret->score = ret->coverage = ret->kill_rate = VET_UNKNOWN;
	ret->executions = executions_of(&s->judge) + executions_of(&s->again) +
			  executions_of(&s->buggy);
	if (judge_unseen(&j, &s->judge))
		return;
	ret->shape = xstrdup(json_get(j.seen, "shape", NULL));
	take_alone(ret, json_get(j.seen, "alone", NULL));
	count_asserts(&j);
	judge_runs(&j);
	if (ret->verdict == VET_ACCEPTED)
		judge_cost(&j);
	if (ret->verdict == VET_ACCEPTED)
		judge_clean(&j);
	if (ret->verdict == VET_ACCEPTED)
		judge_repeats(&j, &s->again);
	if (ret->verdict == VET_ACCEPTED)
		judge_reordered(&j);
	if (ret->verdict == VET_ACCEPTED)
		errors = judge_asserts(&j);
	if (ret->verdict == VET_ACCEPTED)
		judge_coverage(&j);
	if (ret->verdict == VET_ACCEPTED)
		judge_kills(&j, errors);
	if (ret->verdict == VET_ACCEPTED)
		judge_buggy(&j, &s->buggy);
}
