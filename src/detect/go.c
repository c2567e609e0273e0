/*
 * Go: goroutines, descriptors and sockets that each pass over the tests of a package
 * leaves behind.
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
#include "base/json.h"
#include "base/mem.h"
#include "detect/embed.h"
#include "detect/go_run.h"
#include "proc/proc.h"

#include <fcntl.h>
#include <string.h>

/* 1.16 has -overlay, 1.19 the runtime functions that the adapter needs. */
enum { OLDEST_MINOR = 19, SOURCE_CAP = 4 << 20, CAPTURE_CAP = 64 << 10 };

#define RUN_METHOD "\nfunc (m *M) Run() (code int) {"
#define RENAMED "\nfunc (m *M) exitpathRun() (code int) {"
/* In that method; without it, which example failed is not known. */
#define EXAMPLES "= runExamples(m.deps.MatchString, m.examples)"
#define OUR_EXAMPLES "= exitpathRunExamples(m.deps.MatchString, m.examples)"

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

/* --- the overlay ------------------------------------------------------------------ */

/* The command's directory on this machine. */
static char *machine_cwd(const struct detect_run *run, const char *cwd)
{
	size_t n = run->seen ? strlen(run->seen) : 0;

	if (n && !strncmp(cwd, run->seen, n) && (cwd[n] == '/' || !cwd[n]))
		return xasprintf("%s%s", run->checkout, cwd + n);
	return xstrdup(cwd);
}

/* `go env NAME…` as the command would see it: a line each. */
static int go_env(const struct detect_run *run, const struct run_spec *spec,
		  struct buf *ret, struct err *err)
{
	CLEANUP_FREE char *cwd = machine_cwd(run, spec->cwd);
	CLEANUP_FREE char *go = find_program("go");
	char *argv[] = {go,
			(char[]){"env"},
			(char[]){"GOROOT"},
			(char[]){"GOVERSION"},
			(char[]){"GOFLAGS"},
			NULL};

	if (!go)
		return err_set(err, ERR_ENVIRONMENT, "go is not installed");
	return proc_capture(argv,
			    &(struct capture_opts){
				    .cwd = cwd,
				    .env = spec->env.v,
				    .cap = CAPTURE_CAP,
			    },
			    ret, NULL, err);
}

/* GOROOT/src/testing/testing.go with its Run renamed, as DIR/testing.go. */
static int rename_run(const char *testing, const char *version, const char *to,
		      struct err *err)
{
	CLEANUP(buf) struct buf text = {0}, out = {0};
	const char *at, *examples;

	if (read_file(testing, SOURCE_CAP, &text, err) < 0)
		return -1;
	at = strstr(buf_str(&text), RUN_METHOD);
	if (!at || strstr(at + 1, RUN_METHOD))
		return err_set(err, ERR_ENVIRONMENT,
			       "the package testing of %s is not as expected: %s has no "
			       "func (m *M) Run() (code int)",
			       version, testing);
	buf_add(&out, text.data, (size_t)(at - text.data));
	buf_adds(&out, RENAMED);
	at += strlen(RUN_METHOD);
	examples = strstr(at, EXAMPLES);
	if (examples) {
		buf_add(&out, at, (size_t)(examples - at));
		buf_adds(&out, OUR_EXAMPLES);
		at = examples + strlen(EXAMPLES);
	}
	buf_adds(&out, at);
	return write_file(to, out.data, out.len, err);
}

/* The file of the last -overlay in GOFLAGS, or NULL. The caller frees. */
static char *overlay_of(const char *flags)
{
	const char *found = NULL;
	size_t n;

	for (const char *s = flags; *s; s += n + strspn(s + n, " ")) {
		const char *name = s + (s[0] == '-' && s[1] == '-');

		n = strcspn(s, " ");
		if (!strncmp(name, "-overlay=", 9))
			found = name + 9;
	}
	return found ? xstrndup(found, strcspn(found, " ")) : NULL;
}

