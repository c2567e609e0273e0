/*
 * Every report of every outcome against golden/NAME.txt. The results come from the real
 * verdict, so that the files show what a user reads. EXITPATH_UPDATE_GOLDEN=1 rewrites
 * them; read the diff before it is committed.
 */
#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "model/result.h"
#include "report/report.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct held {
	enum resource resource;
	const char *functions[4]; /* innermost first */
	const char *what;
	uint64_t units, bytes;
};

static void hold(struct probe *p, const struct held *h)
{
	struct leak *l = probe_leak(p, h->resource, h->units, h->bytes);

	l->process = xstrdup("worker_test");
	l->what = xstrdup(h->what);
	for (size_t i = 0; i < 4 && h->functions[i]; i++) {
		struct frame *f = leak_frame(l);

		f->function = xstrdup(h->functions[i]);
		f->project = strcmp(f->function, "malloc") != 0;
		f->module = xstrdup(f->project ? "worker_test" : "libasan.so.8");
		f->file = f->project ? xstrdup("src/worker.c") : NULL;
		f->line = f->project ? 41 + 10 * (unsigned)i : 0;
	}
	leak_sign(l);
}

static const struct held
	leak_here = {RESOURCE_HEAP, {"malloc", "leak_here", "work", "main"}, NULL, 1, 40},
	leak_via_a = {RESOURCE_HEAP, {"malloc", "leak_here", "a"}, NULL, 2, 80},
	leak_via_b = {RESOURCE_HEAP, {"malloc", "leak_here", "b"}, NULL, 3, 120},
	old_leak = {RESOURCE_HEAP, {"malloc", "config_load", "main"}, NULL, 2, 96},
	log_fd = {RESOURCE_FD, {NULL}, "data/log.txt", 1, 0},
	epoll_fd = {RESOURCE_FD, {NULL}, "eventpoll", 1, 0};

/* held: in each measured cycle, or in the cycle `only` alone unless that is -1. */
static void observe(struct observation *o, const char *detector, struct run_result run,
		    const struct held *const *held, int only)
{
	o->detector = xstrdup(detector);
	o->version = xstrdup(!strcmp(detector, "lsan") ? "gcc 12.2" : "1");
	for (int i = 0; i < 6; i++) {
		CLEANUP(probe) struct probe p = {0};

		p.state = run.end == RUN_EXITED ? PROBE_COMPLETE : PROBE_INTERRUPTED;
		run.wall_us = run.end == RUN_TIMED_OUT ? 60000000 : 1000;
		for (size_t k = 0; i > 0 && held && held[k]; k++)
			if (only < 0 || only == i)
				hold(&p, held[k]);
		observation_add(o, &run, &p, i > 0);
	}
}

struct scene {
	const char *name;
	const char *detector;
	const struct held *base[4], *candidate[4];
	struct run_result base_run, candidate_run;
	int only; /* candidate holds in this cycle alone; 0: in all */
	bool repairs, suppressed, suite;
};

static const struct scene scenes[] = {
	{.name = "clean", .detector = "lsan", .suite = true},
	{.name = "leak",
	 .detector = "lsan",
	 .base = {&old_leak},
	 .candidate = {&leak_here, &old_leak}},
	{.name = "leak_fd",
	 .detector = "ledger",
	 .base = {&epoll_fd},
	 .candidate = {&log_fd, &epoll_fd}},
	{.name = "behavior_failed",
	 .detector = "lsan",
	 .candidate_run = {.end = RUN_EXITED, .status = 1}},
	{.name = "baseline_invalid",
	 .detector = "lsan",
	 .base = {&old_leak, &leak_here},
	 .candidate = {&old_leak}},
	{.name = "baseline_missing",
	 .detector = "lsan",
	 .base_run = {.end = RUN_NOT_STARTED, .step = "exec", .errnum = ENOENT},
	 .candidate_run = {.end = RUN_NOT_STARTED, .step = "exec", .errnum = ENOENT}},
	{.name = "inconclusive",
	 .detector = "lsan",
	 .candidate = {&leak_here},
	 .only = 2},
	{.name = "hang", .detector = "lsan", .candidate_run = {.end = RUN_TIMED_OUT}},
	{.name = "harness_error",
	 .detector = "lsan",
	 .base_run = {.end = RUN_LOST},
	 .candidate_run = {.end = RUN_EXITED}},
	{.name = "repaired", .detector = "lsan", .base = {&leak_here}, .repairs = true},
	{.name = "one_place", /* three stacks, one line of code */
	 .detector = "lsan",
	 .candidate = {&leak_here, &leak_via_a, &leak_via_b}},
	{.name = "suppressed",
	 .detector = "lsan",
	 .candidate = {&leak_here},
	 .suppressed = true},
};

