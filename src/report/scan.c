#include "report/scan.h"

#include "base/hash.h"
#include "report/escape.h"

#include <string.h>

static void add_text(const struct scan_finding *f, struct buf *out)
{
	escape_line(out, f->path);
	buf_addf(out, ":%u:%u: ", f->line, f->column);
	escape_line(out, f->message);
	buf_addf(out, " [%s]\n", f->rule);
	if (f->excerpt) {
		buf_adds(out, "    > ");
		escape_line(out, f->excerpt);
		buf_addc(out, '\n');
	}
	for (size_t i = 0; i < f->nsteps; i++) {
		buf_addf(out, "    %5u  ", f->steps[i].line);
		escape_line(out, f->steps[i].text);
		buf_addc(out, '\n');
	}
}

static void write_text(const struct scan_findings *f, const struct scan_rules *rules,
		       struct buf *out)
{
	(void)rules;
	for (size_t i = 0; i < f->n; i++) {
		add_text(&f->v[i], out);
		buf_addc(out, '\n');
	}
}

static json_t *finding_json(const struct scan_finding *f)
{
	json_t *j = json_object(), *steps = json_array();
	char shape[2] = {scan_shape_letter(f->shape), '\0'};

	json_put(j, "rule", f->rule);
	json_put(j, "shape", shape);
	json_put(j, "severity", scan_severity_name(f->severity));
	json_put(j, "path", f->path);
	json_put_int(j, "line", f->line);
	json_put_int(j, "column", f->column);
	json_put_int(j, "end_line", f->end_line);
	json_put_int(j, "end_column", f->end_column);
	json_put(j, "function", f->function);
	json_put(j, "message", f->message);
	for (size_t i = 0; i < f->nsteps; i++) {
		json_t *step = json_object();

		json_put_int(step, "line", f->steps[i].line);
		json_put(step, "text", f->steps[i].text);
		json_array_append_new(steps, step);
	}
	json_object_set_new(j, "steps", steps);
	return j;
}

json_t *report_scan_json(const struct scan_findings *f)
{
	json_t *all = json_array();

	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(all, finding_json(&f->v[i]));
	return all;
}

const struct scan_format scan_text = {"text", "for people: place, way, excerpt",
				      write_text};

const struct scan_format *const scan_formats[] = {
	&scan_text, &scan_sarif, &scan_github, &scan_rdjsonl, &scan_gitlab, NULL};

const struct scan_format *scan_format_find(const char *name)
{
	for (size_t i = 0; scan_formats[i]; i++)
		if (!strcmp(scan_formats[i]->name, name))
			return scan_formats[i];
	return NULL;
}

/* ---- fingerprints ---- */

static bool is_alike(const struct scan_finding *a, const struct scan_finding *b)
{
	return !strcmp(a->rule, b->rule) && !strcmp(a->path, b->path) &&
	       !strcmp(a->excerpt ? a->excerpt : "", b->excerpt ? b->excerpt : "") &&
	       !strcmp(a->function ? a->function : "", b->function ? b->function : "");
}

unsigned report_scan_nth(const struct scan_findings *f, size_t i)
{
	unsigned n = 1;

	for (size_t j = i; j-- > 0 && !strcmp(f->v[j].path, f->v[i].path);)
		n += is_alike(&f->v[j], &f->v[i]);
	return n;
}

void report_scan_fingerprint(const struct scan_finding *f, unsigned nth, char ret[17])
{
	struct sha256 *h = sha256_new();
	char hex[SHA256_HEX];

	sha256_add_field(h, f->rule);
	sha256_add_field(h, f->path);
	sha256_add_field(h, f->function ? f->function : "");
	sha256_add_field(h, f->excerpt ? f->excerpt : "");
	sha256_add(h, &nth, sizeof(nth));
	sha256_finish(h, hex);
	memcpy(ret, hex, 16);
	ret[16] = '\0';
}
