/*
 * Programs that misbehave, as functions of the test binary: a test runs itself again
 * with the name of one as its argument. Each test has its own table of them.
 */
#ifndef TESTS_UNIT_HOSTILE_H
#define TESTS_UNIT_HOSTILE_H

#include "base/macros.h"
#include "model/run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct hostile {
	const char *name;
	int (*main)(void); /* its value is the exit status */
};

/* Runs the program named by argv[1], or returns -1 when there is none: this is the test.
 */
static inline int hostile_main(const struct hostile *programs, int argc, char **argv)
{
	if (argc < 2)
		return -1;
	for (const struct hostile *h = programs; h->name; h++)
		if (!strcmp(h->name, argv[1]))
			return h->main();
	return 99;
}

/* A spec that runs it with the test's temporary directory as cwd and output directory. */
static inline void hostile_spec(struct run_spec *spec, const char *dir, const char *name)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n < 0 ? 0 : n] = '\0';
	strv_add(&spec->argv, self);
	strv_add(&spec->argv, name);
	strv_copy(&spec->env, environ);
	env_set(&spec->env, "ASAN_OPTIONS", "detect_leaks=1:exitcode=0:log_path=asan");
	spec->cwd = strdup(dir);
	spec->dir = strdup(dir);
	spec->timeout_ms = 30000;
}

#endif