static void judge(const struct scene *s, struct result *r)
{
	CLEANUP(observation) struct observation base = {0}, candidate = {0};
	struct lifecycle l = {.name = (char[]){"worker_shutdown"},
			      .warmup = 1,
			      .cycles = 5,
			      .repairs = s->repairs};
	struct suppression suppression = {.match = (char[]){"leak:leak_here"}};
	struct leak_case in = {.lifecycle = &l,
			       .base = &base,
			       .candidate = &candidate,
			       .suppressions = &suppression,
			       .nsuppressions = s->suppressed,
			       .today = "2026-11-30",
			       .attempt = s->only ? 3 : 1,
			       .max_attempts = 3,
			       .required = true};
	struct check *c = result_check(r);
	bool skip;

	observe(&base, s->detector, s->base_run, s->base, -1);
	observe(&candidate, s->detector, s->candidate_run, s->candidate,
		s->only ? s->only : -1);
	verdict_leak(&in, c, &skip);
	strv_add(&c->command, "./build/worker_test");
	strv_add(&c->candidate_artifacts,
		 "artifacts/worker_shutdown/lsan/candidate.json");
	if (s->suite) {
		struct run_result ok = {.end = RUN_EXITED};

		verdict_suite(&ok, &ok, result_check(r));
	}
	r->outcome = verdict_overall(r->checks, r->nchecks);
}

static void make_result(const struct scene *s, struct result *r)
{
	r->run_id = xstrdup("run-1042");
	r->command = xstrdup("leak");
	r->started = xstrdup("2026-11-30T20:11:00Z");
	r->duration_us = 842000;
	r->exitpath_version = xstrdup("0.1.0");
	r->config_digest = xstrdup("sha256:7c2f9a");
	r->isolation = xstrdup("sandbox");
	r->limit_tier = xstrdup("cgroup v2");
	r->repository = xstrdup("worker");
	r->base.name = xstrdup("main");
	r->base.commit = xstrdup("1f0e3dad99908345f7439f8ffabdffc4f0a3b2c1");
	r->base.subject = xstrdup("worker: count jobs");
	r->candidate.name = xstrdup("WORKTREE");
	r->candidate.commit = xstrdup("92d3f10d8aa1c24bb1f7d4e0c1d2a3b4c5d6e7f8");
	r->candidate.subject = xstrdup(
		"worker: a subject that is rather longer than a line of a terminal");
	r->setup = xstrdup("make");
	r->suite = xstrdup("make test");
	r->reproduce =
		xstrdup("exitpath leak --base 1f0e3dad9990 --candidate 92d3f10d8aa1 "
			"--setup make --fresh -- ./build/worker_test");
	judge(s, r);
}

