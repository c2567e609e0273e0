#include "cli/cmd.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/terminal.h"
#include "engine/fault.h"
#include "engine/interrupt.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static struct strv classes;
static const char *mode, *call, *replay, *base, *candidate, *diff;
static int points;
static uint64_t time_ms;

static const struct option_row rows[] = {
	{"classes", "C,…", "of calls: memory, file, net, process (all)", OPTION_LIST,
	 &classes, 0, 0},
	{"mode", "MODE",
	 "once; or forever: all later calls of the classes fail, too (once)", OPTION_TEXT,
	 &mode, 0, 0},
	{"call", "NAME", "only this function", OPTION_TEXT, &call, 0, 0},
	{"points", "N", "at most so many points (all)", OPTION_NUMBER, &points, 1,
	 1 << 20},
	{"time", "DUR", "begin no run after that (no limit)", OPTION_DURATION, &time_ms,
	 0, 0},
	{"replay", "KEY", "only the point of that key", OPTION_TEXT, &replay, 0, 0},
	{"base", "REV", "not yet", OPTION_TEXT, &base, 0, 0},
	{"candidate", "REV", "not yet", OPTION_TEXT, &candidate, 0, 0},
	{"diff", "REV", "not yet", OPTION_TEXT, &diff, 0, 0},
	{0},
};

/* ---- text ---- */

/* Past main() there is nothing of the program's. */
static bool is_last(const struct frame *f)
{
	return f->function && !strcmp(f->function, "main");
}

static void add_frame(struct buf *b, const struct frame *f)
{
	if (f->function)
		buf_adds(b, f->function);
	else if (f->module)
		buf_addf(b, "%s+0x%" PRIx64, f->module, f->offset);
	else
		buf_adds(b, "?");
	if (f->file && f->line)
		buf_addf(b, " (%s:%u)", f->file, f->line);
	else if (f->function && f->module)
		buf_addf(b, " (%s)", f->module);
}

/* The wrapper of the call, and a sanitizer's around it. */
static bool is_wrapper(const struct frame *f)
{
	return (f->module && !strncmp(f->module, "exitpath-", 9)) ||
	       (f->function && !strncmp(f->function, "__interceptor_", 14));
}

static void add_frames(struct buf *b, const char *title, const struct leak *l)
{
	for (size_t i = 0; i < l->nframes; i++) {
		if (is_wrapper(&l->frames[i]))
			continue;
		buf_addf(b, "    %-10s ", title);
		title = "";
		add_frame(b, &l->frames[i]);
		buf_addc(b, '\n');
		if (is_last(&l->frames[i]))
			break;
	}
}

static void add_finding(struct buf *b, const struct fault_finding *f)
{
	const char *errname = strerrorname_np(f->errnum);

	buf_addf(b, "\n%s: %s fails with %s", fault_defect_name(f->defect), f->call,
		 errname ? errname : "an error");
	if (f->argument)
		buf_addf(b, " on %s", f->argument);
	buf_addf(b, "\n    %s\n", f->what);
	for (size_t i = 0; i < f->more.n; i++)
		buf_addf(b, "    %s\n", f->more.v[i]);
	add_frames(b, "called by", &f->chain);
	add_frames(b, "acquired", &f->held);
	buf_addf(b, "    replay     %s\n", f->replay);
}

static void add_counts(struct buf *b, const struct fault_report *r)
{
	buf_addf(b, "%zu points of %" PRIu64 " calls, %zu of %zu made to fail, %zu runs",
		 r->points, r->calls, r->explored, r->chosen, r->runs);
	buf_addf(b, ", %.1f s\n", (double)r->wall_us / 1e6);
	if (r->outside)
		buf_addf(
			b,
			"  %zu points of programs outside of the project were left out\n",
			r->outside);
	if (r->missed)
		buf_addf(b, "  %zu points were not reached again\n", r->missed);
	if (r->unconfirmed)
		buf_addf(b, "  %zu defects were not seen a second time\n",
			 r->unconfirmed);
	for (size_t i = 0; i < r->notes.n; i++)
		buf_addf(b, "  %s\n", r->notes.v[i]);
}

