/*
 * Programs whose leaks are named by the runtime within them, and once more by exitpath
 * from addresses alone: both must come out the same.
 */
#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/detect.h"
#include "proc/proc.h"

#include <string.h>

extern char **environ;

/* No pointer may survive in a dead slot of the stack: what allocates lies a gap below
 * what scrub() does not overwrite of its own frame. */
static const char c_source[] =
	"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"#include \"part.h\"\n"
	"static inline void scrub(void)\n{\n"
	"	volatile char dead[65536];\n"
	"	for (unsigned i = 0; i < sizeof(dead); i++) dead[i] = 0;\n}\n"
	"static void *volatile sink;\n"
	"static inline void *innermost(size_t n)\n{\n"
	"	void *p = malloc(n);\n"
	"	return p;\n}\n"
	"static inline void middle(size_t n)\n{\n"
	"	sink = innermost(n);\n"
	"	sink = NULL;\n}\n"
	"static void outer(size_t n)\n{\n"
	"	if (n) {\n		size_t twice = 2 * n;\n		"
	"middle(twice);\n	}\n}\n"
	"__attribute__((noinline)) static void apart(size_t n)\n{\n"
	"	sink = calloc(n, 3);\n	sink = NULL;\n}\n"
	"static int compare(const void *a, const void *b)\n{\n"
	"	sink = malloc(5);\n	sink = NULL;\n"
	"	return *(const int *)a - *(const int *)b;\n}\n"
	"__attribute__((noinline)) int recurse(int n)\n{\n"
	"	if (n) return recurse(n - 1) + n;\n"
	"	sink = malloc(17);\n	sink = NULL;\n	return 0;\n}\n"
	"__attribute__((noinline)) static void work(size_t n)\n{\n"
	"	int v[] = {2, 1};\n"
	"	volatile char gap[1024];\n	gap[0] = 0;\n"
	"	outer(n);\n	apart(n);\n	in_header(n);\n	in_library(n);\n"
	"	qsort(v, 2, sizeof(v[0]), compare);\n"
	"	recurse(3);\n	gap[1023] = 0;\n}\n"
	"int main(int argc, char **argv)\n{\n"
	"	(void)argv;\n	work((size_t)argc);\n	scrub();\n	return 0;\n}\n";

static const char c_header[] =
	"#include <stdlib.h>\nvoid in_library(size_t n);\n"
	"static inline void in_header(size_t n)\n{\n"
	"	void *volatile p = malloc(n + 11);\n	p = NULL;\n	(void)p;\n}\n";

static const char c_library[] =
	"#include \"part.h\"\n"
	"static void *volatile kept;\n"
	"static void hidden(size_t n)\n{\n	kept = malloc(n + 23);\n	kept = "
	"0;\n}\n"
	"void in_library(size_t n)\n{\n	hidden(n);\n	in_header(n);\n}\n";

static const char cc_source[] =
	"#include <cstdlib>\n#include <map>\n#include <memory>\n#include <string>\n"
	"#include <vector>\n"
	"static void *volatile sink;\n"
	"namespace outer { namespace inner {\n"
	"struct thing {\n"
	"	int *v;\n"
	"	explicit thing(int n) : v(new int[n]) {}\n"
	"	void grow(int n) { int *old = v; v = new int[n]; sink = old; sink = 0; "
	"}\n"
	"	static void make(int n) { sink = new thing(n); sink = 0; }\n"
	"	bool operator<(const thing &o) const { sink = malloc(9); sink = 0; "
	"return v < "
	"o.v; }\n"
	"};\n"
	"void function(int n, const char *, std::string *) { sink = malloc(n); sink = 0; "
	"}\n"
	"} }\n"
	"namespace {\n"
	"void anonymous(int n) { sink = malloc(n); sink = 0; }\n"
	"struct local { void method() const { sink = new char[3]; sink = 0; } };\n"
	"}\n"
	"template <typename T> T *templated(T value)\n"
	"{ T *p = new T(value); sink = p; sink = 0; return nullptr; }\n"
	"static void plain(int n) { sink = malloc(n); sink = 0; }\n"
	"extern \"C\" void c_linkage(int n) { sink = malloc(n); sink = 0; }\n"
	"__attribute__((noinline)) static void scrub()\n"
	"{ volatile char d[65536]; for (unsigned i = 0; i < sizeof(d); i++) d[i] = 0; }\n"
	"__attribute__((noinline)) static void all(int n)\n{\n"
	"	outer::inner::thing::make(n);\n"
	"	outer::inner::thing t(n);\n	t.grow(n + 1);\n"
	"	(void)(t < t);\n"
	"	outer::inner::function(n, \"\", nullptr);\n"
	"	anonymous(n);\n	local().method();\n"
	"	templated(1.5);\n	templated<const char *>(\"\");\n"
	"	templated(std::vector<int>());\n"
	"	plain(n);\n	c_linkage(n);\n"
	"	auto *text = new std::string(100, 'x');\n	sink = text;\n"
	"	auto *list = new std::vector<std::string>(3);\n	sink = list;\n"
	"	list->push_back(*text);\n"
	"	auto *map = new std::map<std::string, int>;\n	sink = map;\n"
	"	(*map)[\"one\"] = 1;\n	sink = nullptr;\n}\n"
	"__attribute__((noinline)) static void deep(int n)\n"
	"{ volatile char gap[1024]; gap[0] = 0; all(n); gap[1023] = 0; }\n"
	"int main(int argc, char **)\n{\n	deep(argc);\n	scrub();\n	return "
	"0;\n}\n";

