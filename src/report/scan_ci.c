/* Formats of CI systems: GitHub's annotations, reviewdog, GitLab's code quality. */
#include "base/mem.h"
#include "report/scan.h"

#include <stdlib.h>
#include <string.h>

/* ---- GitHub: ::error file=…,line=…::message ---- */

enum {
	MAX_OF_KIND = 10, /* GitHub shows so many of each kind in a step */
};

static void add_escaped(struct buf *out, const char *text, bool property)
{
	for (; *text; text++) {
		if (*text == '%' || *text == '\r' || *text == '\n' ||
		    (property && (*text == ':' || *text == ',')))
			buf_addf(out, "%%%02X", (unsigned char)*text);
		else
			buf_addc(out, *text);
	}
}

static void add_annotation(const struct scan_finding *f, struct buf *out)
{
	static const char *const kinds[] = {"notice", "warning", "error"};

	buf_addf(out, "::%s file=", kinds[f->severity]);
	add_escaped(out, f->path, true);
	buf_addf(out, ",line=%u,endLine=%u,col=%u,title=", f->line, f->end_line,
		 f->column);
	add_escaped(out, f->rule, true);
	buf_adds(out, "::");
	add_escaped(out, f->message, false);
	for (size_t i = 0; i < f->nsteps; i++) {
		buf_addf(out, "%%0A%u  ", f->steps[i].line);
		add_escaped(out, f->steps[i].text, false);
	}
	buf_addc(out, '\n');
}

static void write_github(const struct scan_findings *f, const struct scan_rules *rules,
			 struct buf *out)
{
	size_t shown[3] = {0}, more = 0;

	(void)rules;
	for (size_t i = 0; i < f->n; i++) {
		if (shown[f->v[i].severity]++ < MAX_OF_KIND)
			add_annotation(&f->v[i], out);
		else
			more++;
	}
	if (more)
		buf_addf(out,
			 "::notice title=exitpath::%zu findings more: SARIF has all\n",
			 more);
}

/* ---- reviewdog: one JSON object a line ---- */

static json_t *position(unsigned line, unsigned column)
{
	json_t *j = json_object();

	json_put_int(j, "line", line);
	json_put_int(j, "column", column);
	return j;
}

static void write_rdjsonl(const struct scan_findings *f, const struct scan_rules *rules,
			  struct buf *out)
{
	static const char *const severities[] = {"INFO", "WARNING", "ERROR"};

	(void)rules;
	for (size_t i = 0; i < f->n; i++) {
		const struct scan_finding *x = &f->v[i];
		CLEANUP_JSON json_t *j = json_object();
		json_t *location = json_object(), *range = json_object();
		json_t *code = json_object(), *source = json_object();
		CLEANUP_FREE char *line = NULL;

		json_put(j, "message", x->message);
		json_put(location, "path", x->path);
		json_object_set_new(range, "start", position(x->line, x->column));
		json_object_set_new(range, "end", position(x->end_line, x->end_column));
		json_object_set_new(location, "range", range);
		json_object_set_new(j, "location", location);
		json_put(j, "severity", severities[x->severity]);
		json_put(code, "value", x->rule);
		json_object_set_new(j, "code", code);
		json_put(source, "name", "exitpath");
		json_object_set_new(j, "source", source);
		line = json_canonical(j);
		buf_addf(out, "%s\n", line);
	}
}

/* ---- GitLab ---- */

static void write_gitlab(const struct scan_findings *f, const struct scan_rules *rules,
			 struct buf *out)
{
	static const char *const severities[] = {"info", "major", "critical"};
	CLEANUP_JSON json_t *all = json_array();
	CLEANUP_FREE char *text = NULL;

	(void)rules;
	for (size_t i = 0; i < f->n; i++) {
		const struct scan_finding *x = &f->v[i];
		json_t *j = json_object(), *location = json_object();
		json_t *lines = json_object();
		char print[17];

		report_scan_fingerprint(x, report_scan_nth(f, i), print);
		json_put(j, "description", x->message);
		json_put(j, "check_name", x->rule);
		json_put(j, "fingerprint", print);
		json_put(j, "severity", severities[x->severity]);
		json_put(location, "path", x->path);
		json_put_int(lines, "begin", x->line);
		json_object_set_new(location, "lines", lines);
		json_object_set_new(j, "location", location);
		json_array_append_new(all, j);
	}
	text = json_pretty(all);
	buf_adds(out, text);
}

const struct scan_format scan_github = {"github", "annotations of GitHub Actions",
					write_github};
const struct scan_format scan_rdjsonl = {"rdjsonl", "reviewdog, a line each",
					 write_rdjsonl};
const struct scan_format scan_gitlab = {"gitlab", "GitLab's code quality report",
					write_gitlab};
