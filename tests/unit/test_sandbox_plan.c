/* From a struct sandbox to a plan: which views and homes there can be. */
#include "harness.h"

#include "base/macros.h"
#include "sandbox/make_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void takes_views(void **state)
{
	static const struct {
		const char *from, *at;
		enum view_mode mode;
		enum err_kind kind; /* ERR_NONE: it can be */
	} cases[] = {
		{"/usr", "/v", VIEW_READ, ERR_NONE},
		{"/usr/", "/v", VIEW_READ, ERR_USAGE},
		{"/usr", "/v/", VIEW_READ, ERR_USAGE},
		{"/usr", "/", VIEW_READ, ERR_USAGE},
		{"/", "/v", VIEW_READ, ERR_USAGE},
		{"/usr", "", VIEW_READ, ERR_USAGE},
		{"", "/v", VIEW_READ, ERR_USAGE},
		{"usr", "/v", VIEW_READ, ERR_USAGE},
		{"/usr", "v", VIEW_READ, ERR_USAGE},
		{"/usr", "//v", VIEW_READ, ERR_USAGE},
		{"/usr", "/v//w", VIEW_READ, ERR_USAGE},
		{"/usr", "/v/../w", VIEW_READ, ERR_USAGE},
		{"/usr", "/v/..", VIEW_READ, ERR_USAGE},
		{"/usr", "/./v", VIEW_READ, ERR_USAGE},
		{"/usr", "/.v/..w/v..", VIEW_READ, ERR_NONE},
		{"/etc/passwd", "/v", VIEW_READ, ERR_NONE},
		{"/etc/passwd", "/v", VIEW_WRITE, ERR_NONE},
		{"/etc/passwd", "/v", VIEW_DISCARD, ERR_USAGE},
		{"/no/such/thing", "/v", VIEW_READ, ERR_USAGE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(sandbox) struct sandbox sb = {0};
		struct err err = {0};
		struct plan *p;

		sandbox_add_view(&sb, cases[i].from, cases[i].at, cases[i].mode);
		p = plan_new(&sb, &err);
		if ((p != NULL) != (cases[i].kind == ERR_NONE) ||
		    err.kind != cases[i].kind)
			fail_msg("%s at %s: %s", cases[i].from, cases[i].at, err.message);
		if (p) {
			assert_string_equal(plan_string(p, p->views[0].at), cases[i].at);
			assert_string_equal(plan_string(p, p->views[0].from),
					    cases[i].from);
			assert_int_equal(p->views[0].is_dir,
					 strcmp(cases[i].from, "/etc/passwd") != 0);
		} else {
			assert_string_not_equal(err.message, "");
		}
		free(p);
	}
}

static void takes_a_home(void **state)
{
	static const struct {
		const char *home;
		int taken;
	} cases[] = {
		{"/home/u", 1},	  {"/root", 1},	   {"/tmp/h", 1},     {"/var/lib/x", 1},
		{"/usrlocal", 1}, {"/", 0},	   {"", 0},	      {"home", 0},
		{"/usr", 0},	  {"/usr/x", 0},   {"/dev/shm/h", 0}, {"/proc", 0},
		{"/home//u", 0},  {"/home/u/", 0}, {NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct sandbox sb = {.home = (char *)(uintptr_t)cases[i].home};
		struct err err = {0};
		struct plan *p = plan_new(&sb, &err);

		assert_non_null(p);
		if ((p->home != 0) != cases[i].taken)
			fail_msg("home %s", cases[i].home);
		if (p->home)
			assert_string_equal(plan_string(p, p->home), cases[i].home);
		free(p);
	}
}

static void bounds_views(void **state)
{
	CLEANUP(sandbox) struct sandbox many = {0}, lengthy = {0};
	struct err err = {0};
	struct plan *p;
	char at[PLAN_STRINGS / PLAN_VIEWS * 2];

	(void)state;
	for (int i = 0; i < PLAN_VIEWS; i++)
		sandbox_add_view(&many, "/usr", "/v", VIEW_READ);
	p = plan_new(&many, &err);
	assert_non_null(p);
	assert_int_equal(p->nviews, PLAN_VIEWS);
	free(p);
	sandbox_add_view(&many, "/usr", "/v", VIEW_READ);
	assert_null(plan_new(&many, &err));
	assert_int_equal(err.kind, ERR_USAGE);
	memset(at, 'x', sizeof(at));
	at[0] = '/';
	at[sizeof(at) - 1] = '\0';
	for (int i = 0; i < PLAN_VIEWS; i++)
		sandbox_add_view(&lengthy, "/usr", at, VIEW_READ);
	err = (struct err){0};
	assert_null(plan_new(&lengthy, &err));
	assert_int_equal(err.kind, ERR_USAGE);
	assert_non_null(strstr(err.message, "too long"));
}

static void keeps_the_umask(void **state)
{
	const struct sandbox nothing = {0};
	struct err err = {0};
	mode_t before = umask(0137);
	struct plan *p = plan_new(&nothing, &err);

	(void)state;
	assert_int_equal(umask(before), 0137);
	assert_non_null(p);
	assert_int_equal(p->umask, 0137);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(takes_views),
		HARNESS_TEST(takes_a_home),
		HARNESS_TEST(bounds_views),
		HARNESS_TEST(keeps_the_umask),
	};

	return HARNESS_RUN(tests);
}
