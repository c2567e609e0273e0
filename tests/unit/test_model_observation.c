#include "harness.h"

#include "base/mem.h"
#include "model/observation.h"

#include <limits.h>
#include <string.h>

static void targets_keep_what_is_stable(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"", ""},
		{"data/log.txt", "data/log.txt"},
		{"/usr/lib/locale/C.utf8", "/usr/lib/locale/C.utf8"},
		{"/tmp/foo.Ab3xYz", "/tmp/foo.*"},
		{"/tmp/fooAb3xYz", "/tmp/foo*"},
		{"/tmp/foo.QwErTy.log", "/tmp/foo.*.log"},
		{"/tmp/tmpab12_d3f", "/tmp/tmp*"},
		{"/tmp/tmpabcdefgh", "/tmp/tmp*"},
		{"/tmp/my-socket", "/tmp/my-socket"},
		{"/tmp/Server", "/tmp/Server"},
		{"/tmp/pytest-of-root/pytest-12/out", "/tmp/pytest-of-root/pytest-*/out"},
		{"/var/tmp/x/job7", "/var/tmp/x/job*"},
		{"/tmp/#12345 (deleted)", "/tmp/#* (deleted)"},
		{"/tmp/my file.Ab3xYz", "/tmp/my file.*"},
		{"$TMPDIR/exitpathQx81ab", "$TMPDIR/exitpath*"},
		{"/dev/shm/sem.Ab3xYz", "/dev/shm/sem.*"},
		{"socket:[48211]", "socket:[*]"},
		{"pipe:[7]", "pipe:[*]"},
		{"anon_inode:[eventpoll]", "anon_inode:[eventpoll]"},
		{"anon_inode:inotify", "anon_inode:inotify"},
		{"/memfd:wayland-812 (deleted)", "/memfd:wayland-* (deleted)"},
		{"/memfd:buf7 (deleted)", "/memfd:buf* (deleted)"},
		{"/proc/8121/fd/3", "/proc/*/fd/*"},
		{"/proc/self/maps", "/proc/self/maps"},
		{"/dev/pts/3", "/dev/pts/*"},
		{"/dev/null", "/dev/null"},
		{"tcp 127.0.0.1:5432", "tcp 127.0.0.1:5432"},
		{"tcp 127.0.0.1:45612", "tcp 127.0.0.1:*"},
		{"tcp [::1]:8080 -> [::1]:54321", "tcp [::1]:8080 -> [::1]:*"},
		{"unix /run/app/sock", "unix /run/app/sock"},
		{"/run/foo.1234.pid", "/run/foo.*.pid"},
		{"worker-3", "worker-*"},
		{"pool/worker-37.sock", "pool/worker-*.sock"},
		{"pid 37", "pid *"},
		{"out/550e8400-e29b-41d4-a716-446655440000.json", "out/*.json"},
		{"cache/3f2504e04f8911d3.bin", "cache/*.bin"},
		{"log 2026-11-30", "log *-*-*"},
		{"/tmp/a -> data/job7", "/tmp/a -> data/job7"},
		{"/", "/"},
		{"//", "//"},
		{" ", " "},
	};

	(void)state;
	assert_null(normalize_target(NULL));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *got = normalize_target(cases[i].in);
		CLEANUP_FREE char *again = normalize_target(got);

		assert_string_equal(got, cases[i].out);
		assert_string_equal(again, got);
	}
}

static void functions_lose_what_compilers_add(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{NULL, "?"},
		{"", "?"},
		{"leak_here", "leak_here"},
		{"leak_here.isra.0", "leak_here"},
		{"leak_here.constprop.1.isra.0", "leak_here"},
		{"leak_here.part.2", "leak_here"},
		{"leak_here.cold", "leak_here"},
		{"leak_here.part.0.cold", "leak_here"},
		{"leak_here.llvm.1234567890", "leak_here"},
		{"leak_here.__uniq.77.llvm.1", "leak_here"},
		{"leak_here.lto_priv.3", "leak_here"},
		{"std::f(int) [clone .isra.0]", "std::f(int)"},
		{"memcpy@GLIBC_2.14", "memcpy"},
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"work+0x1f", "work"},
		{"a+0xzz", "a+0xzz"},
		{"log(char const*, ...)", "log(char const*, ...)"},
		{"main.work.func1", "main.work.func1"},
		{"app::run::h0123456789abcdef", "app::run"},
		{"ns::operator+(A<int>, B)", "ns::operator+(A<int>, B)"},
		{".part.0", ".part.0"},
		{".cold", ".cold"},
		{"@plt", "@plt"},
		{"a\x1b[31mb\n", "a?[31mb?"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *got = normalize_function(cases[i].in);

		assert_string_equal(got, cases[i].out);
	}
}

