/* Real programs, built here with gcc's AddressSanitizer, under the real supervisor. */
#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/canary.h"
#include "detect/detect.h"
#include "detect/lsan_options.h"
#include "detect/lsan_parse.h"
#include "proc/proc.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

extern char **environ;

/* --- options ------------------------------------------------------------------------ */

static void test_faults(void **state)
{
	static const struct {
		const char *value, *fault; /* NULL: none */
	} cases[] = {
		{"", NULL},
		{":: ,\n", NULL},
		{"exitcode=23", NULL},
		{"exitcode=-1:verbosity=", NULL},
		{"exitcode=xx", "exitcode=xx: not a number"},
		{"a=b exitcode=1x,c=d", "exitcode=1x: not a number"},
		{"detect_leaks=maybe", "detect_leaks=maybe: neither 0 nor 1"},
		{"detect_leaks=true:symbolize=no", NULL},
		{"garbage", "garbage: `=` is missing"},
		{"a=1:garbage:b=2", "garbage: `=` is missing"},
		{"log_path=\"a:b c'd\"", NULL},
		{"log_path='a", "log_path='a: the quote is not closed"},
		{"unknown_flag=whatever", NULL},
		{"suppressions=/nonexistent/s",
		 "suppressions=/nonexistent/s: there is no such file"},
		{"suppressions=beside-the-program", NULL},
		{"suppressions=\"\"", NULL},
		{"include=missing", "include=missing: there is no such file"},
		{"include=/options.%b", NULL},
		{"include_if_exists=/nonexistent", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *fault =
			lsan_options_fault(cases[i].value, harness_tmpdir());

		if (!cases[i].fault != !fault ||
		    (fault && strcmp(fault, cases[i].fault) != 0))
			fail_msg("'%s': %s", cases[i].value, fault ? fault : "no fault");
	}
}

static void test_need_of_names(void **state)
{
	static const struct {
		const char *value;
		bool needs;
	} cases[] = {
		{"", false},
		{"print_suppressions=1:exitcode=0", false},
		{"exitcode=0:suppressions=s", true},
		{"suppressions='a b'", true},
		{"suppressions=", false},
		{"a=b,include=o", true},
		{"include_if_exists=o", true},
		{"garbage", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (lsan_options_need_names(cases[i].value) != cases[i].needs)
			fail_msg("'%s'", cases[i].value);
}

static void test_strip(void **state)
{
	static const struct {
		const char *value, *left;
	} cases[] = {
		{"", ""},
		{"print_stacktrace=1:halt_on_error=0",
		 "print_stacktrace=1:halt_on_error=0"},
		{"log_path=\"/a:b\":print_stacktrace=1", "print_stacktrace=1"},
		{"detect_leaks=0", ""},
		{"include=/f exitcode=77,suppressions='a b'", "suppressions='a b'"},
		{"garbage", "garbage"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *left = lsan_options_strip(cases[i].value);

		assert_string_equal(left, cases[i].left);
	}
}

static void test_ours_have_no_fault_and_strip_to_nothing(void **state)
{
	CLEANUP_FREE char *ours = lsan_options_ours("/a:b c'd/log", LSAN_ADDRESSES);
	CLEANUP_FREE char *whole = lsan_options_ours("/a\"b/log", LSAN_WHOLE);
	CLEANUP_FREE char *fault = lsan_options_fault(ours, "/");
	CLEANUP_FREE char *left = lsan_options_strip(ours);
	CLEANUP_FREE char *left_whole = lsan_options_strip(whole);

	(void)state;
	assert_null(fault);
	assert_string_equal(left, "");
	assert_string_equal(left_whole, "");
	assert_non_null(strstr(ours, "symbolize=0:fast_unwind_on_malloc=1"));
	assert_non_null(strstr(whole, "symbolize=1:fast_unwind_on_malloc=0"));
}

/* --- the parser -----------------------------------------------------------------------
 */

#define CANARY_BLOCK                                                   \
	"Direct leak of 4242 byte(s) in 1 object(s) allocated from:\n" \
	"    #0\t0x1\tmalloc\t/l/libasan.so.8\t0xb\t<null>\t0\n"       \
	"    #1\t0x2\texitpath_canary\t/r/exitpath-canary.so\t0x15\t<null>\t0\n\n"
#define HEADLINE "==7==ERROR: LeakSanitizer: detected memory leaks\n\n"
#define SUMMARY "SUMMARY: AddressSanitizer: 9 byte(s) leaked in 1 allocation(s).\n"

static const struct {
	const char *text;
	bool canary, summary;
	size_t leaks, suppressions;
	const char *error, *fatal;
} logs[] = {
	{"", false, false, 0, 0, NULL, NULL},
	{HEADLINE CANARY_BLOCK SUMMARY, true, true, 0, 0, NULL, NULL},
	{HEADLINE CANARY_BLOCK, true, false, 0, 0, NULL, NULL},
	{HEADLINE "Direct leak of 4242 byte(s) in 1 object(s) allocated from:\n"
		  "    #0\t0x1\t<null>\t/r/exitpath-canary.so\t0x15\t<null>\t0\n" SUMMARY,
	 true, true, 0, 0, NULL, NULL},
	{HEADLINE "Direct leak of 4241 byte(s) in 1 object(s) allocated from:\n"
		  "    #0\t0x1\texitpath_canary\t/r/c.so\t0x15\t<null>\t0\n" SUMMARY,
	 false, true, 1, 0, NULL, NULL},
	{HEADLINE CANARY_BLOCK
	 "Direct leak of 77 byte(s) in 1 object(s) allocated from:\n"
	 "    #0\t0x1\toperator new(unsigned long)\t/b/t\t0x1\t<null>\t0\n"
	 "    #1\t0x2\tNs::anon()::$_0::operator()(int) const\t/b/t\t0x2\t/s/t.cc\t4\n"
	 "\nIndirect leak of 5 byte(s) in 2 object(s) allocated from:\n"
	 "    #0\t0x1\tf\t/b/t\t0x1\t/s/t.c\t12\n\n" SUMMARY,
	 true, true, 2, 0, NULL, NULL},
	{"-----\nSuppressions used:\n  count      bytes template\n"
	 "      2       4319 *\n      1         10 leak_here\n-----\n\n",
	 false, false, 0, 2, NULL, NULL},
	{"==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x6 at pc 0x5\n"
	 "READ of size 1 at 0x6 thread T0\n"
	 "    #0\t0x5\tmain\t/b/t\t0xd\t/s/uaf.c\t3\n\nfreed by thread T0 here:\n"
	 "    #0\t0x5\tother\t/b/t\t0xd\t/s/uaf.c\t9\n\n"
	 "SUMMARY: AddressSanitizer: heap-use-after-free /s/uaf.c:3:74 in main\n",
	 false, false, 0, 0, "heap-use-after-free", NULL},
	{"==7==ERROR: AddressSanitizer: attempting double-free on 0x6 in thread T0:\n",
	 false, false, 0, 0, "attempting double-free", NULL},
	{"src/a.c:3:12: runtime error: signed integer overflow: 1 + 2\n" HEADLINE
		 CANARY_BLOCK SUMMARY,
	 true, true, 0, 0, "undefined behaviour: signed integer overflow: 1 + 2", NULL},
	{"==7==LeakSanitizer has encountered a fatal error.\n==7==HINT: x\n", false,
	 false, 0, 0, NULL, "LeakSanitizer has encountered a fatal error."},
	{"LeakSanitizer: failed to read suppressions file '/x'\n", false, false, 0, 0,
	 NULL, "LeakSanitizer: failed to read suppressions file '/x'"},
	{"Direct leak of 99999999999999999999999 byte(s) in 1 object(s)\n"
	 "Direct leak of 1 byte(s)\nDirect leak of x\n    #0\n    #0\t\n    "
	 "#\t\t\t\t\t\t\t\t\n",
	 false, false, 0, 0, NULL, NULL},
};

static void parse(const char *text, size_t piece, struct lsan_log *ret)
{
	struct lsan_parser *p = lsan_parser_new(ret);
	size_t len = strlen(text);

	for (size_t at = 0; at < len; at += piece)
		lsan_parser_feed(p, text + at, len - at < piece ? len - at : piece);
	lsan_parser_finish(p);
}

static void check_log(size_t i, size_t piece)
{
	CLEANUP(lsan_log) struct lsan_log l = {0};

	parse(logs[i].text, piece, &l);
	if (l.canary != logs[i].canary || l.summary != logs[i].summary ||
	    l.nleaks != logs[i].leaks || l.nsuppressions != logs[i].suppressions)
		fail_msg("%zu: canary %d summary %d leaks %zu suppressions %zu", i,
			 l.canary, l.summary, l.nleaks, l.nsuppressions);
	assert_int_equal(!l.error, !logs[i].error);
	assert_int_equal(!l.fatal, !logs[i].fatal);
	if (l.error)
		assert_string_equal(l.error, logs[i].error);
	if (l.fatal)
		assert_string_equal(l.fatal, logs[i].fatal);
}

static void test_logs(void **state)
{
	static const size_t pieces[] = {1, 7, 64, 100000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(logs); i++)
		for (size_t k = 0; k < ARRAY_SIZE(pieces); k++)
			check_log(i, pieces[k]);
}

static void test_frames(void **state)
{
	CLEANUP(lsan_log) struct lsan_log l = {0};
	const struct raw_frame *f;

	(void)state;
	parse(logs[5].text, 1000, &l);
	assert_true(l.leaks[0].direct && !l.leaks[1].direct);
	assert_int_equal(l.leaks[1].objects, 2);
	f = &l.leaks[0].stack.frames[1];
	assert_string_equal(f->function, "Ns::anon()::$_0::operator()(int) const");
	assert_string_equal(f->file, "/s/t.cc");
	assert_int_equal(f->line, 4);
	assert_int_equal(f->offset, 2);
}

static void test_a_stack_ends_where_data_begins(void **state)
{
	CLEANUP(lsan_log) struct lsan_log l = {0};

	(void)state;
	parse(HEADLINE "Direct leak of 7 byte(s) in 1 object(s) allocated from:\n"
		       "    #0\t0x1\tf\t/b/t\t0x1\t/s/t.c\t12\n"
		       "    #1\t0x1\t<null>\t[stack]\t0x1\t<null>\t0\n\n" SUMMARY,
	      1000, &l);
	assert_int_equal(l.leaks[0].stack.n, 1);
}

static void test_a_report_has_limits(void **state)
{
	CLEANUP(lsan_log) struct lsan_log l = {0};
	struct lsan_parser *p = lsan_parser_new(&l);
	CLEANUP_FREE char *line = xcalloc(1, 1 << 20);

	(void)state;
	memset(line, 'x', (1 << 20) - 1);
	for (int i = 0; i < 100; i++)
		lsan_parser_feed(p, line, (1 << 20) - 1);
	lsan_parser_feed(p, "\n", 1);
	for (int i = 0; i < LSAN_LEAKS_MAX + 5; i++) {
		static const char leak[] =
			"Direct leak of 1 byte(s) in 1 object(s) allocated from:\n";

		lsan_parser_feed(p, leak, sizeof(leak) - 1);
		for (int k = 0; i == 0 && k < FRAMES_MAX + 5; k++) {
			static const char frame[] = "    #1\t0x1\tf\tm\t0x1\ts\t1\n";

			lsan_parser_feed(p, frame, sizeof(frame) - 1);
		}
	}
	lsan_parser_finish(p);
	assert_int_equal(l.nleaks, LSAN_LEAKS_MAX);
	assert_int_equal(l.dropped, 5);
	assert_int_equal(l.leaks[0].stack.n, FRAMES_MAX);
}

static void test_templates(void **state)
{
	static const struct {
		const char *template, *text;
		bool matches;
	} cases[] = {
		{"main", "main", true},	      {"main", "domain", true},
		{"^main$", "main", true},     {"^main$", "main2", false},
		{"^main", "main2", true},     {"main$", "domain", true},
		{"m*n", "domain", true},      {"m*x", "domain", false},
		{"", "main", true},	      {"^", "main", true},
		{"^$", "main", false},	      {"$", "main", true},
		{"leak_here", "main", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (lsan_template_matches(cases[i].template, cases[i].text) !=
		    cases[i].matches)
			fail_msg("%s %s", cases[i].template, cases[i].text);
}

/* --- start records --------------------------------------------------------------------
 */

static void test_start_records(void **state)
{
	static const struct {
		const char *text;
		bool whole, exited;
		enum instrumented instrumented;
		const char *exe;
	} cases[] = {
		{"", false, false, 0, NULL},
		{"exe /a\nppid 3\n", false, false, 0, NULL},
		{"exe /a\nppid 3\ninstrumented asan", false, false, 0, NULL},
		{"exe /a\nppid 3\ninstrumented asan\n", true, false, INSTRUMENTED_ASAN,
		 "/a"},
		{"exe /a\nppid 3\ninstrumented asan\nexit normal\n", true, true,
		 INSTRUMENTED_ASAN, "/a"},
		{"exe /a\nppid 3\nsuppressions\ninstrumented asan\n", true, false,
		 INSTRUMENTED_ASAN, "/a"},
		{"exe /a\nppid 3\nforked\ninstrumented asan\n", true, false,
		 INSTRUMENTED_ASAN, "/a"},
		{"exe /a\nppid 3\nforked\ninstrumented asan\nexe /b\nppid 3\n"
		 "instrumented lsan\n",
		 true, false, INSTRUMENTED_LSAN, "/b"},
		{"exe /a\nppid 3\ninstrumented none\nexe /b c\nppid 3\ninstrumented "
		 "lsan\n",
		 true, false, INSTRUMENTED_LSAN, "/b c"},
		{"exe /a\nppid 3\ninstrumented none\nexe /b\nppid 3\n", false, false, 0,
		 NULL},
		{"ppid 99999999999999\ninstrumented asan\n", false, false, 0, NULL},
		{"exe /a\ninstrumented what\n", true, false, INSTRUMENTED_NONE, "/a"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct start_record r = {.pid = 7};

		assert_int_equal(
			start_record_parse(cases[i].text, strlen(cases[i].text), &r),
			cases[i].whole);
		if (cases[i].whole) {
			assert_string_equal(r.exe, cases[i].exe);
			assert_int_equal(r.exited, cases[i].exited);
			assert_int_equal(r.instrumented, cases[i].instrumented);
			assert_int_equal(r.pid, 7);
			assert_int_equal(r.forked, strstr(cases[i].text, "forked") &&
							   strcmp(r.exe, "/b"));
			assert_int_equal(r.by_name,
					 strstr(cases[i].text, "suppress") != NULL);
		}
		start_record_release(&r);
	}
}

/* --- runs ------------------------------------------------------------------------------
 */

static const char subject[] =
	"#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
	"#include <string.h>\n#include <sys/wait.h>\n#include <unistd.h>\n"
	"#ifdef SUPPRESS\n"
	"const char *__lsan_default_suppressions(void) { return \"leak:leak_here\"; }\n"
	"#endif\n"
	"int __lsan_is_turned_off(void) { return getenv(\"OFF\") != NULL; }\n"
	"__attribute__((noinline)) static void leak_here(void)\n"
	"{ void *volatile p = malloc(77); p = NULL; (void)p; }\n"
	"/* Well below the slots of scrub() that it does not overwrite. */\n"
	"__attribute__((noinline)) static void leak_deep(void)\n"
	"{ volatile char gap[1024]; gap[0] = 0; leak_here(); gap[1023] = 0; }\n"
	"__attribute__((noinline)) static void cycle(void)\n"
	"{ void **a = malloc(16), **b = malloc(24); *a = b; *b = a; a = b = NULL; }\n"
	"__attribute__((noinline)) static void scrub(void)\n"
	"{ volatile char d[65536]; for (unsigned i = 0; i < sizeof(d); i++) d[i] = 0; }\n"
	"int main(int n, char **v)\n{\n"
	"	for (int i = 1; i < n; i++) {\n"
	"		const char *s = v[i];\n"
	"		if (!strcmp(s, \"leak\")) leak_deep();\n"
	"		if (!strcmp(s, \"cycle\")) cycle();\n"
	"		scrub();\n"
	"		if (!strcmp(s, \"_exit\")) _exit(0);\n"
	"		if (!strcmp(s, \"abort\")) abort();\n"
	"		if (!strcmp(s, \"hang\")) pause();\n"
	"		if (!strcmp(s, \"fail\")) return 3;\n"
	"		if (!strcmp(s, \"uaf\")) { char *volatile p = malloc(9); "
	"free(p); return *p; }\n"
	"		if (!strcmp(s, \"fork\")) { if (fork()) { wait(NULL); return 0; "
	"} }\n"
	"		if (!strcmp(s, \"spawn\")) { if (!fork()) execv(v[0], v + i); "
	"wait(NULL); return 0; }\n"
	"		if (!strcmp(s, \"daemon\")) { if (!fork()) execv(v[0], v + i); "
	"usleep(300000); return 0; }\n"
	"	}\n	return 0;\n}\n";

static char *checkout; /* holds subject.c, t (dynamic), plain, static */

static int build(void **state)
{
	const char *tmp = getenv("TMPDIR");
	CLEANUP_FREE char *source = NULL;
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-ec"},
			(char[]){"cc -g -fsanitize=address subject.c -o t;"
				 "cc subject.c -o plain; cc -static subject.c -o static;"
				 "echo 'leak:*' >all; echo leak:leak_here >one;"
				 "echo 'leak:^main$' >whole; echo leak:lsan-unit >file;"
				 "f='-g -fsanitize=address -DSUPPRESS subject.c -o';"
				 "cc $f by_name; clang $f by_name_clang;"
				 "cc -static-libasan $f by_name_static"},
			NULL};
	CLEANUP(buf) struct buf out = {0};
	struct err err = {0};

	(void)state;
	checkout = make_temp_dir(tmp && *tmp ? tmp : "/tmp", "lsan-unit-", &err);
	if (!checkout)
		return -1;
	source = path_join(checkout, "subject.c");
	if (write_file(source, subject, sizeof(subject) - 1, &err) < 0 ||
	    proc_capture(argv, &(struct capture_opts){.cwd = checkout}, &out, NULL,
			 &err) < 0) {
		print_error("%s\n", err.message);
		return -1;
	}
	return 0;
}

static int unbuild(void **state)
{
	(void)state;
	remove_tree(checkout, NULL);
	free(TAKE_PTR(checkout));
	return 0;
}

struct run {
	const char *command; /* plain words, or a shell's */
	const char *env;     /* NAME=VALUE or NULL */
	enum probe_state state;
	uint64_t units;	  /* of all leaks together */
	const char *text; /* in detail, failure or a note */
	bool precise;
};

static void add_argv(struct run_spec *spec, const char *command)
{
	if (strpbrk(command, ";$'")) {
		strv_add(&spec->argv, "/bin/sh");
		strv_add(&spec->argv, "-c");
		strv_add(&spec->argv, command);
		return;
	}
	for (const char *p = command; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		strv_take(&spec->argv, xstrndup(p, n));
		p += n;
	}
}

static void run_lsan(const struct run *r, struct probe *ret)
{
	const struct detector *d = detector_find("lsan");
	CLEANUP_FREE char *dir = make_temp_dir(harness_tmpdir(), "run-", NULL);
	CLEANUP(run_spec)
	struct run_spec spec = {.cwd = xstrdup(checkout), .dir = xstrdup(dir)};
	struct detect_run run = {
		.dir = dir,
		.tmpdir = dir,
		.checkout = checkout,
		.precise = r->precise,
	};
	struct run_result result = {0};
	struct err err = {0};

	add_argv(&spec, r->command);
	strv_copy(&spec.env, environ);
	env_set(&spec.env, "ASAN_OPTIONS", NULL);
	if (r->env) {
		CLEANUP_FREE char *name = xstrndup(r->env, strcspn(r->env, "="));

		env_set(&spec.env, name, strchr(r->env, '=') + 1);
	}
	spec.timeout_ms = strstr(r->command, "hang") ? 500 : 30000;
	if (d->prepare(&run, &spec, &err) < 0 || proc_run(&spec, &result, &err) < 0)
		fail_msg("%s: %s", r->command, err.message);
	if (d->collect(&run, &result, ret, &err) < 0)
		fail_msg("%s: %s", r->command, err.message);
	assert_null(run.state);
}

static bool says(const struct probe *p, const char *text)
{
	bool found = (p->detail && strstr(p->detail, text)) ||
		     (p->failure && strstr(p->failure, text));

	for (size_t i = 0; i < p->notes.n; i++)
		found |= strstr(p->notes.v[i], text) != NULL;
	return found;
}

static bool check_run(const struct run *r)
{
	CLEANUP(probe) struct probe p = {0};
	uint64_t units = 0;

	run_lsan(r, &p);
	for (size_t i = 0; i < p.nleaks; i++)
		units += p.leaks[i].units[0];
	if (p.state == r->state && units == r->units && (!r->text || says(&p, r->text)))
		return true;
	print_error("%s (%s): %s, %llu units: %s; %s\n", r->command, r->env ? r->env : "",
		    probe_state_name(p.state), (unsigned long long)units,
		    p.detail ? p.detail : "", p.failure ? p.failure : "");
	return false;
}

static const struct run runs[] = {
	{"./t", NULL, PROBE_COMPLETE, 0, NULL},
	{"./t leak", NULL, PROBE_COMPLETE, 1, NULL},
	{"./t leak fail", NULL, PROBE_COMPLETE, 1, NULL},
	{"./t cycle", NULL, PROBE_COMPLETE, 2, NULL},
	{"./t leak cycle", NULL, PROBE_COMPLETE, 1, "2 more blocks"},
	{"./t leak fork", NULL, PROBE_COMPLETE, 1, NULL},
	{"./t leak fork leak", NULL, PROBE_COMPLETE, 2, NULL},
	{"./t fork leak", NULL, PROBE_COMPLETE, 1, NULL},
	{"./t leak spawn leak", NULL, PROBE_COMPLETE, 2, NULL},
	{"./t leak; ./plain", NULL, PROBE_COMPLETE, 1, "plain is not instrumented"},
	{"./t fork leak _exit", NULL, PROBE_COMPLETE, 0,
	 "1 forked process ended without a leak check"},
	{"./t fork spawn leak", NULL, PROBE_COMPLETE, 1, NULL},
	{"OFF=1 ./t fork leak; exit 0", NULL, PROBE_SILENT, 0, "turned off"},
	/* As seen from a process that became another user. */
	{"./t; echo \"ERROR: Can't open file: /r/lsan/log.7 (reason: 13)\" >&2", NULL,
	 PROBE_SILENT, 0, "cannot write its report"},
	{"rm $EXITPATH_RUN_DIR/exitpath-canary.so; ./plain", NULL, PROBE_NOT_FITTING, 0,
	 "ran without the preloaded library"},
	{"./t spawn _exit", NULL, PROBE_FORCED_EXIT, 0, "forced exit"},
	{"./t _exit", NULL, PROBE_FORCED_EXIT, 0, "forced exit: t (pid"},
	{"./t daemon hang", NULL, PROBE_INTERRUPTED, 0, "still running"},
	{"./t abort", NULL, PROBE_INTERRUPTED, 0, "SIGABRT"},
	{"./t abort; exit $?", NULL, PROBE_INTERRUPTED, 0, "exit 134"},
	{"./t hang", NULL, PROBE_INTERRUPTED, 0, "timed out"},
	{"./t uaf", NULL, PROBE_INTERRUPTED, 0,
	 "heap-use-after-free in main (subject.c:"},
	{"./t leak", "OFF=1", PROBE_SILENT, 0, "turned off"},
	{"./t leak", "LSAN_OPTIONS=exitcode=xx", PROBE_SILENT, 1,
	 "LSAN_OPTIONS: exitcode=xx: not a number"},
	{"./t leak", "ASAN_OPTIONS=garbage", PROBE_SILENT, 1, "ASAN_OPTIONS: garbage"},
	{"./t leak", "LSAN_OPTIONS=detect_leaks=0:log_path=/nonexistent/x",
	 PROBE_COMPLETE, 1, NULL},
	{"./t leak", "UBSAN_OPTIONS=detect_leaks=0:exitcode=9", PROBE_COMPLETE, 1, NULL},
	{"./t leak", "ASAN_SYMBOLIZER_PATH=/nonexistent", PROBE_COMPLETE, 1, NULL},
	{"LSAN_OPTIONS=$LSAN_OPTIONS:suppressions=all ./t leak", NULL, PROBE_SILENT, 0,
	 "suppression `*`"},
	{"./t leak", "LSAN_OPTIONS=suppressions=one", PROBE_COMPLETE, 0,
	 "1 leak (77 bytes) suppressed"},
	{"./t leak", "LSAN_OPTIONS=suppressions=all", PROBE_SILENT, 0, "suppression `*`"},
	{"./t leak", "LSAN_OPTIONS=suppressions=whole", PROBE_SILENT, 0,
	 "the suppression `^main$` covers the whole program"},
	{"./t leak", "LSAN_OPTIONS=suppressions=file", PROBE_SILENT, 0,
	 "the suppression `lsan-unit` covers the whole program"},
	{"ASAN_OPTIONS=verify_asan_link_order=0 LSAN_OPTIONS=exitcode=0 ./t leak;", NULL,
	 PROBE_SILENT, 0, "detected memory leaks"},
	{"env -u ASAN_OPTIONS ./t", NULL, PROBE_SILENT, 0, "come first"},
	{"env -i ./t leak; true", NULL, PROBE_SILENT, 0, "cleared the environment"},
	{"./plain leak", NULL, PROBE_NOT_FITTING, 0, "not instrumented"},
	{"./static leak", NULL, PROBE_NOT_FITTING, 0, "static"},
	{"/bin/true", "LD_PRELOAD=/nonexistent/x.so", PROBE_NOT_FITTING, 0, "true"},
	{"mkfifo $EXITPATH_RUN_DIR/log.77 $EXITPATH_RUN_DIR/proc.77; exec ./t leak", NULL,
	 PROBE_SILENT, 1, NULL},
	{"ln -s /dev/zero $EXITPATH_RUN_DIR/log.77; exec ./t leak", NULL, PROBE_SILENT, 1,
	 NULL},
	{"./t leak; printf '==5==ERROR: LeakSanitizer: detected memory leaks\\n' "
	 ">$EXITPATH_RUN_DIR/log.5",
	 NULL, PROBE_UNPARSED, 1, "cut short"},
};

static void test_runs(void **state)
{
	size_t bad = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		bad += !check_run(&runs[i]);
	assert_int_equal(bad, 0);
}

/*
 * Suppressions that match functions by name do nothing in a cheap run. Its leaks then
 * have no names, by which the engine knows that it must measure again.
 */
static void test_suppressions_by_name(void **state)
{
	static const char *const commands[] = {
		"./by_name leak", "./by_name_clang leak", "./by_name_static leak",
		"LSAN_OPTIONS=$LSAN_OPTIONS:suppressions=one exec ./t leak"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct run cheap = {.command = commands[i]};
		const struct run precise = {commands[i],
					    NULL,
					    PROBE_COMPLETE,
					    0,
					    "1 leak (77 bytes) suppressed",
					    true};
		CLEANUP(probe) struct probe p = {0};

		run_lsan(&cheap, &p);
		if (p.state != PROBE_COMPLETE || p.nleaks != 1)
			fail_msg("%s: %zu leaks; %s", commands[i], p.nleaks, p.detail);
		for (size_t k = 0; k < p.leaks[0].nframes; k++)
			if (p.leaks[0].frames[k].function)
				fail_msg("%s: %s", commands[i],
					 p.leaks[0].frames[k].function);
		assert_true(check_run(&precise));
	}
}

/* What is gone when the run has ended cannot be named from outside. */
static void test_a_program_that_is_gone(void **state)
{
	static const char command[] = "cp t gone; ./gone leak; rm gone; exit 0";
	const struct run cheap = {.command = command};
	const struct run precise = {.command = command, .precise = true};
	CLEANUP(probe) struct probe p = {0};
	CLEANUP(probe) struct probe q = {0};

	(void)state;
	run_lsan(&cheap, &p);
	assert_int_equal(p.nleaks, 1);
	for (size_t k = 0; k < p.leaks[0].nframes; k++)
		assert_null(p.leaks[0].frames[k].function);
	run_lsan(&precise, &q);
	assert_int_equal(q.nleaks, 1);
	assert_non_null(strstr(q.leaks[0].signature, "gone!leak_here"));
}

static void test_a_leak_has_a_place(void **state)
{
	const struct run r = {.command = "./t leak"};
	CLEANUP(probe) struct probe p = {0};
	const struct frame *f;

	(void)state;
	run_lsan(&r, &p);
	assert_int_equal(p.nleaks, 1);
	f = leak_top_frame(&p.leaks[0]);
	assert_string_equal(f->function, "leak_here");
	assert_string_equal(f->file, "subject.c");
	assert_string_equal(f->module, "t");
	assert_true(f->project && f->line > 0);
	assert_string_equal(p.leaks[0].process, "t");
	assert_string_equal(p.leaks[0].what, "77 bytes");
	assert_int_equal(p.leaks[0].bytes[0], 77);
	assert_non_null(strstr(p.leaks[0].signature, "leak_here"));
	assert_int_equal(p.files.n, 1);
}

static bool report_has(const char *path, const char *text)
{
	CLEANUP(buf) struct buf b = {0};

	return read_file(path, 0, &b, NULL) == 0 && strstr(buf_str(&b), text);
}

/* The report that is kept has names, whoever looked them up. */
static void test_a_report_can_be_read(void **state)
{
	static const struct run cases[] = {
		{.command = "./t leak"},
		{.command = "./t leak", .precise = true},
		{.command = "./t uaf"},
		{.command = "./by_name leak"},
		{.command = ": >$EXITPATH_RUN_DIR/report.$$; exec ./t leak"},
	};
	static const char *const texts[] = {"leak_here (", "leak_here", " main (",
					    "by_name\t0x", "t\t0x"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(probe) struct probe p = {0};

		run_lsan(&cases[i], &p);
		assert_int_equal(p.files.n, 1);
		if (!report_has(p.files.v[0], texts[i]) ||
		    !report_has(p.files.v[0], "Sanitizer: "))
			fail_msg("%s: no `%s`", cases[i].command, texts[i]);
	}
}

static void test_the_users_preload_stays(void **state)
{
	const struct run r = {
		.command = "case $LD_PRELOAD in *exitpath-canary.so:libm.so.6) "
			   "exit 0;; esac; kill -9 $$",
		.env = "LD_PRELOAD=libm.so.6"};
	CLEANUP(probe) struct probe p = {0};

	(void)state;
	run_lsan(&r, &p);
	assert_int_equal(p.state, PROBE_NOT_FITTING);
}

/* Where the library cannot be preloaded, nothing is run. */
static void test_refused_directories(void **state)
{
	const struct detector *d = detector_find("lsan");
	static const char *const names[] = {"a b", "a:b", "$ORIGIN"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP_FREE char *dir = path_join(harness_tmpdir(), names[i]);
		CLEANUP(run_spec) struct run_spec spec = {.cwd = xstrdup("/")};
		struct detect_run run = {.dir = dir};
		struct err err = {0};

		assert_int_equal(d->prepare(&run, &spec, &err), -1);
		assert_int_equal(err.kind, ERR_ENVIRONMENT);
		assert_non_null(strstr(err.hint, "TMPDIR"));
		assert_null(run.state);
	}
}

static void test_a_lost_directory_is_an_error(void **state)
{
	const struct detector *d = detector_find("lsan");
	CLEANUP_FREE char *dir = make_temp_dir(harness_tmpdir(), "run-", NULL);
	CLEANUP(run_spec) struct run_spec spec = {.cwd = xstrdup("/")};
	struct detect_run run = {.dir = dir, .checkout = "/"};
	const struct run_result result = {.end = RUN_EXITED};
	CLEANUP(probe) struct probe p = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(d->prepare(&run, &spec, &err), 0);
	assert_int_equal(remove_tree(dir, &err), 0);
	assert_int_equal(d->collect(&run, &result, &p, &err), -1);
	assert_int_equal(err.kind, ERR_ENVIRONMENT);
	assert_null(run.state);
	/* No room to prepare in: neither. */
	assert_int_equal(write_file(dir, "", 0, &err), 0);
	assert_int_equal(d->prepare(&run, &spec, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_faults),
		HARNESS_TEST(test_need_of_names),
		HARNESS_TEST(test_strip),
		HARNESS_TEST(test_ours_have_no_fault_and_strip_to_nothing),
		HARNESS_TEST(test_logs),
		HARNESS_TEST(test_frames),
		HARNESS_TEST(test_a_stack_ends_where_data_begins),
		HARNESS_TEST(test_a_report_has_limits),
		HARNESS_TEST(test_templates),
		HARNESS_TEST(test_start_records),
		HARNESS_TEST(test_runs),
		HARNESS_TEST(test_suppressions_by_name),
		HARNESS_TEST(test_a_program_that_is_gone),
		HARNESS_TEST(test_a_leak_has_a_place),
		HARNESS_TEST(test_a_report_can_be_read),
		HARNESS_TEST(test_the_users_preload_stays),
		HARNESS_TEST(test_refused_directories),
		HARNESS_TEST(test_a_lost_directory_is_an_error),
	};

	return cmocka_run_group_tests(tests, build, unbuild);
}
