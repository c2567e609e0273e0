#include "harness.h"

#include "base/mem.h"
#include "verdict/verdict.h"

#include <string.h>

static void test_scan(void **state)
{
	static const struct {
		enum scan_severity severity;
		bool inherited, notes;
		enum outcome outcome;
		size_t remarks;
	} rows[] = {
		{SCAN_WARNING, false, false, OUTCOME_DEFECT, 1},
		{SCAN_ERROR, false, false, OUTCOME_DEFECT, 1},
		{SCAN_NOTE, false, false, OUTCOME_CLEAN, 0},
		{SCAN_NOTE, false, true, OUTCOME_DEFECT, 1},
		/* Base has it: nothing is blamed on the patch, whatever is asked for. */
		{SCAN_NOTE, true, true, OUTCOME_CLEAN, 0},
		{SCAN_ERROR, true, false, OUTCOME_CLEAN, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(scan_findings) struct scan_findings found = {0};
		CLEANUP(check) struct check c = {0};
		struct scan_finding *f = scan_findings_add(&found);

		f->rule = "early-exit";
		f->severity = rows[i].severity;
		f->inherited = rows[i].inherited;
		f->path = xstrdup("a.c");
		f->line = 7;
		f->function = xstrdup("f");
		f->message = xstrdup("held");
		scan_step_add(f, 3, xstrdup("acquired"));
		verdict_scan(&found, rows[i].notes, &c);
		assert_string_equal(c.target, "scan");
		assert_int_equal(c.outcome, rows[i].outcome);
		assert_int_equal(c.nremarks, rows[i].remarks);
		if (!c.nremarks)
			continue;
		assert_true(c.remarks[0].blocks);
		assert_string_equal(c.remarks[0].function, "f");
		assert_string_equal(c.remarks[0].steps.v[0], "3 acquired");
		assert_non_null(strstr(c.next, "--explain early-exit"));
	}
}

/* What rejects comes first, what passes stays in sight. */
static void test_review(void **state)
{
	CLEANUP(review_items) struct review_items items = {0};
	struct check c = {0};

	(void)state;
	verdict_review(&items, false, &c);
	assert_int_equal(c.outcome, OUTCOME_CLEAN);
	check_release(&c);

	review_add(&items, REVIEW_SUPPRESSION_ADDED, "exitpath.yaml", 3, "justified")
		->justification = xstrdup("why, owner me, until 2030-01-01");
	verdict_review(&items, true, &c);
	assert_int_equal(c.outcome, OUTCOME_CLEAN);
	assert_int_equal(c.nremarks, 1);
	assert_false(c.remarks[0].blocks);
	assert_non_null(c.remarks[0].justification);
	check_release(&c);

	review_add(&items, REVIEW_CONTRACT_WEAKENED, "exitpath.yaml", 0, "weakened");
	verdict_review(&items, false, &c);
	assert_int_equal(c.outcome, OUTCOME_REJECTED);
	assert_int_equal(c.nremarks, 2);
	assert_true(c.remarks[0].blocks);
	assert_string_equal(c.remarks[0].message, "weakened");
	assert_false(c.remarks[1].blocks);
	check_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_scan),
		HARNESS_TEST(test_review),
	};

	return HARNESS_RUN(tests);
}
