#include "cli/cmd.h"
#include "cli/terminal.h"

#include "base/json.h"
#include "base/mem.h"
#include "engine/scan.h"
#include "report/scan.h"

#include <stdio.h>
#include <string.h>

static const char *rule, *explain, *diff;
static bool notes;
static int jobs;

static const struct option_row rows[] = {
	{"rule", "ID", "only this rule", OPTION_TEXT, &rule, 0, 0},
	{"diff", "REV", "only what the working tree adds to that revision", OPTION_TEXT,
	 &diff, 0, 0},
	{"explain", "ID", "what a rule is about; all: the list", OPTION_TEXT, &explain, 0,
	 0},
	{"notes", NULL, "show notes, too: in tests, in main(), in doubt", OPTION_FLAG,
	 &notes, 0, 0},
	{"jobs", "N", "threads (one per processor)", OPTION_NUMBER, &jobs, 1, 16},
	{0},
};

static char *as_json(const struct scan_report *r)
{
	CLEANUP_JSON json_t *j = json_object();
	json_t *skipped = json_array();

	json_put(j, "outcome", outcome_name(r->outcome));
	json_put_int(j, "files", (json_int_t)r->files);
	json_put_int(j, "ignored", (json_int_t)r->ignored);
	json_put_int(j, "notes_left_out", (json_int_t)r->notes);
	json_put_int(j, "lines", (json_int_t)r->lines);
	json_object_set_new(j, "findings", report_scan_json(&r->findings));
	for (size_t i = 0; i < r->skipped.n; i++)
		json_array_append_new(skipped, json_text(r->skipped.v[i]));
	json_object_set_new(j, "skipped", skipped);
	return json_pretty(j);
}

static char *as_format(const struct scan_report *r, const struct scan_format *format)
{
	struct buf out = {0};

	format->write(&r->findings, &r->rules, &out);
	if (format != &scan_text)
		return buf_detach(&out);
	buf_addf(&out, "scan: %s, %zu findings in %zu files\n", outcome_name(r->outcome),
		 r->findings.n, r->files);
	if (r->ignored)
		buf_addf(&out, "  %zu were ignored by a comment\n", r->ignored);
	if (r->notes)
		buf_addf(&out, "  %zu notes were left out: --notes\n", r->notes);
	return buf_detach(&out);
}

/* What was not looked at is said whatever the format. */
static void tell_skipped(const struct scan_report *r)
{
	for (size_t i = 0; i < r->skipped.n && !common.json; i++)
		fprintf(stderr, "exitpath: not looked at: %s\n", r->skipped.v[i]);
}

static void add_examples(struct buf *out, const char *title, const struct rule_example *e,
			 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		buf_addf(out, "\n%s (%s):\n", title, e[i].language);
		for (const char *p = e[i].code; *p;) {
			size_t len = strcspn(p, "\n");

			buf_addf(out, "    %.*s\n", (int)len, p);
			p += len + (p[len] == '\n');
		}
	}
}

static void add_rule(struct buf *out, const struct scan_rule *r)
{
	CLEANUP_FREE char *languages = strv_join(&r->languages, ", ");

	buf_addf(out, "%s (%c: %s, %s; %s)\n\n%s\n\nrepair: %s\n", r->id,
		 scan_shape_letter(r->shape), scan_shape_name(r->shape),
		 scan_severity_name(r->severity), languages, r->explain, r->fix);
	for (size_t i = 0; i < r->references.n; i++)
		buf_addf(out, "see %s\n", r->references.v[i]);
	add_examples(out, "found", r->bad, r->nbad);
	add_examples(out, "not found", r->good, r->ngood);
}

static int explain_rules(void)
{
	CLEANUP(scan_rules) struct scan_rules rules = {0};
	CLEANUP(buf) struct buf out = {0};
	const struct scan_rule *r;
	struct err err = {0};

	if (engine_scan_rules(SCAN_RULES_DIR, &rules, &err) < 0)
		return command_fail(&err);
	r = scan_rule_find(&rules, explain);
	if (r) {
		add_rule(&out, r);
	} else if (!strcmp(explain, "all")) {
		for (size_t i = 0; i < rules.n; i++)
			buf_addf(&out, "%-24s %c  %s\n", rules.v[i].id,
				 scan_shape_letter(rules.v[i].shape),
				 scan_shape_name(rules.v[i].shape));
	} else {
		err_set(&err, ERR_USAGE, "there is no rule \"%s\"", explain);
		err_hint(&err, "exitpath scan --explain all lists them");
		return command_fail(&err);
	}
	return command_print(buf_str(&out));
}

static int check(const struct strv *paths, const struct scan_format **ret_format,
		 struct err *err)
{
	const char *name = common.format ? common.format : "text";

	if (diff && paths->n) {
		err_set(err, ERR_USAGE, "--diff looks at all that changed, not at `%s`",
			paths->v[0]);
		err_hint(err, "leave out the path");
		return -1;
	}
	if (!strcmp(name, "json")) {
		common.json = true;
		name = "text";
	}
	*ret_format = scan_format_find(name);
	if (*ret_format)
		return 0;
	err_set(err, ERR_USAGE, "there is no format \"%s\"", name);
	err_hint(err, "text, json, sarif, github, rdjsonl, gitlab");
	return -1;
}

static int run(char **argv)
{
	struct options o = {
		.usage = "exitpath scan [OPTION…] [PATH…]",
		.about =
			"Finds what goes wrong when something fails, without a build: "
			"what "
			"is not released on\nsome way out, cleanup that another call can "
			"skip, errors that nobody is told of.\nPATH is a file or a "
			"directory (the working directory); --diff looks at all that "
			"changed.\nA comment `exitpath: ignore[RULE] reason` takes a "
			"finding away. --format is text, json,\nsarif, github, rdjsonl "
			"or "
			"gitlab.\n\nExit status: 0 clean, 20 findings.",
		.rows = rows,
		.operands = 4096,
	};
	CLEANUP(strv) struct strv paths = {0};
	struct scan_opts opts = {.paths = &paths};
	CLEANUP(scan_report) struct scan_report report = {0};
	const struct scan_format *format;
	CLEANUP_FREE char *text = NULL;
	struct err err = {0};
	char **rest;
	int status;

	if (!command_start(&o, argv, &paths, &rest, &status))
		return status;
	if (explain)
		return explain_rules();
	opts.rule = rule;
	opts.diff = diff;
	opts.store = common.store;
	opts.severity = notes ? SCAN_NOTE : SCAN_WARNING;
	opts.jobs = (unsigned)jobs;
	if (check(&paths, &format, &err) < 0 || engine_scan(&opts, &report, &err) < 0)
		return command_fail(&err);
	tell_skipped(&report);
	text = common.json ? as_json(&report) : as_format(&report, format);
	status = command_print(text);
	return status ? status : outcome_exit_code(report.outcome);
}

const struct command command_scan = {
	.name = "scan",
	.summary = "failure-path rules over source files; no build needed",
	.run = run,
};
