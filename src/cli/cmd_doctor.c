#include "cli/cmd.h"
#include "cli/terminal.h"

#include "base/buf.h"
#include "base/json.h"
#include "engine/doctor.h"
#include "engine/interrupt.h"
#include "model/outcome.h"

static json_t *doctor_json(const struct doctor *d)
{
	json_t *all = json_array();

	for (size_t i = 0; i < d->nrows; i++) {
		json_t *j = json_object();

		json_put(j, "detector", d->rows[i].name);
		json_put(j, "summary", d->rows[i].summary);
		json_put(j, "version", d->rows[i].version);
		json_put_bool(j, "works", d->rows[i].works);
		json_put(j, "detail", d->rows[i].detail);
		json_put(j, "install", d->rows[i].install);
		json_array_append_new(all, j);
	}
	return all;
}

static void doctor_text(const struct doctor *d, struct buf *out)
{
	for (size_t i = 0; i < d->nrows; i++) {
		const struct doctor_row *r = &d->rows[i];

		buf_addf(out, "%-10s %-6s %s%s%s\n", r->name,
			 r->works ? "works" : "MISSES", r->summary,
			 r->version ? ", " : "", r->version ? r->version : "");
		if (r->detail)
			buf_addf(out, "           why: %s\n", r->detail);
		if (r->install)
			buf_addf(out, "           next: %s\n", r->install);
	}
	buf_adds(out,
		 "isolation  none   runs are timed, capped and killed as a tree, not "
		 "sandboxed\n");
}

static int run_doctor(char **argv)
{
	struct options o = {
		.usage = "exitpath doctor",
		.about = "Which detectors work on this machine, proved by running a "
			 "planted leak "
			 "under each.\nExit status 0 when at least one works, else 50.",
	};
	CLEANUP(strv) struct strv operands = {0};
	CLEANUP(buf) struct buf text = {0};
	struct doctor d = {0};
	struct err err = {0};
	char **rest;
	int status, rc, works = 0;

	if (!command_start(&o, argv, &operands, &rest, &status))
		return status;
	interrupt_catch();
	rc = engine_doctor(progress_line(common.quiet), &d, &err);
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
	doctor_release(&d);
	if (rc < 0)
		return command_fail(&err);
	status = command_print(buf_str(&text));
	return status ? status : works ? 0 : outcome_exit_code(OUTCOME_HARNESS_ERROR);
}

const struct command command_doctor = {
	"doctor",
	"which detectors work here, proved by their canaries",
	run_doctor,
};
