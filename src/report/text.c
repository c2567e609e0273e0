/*
 * For people at a terminal: the outcome first, what is held and since where, and last
 * the one command that shows it again. A clean result is short.
 */
#include "base/mem.h"
#include "model/phrase.h"
#include "report/escape.h"
#include "report/fault_text.h"
#include "report/formats.h"
#include "report/frames.h"
#include "report/series.h"

#include <stdio.h>
#include <string.h>

enum { FRAMES_SHOWN = 3, FINDINGS_SHOWN = 10, COMMIT_DIGITS = 10 };

#define RED "31"
#define GREEN "32"
#define YELLOW "33"

struct printer {
	const struct report_opts *opts;
	struct buf *out;
	size_t width;
};

static const char *outcome_color(enum outcome o)
{
	switch (o) {
	case OUTCOME_CLEAN:
		return GREEN;
	case OUTCOME_INCONCLUSIVE:
	case OUTCOME_BASELINE_INVALID:
		return YELLOW;
	case OUTCOME_HARNESS_ERROR:
	case OUTCOME_REJECTED:
	case OUTCOME_BEHAVIOR_FAILED:
	case OUTCOME_DEFECT:
	case OUTCOME_LEAK:
		return RED;
	}
	return RED;
}

/* s comes from exitpath itself. */
static void add_styled(const struct printer *p, const char *sgr, const char *s)
{
	if (p->opts->color)
		buf_addf(p->out, "\033[%sm%s\033[0m", sgr, s);
	else
		buf_adds(p->out, s);
}

static void add_outcome(const struct printer *p, enum outcome o)
{
	char sgr[8];

	snprintf(sgr, sizeof(sgr), "1;%s", outcome_color(o));
	add_styled(p, sgr, outcome_name(o));
}

static void add_spaces(struct buf *out, size_t n)
{
	while (n-- > 0)
		buf_addc(out, ' ');
}

/* Wraps foreign text; its label hangs out. */
static void add_paragraph(const struct printer *p, const char *indent, const char *label,
			  const char *s)
{
	CLEANUP(buf) struct buf text = {0};

	buf_adds(&text, label);
	escape_line(&text, s);
	wrap_text(p->out, buf_str(&text), indent, strlen(label), p->width);
}

/* "leak: worker_shutdown (lsan, ledger), suite". */
static void add_headline(const struct printer *p, const struct result *r)
{
	const char *last = NULL;
	size_t targets = 0;

	add_outcome(p, r->outcome);
	for (size_t i = 0; i < r->nchecks; i++) {
		const struct check *c = &r->checks[i];

		if (c->outcome != r->outcome || !c->target)
			continue;
		if (last && !strcmp(last, c->target))
			continue;
		last = c->target;
		if (targets++ == 3) {
			buf_adds(p->out, ", ...");
			break;
		}
		buf_adds(p->out, targets == 1 ? ": " : ", ");
		escape_line(p->out, c->target);
	}
	buf_addc(p->out, '\n');
}

static void add_series(const struct printer *p, const char *label, const uint64_t *units,
		       size_t n, uint64_t max)
{
	buf_addf(p->out, "      %-11s", label);
	if (p->opts->color) {
		series_bars(p->out, units, n, max);
		buf_adds(p->out, "  ");
	}
	series_plain(p->out, units, n);
	buf_addc(p->out, '\n');
}

static void add_both_series(const struct printer *p, const struct check *c,
			    const struct finding *f)
{
	uint64_t max = series_max(f->leak.units, f->ncycles), base;

	base = f->base_units ? series_max(f->base_units, f->nbase) : 0;
	max = base > max ? base : max;
	if (f->class == FINDING_REPAIRED)
		add_series(p, "candidate", NULL, c->candidate_cycles, max);
	else
		add_series(p, "candidate", f->leak.units, f->ncycles, max);
	add_series(p, "base", f->base_units, f->base_units ? f->nbase : c->base_cycles,
		   max);
}

static char *finding_line(const struct finding *f)
{
	CLEANUP_FREE char *units = phrase_units(&f->leak, f->ncycles),
			  *place = phrase_place(&f->leak);

	return xasprintf("%s%s%s%s%s%s", units, place,
			 f->leak.process ? ", held by " : "",
			 f->leak.process ? f->leak.process : "",
			 f->suppressed_by ? ", suppressed by " : "",
			 f->suppressed_by ? f->suppressed_by : "");
}

static void add_finding(const struct printer *p, const struct check *c,
			const struct finding *f, bool in_full)
{
	CLEANUP_FREE char *line = finding_line(f);

	add_paragraph(p, "    ", in_full ? "" : "- ", line);
	if (!in_full && !p->opts->verbose)
		return;
	add_both_series(p, c, f);
	add_frames(p->out, &f->leak,
		   &(struct frames_style){"      ", p->opts->verbose ? 0 : FRAMES_SHOWN,
					  false});
}

