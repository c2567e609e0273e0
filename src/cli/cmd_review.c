#include "cli/cmd.h"

#include "base/json.h"
#include "base/mem.h"
#include "engine/interrupt.h"
#include "engine/review.h"
#include "report/review.h"
#include "report/scan.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct review_opts opts;

static const struct option_row rows[] = {
	{"base", "REV", "where the patch starts (merge-base with the default branch)",
	 OPTION_TEXT, &opts.base, 0, 0},
	{"candidate", "REV", "what is proposed (WORKTREE: the working tree)", OPTION_TEXT,
	 &opts.candidate, 0, 0},
	{"strict", NULL, "reject for what is only shown, too", OPTION_FLAG, &opts.strict,
	 0, 0},
	{0},
};

static char *as_json(const struct review_report *r)
{
	CLEANUP_JSON json_t *j = json_object();
	json_t *skipped = json_array();

	json_put(j, "outcome", outcome_name(r->outcome));
	json_put_int(j, "exit_code", outcome_exit_code(r->outcome));
	json_put(j, "base", r->base.commit);
	json_put(j, "candidate", r->candidate.commit);
	json_put_int(j, "files", (int64_t)r->files);
	json_object_set_new(j, "items", report_review_json(&r->items, r->strict));
	for (size_t i = 0; i < r->skipped.n; i++)
		json_array_append_new(skipped, json_text(r->skipped.v[i]));
	json_object_set_new(j, "skipped", skipped);
	return json_pretty(j);
}

static char *as_text(const struct review_report *r)
{
	struct buf out = {0};
	size_t rejecting = 0;

	report_review_text(&r->items, r->strict, &out);
	for (size_t i = 0; i < r->items.n; i++)
		rejecting += review_item_rejects(&r->items.v[i], r->strict);
	for (size_t i = 0; i < r->skipped.n; i++)
		buf_addf(&out, "not read: %s\n", r->skipped.v[i]);
	buf_addf(&out, "review: %s, %zu of %zu items reject, in %zu changed files\n",
		 outcome_name(r->outcome), rejecting, r->items.n, r->files);
	return buf_detach(&out);
}

/* In a format that scan has, too. */
static char *as_findings(const struct review_report *r, const struct scan_format *format)
{
	CLEANUP(scan_findings) struct scan_findings findings = {0};
	CLEANUP(scan_rules) struct scan_rules rules = {0};
	struct buf out = {0};

	report_review_findings(&r->items, r->strict, &findings, &rules);
	format->write(&findings, &rules, &out);
	return buf_detach(&out);
}

static const char *wanted_format(void)
{
	return common.json ? "json" : common.format ? common.format : "text";
}

static int check_wanted(const char *format, struct err *err)
{
	CLEANUP(buf) struct buf all = {0};

	if (!strcmp(format, "json") || scan_format_find(format))
		return 0;
	for (size_t i = 0; scan_formats[i]; i++)
		buf_addf(&all, "%s, ", scan_formats[i]->name);
	err_set(err, ERR_USAGE, "--format: there is no format `%s`", format);
	err_hint(err, "formats are: %sjson", buf_str(&all));
	return -1;
}

static char *text_of(const struct review_report *r, const char *format)
{
	if (!strcmp(format, "json"))
		return as_json(r);
	if (!strcmp(format, "text"))
		return as_text(r);
	return as_findings(r, scan_format_find(format));
}

static int review(void)
{
	CLEANUP_FREE char *dir = getcwd(NULL, 0);
	CLEANUP(review_report) struct review_report report = {0};
	CLEANUP_FREE char *text = NULL;
	struct err err = {0};
	int status;

	if (!dir) {
		err_errno(&err, ERR_ENVIRONMENT, errno, "cannot tell where this is");
		return command_fail(&err);
	}
	if (check_wanted(wanted_format(), &err) < 0)
		return command_fail(&err);
	opts.dir = dir;
	opts.store = common.store;
	interrupt_catch();
	if (engine_review(&opts, &report, &err) < 0)
		return command_fail(&err);
	text = text_of(&report, wanted_format());
	status = command_print(text);
	return status ? status : outcome_exit_code(report.outcome);
}

static int run(char **argv)
{
	struct options o = {
		.usage = "exitpath review [OPTION…]",
		.about = "Says what a patch does to the checks that are to judge it: "
			 "tests "
			 "deleted, skipped or\nmade loose, detectors off, suppressions "
			 "and "
			 "CI steps widened, exits that hide leaks.\nNothing is built or "
			 "run. "
			 "A suppression with owner, reason and date passes, and is "
			 "listed.\n\n"
			 "Exit status: 0 clean, 60 rejected.",
		.rows = rows,
	};
	CLEANUP(strv) struct strv operands = {0};
	char **rest;
	int status;

	if (!command_start(&o, argv, &operands, &rest, &status))
		return status;
	return review();
}

extern const struct command command_review;
const struct command command_review = {
	.name = "review",
	.summary = "what a patch does to the checks that are to judge it",
	.run = run,
};