/* The user's own overlay, with ours added. */
static int write_overlay(const char *path, const char *theirs, const char *testing,
			 const char *dir, struct err *err)
{
	CLEANUP(buf) struct buf text = {0};
	CLEANUP_JSON json_t *all = NULL;
	CLEANUP_FREE char *out = NULL, *renamed = path_join(dir, "testing.go"),
			  *cycles = path_join(dir, "cycles.go"),
			  *added =
				  xasprintf("%.*sexitpath.go",
					    (int)(path_base(testing) - testing), testing);
	json_t *replace;

	if (theirs) {
		if (read_file(theirs, SOURCE_CAP, &text, err) < 0)
			return err_prefix(err, "-overlay in GOFLAGS");
		all = json_parse(buf_str(&text), text.len, theirs, err);
		if (!all)
			return -1;
	} else {
		all = json_object();
	}
	if (!json_is_object(json_object_get(all, "Replace")))
		json_object_set_new(all, "Replace", json_object());
	replace = json_object_get(all, "Replace");
	json_put(replace, testing, renamed);
	json_put(replace, added, cycles);
	out = json_pretty(all);
	return write_file(path, out, strlen(out), err);
}

static const char *line_of(const char *text, unsigned i, char **ret)
{
	for (; i && *text; i--)
		text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
	return *ret = xstrndup(text, strcspn(text, "\n"));
}

static int make_overlay(const struct detect_run *run, const char *dir,
			struct run_spec *spec, struct err *err)
{
	CLEANUP(buf) struct buf env = {0};
	CLEANUP_FREE char *root = NULL, *version = NULL, *flags = NULL, *theirs = NULL;
	CLEANUP_FREE char *testing = NULL, *renamed = path_join(dir, "testing.go"),
			  *cycles = path_join(dir, "cycles.go"),
			  *overlay = path_join(dir, "overlay.json"), *all = NULL;
	const char *given = env_get(&spec->env, "GOFLAGS");

	if (go_env(run, spec, &env, err) < 0)
		return -1;
	line_of(buf_str(&env), 0, &root);
	line_of(buf_str(&env), 1, &version);
	line_of(buf_str(&env), 2, &flags);
	testing = path_join(root, "src/testing/testing.go");
	theirs = overlay_of(flags);
	if (rename_run(testing, version, renamed, err) < 0 ||
	    write_file(cycles, embed_go_cycles_start,
		       (size_t)(embed_go_cycles_end - embed_go_cycles_start), err) < 0 ||
	    write_overlay(overlay, theirs, testing, dir, err) < 0)
		return -1;
	if (given)
		env_set(&spec->env, "EXITPATH_GO_GOFLAGS", given);
	/* -count: no result of an earlier run. -timeout: it would be that of all cycles
	 * together; the contract's holds. */
	all = xasprintf("-count=1 -timeout=0 %s%s-overlay=%s", flags, *flags ? " " : "",
			overlay);
	env_set(&spec->env, "GOFLAGS", all);
	return 0;
}

static void set_count(struct run_spec *spec, const char *name, unsigned n)
{
	CLEANUP_FREE char *text = xasprintf("%u", n);

	env_set(&spec->env, name, text);
}

static int go_prepare(struct detect_run *run, struct run_spec *spec, struct err *err)
{
	CLEANUP_FREE char *dir = path_join(run->dir, "go");
	struct err why = {0};
	struct go_run *state;

	if (make_dirs(dir, 0777, err) < 0)
		return -1;
	state = xcalloc(1, sizeof(*state));
	if (!run->warmup && !run->cycles)
		run->cycles = 1; /* the canary's */
	state->left = run->warmup + run->cycles;
	/* The command says the same on its own, where its error belongs to a revision. */
	if (make_overlay(run, dir, spec, &why) < 0)
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
	.summary = "goroutines, descriptors and sockets of `go test`, cycle by cycle",
	.wraps = true,
	.inside = true,
	.fits = go_fits,
	.install = "Go 1.19 or later in PATH (apt-get install golang)",
	.probe = go_probe,
	.prepare = go_prepare,
	.collect = go_collect,
	.canary_command = go_canary,
};
