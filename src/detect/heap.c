/*
 * Our own account of the heap, for any program that is linked dynamically, with no
 * rebuild: a preloaded library (shim/heap) keeps every live block with the stack that
 * allocated it, and looks at the exit which of them something still points to. What
 * nothing points to is lost; what is held is told with whether the program gives back
 * what comes from there, so that base can show what ought to be (verdict/classify.c).
 *
 * It plants a block that it loses and one that it holds: a process whose record has not
 * both as they are was not observed.
 */
#include "detect/detect.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/canary.h"
#include "detect/embed.h"
#include "detect/go_run.h"
#include "detect/heap_run.h"
#include "detect/node_command.h"
#include "detect/preload.h"

#define LIBRARY "exitpath-heap.so"

static int heap_probe(char **ret_version, struct err *err)
{
	(void)err;
	*ret_version = xstrdup("1");
	return 0;
}

/* gcc's runtime refuses to start behind a library that is preloaded. Then the library
 * stands aside, and says so. */
static void allow_sanitizer(struct strv *env)
{
	static const char option[] = "verify_asan_link_order=0";
	const char *user = env_get(env, "ASAN_OPTIONS");
	CLEANUP_FREE char *value =
		user && *user ? xasprintf("%s:%s", user, option) : xstrdup(option);

	env_set(env, "ASAN_OPTIONS", value);
}

static int heap_prepare(struct detect_run *run, struct run_spec *spec, struct err *err)
{
	CLEANUP_FREE char *dir = path_join(run->dir, "heap");
	struct heap_run *state;

	if (make_dirs(dir, 0777, err) < 0 ||
	    preload_add(dir, LIBRARY, embed_heap_start, embed_heap_end, &spec->env, err) <
		    0)
		return -1;
	env_set(&spec->env, HEAP_ENV, dir);
	allow_sanitizer(&spec->env);
	state = xcalloc(1, sizeof(*state));
	state->dir = TAKE_PTR(dir);
	state->cwd = xstrdup(spec->cwd);
	state->root_static = program_is_static(spec);
	run->state = state;
	return 0;
}

/* Their collectors' heaps are not malloc()'s. */
static bool heap_fits(const struct strv *argv, const char *dir)
{
	return !node_command(argv, dir) && !go_test_command(argv);
}

extern const struct detector detector_heap;
const struct detector detector_heap = {
	.name = "heap",
	.summary = "heap of any dynamically linked program, with no rebuild",
	.wraps = true,
	.fits = heap_fits,
	.heap = true,
	.install = "Linux with glibc",
	.probe = heap_probe,
	.prepare = heap_prepare,
	.collect = heap_collect,
};