static void long_functions_are_cut_and_stay_distinct(void **state)
{
	char a[1001], b[1001];
	CLEANUP_FREE char *na = NULL, *nb = NULL;

	(void)state;
	memset(a, 'x', 1000);
	memset(b, 'x', 1000);
	a[999] = 'a';
	b[999] = 'b';
	a[1000] = b[1000] = '\0';
	na = normalize_function(a);
	nb = normalize_function(b);
	assert_int_equal(strlen(na), FUNCTION_MAX);
	assert_string_not_equal(na, nb);
}

static void modules_are_file_names(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{NULL, "?"},
		{"", "?"},
		{"/usr/lib/libfoo.so.1", "libfoo.so.1"},
		{"worker (BuildId: 0af3)", "worker"},
		{"/a/b (BuildId: /0af3)", "b"},
		{"/a/", "?"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *got = normalize_module(cases[i].in);

		assert_string_equal(got, cases[i].out);
	}
}

/* "module!function", outermost last. */
static void add_stack(struct leak *l, const char *const *frames)
{
	for (; *frames; frames++) {
		struct frame *f = leak_frame(l);
		const char *bang = strchr(*frames, '!');

		f->module = bang > *frames ? xstrndup(*frames, (size_t)(bang - *frames))
					   : NULL;
		f->function = bang[1] ? xstrdup(bang + 1) : NULL;
		f->offset = 0x1234;
		f->line = 7;
	}
}

