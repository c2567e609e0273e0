#include "report/scan.h"

#include "report/escape.h"

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

void report_scan_text(const struct scan_findings *f, struct buf *out)
{
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
