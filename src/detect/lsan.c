/*
 * LeakSanitizer, within AddressSanitizer or alone.
 *
 * The programs under test bring the runtime with them; what it does is decided by
 * environment variables, and it is silent whenever it does not run. So each process
 * gets a preloaded library that plants a leak and leaves a record that it started
 * (canary.h): a process that was built with a sanitizer and whose report lacks the
 * planted leak was not checked, and the run is not clean.
 */
#include "detect/detect.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/canary.h"
#include "detect/lsan_options.h"
#include "detect/lsan_run.h"
#include "proc/proc.h"

#include <string.h>

static int lsan_probe(char **ret_version, struct err *err)
{
	CLEANUP_FREE char *cc = find_program("cc");
	char *argv[] = {cc, (char[]){"-dumpversion"}, NULL};
	CLEANUP(buf) struct buf out = {0};

	/* The runtime comes with each binary; the compiler here is the best guess. */
	(void)err;
	if (cc &&
	    proc_capture(argv, &(struct capture_opts){.cap = 100}, &out, NULL, NULL) ==
		    0 &&
	    out.len) {
		*ret_version =
			xasprintf("cc %.*s", (int)strcspn(out.data, "\n"), out.data);
		return 0;
	}
	*ret_version = xstrdup("of the binary");
	return 0;
}

/* The user's value with ours appended. A value that would end the program before
 * main() is left out, and collect() says so. */
static void set_options(struct lsan_run *state, struct run_spec *spec, const char *name,
			const char *options)
{
	const char *user = env_get(&spec->env, name);
	CLEANUP_FREE char *cwd = sandbox_outside(spec->sandbox, spec->cwd);
	CLEANUP_FREE char *fault = user ? lsan_options_fault(user, cwd) : NULL;
	CLEANUP_FREE char *value = user && *user && !fault
					   ? xasprintf("%s:%s", user, options)
					   : xstrdup(options);

	if (fault && !state->refused)
		state->refused = xasprintf("%s: %s: the runtime would end every program "
					   "before main; correct or unset it",
					   name, fault);
	env_set(&spec->env, name, value);
}

/* A symboliser that is not there ends clang's programs before main(); without the
 * variable the runtime looks for one itself, and what it leaves bare is looked up. */
static void drop_missing_symbolizers(struct strv *env)
{
	static const char *const names[] = {
		"ASAN_SYMBOLIZER_PATH", "LSAN_SYMBOLIZER_PATH", "MSAN_SYMBOLIZER_PATH"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *path = env_get(env, names[i]);

		if (path && *path && !path_exists(path))
			env_set(env, names[i], NULL);
	}
}

static void set_environment(struct lsan_run *state, struct run_spec *spec,
			    const char *options)
{
	CLEANUP_FREE char *asan =
		xasprintf("%s:halt_on_error=1:verify_asan_link_order=0", options);
	const char *ubsan = env_get(&spec->env, "UBSAN_OPTIONS");

	drop_missing_symbolizers(&spec->env);
	set_options(state, spec, "LSAN_OPTIONS", options);
	set_options(state, spec, "ASAN_OPTIONS", asan);
	/* clang's AddressSanitizer reads it last of all; where there is none, none is
	 * set: exitcode=0 would hide the errors of a stand-alone UBSan. */
	if (ubsan) {
		CLEANUP_FREE char *left = lsan_options_strip(ubsan);

		env_set(&spec->env, "UBSAN_OPTIONS", left);
	}
}

/*
 * The planted leak makes each process write a report, and naming its functions costs
 * ten times what the process does: collect() names them, if there is anything to show.
 * Suppressions by name need the names within the process.
 */
static enum lsan_detail detail_of(const struct detect_run *run, const struct strv *env)
{
	static const char *const names[] = {"LSAN_OPTIONS", "ASAN_OPTIONS",
					    "UBSAN_OPTIONS"};

	if (run->precise)
		return LSAN_WHOLE;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = env_get(env, names[i]);

		if (value && lsan_options_need_names(value))
			return LSAN_NAMES;
	}
	return LSAN_ADDRESSES;
}

static int lsan_prepare(struct detect_run *run, struct run_spec *spec, struct err *err)
{
	CLEANUP_FREE char *dir = path_join(run->dir, "lsan");
	CLEANUP_FREE char *log = path_join(dir, "log");
	enum lsan_detail detail = detail_of(run, &spec->env);
	CLEANUP_FREE char *options = lsan_options_ours(log, detail);
	struct lsan_run *state;

	if (make_dirs(dir, 0777, err) < 0 || canary_preload(dir, &spec->env, err) < 0)
		return -1;
	state = xcalloc(1, sizeof(*state));
	state->dir = TAKE_PTR(dir);
	state->cwd = xstrdup(spec->cwd);
	state->named = detail != LSAN_ADDRESSES;
	state->root_static = program_is_static(spec);
	set_environment(state, spec, options);
	run->state = state;
	return 0;
}

static const char *lsan_canary(void)
{
	return "printf 'int main(void){return 0;}' >t.c && "
	       "cc -g -fsanitize=address t.c -o t && exec ./t";
}

extern const struct detector detector_lsan;
const struct detector detector_lsan = {
	.name = "lsan",
	.summary = "heap leaks in programs built with -fsanitize=address or =leak",
	.has_precise = true,
	.heap = true,
	.install = "gcc or clang with the sanitizer runtimes (apt-get install gcc "
		   "libasan8), and a build with -fsanitize=address",
	.probe = lsan_probe,
	.prepare = lsan_prepare,
	.collect = lsan_collect,
	.canary_command = lsan_canary,
};