static void signatures_name_resource_process_and_stack(void **state)
{
	static const struct {
		enum resource resource;
		const char *process, *what, *frames[16], *signature;
	} cases[] = {
		{RESOURCE_HEAP,
		 "worker_test",
		 "40 bytes",
		 {"libasan.so.8!__interceptor_malloc", "worker_test!leak_here.part.0",
		  "worker_test!work", "worker_test!main",
		  "libc.so.6!__libc_start_call_main", "libc.so.6!", "worker_test!_start"},
		 "heap|worker_test|worker_test!leak_here<worker_test!work<worker_test!"
		 "main"},
		{RESOURCE_HEAP,
		 "/build/worker_test",
		 "40 bytes",
		 {"worker_test!operator new(unsigned long)", "libc.so.6!fopen",
		  "worker_test!", "!", "worker_test!start_thread", "libc.so.6!clone3"},
		 "heap|worker_test|worker_test!?<?!?"},
		/* A callback from the C library keeps its place. */
		{RESOURCE_HEAP,
		 "t",
		 NULL,
		 {"t!malloc", "t!compare", "libc.so.6!qsort", "t!main"},
		 "heap|t|t!compare<libc.so.6!qsort<t!main"},
		/* Nothing but runtime: better than nothing at all. */
		{RESOURCE_HEAP,
		 "t",
		 NULL,
		 {"libc.so.6!strdup", "libc.so.6!setlocale"},
		 "heap|t|libc.so.6!strdup<libc.so.6!setlocale"},
		{RESOURCE_HEAP, NULL, "40 bytes", {NULL}, "heap|?|?"},
		{RESOURCE_FD, "t", "/tmp/x.Ab3xYz", {NULL}, "fd|t|/tmp/x.*"},
		{RESOURCE_THREAD, "t", NULL, {NULL}, "thread|t|?"},
		{RESOURCE_HEAP,
		 "t",
		 NULL,
		 {"t!a", "t!b", "t!c", "t!d", "t!e", "t!f", "t!g", "t!h", "t!i",
		  "t!main"},
		 "heap|t|t!a<t!b<t!c<t!d<t!e<t!f<t!g<t!h"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct leak l = {.resource = cases[i].resource};

		l.process = xstrdup(cases[i].process);
		l.what = xstrdup(cases[i].what);
		add_stack(&l, cases[i].frames);
		leak_sign(&l);
		assert_string_equal(l.signature, cases[i].signature);
		leak_sign(&l); /* again: the old one is freed */
		leak_release(&l);
	}
}

static void top_frame_is_the_projects(void **state)
{
	static const char *const frames[] = {"t!malloc", "libz.so.1!deflateInit_",
					     "t!work", "t!main", NULL};
	struct leak l = {0}, none = {0};

	(void)state;
	assert_null(leak_top_frame(&none));
	add_stack(&l, frames);
	assert_string_equal(leak_top_frame(&l)->function, "deflateInit_");
	l.frames[0].project = l.frames[2].project = true;
	assert_string_equal(leak_top_frame(&l)->function, "work");
	l.nframes = 1; /* an allocator alone is better than nothing */
	assert_string_equal(leak_top_frame(&l)->function, "malloc");
	l.nframes = 4;
	leak_release(&l);
}

static void probe_add(struct probe *p, const char *function, uint64_t units,
		      uint64_t bytes)
{
	struct leak *l = probe_leak(p, RESOURCE_HEAP, units, bytes);

	l->process = xstrdup("t");
	leak_frame(l)->function = xstrdup(function);
	l->frames[0].module = xstrdup("t");
}

static void merging_adds_units_and_bytes(void **state)
{
	CLEANUP(probe) struct probe p = {0};

	(void)state;
	probe_merge(&p);
	assert_int_equal(p.nleaks, 0);
	probe_add(&p, "a", 1, 10);
	probe_add(&p, "a.part.0", 2, 20);
	probe_add(&p, "b", 4, 40);
	probe_add(&p, "a", UINT64_MAX, 0);
	probe_merge(&p);
	assert_int_equal(p.nleaks, 2);
	assert_string_equal(p.leaks[0].signature, "heap|t|t!a");
	assert_true(p.leaks[0].units[0] == UINT64_MAX);
	assert_int_equal(p.leaks[0].bytes[0], 30);
	assert_string_equal(p.leaks[1].signature, "heap|t|t!b");
	assert_int_equal(p.leaks[1].units[0], 4);
}

/* A warm-up with a leak, then a: 1 0 2, b: 0 0 1. */
static void fill(struct observation *o)
{
	static const unsigned series[][2] = {{9, 9}, {1, 0}, {0, 0}, {2, 1}};

	o->detector = xstrdup("lsan");
	o->version = xstrdup("gcc 12.2");
	for (size_t i = 0; i < ARRAY_SIZE(series); i++) {
		CLEANUP(probe) struct probe p = {.state = PROBE_COMPLETE};
		struct run_result run = {.end = RUN_EXITED, .wall_us = 100 + i};

		if (series[i][0])
			probe_add(&p, "a", series[i][0], series[i][0] * 8);
		if (series[i][1])
			probe_add(&p, "b", series[i][1], 1);
		strv_add(&p.notes, "1 leak suppressed");
		if (i == 3)
			p.detail = xstrdup("why");
		observation_add(o, &run, &p, i > 0);
	}
}

static void series_have_one_element_per_measured_cycle(void **state)
{
	CLEANUP(observation) struct observation o = {0};

	(void)state;
	fill(&o);
	assert_int_equal(o.ncycles, 4);
	assert_int_equal(o.nmeasured, 3);
	assert_false(o.cycles[0].measured);
	assert_int_equal(o.nleaks, 2);
	assert_int_equal(o.leaks[0].units[0], 1);
	assert_int_equal(o.leaks[0].units[1], 0);
	assert_int_equal(o.leaks[0].units[2], 2);
	assert_int_equal(o.leaks[0].bytes[2], 16);
	assert_int_equal(o.leaks[1].units[0], 0);
	assert_int_equal(o.leaks[1].units[2], 1);
	assert_int_equal(o.notes.n, 1);
}

static void json_round_trip(void **state)
{
	CLEANUP(observation) struct observation o = {0}, back = {0};
	CLEANUP_JSON json_t *j = NULL, *k = NULL;
	struct err err = {0};

	(void)state;
	fill(&o);
	o.reused = true;
	o.leaks[0].what = xstrdup("8 bytes \xff");
	o.leaks[0].frames[0].file = xstrdup("src/a.c");
	o.leaks[0].frames[0].line = 41;
	o.leaks[0].frames[0].offset = UINT64_MAX;
	o.leaks[0].frames[0].project = true;
	o.leaks[0].bytes[1] = UINT64_MAX;
	o.cycles[1].run = (struct run_result){.end = RUN_NOT_STARTED,
					      .step = "exec",
					      .errnum = 2,
					      .left_behind = 3,
					      .watch_failed = true,
					      .stdout_cut = true};
	o.cycles[1].failed = true;
	o.cycles[1].failure = xstrdup("heap-use-after-free");
	o.cycles[1].state = PROBE_INTERRUPTED;
	j = observation_to_json(&o);
	assert_int_equal(observation_from_json(j, &back, &err), 0);
	k = observation_to_json(&back);
	assert_true(json_equal(j, k));
	assert_int_equal(back.nmeasured, 3);
	assert_string_equal(back.cycles[1].run.step, "exec");
	assert_int_equal(back.cycles[1].state, PROBE_INTERRUPTED);
	assert_true(back.leaks[0].bytes[1] == INT64_MAX);
}

static void malformed_json_is_refused(void **state)
{
	static const char *const cases[] = {
		"[]",
		"{}",
		"{\"schema_version\":\"exitpath-observation-v1\"}",
#define HEAD "{\"schema_version\":\"exitpath-observation-v1\",\"detector\":\"d\""
		HEAD "}",
		HEAD ",\"cycles\":7,\"leaks\":[]}",
		HEAD ",\"cycles\":[{}],\"leaks\":[]}",
		HEAD ",\"cycles\":[{\"state\":\"complete\"}],\"leaks\":[]}",
		HEAD ",\"cycles\":[{\"state\":\"complete\",\"run\":{\"end\":\"x\"}}],"
		     "\"leaks\":[]}",
		HEAD ",\"cycles\":[],\"leaks\":[{\"resource\":\"x\"}]}",
		HEAD ",\"cycles\":[],\"leaks\":[{\"resource\":\"fd\"}]}",
#define LEAK "{\"resource\":\"fd\",\"signature\":\"s\""
		HEAD ",\"cycles\":[],\"leaks\":[" LEAK ",\"frames\":[7]}]}",
		HEAD ",\"cycles\":[],\"leaks\":[" LEAK ",\"frames\":7}]}",
		HEAD ",\"cycles\":[],\"leaks\":[" LEAK ",\"units\":[-1],\"bytes\":[0]}]}",
		HEAD ",\"cycles\":[],\"leaks\":[" LEAK ",\"units\":[1],\"bytes\":[]}]}",
		HEAD ",\"cycles\":[],\"leaks\":[" LEAK ",\"units\":[1],\"bytes\":[0]}]}",
		HEAD ",\"cycles\":[],\"leaks\":[],\"notes\":[7]}",
		HEAD ",\"cycles\":[],\"leaks\":[],\"notes\":\"x\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct observation o = {0};
		struct err err = {0};
		CLEANUP_JSON json_t *j =
			json_parse(cases[i], strlen(cases[i]), "t", &err);

		assert_non_null(j);
		assert_int_equal(observation_from_json(j, &o, &err), -1);
		assert_int_equal(err.kind, ERR_ENVIRONMENT);
		assert_null(o.detector); /* untouched on failure */
		assert_null(o.cycles);
	}
}

static void copies_are_deep(void **state)
{
	CLEANUP(observation) struct observation o = {0};
	struct leak copy;

	(void)state;
	fill(&o);
	leak_copy(&copy, &o.leaks[0], o.nmeasured);
	assert_ptr_not_equal(copy.frames[0].function, o.leaks[0].frames[0].function);
	assert_string_equal(copy.signature, o.leaks[0].signature);
	assert_int_equal(copy.units[2], 2);
	leak_release(&copy);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		HARNESS_TEST(targets_keep_what_is_stable),
		HARNESS_TEST(functions_lose_what_compilers_add),
		HARNESS_TEST(long_functions_are_cut_and_stay_distinct),
		HARNESS_TEST(modules_are_file_names),
		HARNESS_TEST(signatures_name_resource_process_and_stack),
		HARNESS_TEST(top_frame_is_the_projects),
		HARNESS_TEST(merging_adds_units_and_bytes),
		HARNESS_TEST(series_have_one_element_per_measured_cycle),
		HARNESS_TEST(json_round_trip),
		HARNESS_TEST(malformed_json_is_refused),
		HARNESS_TEST(copies_are_deep),
	};

	return HARNESS_RUN(tests);
}