static const char lambda_source[] =
	"#include <cstdlib>\n#include <functional>\n"
	"static void *volatile sink;\n"
	"__attribute__((noinline)) static void call(const std::function<void(int)> &f) { "
	"f(3); }\n"
	"__attribute__((noinline)) static void scrub()\n"
	"{ volatile char d[65536]; for (unsigned i = 0; i < sizeof(d); i++) d[i] = 0; }\n"
	"__attribute__((noinline)) static void deep()\n{\n"
	"	volatile char gap[1024];\n	gap[0] = 0;\n"
	"	call([](int n) { sink = malloc(n); sink = nullptr; });\n"
	"	gap[1023] = 0;\n}\n"
	"int main()\n{\n	deep();\n	scrub();\n	return 0;\n}\n";

static char *checkout;

static int write_sources(void **state)
{
	static const struct {
		const char *name, *text;
	} files[] = {
		{"c.c", c_source},
		{"part.h", c_header},
		{"library.c", c_library},
		{"cc.cc", cc_source},
		{"lambda.cc", lambda_source},
		{"nothing", ""},
	};
	const char *tmp = getenv("TMPDIR");

	(void)state;
	checkout = make_temp_dir(tmp && *tmp ? tmp : "/tmp", "names-unit-", NULL);
	for (size_t i = 0; checkout && i < ARRAY_SIZE(files); i++) {
		CLEANUP_FREE char *path = path_join(checkout, files[i].name);

		if (write_file(path, files[i].text, strlen(files[i].text), NULL) < 0)
			return -1;
	}
	return checkout ? 0 : -1;
}

static int remove_sources(void **state)
{
	(void)state;
	remove_tree(checkout, NULL);
	free(TAKE_PTR(checkout));
	return 0;
}

/* options: of ASAN_OPTIONS and LSAN_OPTIONS, or NULL. */
static void run_lsan(const char *options, struct probe *ret)
{
	const struct detector *d = detector_find("lsan");
	CLEANUP_FREE char *dir = make_temp_dir(harness_tmpdir(), "run-", NULL);
	CLEANUP(run_spec)
	struct run_spec spec = {.cwd = xstrdup(checkout), .dir = xstrdup(dir)};
	struct detect_run run = {.dir = dir, .tmpdir = dir, .checkout = checkout};
	struct run_result result = {0};
	struct err err = {0};

	strv_add(&spec.argv, "./t");
	strv_copy(&spec.env, environ);
	env_set(&spec.env, "ASAN_OPTIONS", options);
	env_set(&spec.env, "LSAN_OPTIONS", options);
	spec.timeout_ms = 60000;
	if (d->prepare(&run, &spec, &err) < 0 || proc_run(&spec, &result, &err) < 0 ||
	    d->collect(&run, &result, ret, &err) < 0)
		fail_msg("%s", err.message);
}

