#include "cli/cmd.h"
#include "cli/terminal.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "engine/doctor.h"
#include "engine/interrupt.h"
#include "model/outcome.h"

static json_t *list_json(const struct strv *s)
{
	json_t *j = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(j, json_text(s->v[i]));
	return j;
}

static json_t *isolation_json(const struct doctor *d)
{
	json_t *j = json_object();

	json_put(j, "isolation", "sandbox");
	json_put_bool(j, "works", d->sandbox_works);
	json_put(j, "detail", d->sandbox_why);
	json_put(j, "install", d->sandbox_next);
	json_object_set_new(j, "namespaces", list_json(&d->namespaces));
	json_object_set_new(j, "missing_namespaces", list_json(&d->missing));
	json_put_int(j, "landlock_abi", d->landlock);
	json_put(j, "limit_tier", limit_tier_name(d->tier));
	json_put(j, "limit_tier_detail", d->tier_why);
	return j;
}

/* The detectors first, each with "detector"; then one with "isolation". */
static json_t *doctor_json(const struct doctor *d)
{
	json_t *all = json_array();

	for (size_t i = 0; i < d->nrows; i++) {
		json_t *j = json_object();

		json_put(j, "detector", d->rows[i].name);
		json_put(j, "summary", d->rows[i].summary);
		json_put(j, "version", d->rows[i].version);
		json_put_bool(j, "works", d->rows[i].works);
		json_put_bool(j, "untried", d->rows[i].untried);
		json_put(j, "detail", d->rows[i].detail);
		json_put(j, "install", d->rows[i].install);
		json_array_append_new(all, j);
	}
	json_array_append_new(all, isolation_json(d));
	return all;
}

static void add_why(struct buf *out, const char *why, const char *next)
{
	if (why)
		buf_addf(out, "           why: %s\n", why);
	if (next)
		buf_addf(out, "           next: %s\n", next);
}

static void isolation_text(const struct doctor *d, struct buf *out)
{
	CLEANUP_FREE char *has = strv_join(&d->namespaces, " ");
	CLEANUP_FREE char *misses = strv_join(&d->missing, " ");

	buf_addf(out, "%-10s %-6s namespaces %s%s%s, ", "sandbox",
		 d->sandbox_works ? "works" : "MISSES", d->namespaces.n ? has : "none",
		 d->missing.n ? ", without " : "", misses);
	if (d->landlock)
		buf_addf(out, "Landlock %d\n", d->landlock);
	else
		buf_adds(out, "no Landlock\n");
	add_why(out, d->sandbox_why, d->sandbox_next);
	buf_addf(out, "%-10s %-6s memory and processes are capped by %s\n", "limits",
		 d->tier == TIER_NONE ? "MISSES" : "works", limit_tier_name(d->tier));
	add_why(out, d->tier_why, NULL);
}

static void doctor_text(const struct doctor *d, struct buf *out)
{
	for (size_t i = 0; i < d->nrows; i++) {
		const struct doctor_row *r = &d->rows[i];

		buf_addf(out, "%-10s %-6s %s%s%s\n", r->name,
			 r->works     ? "works"
			 : r->untried ? "-"
				      : "MISSES",
			 r->summary, r->version ? ", " : "",
			 r->version ? r->version : "");
		add_why(out, r->detail, r->install);
	}
	isolation_text(d, out);
}

static const char *pg;

static const struct option_row rows[] = {
	{"pg", "URL",
	 "PostgreSQL server to prove pg by, or '$NAME' of a variable with it",
	 OPTION_TEXT, &pg, 0, 0},
	{0},
};

static int run_doctor(char **argv)
{
	struct options o = {
		.rows = rows,
		.usage = "exitpath doctor [OPTION…]",
		.about = "Which detectors work on this machine, proved by running a "
			 "planted leak under each,\nand whether runs can be sandboxed. "
			 "Exit status 0 when at least one detector works and\nthe "
			 "isolation that is asked for can be had, else 50.",
	};
	CLEANUP(strv) struct strv operands = {0};
	CLEANUP(buf) struct buf text = {0};
	struct doctor d = {0};
	struct err err = {0};
	char **rest;
	int status, rc, works = 0;
	bool isolated;

	if (!command_start(&o, argv, &operands, &rest, &status))
		return status;
	interrupt_catch();
	rc = engine_doctor(&(struct doctor_opts){.isolation = common.isolation,
						 .server = pg,
						 .contract = common.contract},
			   progress_line(common.quiet), &d, &err);
	progress_clear();
	for (size_t i = 0; i < d.nrows; i++)
		works += d.rows[i].works;
	if (common.json) {
		CLEANUP_JSON json_t *j = doctor_json(&d);
		CLEANUP_FREE char *pretty = json_pretty(j);

		buf_adds(&text, pretty);
	} else {
		doctor_text(&d, &text);
	}
	isolated = d.sandbox_works || common.isolation == ISOLATION_NONE;
	doctor_release(&d);
	if (rc < 0)
		return command_fail(&err);
	status = command_print(buf_str(&text));
	if (status || (works && isolated))
		return status;
	return outcome_exit_code(OUTCOME_HARNESS_ERROR);
}

const struct command command_doctor = {
	"doctor",
	"which detectors work here, proved by their canaries",
	run_doctor,
};
