/* The gate's checks that read the patch and run nothing: `review` and `scan`. */
#include "engine/gate_readings.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/review.h"
#include "engine/scan.h"
#include "verdict/verdict.h"

enum { SKIPPED_SHOWN = 5 };

/* What was not looked into is said: silence about it would be taken for a clean file. */
static void note_skipped(const struct strv *skipped, struct check *c)
{
	for (size_t i = 0; i < skipped->n && i < SKIPPED_SHOWN; i++)
		strv_addf(&c->notes, "not read: %s", skipped->v[i]);
	if (skipped->n > SKIPPED_SHOWN)
		strv_addf(&c->notes, "not read: %zu more", skipped->n - SKIPPED_SHOWN);
}

int session_review(struct session *s, struct err *err)
{
	CLEANUP(review_report) struct review_report report = {.strict = s->review.strict};
	uint64_t start = clock_us();
	struct check *c;

	progress_tell(s->opts->progress, "review", "reading", NULL, 0, 0);
	if (engine_review_between(s->repo, s->side[SIDE_BASE].rev.commit,
				  s->side[SIDE_CANDIDATE].rev.commit, &report, err) < 0)
		return -1;
	c = result_check(s->result);
	c->attempt = 1;
	verdict_review(&report.items, report.strict, c);
	note_skipped(&report.skipped, c);
	c->duration_us = clock_us() - start;
	return 0;
}

int session_scan(struct session *s, struct err *err)
{
	CLEANUP(scan_report) struct scan_report report = {0};
	uint64_t start = clock_us();
	struct check *c;

	progress_tell(s->opts->progress, "scan", "reading", NULL, 0, 0);
	if (engine_scan_between(s->repo, s->side[SIDE_BASE].rev.commit,
				s->side[SIDE_CANDIDATE].rev.commit, &report, err) < 0)
		return -1;
	c = result_check(s->result);
	c->attempt = 1;
	verdict_scan(&report.findings, s->scan.notes, c);
	note_skipped(&report.skipped, c);
	c->duration_us = clock_us() - start;
	return 0;
}