static const struct {
	enum finding_class class;
	const char *heading;
	bool in_full, verbose; /* with series and frames; only with --verbose */
} groups[] = {
	{FINDING_NEW, "new on the candidate, units per cycle:", true, false},
	{FINDING_INTERMITTENT, "in some cycles only:", true, false},
	{FINDING_INHERITED, "inherited, base leaks them as well:", false, false},
	{FINDING_REPAIRED, "leaked by base, gone on the candidate:", false, false},
	{FINDING_SUPPRESSED, "suppressed by the contract:", false, true},
	{FINDING_LEARNED, "held on base too, the normal level:", false, true},
};

/* Of the findings that are shown, does one name this place already? */
static bool is_shown(const struct finding *const *shown, size_t n,
		     const struct finding *f)
{
	CLEANUP_FREE char *place = phrase_place(&f->leak);

	for (size_t i = 0; i < n && *place; i++) {
		CLEANUP_FREE char *other = phrase_place(&shown[i]->leak);

		if (!strcmp(place, other))
			return true;
	}
	return false;
}

/* Many stacks that lead to one place are, mostly, one defect: the first, which holds
 * most, stands for them. */
static void add_group(const struct printer *p, const struct check *c, size_t group)
{
	const struct finding *shown[FINDINGS_SHOWN];
	size_t n = 0, nshown = 0, other = 0;

	for (size_t i = 0; i < c->nfindings; i++) {
		const struct finding *f = &c->findings[i];

		if (f->class != groups[group].class)
			continue;
		if (n++ == 0)
			buf_addf(p->out, "  %s\n", groups[group].heading);
		if (p->opts->verbose) {
			add_finding(p, c, f, groups[group].in_full);
		} else if (!is_shown(shown, nshown, f)) {
			if (nshown == FINDINGS_SHOWN) {
				other++;
				continue;
			}
			shown[nshown++] = f;
			add_finding(p, c, f, groups[group].in_full);
		}
	}
	if (p->opts->verbose || n == nshown)
		return;
	if (n > nshown + other)
		buf_addf(p->out, "    %zu more lead%s to the same place%s%s\n",
			 n - nshown - other, n - nshown - other == 1 ? "s" : "",
			 nshown == 1 ? "" : "s", other ? "" : "; --verbose shows them");
	if (other)
		buf_addf(p->out, "    and %zu more; --verbose shows them\n", other);
}

static const struct {
	enum finding_class class;
	const char *heading;
	bool in_full;
} fault_groups[] = {
	{FINDING_NEW, "not survived on the candidate:", true},
	{FINDING_INTERMITTENT, "in some runs only:", true},
	{FINDING_INHERITED, "inherited, not survived on base either:", false},
	{FINDING_REPAIRED, "not survived on base, but on the candidate:", false},
	{FINDING_SUPPRESSED, "ignored by the contract:", false},
};

static void add_fault(const struct printer *p, const struct check_fault *f, bool in_full)
{
	CLEANUP(buf) struct buf line = {0};

	add_fault_line(&line, &f->fault);
	if (f->fault.ignored_by)
		buf_addf(&line, ", by %s (%s)", f->fault.ignored_by,
			 f->fault.reason ? f->fault.reason : "?");
	add_paragraph(p, "    ", in_full ? "" : "- ", buf_str(&line));
	if (in_full || p->opts->verbose)
		add_fault_finding(p->out, &f->fault, "      ", p->width);
}

static void add_faults(const struct printer *p, const struct check *c, size_t group)
{
	size_t n = 0, limit = p->opts->verbose ? SIZE_MAX : FINDINGS_SHOWN;

	for (size_t i = 0; i < c->nfaults; i++) {
		if (c->faults[i].class != fault_groups[group].class)
			continue;
		if (n == 0)
			buf_addf(p->out, "  %s\n", fault_groups[group].heading);
		if (n++ < limit)
			add_fault(p, &c->faults[i], fault_groups[group].in_full);
	}
	if (n > limit)
		buf_addf(p->out, "    and %zu more; --verbose shows them\n", n - limit);
}

static const struct {
	const char *heading;
	bool blocks, justified;
} remark_groups[] = {
	{"what blocks:", true, false},
	{"worth a look:", false, false},
	{"passes, with reason, owner and date:", false, true},
};