static void build(const char *command)
{
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-ec"}, xstrdup(command), NULL};
	CLEANUP(buf) struct buf out = {0};
	struct err err = {0};

	if (proc_capture(argv, &(struct capture_opts){.cwd = checkout}, &out, NULL,
			 &err) < 0)
		fail_msg("%s: %s", command, err.message);
	free(argv[2]);
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Of the allocator's own frame only the module counts: malloc has many names. */
static bool same_frame(const struct frame *a, const struct frame *b)
{
	if (!same(a->module, b->module) || a->offset != b->offset)
		return false;
	if (module_is_detector(a->module) || function_is_runtime(a->function))
		return function_is_runtime(b->function);
	if (!same(a->function, b->function) || a->line != b->line ||
	    a->project != b->project)
		return false;
	/* llvm-symbolizer joins the names of directories in its own way, and has file
	 * names, without lines, from the symbol table. */
	return module_is_libc(a->module) || (!a->line && !b->file) ||
	       same(a->file, b->file);
}

static void print_stack(const char *who, const struct leak *l)
{
	print_error("  %s: %s\n", who, l->signature);
	for (size_t i = 0; i < l->nframes; i++) {
		const struct frame *f = &l->frames[i];

		print_error("    %s+0x%llx %s (%s:%u)%s\n", f->module,
			    (unsigned long long)f->offset, f->function, f->file, f->line,
			    f->project ? "" : " not ours");
	}
}

static bool same_leak(const struct leak *a, const struct leak *b)
{
	bool is = !strcmp(a->signature, b->signature) && a->nframes == b->nframes &&
		  a->units[0] == b->units[0];

	for (size_t i = 0; is && i < a->nframes; i++)
		is = same_frame(&a->frames[i], &b->frames[i]);
	return is;
}

static const struct leak *leak_named(const struct probe *p, const char *signature)
{
	for (size_t i = 0; i < p->nleaks; i++)
		if (!strcmp(p->leaks[i].signature, signature))
			return &p->leaks[i];
	return NULL;
}

/* A name that must be in one of the signatures. */
static bool has_name(const struct probe *p, const char *name)
{
	for (size_t i = 0; i < p->nleaks; i++)
		if (strstr(p->leaks[i].signature, name))
			return true;
	return false;
}

static bool compare(const char *command, const char *name)
{
	CLEANUP(probe) struct probe theirs = {0};
	CLEANUP(probe) struct probe ours = {0};
	CLEANUP_FREE char *options = xasprintf("suppressions=%s/nothing", checkout);
	size_t bad = 0;

	build(command);
	run_lsan(options, &theirs);
	run_lsan(NULL, &ours);
	if (ours.state != PROBE_COMPLETE || theirs.state != PROBE_COMPLETE)
		fail_msg("%s: %s, %s", command, ours.detail, theirs.detail);
	for (size_t i = 0; i < theirs.nleaks; i++) {
		const struct leak *a = &theirs.leaks[i];
		const struct leak *b = leak_named(&ours, a->signature);

		if (b && same_leak(a, b))
			continue;
		print_error("%s\n", command);
		print_stack("runtime", a);
		print_stack("exitpath", b		  ? b
					: i < ours.nleaks ? &ours.leaks[i]
							  : &(struct leak){0});
		bad++;
	}
	for (size_t i = 0; i < ours.nleaks; i++)
		if (!leak_named(&theirs, ours.leaks[i].signature))
			print_stack("exitpath alone", &ours.leaks[i]);
	if (!has_name(&ours, name))
		print_error("%s: no %s\n", command, name);
	return !bad && theirs.nleaks == ours.nleaks && has_name(&ours, name);
}

static void compare_all(const char *format, const char *name)
{
	static const char *const compilers[][2] = {{"gcc", "g++"}, {"clang", "clang++"}};
	size_t bad = 0;

	for (size_t c = 0; c < 2; c++)
		for (int level = 0; level < 3; level++) {
			CLEANUP(buf) struct buf command = {0};

			for (const char *p = format; *p; p++)
				if (!strncmp(p, "CC", 2) && p++)
					buf_adds(&command, compilers[c][0]);
				else if (!strncmp(p, "XX", 2) && p++)
					buf_adds(&command, compilers[c][1]);
				else if (*p == '@')
					buf_addf(&command, "%d", level);
				else
					buf_addc(&command, *p);
			bad += !compare(buf_str(&command), name);
		}
	assert_int_equal(bad, 0);
}

static void test_c(void **state)
{
	(void)state;
	compare_all("CC -g -O@ -fsanitize=address -fPIC -shared library.c -o libpart.so; "
		    "CC -g -O@ -fsanitize=address c.c -o t ./libpart.so",
		    "t!innermost<t!middle<t!outer<t!work");
}

static void test_c_without_pie(void **state)
{
	(void)state;
	compare_all("CC -g -O@ -fsanitize=leak -no-pie -fno-pie c.c library.c -o t",
		    "t!hidden<t!in_library");
}

static void test_cc(void **state)
{
	(void)state;
	compare_all("XX -g -O@ -fsanitize=address cc.cc -o t", "t!outer::inner::");
}

static void test_lambda(void **state)
{
	(void)state;
	compare_all("XX -g -O@ -fsanitize=address lambda.cc -o t", "operator()");
}

static void test_without_dwarf(void **state)
{
	(void)state;
	compare_all("CC -O@ -fsanitize=address c.c library.c -o t", "t!apart");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_c),
		HARNESS_TEST(test_c_without_pie),
		HARNESS_TEST(test_cc),
		HARNESS_TEST(test_lambda),
		HARNESS_TEST(test_without_dwarf),
	};

	return cmocka_run_group_tests(tests, write_sources, remove_sources);
}
