/*
 * Go: goroutines, tickers, descriptors and sockets that each pass over the tests of a
 * package leaves behind.
 *
 * All cycles of a package pass in one test binary. `go test` compiles the binary from the
 * package testing of the standard library, and `-overlay` lets it take that package from
 * elsewhere: the same source with the method Run of M renamed, and adapters/go/cycles.go
 * beside it with a Run that calls it warm-up + N times and writes down what is held after
 * each. No file of the project is read or changed, so it makes no difference whether a
 * package has a TestMain, whether its tests are in an external package, whether modules
 * are vendored, or in a workspace, or which build tags are set.
 *
 * goleak, where a module has it, does its own check within m.Run() or after it, as ever;
 * this detector does not rely on it: it sees one moment at the end, and neither
 * descriptors nor growth.
 *
 * The flags go into GOFLAGS and not into the command, which may be a script or a
 * Makefile. The adapter takes them out again in each test binary.
 */
#include "detect/detect.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/go_overlay.h"
#include "detect/go_run.h"
#include "proc/proc.h"

#include <string.h>

/* 1.16 has -overlay, 1.19 the runtime functions that the adapter needs. */
enum { OLDEST_MINOR = 19 };

static int go_probe(char **ret_version, struct err *err)
{
	CLEANUP_FREE char *path = find_program("go");
	char *argv[] = {path, (char[]){"env"}, (char[]){"GOVERSION"}, NULL};
	CLEANUP(buf) struct buf out = {0};
	unsigned minor = 0;

	if (!path)
		return err_set(err, ERR_ENVIRONMENT, "go is not installed");
	if (proc_capture(argv, &(struct capture_opts){.cap = 100, .cwd = "/"}, &out, NULL,
			 err) < 0)
		return -1;
	if (sscanf(buf_str(&out), "go1.%u", &minor) == 1 && minor < OLDEST_MINOR)
		return err_set(err, ERR_ENVIRONMENT,
			       "go is too old: %.*s, and 1.%d is the oldest that fits",
			       (int)strcspn(out.data, "\n"), out.data, OLDEST_MINOR);
	*ret_version = xstrndup(buf_str(&out), strcspn(buf_str(&out), "\n"));
	return 0;
}

/* --- which commands --------------------------------------------------------------- */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/* `go test` or `go -C dir test` in a command line. */
static bool runs_go_test(const char *text)
{
	for (const char *s = text; (s = strstr(s, "go")); s += 2) {
		const char *next = s + 2;

		if ((s > text && is_word(s[-1])) || *next != ' ')
			continue;
		next += strspn(next, " ");
		if (!strncmp(next, "-C ", 3)) {
			next += 3 + strspn(next + 3, " ");
			next += strcspn(next, " ");
			next += strspn(next, " ");
		}
		if (!strncmp(next, "test", 4) && !is_word(next[4]))
			return true;
	}
	return false;
}

bool go_test_command(const struct strv *argv)
{
	CLEANUP_FREE char *text = NULL;

	if (argv->n == 3 && !strcmp(argv->v[1], "-c"))
		return runs_go_test(argv->v[2]);
	text = strv_join(argv, " ");
	return argv->n && !strcmp(path_base(argv->v[0]), "go") && runs_go_test(text);
}

static bool go_fits(const struct strv *argv, const char *dir)
{
	(void)dir;
	return go_test_command(argv);
}

/* --- the run ---------------------------------------------------------------------- */

static void set_count(struct run_spec *spec, const char *name, unsigned n)
{
	CLEANUP_FREE char *text = xasprintf("%u", n);

	env_set(&spec->env, name, text);
}

static int go_prepare(struct detect_run *run, struct run_spec *spec, struct err *err)
{
	CLEANUP_FREE char *dir = path_join(run->dir, "go");
	bool canary = !run->warmup && !run->cycles;
	struct err why = {0};
	struct go_run *state;

	if (make_dirs(dir, 0777, err) < 0)
		return -1;
	state = xcalloc(1, sizeof(*state));
	if (canary)
		run->cycles = 1;
	state->left = run->warmup + run->cycles;
	/* The command says the same on its own, where its error belongs to a revision. */
	if (go_overlay_make(run, dir, !canary, spec, &why) < 0)
		state->refused = xstrdup(why.message);
	env_set(&spec->env, "EXITPATH_GO_DIR", dir);
	set_count(spec, "EXITPATH_GO_WARMUP", run->warmup);
	set_count(spec, "EXITPATH_GO_CYCLES", run->cycles);
	state->dir = TAKE_PTR(dir);
	run->state = state;
	return 0;
}

static const char *go_canary(void)
{
	return "printf 'module canary\\n\\ngo 1.18\\n' >go.mod && "
	       "printf 'package canary\\n\\nimport \"testing\"\\n\\n"
	       "func TestLeak(t *testing.T) { go func() { select {} }() }\\n' "
	       ">canary_test.go && exec go test";
}

extern const struct detector detector_go;
const struct detector detector_go = {
	.name = "go",
	.summary =
		"goroutines, tickers, descriptors, sockets of `go test`, cycle by cycle",
	.wraps = true,
	.inside = true,
	.fits = go_fits,
	.install = "Go 1.19 or later in PATH (apt-get install golang)",
	.probe = go_probe,
	.prepare = go_prepare,
	.collect = go_collect,
	.canary_command = go_canary,
};