static void add_remark(const struct printer *p, const struct remark *r)
{
	CLEANUP(buf) struct buf place = {0};

	buf_addf(&place, "%s", r->path);
	if (r->line)
		buf_addf(&place, ":%u", r->line);
	buf_addf(&place, "%s: %s [%s]", r->on_base ? " (base)" : "", r->message, r->rule);
	add_paragraph(p, "    ", "", buf_str(&place));
	if (r->excerpt)
		add_paragraph(p, "      ", "> ", r->excerpt);
	for (size_t i = 0; i < r->steps.n; i++)
		add_paragraph(p, "      ", "line ", r->steps.v[i]);
	if (r->justification)
		add_paragraph(p, "      ", "justified: ", r->justification);
}

static void add_remarks(const struct printer *p, const struct check *c, size_t group)
{
	size_t n = 0, limit = p->opts->verbose ? SIZE_MAX : FINDINGS_SHOWN;

	for (size_t i = 0; i < c->nremarks; i++) {
		const struct remark *r = &c->remarks[i];

		if (r->blocks != remark_groups[group].blocks ||
		    !!r->justification != remark_groups[group].justified)
			continue;
		if (n == 0)
			buf_addf(p->out, "  %s\n", remark_groups[group].heading);
		if (n++ < limit)
			add_remark(p, r);
	}
	if (n > limit)
		buf_addf(p->out, "    and %zu more; --verbose shows them\n", n - limit);
}

static size_t count_faults(const struct check *c, enum finding_class class)
{
	size_t n = 0;

	for (size_t i = 0; i < c->nfaults; i++)
		n += c->faults[i].class == class;
	return n;
}

static size_t count_class(const struct check *c, enum finding_class class)
{
	size_t n = 0;

	for (size_t i = 0; i < c->nfindings; i++)
		n += c->findings[i].class == class;
	return n;
}

static void add_check(const struct printer *p, const struct check *c)
{
	buf_addc(p->out, '\n');
	escape_line(p->out, c->target);
	if (c->detector) {
		buf_adds(p->out, " under ");
		escape_line(p->out, c->detector);
	}
	buf_adds(p->out, ": ");
	add_outcome(p, c->outcome);
	buf_addc(p->out, '\n');
	if (c->explanation)
		add_paragraph(p, "  ", "", c->explanation);
	for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
		if (!groups[g].verbose || p->opts->verbose)
			add_group(p, c, g);
	for (size_t g = 0; g < ARRAY_SIZE(fault_groups); g++)
		add_faults(p, c, g);
	for (size_t g = 0; g < ARRAY_SIZE(remark_groups); g++)
		add_remarks(p, c, g);
	for (size_t i = 0; i < c->notes.n; i++)
		add_paragraph(p, "  ", "note: ", c->notes.v[i]);
	if (c->next)
		add_paragraph(p, "  ", "next: ", c->next);
}

static bool has_section(const struct printer *p, const struct check *c)
{
	return c->outcome != OUTCOME_CLEAN || c->notes.n > 0 || c->nfaults > 0 ||
	       c->nremarks > 0 || count_class(c, FINDING_REPAIRED) ||
	       count_class(c, FINDING_INTERMITTENT) || (p->opts->verbose && c->nfindings);
}

/* What a row of the table says; all escaped. */
struct row {
	char *cells[4];
};
enum { CELL_TARGET, CELL_DETECTOR, CELL_CYCLES, CELL_REMARK };

static void make_row(const struct check *c, struct row *r)
{
	size_t suppressed = count_class(c, FINDING_SUPPRESSED);
	size_t ignored = count_faults(c, FINDING_SUPPRESSED);
	size_t learned = count_class(c, FINDING_LEARNED);
	CLEANUP(buf) struct buf detector = {0}, remark = {0};

	escape_line(&detector, c->detector ? c->detector : "-");
	if (c->version) {
		buf_addc(&detector, ' ');
		escape_line(&detector, c->version);
	}
	if (c->attempt > 1)
		buf_addf(&remark, "  attempt %u", c->attempt);
	if (c->base_reused)
		buf_adds(&remark, "  base reused");
	if (suppressed)
		buf_addf(&remark, "  %zu suppressed", suppressed);
	if (ignored)
		buf_addf(&remark, "  %zu ignored", ignored);
	if (learned)
		buf_addf(&remark, "  %zu as on base", learned);
	r->cells[CELL_TARGET] = escaped(c->target ? c->target : "-");
	r->cells[CELL_DETECTOR] = buf_detach(&detector);
	r->cells[CELL_CYCLES] =
		c->candidate_cycles || c->base_cycles
			? xasprintf("%u+%zu", c->warmup, c->candidate_cycles)
			: xstrdup("-");
	r->cells[CELL_REMARK] = buf_detach(&remark);
}

