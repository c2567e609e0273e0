/* Real programs under valgrind, and its XML as text. */
#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/detect.h"
#include "detect/valgrind_parse.h"
#include "proc/proc.h"

#include <string.h>

extern char **environ;

/* --- the parser --------------------------------------------------------------------- */

#define HEAD                                                                  \
	"<?xml version=\"1.0\"?>\n<valgrindoutput><pid>7</pid><ppid>6</ppid>" \
	"<args><vargv><exe>/usr/bin/valgrind</exe></vargv>"                   \
	"<argv><exe>./t</exe><arg>x</arg></argv></args>"
#define RUNNING "<status><state>RUNNING</state></status>"
#define FINISHED "<status><state>FINISHED</state></status>"
#define FRAME(fn)                                                        \
	"<frame><ip>0x1</ip><obj>/b/t</obj><fn>" fn "</fn><dir>/s</dir>" \
	"<file>t.c</file><line>3</line></frame>"
#define LEAK(kind, bytes, fn)                                                        \
	"<error><unique>0x0</unique><kind>" kind "</kind><xwhat><text>x</text>"      \
	"<leakedbytes>" bytes "</leakedbytes><leakedblocks>1</leakedblocks></xwhat>" \
	"<stack>" FRAME("malloc") FRAME(fn) "</stack></error>"
#define TAIL "<errorcounts></errorcounts></valgrindoutput>\n"

static const struct {
	const char *text;
	bool running, finished, closed, canary, malformed;
	size_t leaks, errors;
} documents[] = {
	{"", false, false, false, false, false, 0, 0},
	{HEAD RUNNING, true, false, false, false, false, 0, 0},
	{HEAD RUNNING FINISHED TAIL, true, true, true, false, false, 0, 0},
	{HEAD FINISHED LEAK("Leak_DefinitelyLost", "4242", "exitpath_canary") TAIL, false,
	 true, true, true, false, 0, 0},
	{HEAD RUNNING FINISHED LEAK("Leak_DefinitelyLost", "7", "f")
		 LEAK("Leak_IndirectlyLost", "8", "f") LEAK("Leak_PossiblyLost", "9", "f")
			 LEAK("Leak_StillReachable", "9", "f") TAIL,
	 true, true, true, false, false, 3, 0},
	{HEAD RUNNING FINISHED "<stack>" FRAME("open") FRAME("f") "</stack>" TAIL, true,
	 true, true, false, false, 1, 0},
	{HEAD RUNNING "<error><kind>InvalidRead</kind><what>x</what><stack>" FRAME(
		 "f") "</stack><auxwhat>x</auxwhat><stack>" FRAME("free") "</stack></"
									  "error"
									  ">" FINISHED
										  TAIL,
	 true, true, true, false, false, 0, 1},
	{HEAD RUNNING FINISHED "<error><kind>Leak_Def", true, true, false, false, false,
	 0, 0},
	{"<html><pid>7</pid></html>", false, false, false, false, true, 0, 0},
	{"plain text", false, false, false, false, true, 0, 0},
	{"<!DOCTYPE v [<!ENTITY a \"aaa\">]><valgrindoutput>&a;</valgrindoutput>", false,
	 false, false, false, true, 0, 0},
	{"<valgrindoutput><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>", false,
	 false, false, false, true, 0, 0},
	{HEAD TAIL "<more/>", false, false, true, false, true, 0, 0},
};

static void parse(const char *text, size_t piece, struct valgrind_report *ret)
{
	struct valgrind_parser *p = valgrind_parser_new(ret);
	size_t len = strlen(text);

	for (size_t at = 0; at < len; at += piece)
		valgrind_parser_feed(p, text + at, len - at < piece ? len - at : piece);
	valgrind_parser_finish(p);
}

static void check_document(size_t i, size_t piece)
{
	CLEANUP(valgrind_report) struct valgrind_report r = {0};

	parse(documents[i].text, piece, &r);
	if (r.running != documents[i].running || r.finished != documents[i].finished ||
	    r.closed != documents[i].closed || r.canary != documents[i].canary ||
	    !r.malformed != !documents[i].malformed || r.nleaks != documents[i].leaks ||
	    r.nerrors != documents[i].errors)
		fail_msg("%zu by %zu: running %d finished %d closed %d canary %d leaks "
			 "%zu errors %zu: %s",
			 i, piece, r.running, r.finished, r.closed, r.canary, r.nleaks,
			 r.nerrors, r.malformed ? r.malformed : "");
}

static void test_documents(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		check_document(i, 1);
		check_document(i, 100);
		check_document(i, 100000);
	}
}

static void test_fields(void **state)
{
	CLEANUP(valgrind_report) struct valgrind_report r = {0};
	const struct raw_frame *f;

	(void)state;
	parse(documents[4].text, 10, &r);
	assert_int_equal(r.pid, 7);
	assert_int_equal(r.ppid, 6);
	assert_string_equal(r.exe, "./t");
	assert_int_equal(r.leaks[0].kind, VALGRIND_DEFINITE);
	assert_int_equal(r.leaks[0].bytes, 7);
	assert_int_equal(r.leaks[0].stack.n, 2);
	f = &r.leaks[0].stack.frames[1];
	assert_string_equal(f->function, "f");
	assert_string_equal(f->module, "/b/t");
	assert_string_equal(f->file, "/s/t.c");
	assert_int_equal(f->line, 3);
}