static void compare(const char *name, const char *format, const struct buf *got)
{
	CLEANUP_FREE char *path =
		xasprintf("%s/golden/%s.%s", TEST_SOURCE_DIR, name, format);
	CLEANUP(buf) struct buf want = {0};
	struct err err = {0};

	if (getenv("EXITPATH_UPDATE_GOLDEN")) {
		assert_int_equal(write_file(path, got->data, got->len, &err), 0);
		return;
	}
	if (read_file(path, 0, &want, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(buf_str(got), buf_str(&want));
}

/* What holds for every text report. */
static void check_lines(const char *text)
{
	bool last = false;

	for (const char *s = text; *s;) {
		size_t len = strcspn(s, "\n"), columns = 0;

		assert_int_equal(s[len], '\n');
		assert_true(len == 0 || (s[len - 1] != ' ' && s[len - 1] != '\t'));
		for (size_t i = 0; i < len; i++)
			columns += ((unsigned char)s[i] & 0xc0) != 0x80;
		last = !strncmp(s, "reproduce  ", 11);
		/* a command is one line, to be copied */
		if (!last && strncmp(s, "      replay  ", 14) != 0)
			assert_true(columns <= 80);
		s += len + 1;
	}
	assert_true(last);
}

static void golden(const char *name, const char *format, const char *suffix,
		   const struct result *r, struct report_opts opts)
{
	CLEANUP(buf) struct buf out = {0};
	CLEANUP_FREE char *type = xasprintf("%s%s", format, suffix);

	report_format_find(format)->write(r, &opts, &out);
	if (!strcmp(format, "text") && !opts.color)
		check_lines(buf_str(&out));
	compare(name, type, &out);
}

static void every_outcome(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(scenes); i++) {
		CLEANUP(result) struct result r = {0};

		make_result(&scenes[i], &r);
		golden(scenes[i].name, "text", "", &r, (struct report_opts){0});
		golden(scenes[i].name, "packet", ".md", &r, (struct report_opts){0});
	}
}

static void add_fault(struct fault_finding *f, enum fault_defect defect, const char *call,
		      const char *const functions[3])
{
	f->defect = defect;
	f->call = xstrdup(call);
	f->error = xstrdup("ENOSPC");
	f->argument = xstrdup("data/journal.db");
	f->what = xstrdup("nobody was told: exit status and output are as if it had "
			  "worked");
	f->key = 0x36226b0752030873;
	f->replay = xstrdup("exitpath fault --base 1f0e3dad9990 --candidate 92d3f10d8aa1 "
			    "--setup make --replay 36226b0752030873 -- "
			    "./build/worker_test");
	for (size_t i = 0; i < 3; i++) {
		struct frame *frame = leak_frame(&f->chain);

		frame->function = xstrdup(functions[i]);
		frame->module = xstrdup(i ? "worker_test" : "exitpath-fault.so");
		frame->file = i ? xstrdup("src/journal.c") : NULL;
		frame->line = i ? 41 + 10 * (unsigned)i : 0;
		frame->project = i > 0;
	}
	fault_sign(f);
}

/* One that is new, one that base has too, one that is ignored. */
static void faults(void **state)
{
	static const char *const save[] = {"write", "save_journal", "main"},
				 *const load[] = {"malloc", "load_journal", "main"},
				 *const cache[] = {"fsync", "save_cache", "main"};
	const struct suppression ignore = {.match =
						   (char[]){"swallowed:fsync:save_cache"},
					   .reason = (char[]){"the cache is made again"},
					   .owner = (char[]){"@core"}};
	CLEANUP(fault_report) struct fault_report base = {0}, candidate = {0};
	CLEANUP(result) struct result r = {0};
	struct fault_case in = {.target = "worker_shutdown",
				.base = &base,
				.candidate = &candidate,
				.ignore = &ignore,
				.nignore = 1};

	(void)state;
	make_result(&scenes[0], &r);
	candidate.chosen = 40;
	candidate.explored = 38;
	add_fault(fault_report_finding(&base), DEFECT_CRASH, "malloc", load);
	add_fault(fault_report_finding(&candidate), DEFECT_CRASH, "malloc", load);
	add_fault(fault_report_finding(&candidate), DEFECT_SWALLOWED, "write", save);
	add_fault(fault_report_finding(&candidate), DEFECT_SWALLOWED, "fsync", cache);
	verdict_fault(&in, result_check(&r));
	r.outcome = verdict_overall(r.checks, r.nchecks);
	golden("fault", "text", "", &r, (struct report_opts){0});
	golden("fault", "packet", ".md", &r, (struct report_opts){0});
	golden("fault", "packet-json", "", &r, (struct report_opts){0});
}

static void other_forms(void **state)
{
	CLEANUP(result) struct result r = {0}, suppressed = {0};

	(void)state;
	make_result(&scenes[1], &r);
	golden("leak", "text", ".color", &r, (struct report_opts){.color = true});
	golden("leak", "text", ".verbose", &r, (struct report_opts){.verbose = true});
	golden("leak", "json", "", &r, (struct report_opts){0});
	golden("leak", "packet-json", "", &r, (struct report_opts){0});
	make_result(&scenes[11], &suppressed);
	golden("suppressed", "text", ".verbose", &suppressed,
	       (struct report_opts){.verbose = true});
	strv_add(&suppressed.warnings, "the candidate's contract adds the suppression "
				       "leak:leak_here, which base "
				       "does not have");
	golden("warned", "text", "", &suppressed, (struct report_opts){0});
}

/* Text that wants to rewrite the screen, or the reader's mind. */
static void hostile_text(void **state)
{
	static const char evil[] =
		"a\033]0;x\007\r\nclean: ok\t\xe2\x80\xae`#\xff```\n# h";

	(void)state;
	for (size_t k = 0; report_formats[k]; k++) {
		CLEANUP(result) struct result r = {0};
		CLEANUP(buf) struct buf out = {0};
		struct report_opts opts = {.verbose = true};

		make_result(&scenes[1], &r);
		free(r.candidate.subject);
		r.candidate.subject = xstrdup(evil);
		free(r.base.name);
		r.base.name = xstrdup(evil);
		strv_add(&r.warnings, evil);
		strv_add(&r.checks[0].notes, evil);
		free(r.checks[0].target);
		r.checks[0].target = xstrdup(evil);
		free(r.checks[0].detector);
		r.checks[0].detector = xstrdup(evil);
		for (size_t i = 0; i < r.checks[0].nfindings; i++) {
			struct leak *l = &r.checks[0].findings[i].leak;

			free(l->process);
			l->process = xstrdup(evil);
			free(l->frames[1].function);
			l->frames[1].function = xstrdup(evil);
			free(l->frames[1].file);
			l->frames[1].file = xstrdup(evil);
			free(l->signature);
			l->signature = xstrdup(evil);
		}
		report_formats[k]->write(&r, &opts, &out);
		for (size_t i = 0; i < out.len; i++) {
			unsigned char c = (unsigned char)out.data[i];

			assert_true(c >= 0x20 || c == '\n' || c == '\t');
			assert_int_not_equal(c, 0x7f);
			assert_int_not_equal(c, 0xff);
		}
		if (!strcmp(report_formats[k]->name, "packet") ||
		    !strcmp(report_formats[k]->name, "text")) {
			assert_null(strstr(out.data, "\xe2\x80\xae"));
			assert_null(strstr(out.data, "\nclean: ok"));
			assert_null(strstr(out.data, "\n# h"));
		}
	}
}

/* An empty result is a harness error elsewhere; a report must only not crash on it. */
static void empty_results(void **state)
{
	(void)state;
	for (size_t k = 0; report_formats[k]; k++) {
		CLEANUP(result) struct result r = {0}, bare = {0};
		CLEANUP(buf) struct buf out = {0};
		struct report_opts opts = {.verbose = true, .color = true};
		struct finding *f;

		report_formats[k]->write(&r, &opts, &out);
		f = check_finding(result_check(&bare));
		f->leak.units = xcalloc(1, sizeof(uint64_t));
		f->leak.bytes = xcalloc(1, sizeof(uint64_t));
		leak_frame(&f->leak);
		report_formats[k]->write(&bare, &opts, &out);
		assert_true(out.len > 0);
	}
}

static void formats_are_found_by_name(void **state)
{
	(void)state;
	for (size_t k = 0; report_formats[k]; k++) {
		assert_ptr_equal(report_format_find(report_formats[k]->name),
				 report_formats[k]);
		assert_non_null(report_formats[k]->summary);
	}
	assert_null(report_format_find("yaml"));
	assert_null(report_format_find(""));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		HARNESS_TEST(every_outcome), HARNESS_TEST(faults),
		HARNESS_TEST(other_forms),   HARNESS_TEST(hostile_text),
		HARNESS_TEST(empty_results), HARNESS_TEST(formats_are_found_by_name),
	};

	return HARNESS_RUN(tests);
}
