/*
 * valgrind's memcheck around the command and every program that it starts. Each process
 * writes an XML document of its own; a forked child repeats what its parent held.
 *
 * With --log-file (but a name without %p) the text of --track-fds goes nowhere, and the
 * stacks of descriptors are in the XML. A --log-file with %p makes forked children write
 * into their parent's XML (seen with 3.19).
 */
#include "detect/detect.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/canary.h"
#include "detect/go_run.h"
#include "detect/node_command.h"
#include "detect/valgrind_run.h"
#include "proc/proc.h"

#include <string.h>

static int valgrind_probe(char **ret_version, struct err *err)
{
	CLEANUP_FREE char *path = find_program("valgrind");
	char *argv[] = {path, (char[]){"--version"}, NULL};
	CLEANUP(buf) struct buf out = {0};
	const char *text;

	if (!path)
		return err_set(err, ERR_ENVIRONMENT, "valgrind is not installed");
	if (proc_capture(argv, &(struct capture_opts){.cap = 100}, &out, NULL, err) < 0)
		return -1;
	text = buf_str(&out);
	if (!strncmp(text, "valgrind-", 9))
		text += 9;
	*ret_version = xstrndup(text, strcspn(text, " \n"));
	return 0;
}

static void wrap(struct run_spec *spec, const char *valgrind, const char *dir)
{
	/* --command-line-only: suppressions of ~/.valgrindrc and VALGRIND_OPTS add up
	 * with ours, and may hide everything. */
	static const char *const options[] = {
		"--command-line-only=yes",
		"--tool=memcheck",
		"--leak-check=full",
		"--show-leak-kinds=all",
		"--leak-resolution=high",
		"--num-callers=40",
		"--keep-debuginfo=yes",
		"--track-fds=yes",
		"--trace-children=yes",
		"--child-silent-after-fork=no",
		"--error-exitcode=0",
		"--errors-for-leak-kinds=definite,indirect,possible",
		"--gen-suppressions=no",
		"--log-file=/dev/null",
		"--vgdb=no", /* its pipes in TMPDIR outlive what is killed */
		"--xml=yes",
	};
	size_t at = 0;
	CLEANUP_FREE char *file = NULL;
	struct buf quoted = {0};

	/* valgrind expands % in the name. */
	for (const char *c = dir; *c; c++)
		buf_adds(&quoted, *c == '%' ? "%%" : (const char[]){*c, '\0'});
	file = xasprintf("--xml-file=%s/x.%%p.xml", buf_str(&quoted));
	buf_release(&quoted);
	strv_insert(&spec->argv, at++, valgrind);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		strv_insert(&spec->argv, at++, options[i]);
	strv_insert(&spec->argv, at++, file);
}

static int valgrind_prepare(struct detect_run *run, struct run_spec *spec,
			    struct err *err)
{
	CLEANUP_FREE char *dir = path_join(run->dir, "valgrind");
	CLEANUP_FREE char *program = find_program("valgrind");
	struct valgrind_run *state;

	if (!program)
		return err_set(err, ERR_ENVIRONMENT, "valgrind is not installed");
	if (make_dirs(dir, 0777, err) < 0 || canary_preload(dir, &spec->env, err) < 0)
		return -1;
	state = xcalloc(1, sizeof(*state));
	state->cwd = xstrdup(spec->cwd);
	state->root_static = program_is_static(spec);
	state->dir = TAKE_PTR(dir);
	wrap(spec, program, state->dir);
	run->state = state;
	return 0;
}

/* node's compiled code under valgrind takes minutes to start, and its collector's heap
 * is not malloc()'s. */
static bool valgrind_fits(const struct strv *argv, const char *dir)
{
	return !node_command(argv, dir) && !go_test_command(argv);
}

extern const struct detector detector_valgrind;
const struct detector detector_valgrind = {
	.name = "valgrind",
	.summary = "heap and descriptors of any program, with no rebuild; slow",
	.wraps = true,
	.slow = true,
	.fits = valgrind_fits,
	.heap = true,
	.install = "apt-get install valgrind libc6-dbg",
	.probe = valgrind_probe,
	.prepare = valgrind_prepare,
	.collect = valgrind_collect,
};