/* --- runs ------------------------------------------------------------------------------
 */

static const char subject[] =
	"#include <fcntl.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"#include <sys/socket.h>\n#include <sys/wait.h>\n#include <unistd.h>\n"
	"static char *middle;\n"
	"__attribute__((noinline)) static void leak_here(void)\n"
	"{ void *volatile p = malloc(77); p = NULL; (void)p; }\n"
	"__attribute__((noinline)) static void cycle(void)\n"
	"{ void **a = malloc(16), **b = malloc(24); *a = b; *b = a; a = b = NULL; }\n"
	"__attribute__((noinline)) static void open_here(void)\n"
	"{ open(\"/dev/null\", O_RDONLY); }\n"
	"__attribute__((noinline)) static void scrub(void)\n"
	"{ volatile char d[8192]; for (unsigned i = 0; i < sizeof(d); i++) d[i] = 0; }\n"
	"int main(int n, char **v)\n{\n"
	"	for (int i = 1; i < n; i++) {\n"
	"		const char *s = v[i];\n"
	"		if (!strcmp(s, \"leak\")) leak_here();\n"
	"		if (!strcmp(s, \"cycle\")) cycle();\n"
	"		if (!strcmp(s, \"fd\")) open_here();\n"
	"		if (!strcmp(s, \"socket\")) socket(AF_UNIX, SOCK_STREAM, 0);\n"
	"		if (!strcmp(s, \"middle\")) middle = (char *)malloc(50) + 9;\n"
	"		if (!strcmp(s, \"read\")) { int *volatile p = malloc(4); "
	"free(p); if (*p) scrub(); }\n"
	"		scrub();\n"
	"		if (!strcmp(s, \"_exit\")) _exit(0);\n"
	"		if (!strcmp(s, \"abort\")) abort();\n"
	"		if (!strcmp(s, \"hang\")) pause();\n"
	"		if (!strcmp(s, \"fork\")) { if (fork()) { wait(NULL); return 0; "
	"} }\n"
	"		if (!strcmp(s, \"spawn\")) { if (!fork()) execv(v[0], v + i); "
	"wait(NULL); return 0; }\n"
	"	}\n	return 0;\n}\n";

static char *checkout; /* holds subject.c, t, asan, static */

static int build(void **state)
{
	const char *tmp = getenv("TMPDIR");
	CLEANUP_FREE char *source = NULL;
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-ec"},
			(char[]){"cc -g subject.c -o t; cc -static subject.c -o static;"
				 "cc -g -fsanitize=address subject.c -o asan"},
			NULL};
	CLEANUP(buf) struct buf out = {0};
	struct err err = {0};

	(void)state;
	checkout = make_temp_dir(tmp && *tmp ? tmp : "/tmp", "valgrind-unit-", &err);
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
	const char *leaks; /* "heap 1, fd 2" in the order found */
	const char *text;  /* in the detail or a note */
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

static void run_valgrind(const struct run *r, struct probe *ret)
{
	const struct detector *d = detector_find("valgrind");
	CLEANUP_FREE char *dir = make_temp_dir(harness_tmpdir(), "run-%p-", NULL);
	CLEANUP(run_spec)
	struct run_spec spec = {.cwd = xstrdup(checkout), .dir = xstrdup(dir)};
	struct detect_run run = {.dir = dir, .tmpdir = dir, .checkout = checkout};
	struct run_result result = {0};
	struct err err = {0};

	add_argv(&spec, r->command);
	strv_copy(&spec.env, environ);
	env_set(&spec.env, "ASAN_OPTIONS", NULL);
	if (r->env) {
		CLEANUP_FREE char *name = xstrndup(r->env, strcspn(r->env, "="));

		env_set(&spec.env, name, strchr(r->env, '=') + 1);
	}
	spec.timeout_ms = strstr(r->command, "hang") ? 2000 : 60000;
	if (d->prepare(&run, &spec, &err) < 0 || proc_run(&spec, &result, &err) < 0)
		fail_msg("%s: %s", r->command, err.message);
	if (d->collect(&run, &result, ret, &err) < 0)
		fail_msg("%s: %s", r->command, err.message);
	assert_null(run.state);
	assert_int_equal(result.stderr_bytes > 0, strstr(r->command, "asan") != NULL);
}

static bool says(const struct probe *p, const char *text)
{
	bool found = p->detail && strstr(p->detail, text);

	for (size_t i = 0; i < p->notes.n; i++)
		found |= strstr(p->notes.v[i], text) != NULL;
	return found;
}