static void add_row(const struct printer *p, const struct check *c, const struct row *r,
		    const size_t widths[3])
{
	size_t columns = strlen(outcome_name(c->outcome));

	for (size_t k = 0; k < 3; k++) {
		buf_adds(p->out, r->cells[k]);
		add_spaces(p->out, widths[k] + 2 - text_columns(r->cells[k]));
		columns += widths[k] + 2;
	}
	add_outcome(p, c->outcome);
	if (columns + text_columns(r->cells[CELL_REMARK]) > p->width)
		buf_addc(p->out, '\n');
	buf_addf(p->out, "%s\n", r->cells[CELL_REMARK]);
}

static void add_table(const struct printer *p, const struct result *r)
{
	static const char *const heads[] = {"check", "detector", "cycles"};
	CLEANUP_FREE struct row *rows = xcalloc(r->nchecks, sizeof(*rows));
	size_t widths[3];

	for (size_t k = 0; k < 3; k++)
		widths[k] = strlen(heads[k]);
	for (size_t i = 0; i < r->nchecks; i++) {
		make_row(&r->checks[i], &rows[i]);
		for (size_t k = 0; k < 3; k++)
			if (text_columns(rows[i].cells[k]) > widths[k])
				widths[k] = text_columns(rows[i].cells[k]);
	}
	buf_addc(p->out, '\n');
	for (size_t k = 0; k < 3; k++)
		buf_addf(p->out, "%-*s  ", (int)widths[k], heads[k]);
	buf_adds(p->out, "outcome\n");
	for (size_t i = 0; i < r->nchecks; i++) {
		add_row(p, &r->checks[i], &rows[i], widths);
		for (size_t k = 0; k < ARRAY_SIZE(rows[i].cells); k++)
			free(rows[i].cells[k]);
	}
}

/* Cuts escaped text to n columns, at a character, with "..." at its end. */
static char *cut_columns(const char *s, size_t n)
{
	size_t columns = 0, len = 0;

	if (text_columns(s) <= n || n < 3)
		return xstrdup(s);
	while (columns + 3 < n || ((unsigned char)s[len] & 0xc0) == 0x80)
		columns += ((unsigned char)s[++len] & 0xc0) != 0x80;
	while (len && s[len - 1] == ' ')
		len--;
	return xasprintf("%.*s...", (int)len, s);
}

static void add_revision(const struct printer *p, const char *label,
			 const struct revision_info *rev)
{
	CLEANUP(buf) struct buf line = {0};
	CLEANUP_FREE char *text = NULL;

	buf_addf(&line, "%-11s%.*s", label, COMMIT_DIGITS,
		 rev->commit ? rev->commit : "-");
	if (rev->name) {
		buf_adds(&line, " (");
		escape_line(&line, rev->name);
		buf_addc(&line, ')');
	}
	if (rev->subject && *rev->subject) {
		buf_addc(&line, ' ');
		escape_line(&line, rev->subject);
	}
	while (line.data[line.len - 1] == ' ')
		line.data[--line.len] = '\0';
	text = cut_columns(line.data, p->width);
	buf_addf(p->out, "%s\n", text);
}

static void write_text(const struct result *r, const struct report_opts *opts,
		       struct buf *out)
{
	const struct printer p = {opts, out, opts->width ? opts->width : 80};

	add_headline(&p, r);
	for (size_t i = 0; i < r->nchecks; i++)
		if (has_section(&p, &r->checks[i]))
			add_check(&p, &r->checks[i]);
	if (r->warnings.n)
		buf_addc(out, '\n');
	for (size_t i = 0; i < r->warnings.n; i++)
		add_paragraph(&p, "", "warning: ", r->warnings.v[i]);
	add_table(&p, r);
	buf_addc(out, '\n');
	add_revision(&p, "base", &r->base);
	add_revision(&p, "candidate", &r->candidate);
	if (opts->verbose && r->isolation) {
		buf_adds(out, "isolation  ");
		escape_line(out, r->isolation);
		if (r->limit_tier && strcmp(r->limit_tier, "none") != 0) {
			buf_adds(out, ", limits by ");
			escape_line(out, r->limit_tier);
		}
		buf_addc(out, '\n');
	}
	if (r->run_id) {
		buf_adds(out, "evidence   ");
		escape_line(out, r->run_id);
		buf_addc(out, '\n');
	}
	if (r->reproduce) {
		buf_adds(out, "reproduce  ");
		escape_lines(out, r->reproduce);
		buf_addc(out, '\n');
	}
}

const struct report_format report_text = {
	.name = "text",
	.summary = "for people: what is held, since where, and how to see it again",
	.write = write_text,
};