static char *as_text(const struct fault_report *r)
{
	struct buf b = {0};

	buf_addf(&b, "fault: %s", outcome_name(r->outcome));
	if (r->nfindings)
		buf_addf(&b, ", %zu finding%s", r->nfindings,
			 r->nfindings > 1 ? "s" : "");
	buf_addf(&b, "%s%s\n", r->why ? ": " : "", r->why ? r->why : "");
	if (r->hint)
		buf_addf(&b, "  next: %s\n", r->hint);
	if (r->points)
		add_counts(&b, r);
	for (size_t i = 0; i < r->nfindings; i++)
		add_finding(&b, &r->findings[i]);
	return buf_detach(&b);
}

/* ---- JSON ---- */

static json_t *frames_json(const struct leak *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->nframes; i++) {
		const struct frame *f = &l->frames[i];
		json_t *j = json_object();

		json_put(j, "function", f->function);
		json_put(j, "module", f->module);
		json_put(j, "file", f->file);
		if (f->line)
			json_put_int(j, "line", f->line);
		json_put_int(j, "offset", (int64_t)f->offset);
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *finding_json(const struct fault_finding *f)
{
	CLEANUP_FREE char *key = xasprintf("%016" PRIx64, f->key);
	json_t *j = json_object(), *more = json_array();

	json_put(j, "defect", fault_defect_name(f->defect));
	json_put(j, "call", f->call);
	json_put(j, "errno", strerrorname_np(f->errnum));
	json_put(j, "argument", f->argument);
	json_put(j, "what", f->what);
	for (size_t i = 0; i < f->more.n; i++)
		json_array_append_new(more, json_text(f->more.v[i]));
	json_object_set_new(j, "more", more);
	json_object_set_new(j, "stack", frames_json(&f->chain));
	json_object_set_new(j, "acquired", frames_json(&f->held));
	json_put(j, "key", key);
	json_put(j, "replay", f->replay);
	return j;
}

static char *as_json(const struct fault_report *r)
{
	CLEANUP_JSON json_t *j = json_object();
	json_t *findings = json_array(), *notes = json_array();

	json_put(j, "outcome", outcome_name(r->outcome));
	json_put(j, "why", r->why);
	json_put_int(j, "points", (int64_t)r->points);
	json_put_int(j, "calls", (int64_t)r->calls);
	json_put_int(j, "chosen", (int64_t)r->chosen);
	json_put_int(j, "explored", (int64_t)r->explored);
	json_put_int(j, "outside", (int64_t)r->outside);
	json_put_int(j, "missed", (int64_t)r->missed);
	json_put_int(j, "unconfirmed", (int64_t)r->unconfirmed);
	json_put_int(j, "runs", (int64_t)r->runs);
	json_put_int(j, "wall_ms", (int64_t)(r->wall_us / 1000));
	json_put_int(j, "cpu_ms", (int64_t)(r->cpu_us / 1000));
	for (size_t i = 0; i < r->notes.n; i++)
		json_array_append_new(notes, json_text(r->notes.v[i]));
	json_object_set_new(j, "notes", notes);
	for (size_t i = 0; i < r->nfindings; i++)
		json_array_append_new(findings, finding_json(&r->findings[i]));
	json_object_set_new(j, "findings", findings);
	return json_pretty(j);
}

/* ---- options ---- */

static int parse_classes(uint32_t *ret, struct err *err)
{
	uint32_t set = 0;

	for (size_t i = 0; i < classes.n; i++) {
		enum fault_class c;

		if (!engine_fault_class(classes.v[i], &c)) {
			err_set(err, ERR_USAGE, "--classes: there is no class `%s`",
				classes.v[i]);
			err_hint(err, "classes are memory, file, net, process");
			return -1;
		}
		if (c == FAULT_CLASS_DATABASE)
			return err_set(err, ERR_USAGE, "--classes db: not yet");
		set |= 1u << c;
	}
	*ret = set ? set : (1u << FAULT_CLASS_DATABASE) - 1;
	return 0;
}

static int refuse_later(struct err *err)
{
	const char *name = base ? "base" : candidate ? "candidate" : diff ? "diff" : NULL;

	if (name)
		return err_set(err, ERR_USAGE, "--%s: not yet", name);
	if (common.format && strcmp(common.format, "json") != 0 &&
	    strcmp(common.format, "text") != 0)
		return err_set(err, ERR_USAGE, "--format %s: not yet; text or json",
			       common.format);
	return 0;
}

static int check(struct fault_opts *opts, char **command, struct err *err)
{
	if (!*command) {
		err_set(err, ERR_USAGE, "which command?");
		err_hint(err, "exitpath fault -- ./tests");
		return -1;
	}
	if (refuse_later(err) < 0 || parse_classes(&opts->classes, err) < 0)
		return -1;
	if (mode && strcmp(mode, "once") != 0 && strcmp(mode, "forever") != 0)
		return err_set(err, ERR_USAGE, "--mode: `%s` is not once or forever",
			       mode);
	opts->forever = mode && !strcmp(mode, "forever");
	if (call && !engine_fault_call(call))
		return err_set(err, ERR_USAGE,
			       "--call: `%s` is no call that can be made "
			       "to fail",
			       call);
	if (replay && !engine_fault_key(replay, &opts->key))
		return err_set(err, ERR_USAGE, "--replay: `%s` is no key of 16 digits",
			       replay);
	return 0;
}

static int fault_with(char **command)
{
	CLEANUP_FREE char *dir = getcwd(NULL, 0), *text = NULL;
	CLEANUP(fault_report) struct fault_report report = {0};
	struct fault_opts opts = {
		.dir = dir,
		.isolation = common.isolation,
		.call = call,
		.points = (unsigned)points,
		.time_ms = time_ms,
		.progress = progress_line(common.quiet),
	};
	struct err err = {0};
	int status;

	if (!dir) {
		err_errno(&err, ERR_ENVIRONMENT, errno, "cannot tell where this is");
		return command_fail(&err);
	}
	if (check(&opts, command, &err) < 0)
		return command_fail(&err);
	interrupt_catch();
	if (engine_fault(&opts, command, &report, &err) < 0) {
		progress_clear();
		return command_fail(&err);
	}
	progress_clear();
	text = common.json || (common.format && !strcmp(common.format, "json"))
		       ? as_json(&report)
		       : as_text(&report);
	status = command_print(text);
	return status ? status : outcome_exit_code(report.outcome);
}

static int run_fault(char **argv)
{
	struct options o = {
		.usage = "exitpath fault [OPTION…] -- COMMAND…",
		.about = "Runs a test that passes, finds each place where a call could "
			 "fail, "
			 "and runs it again for\neach of them with that call failing. "
			 "What "
			 "crashes, hangs, keeps something, leaves a file, or\nsays "
			 "nothing of "
			 "data that was lost, is a defect. Runs are sandboxed; what they "
			 "write "
			 "in the\nproject is thrown away. Durations are 5s or 500ms.\n\n"
			 "Exit status: 0 clean, 20 defects, 30 when the command fails "
			 "without "
			 "a fault, 40 when it\ndiffers from run to run, 50 when calls "
			 "cannot be "
			 "made to fail, as in static programs.",
		.rows = rows,
		.command = true,
	};
	CLEANUP(strv) struct strv operands = {0};
	char **rest;
	int status;

	if (command_start(&o, argv, &operands, &rest, &status))
		status = fault_with(rest);
	strv_release(&classes);
	return status;
}

extern const struct command command_fault;
const struct command command_fault = {
	"fault",
	"make each call that can fail do so, and see whether it is survived",
	run_fault,
};