static bool check_run(const struct run *r)
{
	CLEANUP(probe) struct probe p = {0};
	CLEANUP(buf) struct buf leaks = {0};

	run_valgrind(r, &p);
	for (size_t i = 0; i < p.nleaks; i++)
		buf_addf(&leaks, "%s%s %llu", i ? ", " : "",
			 resource_name(p.leaks[i].resource),
			 (unsigned long long)p.leaks[i].units[0]);
	if (p.state == r->state && !strcmp(buf_str(&leaks), r->leaks) &&
	    (!r->text || says(&p, r->text)))
		return true;
	print_error("%s (%s): %s, %s: %s; %s\n", r->command, r->env ? r->env : "",
		    probe_state_name(p.state), buf_str(&leaks), p.detail ? p.detail : "",
		    p.notes.n ? p.notes.v[0] : "");
	return false;
}

static const struct run runs[] = {
	{"./t", NULL, PROBE_COMPLETE, "", NULL},
	{"./t leak _exit", NULL, PROBE_COMPLETE, "heap 1", NULL},
	{"./t cycle", NULL, PROBE_COMPLETE, "heap 1", NULL},
	{"./t fd fd socket", NULL, PROBE_COMPLETE, "socket 1, fd 2", NULL},
	{"./t leak fork leak fd", NULL, PROBE_COMPLETE, "heap 2, fd 1", NULL},
	{"./t fork leak", NULL, PROBE_COMPLETE, "heap 1", NULL},
	{"./t leak fd spawn leak", NULL, PROBE_COMPLETE, "fd 1, heap 2", NULL},
	{"./t middle", NULL, PROBE_COMPLETE, "", NULL},
	{"./t read", NULL, PROBE_COMPLETE, "", "InvalidRead in main (subject.c:"},
	{"./t leak abort", NULL, PROBE_INTERRUPTED, "heap 1", "SIGABRT"},
	{"./t hang", NULL, PROBE_INTERRUPTED, "", "timed out"},
	{"./t leak; exit 3", NULL, PROBE_COMPLETE, "heap 1", NULL},
	{"./t leak", "VALGRIND_OPTS=--leak-check=no", PROBE_COMPLETE, "heap 1", NULL},
	{"./static leak", NULL, PROBE_NOT_FITTING, "", "static"},
	{"./static; exit 0", NULL, PROBE_NOT_FITTING, "", "static is static, or"},
	{"./asan leak", NULL, PROBE_SILENT, "", "use detector lsan"},
	{"./t; ./static", NULL, PROBE_COMPLETE, "", "heap of static was not observed"},
};

static void test_runs(void **state)
{
	size_t bad = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		bad += !check_run(&runs[i]);
	assert_int_equal(bad, 0);
}

static void test_a_leak_has_a_place(void **state)
{
	const struct run r = {.command = "./t fd"};
	CLEANUP(probe) struct probe p = {0};
	const struct frame *f;

	(void)state;
	run_valgrind(&r, &p);
	assert_int_equal(p.nleaks, 1);
	f = leak_top_frame(&p.leaks[0]);
	assert_string_equal(f->function, "open_here");
	assert_string_equal(f->file, "subject.c");
	assert_true(f->project && f->line > 0);
	assert_string_equal(p.leaks[0].process, "t");
	assert_string_equal(p.leaks[0].what, "from open()");
}

static void test_a_report_that_is_not_there(void **state)
{
	const struct detector *d = detector_find("valgrind");
	CLEANUP_FREE char *dir = make_temp_dir(harness_tmpdir(), "run-", NULL);
	CLEANUP(run_spec) struct run_spec spec = {.cwd = xstrdup("/")};
	struct detect_run run = {.dir = dir, .checkout = "/"};
	const struct run_result result = {.end = RUN_EXITED};
	CLEANUP(probe) struct probe none = {0}, lost = {0};
	struct err err = {0};

	(void)state;
	strv_add(&spec.argv, "true");
	assert_int_equal(d->prepare(&run, &spec, &err), 0);
	assert_int_equal(d->collect(&run, &result, &none, &err), 0);
	assert_int_equal(none.state, PROBE_SILENT);
	assert_int_equal(d->prepare(&run, &spec, &err), 0);
	assert_int_equal(remove_tree(dir, &err), 0);
	assert_int_equal(d->collect(&run, &result, &lost, &err), -1);
	assert_int_equal(err.kind, ERR_ENVIRONMENT);
}

static void test_probe(void **state)
{
	const struct detector *d = detector_find("valgrind");
	CLEANUP_FREE char *version = NULL, *path = xstrdup(getenv("PATH"));
	struct err err = {0};

	(void)state;
	assert_int_equal(d->probe(&version, &err), 0);
	assert_true(version[0] >= '0' && version[0] <= '9');
	setenv("PATH", "/nonexistent", 1);
	assert_int_equal(d->probe(&version, &err), -1);
	assert_int_equal(err.kind, ERR_ENVIRONMENT);
	setenv("PATH", path, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_documents),
		HARNESS_TEST(test_fields),
		HARNESS_TEST(test_runs),
		HARNESS_TEST(test_a_leak_has_a_place),
		HARNESS_TEST(test_a_report_that_is_not_there),
		HARNESS_TEST(test_probe),
	};

	return cmocka_run_group_tests(tests, build, unbuild);
}
