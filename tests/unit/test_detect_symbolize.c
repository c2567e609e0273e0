/* This program looks itself up, then a stripped copy, and files that are none. */
#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/demangle.h"
#include "detect/frames.h"
#include "proc/proc.h"

#include <link.h>
#include <string.h>
#include <sys/stat.h>

static char self[4096];
static uint64_t load_bias;

__attribute__((noinline)) static int looked_for(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(uint64_t *)ctx = info->dlpi_addr;
	return 1;
}

static uint64_t address(void)
{
	return (uint64_t)(uintptr_t)looked_for - load_bias + 1;
}

static void test_this_program(void **state)
{
	__attribute__((cleanup(symbols_cleanup))) struct symbols *s =
		symbols_new("/", NULL);

	(void)state;
	for (int i = 0; i < 2; i++) { /* the second time from the open file */
		const struct symbol_place *p;

		assert_int_equal(symbols_find(s, self, address(), &p), 1);
		assert_string_equal(p->function, "looked_for");
		assert_non_null(strstr(p->file, "test_detect_symbolize.c"));
		assert_true(p->line > 10 && p->line < 30);
	}
}

static void test_nothing_known(void **state)
{
	__attribute__((cleanup(symbols_cleanup))) struct symbols *s =
		symbols_new("/", NULL);
	const char *text = harness_file("text", "not an object file\n");
	CLEANUP_FREE char *fifo = path_join(harness_tmpdir(), "fifo");
	CLEANUP_FREE char *stripped = path_join(harness_tmpdir(), "stripped");
	CLEANUP_FREE char *cut = path_join(harness_tmpdir(), "cut");
	char *argv[] = {(char[]){"strip"}, (char[]){"-o"}, stripped, self, NULL};
	CLEANUP(buf) struct buf out = {0}, bytes = {0};
	const struct symbol_place *p;

	(void)state;
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(proc_capture(argv, &(struct capture_opts){0}, &out, NULL, NULL),
			 0);
	assert_int_equal(read_file(self, 4000, &bytes, NULL), 0);
	assert_int_equal(write_file(cut, bytes.data, bytes.len, NULL), 0);
	{
		const char *const paths[] = {text, fifo,       stripped,       cut,
					     "",   "relative", "/nonexistent", "/"};

		for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
			assert_false(symbols_find(s, paths[i], address(), &p));
	}
	assert_false(symbols_find(s, self, UINT64_MAX, &p));
	assert_false(symbols_find(s, self, 1, &p));
}

static void test_a_forged_report_opens_few_files(void **state)
{
	__attribute__((cleanup(symbols_cleanup))) struct symbols *s =
		symbols_new("/", NULL);
	const struct symbol_place *p;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		CLEANUP_FREE char *path = xasprintf("/nonexistent/%d", i);

		assert_false(symbols_find(s, path, 1, &p));
	}
	assert_false(symbols_find(s, self, address(), &p));
	symbols_free(NULL);
}

static void test_a_separate_debug_file(void **state)
{
	__attribute__((cleanup(symbols_cleanup))) struct symbols *s =
		symbols_new("/", NULL);
	static const char script[] = "objcopy --only-keep-debug \"$0\" p.debug && "
				     "objcopy -S --add-gnu-debuglink=p.debug \"$0\" p && "
				     "mkdir .debug && mv p.debug .debug/";
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, xstrdup(script), self, NULL};
	CLEANUP_FREE char *path = path_join(harness_tmpdir(), "p");
	CLEANUP(buf) struct buf out = {0};
	const struct symbol_place *p;

	(void)state;
	assert_int_equal(proc_capture(argv,
				      &(struct capture_opts){.cwd = harness_tmpdir()},
				      &out, NULL, NULL),
			 0);
	free(argv[2]);
	assert_int_equal(symbols_find(s, path, address(), &p), 1);
	assert_string_equal(p->function, "looked_for");
	assert_non_null(strstr(p->file, "test_detect_symbolize.c"));
	assert_false(symbols_incomplete(s));
}

static void test_names(void **state)
{
	static const struct {
		const char *name, *text;
	} cases[] = {
		{"main", "main"},
		{"", ""},
		{"_ZN1a1bEi", "a::b(int)"},
		{"_ZN12_GLOBAL__N_19anonymousEi",
		 "(anonymous namespace)::anonymous(int)"},
		{"_Znwm", "operator new(unsigned long)"},
		{"_Zwhat", "_Zwhat"},
		{"_Z", "_Z"},
		{"_Z1fIiEvT_", "void f<int>(int)"},
	};
	struct demangler *d = demangler_new();
	CLEANUP(buf) struct buf b = {0};
	CLEANUP_FREE char *same = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *text = demangle(d, cases[i].name);

		assert_string_equal(text, cases[i].text);
	}
	/* Each part holds the one before twice: 2^50 bytes, were it written out. */
	buf_adds(&b, "_Z1f1aIS_S_E");
	for (int i = 0; i < 50; i++)
		buf_addf(&b, "1bIS%c_S%c_E", '0' + i % 10, '0' + i % 10);
	same = demangle(d, buf_str(&b));
	assert_string_equal(same, buf_str(&b));
	demangler_free(d);
}

static void test_places(void **state)
{
	/* As it is, and as a sandboxed run sees it. */
	const struct source_root roots[] = {{harness_tmpdir(), harness_tmpdir()},
					    {"/home/u/repo", harness_tmpdir()}};
	static const struct {
		const char *file, *module, *place; /* %s: the checkout */
		bool project;
	} cases[] = {
		{"%s/src/a.c", "/usr/lib/x.so", "src/a.c", true},
		{"%s/build/../src/./a.c", NULL, "src/a.c", true},
		{"%s-other/src/a.c", NULL, NULL, false},
		{"../src.c", NULL, "src.c", true},
		{"src.c", NULL, "src.c", true},
		{"../../libsanitizer/asan.cpp", "/l/libasan.so.8",
		 "../../libsanitizer/asan.cpp", false},
		{NULL, "%s/build/t", NULL, true},
		{"/usr/include/c++/12/vector", "%s/build/t", "/usr/include/c++/12/vector",
		 false},
		{"/elsewhere/a.c", "%s/build/t", "/elsewhere/a.c", true},
		{NULL, NULL, NULL, false},
	};

	(void)state;
	harness_file("src.c", "");
	for (size_t n = 0; n < ARRAY_SIZE(cases) * ARRAY_SIZE(roots); n++) {
		const struct source_root *root = &roots[n / ARRAY_SIZE(cases)];
		const char *checkout = root->seen;
		size_t i = n % ARRAY_SIZE(cases);
		struct raw_stack s = {0};
		struct raw_frame *raw = raw_stack_add(&s);
		struct leak l = {0};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		raw->file = cases[i].file ? xasprintf(cases[i].file, checkout) : NULL;
		raw->module =
			cases[i].module ? xasprintf(cases[i].module, checkout) : NULL;
#pragma GCC diagnostic pop
		frames_fill(&l, &s, root, NULL);
		if (cases[i].place)
			assert_string_equal(l.frames[0].file, cases[i].place);
		assert_int_equal(l.frames[0].project, cases[i].project);
		leak_release(&l);
		raw_stack_release(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_this_program),
		HARNESS_TEST(test_nothing_known),
		HARNESS_TEST(test_a_forged_report_opens_few_files),
		HARNESS_TEST(test_a_separate_debug_file),
		HARNESS_TEST(test_names),
		HARNESS_TEST(test_places),
	};

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
		return 1;
	dl_iterate_phdr(first_object, &load_bias);
	return HARNESS_RUN(tests);
}
