/* For people: each call that failed, what came of it, who made it, how to see it again.
 */
#include "report/fault_text.h"
#include "base/mem.h"
#include "report/escape.h"
#include "report/formats.h"
#include "report/frames.h"

#include <inttypes.h>

static void add_line(struct buf *out, const char *indent, const char *text)
{
	buf_adds(out, indent);
	escape_line(out, text);
	buf_addc(out, '\n');
}

static void add_stack(struct buf *out, const char *indent, const char *title,
		      const struct leak *l)
{
	CLEANUP_FREE char *deeper = xasprintf("%s  ", indent);
	const struct frames_style style = {.indent = deeper, .chain = true};
	CLEANUP(buf) struct buf frames = {0};

	add_frames(&frames, l, &style);
	if (frames.len)
		buf_addf(out, "%s%s\n%s", indent, title, buf_str(&frames));
}

void add_fault_line(struct buf *out, const struct fault_finding *f)
{
	const struct frame *top = leak_top_frame(&f->chain);

	buf_addf(out, "%s: ", fault_defect_name(f->defect));
	escape_line(out, f->call);
	buf_adds(out, " fails with ");
	escape_line(out, f->error ? f->error : "an error");
	if (f->argument) {
		buf_adds(out, " on ");
		escape_line(out, f->argument);
	}
	if (!top || !top->function)
		return;
	buf_adds(out, " in ");
	escape_line(out, top->function);
	if (!top->file || !top->line)
		return;
	buf_adds(out, " (");
	escape_line(out, top->file);
	buf_addf(out, ":%u)", top->line);
}

/* width 0: on one line, however long. */
static void add_wrapped(struct buf *out, const char *indent, const char *text,
			size_t width)
{
	CLEANUP_FREE char *shown = escaped(text);

	wrap_text(out, shown, indent, 2, width ? width : SIZE_MAX);
}

void add_fault_finding(struct buf *out, const struct fault_finding *f, const char *indent,
		       size_t width)
{
	for (size_t i = 0; i <= f->more.n; i++)
		add_wrapped(out, indent, i ? f->more.v[i - 1] : f->what, width);
	add_stack(out, indent, "called by", &f->chain);
	add_stack(out, indent, "acquired in", &f->held);
	buf_addf(out, "%sreplay  ", indent);
	escape_lines(out, f->replay);
	buf_addc(out, '\n');
}

static void add_counts(struct buf *out, const struct fault_report *r)
{
	buf_addf(out, "%zu points of %" PRIu64 " calls, %zu of %zu made to fail",
		 r->points, r->calls, r->explored, r->chosen);
	buf_addf(out, ", %zu runs, %.1f s\n", r->runs, (double)r->wall_us / 1e6);
	if (r->forked)
		buf_addf(out,
			 "  %zu points in forks of one run, %zu by runs of their own\n",
			 r->forked, r->rerun);
	if (r->outside)
		buf_addf(out,
			 "  %zu points of programs outside of the project were left "
			 "out\n",
			 r->outside);
	if (r->known)
		buf_addf(out, "  %zu of them in an earlier run, which was cut short\n",
			 r->known);
	if (r->near)
		buf_addf(out, "  %zu of them in files that changed, which came first\n",
			 r->near);
	if (r->missed)
		buf_addf(out, "  %zu points were not reached again\n", r->missed);
	if (r->unconfirmed)
		buf_addf(out, "  %zu defects were not seen a second time\n",
			 r->unconfirmed);
	for (size_t i = 0; i < r->notes.n; i++)
		add_line(out, "  ", r->notes.v[i]);
}

static void add_ignored(struct buf *out, const struct fault_finding *f)
{
	buf_adds(out, "\nignored by ");
	escape_line(out, f->ignored_by);
	buf_adds(out, " (");
	escape_line(out, f->reason);
	buf_adds(out, "): ");
	add_fault_line(out, f);
	buf_addc(out, '\n');
}

static void write_text(const struct fault_report *r, const struct report_opts *opts,
		       struct buf *out)
{
	(void)opts;
	buf_addf(out, "fault: %s", outcome_name(r->outcome));
	if (r->nfindings)
		buf_addf(out, ", %zu finding%s", r->nfindings,
			 r->nfindings > 1 ? "s" : "");
	if (r->why) {
		buf_adds(out, ": ");
		escape_line(out, r->why);
	}
	buf_addc(out, '\n');
	if (r->hint)
		add_line(out, "  next: ", r->hint);
	if (r->points)
		add_counts(out, r);
	for (size_t i = 0; i < r->nfindings; i++) {
		buf_addc(out, '\n');
		add_fault_line(out, &r->findings[i]);
		buf_addc(out, '\n');
		add_fault_finding(out, &r->findings[i], "    ", 0);
	}
	for (size_t i = 0; i < r->nignored; i++)
		add_ignored(out, &r->ignored[i]);
	if (r->run_id)
		buf_addf(out, "\nevidence   %s\n", r->run_id);
}

const struct fault_format fault_text = {"text", write_text};
