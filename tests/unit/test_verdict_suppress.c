#include "harness.h"

#include "base/mem.h"
#include "verdict/verdict.h"

#include <string.h>

static void patterns(void **state)
{
	static const struct {
		const char *match;
		enum resource resource;
		const char *what;
		const char *functions[4];
		bool matches;
	} cases[] = {
		{"leak:leak_here",
		 RESOURCE_HEAP,
		 NULL,
		 {"malloc", "leak_here", "main"},
		 true},
		{"heap:leak_here",
		 RESOURCE_HEAP,
		 NULL,
		 {"malloc", "leak_here", "main"},
		 true},
		{"leak:work", RESOURCE_HEAP, NULL, {"malloc", "leak_here", "work"}, true},
		{"leak:leak_*", RESOURCE_HEAP, NULL, {"leak_here.isra.0"}, true},
		{"leak:leak", RESOURCE_HEAP, NULL, {"leak_here"}, false},
		{"leak:malloc", RESOURCE_HEAP, NULL, {"malloc", "leak_here"}, false},
		{"leak:main",
		 RESOURCE_HEAP,
		 NULL,
		 {"malloc", "leak_here", "main"},
		 false},
		{"leak:main", RESOURCE_HEAP, NULL, {"malloc", "main"}, true},
		{"leak:40 bytes", RESOURCE_HEAP, "40 bytes", {NULL}, false},
		{"leak:f", RESOURCE_FD, NULL, {"f"}, false},
		{"fd:f", RESOURCE_FD, NULL, {"f"}, true},
		{"fd:data/log.txt", RESOURCE_FD, "data/log.txt", {NULL}, true},
		{"fd:data/*", RESOURCE_FD, "data/log.txt", {NULL}, true},
		{"fd:data", RESOURCE_FD, "data/log.txt", {NULL}, false},
		{"fd:data/log.txt", RESOURCE_FD, NULL, {NULL}, false},
		{"fd:/dev/urandom", RESOURCE_FD, "/dev/urandom", {NULL}, true},
		{"socket:tcp *", RESOURCE_SOCKET, "tcp 127.0.0.1:80", {NULL}, true},
		{"lock:x.db", RESOURCE_LOCK, "x.db", {NULL}, true},
		{"tempfile:$TMPDIR/x.*",
		 RESOURCE_TEMPFILE,
		 "$TMPDIR/x.Ab3xYz",
		 {NULL},
		 true},
		{"fd:x", RESOURCE_FD, "my x", {NULL}, false},
		{"tempfile:/tmp/x.?", RESOURCE_TEMPFILE, "/tmp/x.Ab3xYz", {NULL}, true},
		{"tempfile:/tmp/x.*", RESOURCE_TEMPFILE, "/tmp/x.Ab3xYz", {NULL}, true},
		{"tempfile:/tmp/x", RESOURCE_SHARED_FILE, "/tmp/x", {NULL}, true},
		{"posix_shm:/dev/shm/x",
		 RESOURCE_SHARED_FILE,
		 "/dev/shm/x",
		 {NULL},
		 true},
		{"shared_file:/tmp/x", RESOURCE_SHARED_FILE, "/tmp/x", {NULL}, true},
		{"shared_file:/tmp/x", RESOURCE_TEMPFILE, "/tmp/x", {NULL}, false},
		{"socket:data", RESOURCE_FD, "data", {NULL}, false},
		{"f:data", RESOURCE_FD, "data", {NULL}, false},
		{"fd:", RESOURCE_FD, "", {NULL}, false},
		{"leak", RESOURCE_HEAP, NULL, {"leak"}, false},
		{"", RESOURCE_HEAP, NULL, {""}, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *match = xstrdup(cases[i].match);
		struct suppression s = {.match = match};
		struct leak l = {.resource = cases[i].resource,
				 .what = xstrdup(cases[i].what)};

		for (size_t k = 0; k < 4 && cases[i].functions[k]; k++)
			leak_frame(&l)->function = xstrdup(cases[i].functions[k]);
		leak_sign(&l);
		if (suppression_matches(&s, &l) != cases[i].matches)
			fail_msg("case %zu: %s", i, cases[i].match);
		leak_release(&l);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {HARNESS_TEST(patterns)};

	return HARNESS_RUN(tests);
}
