/*
 * Files of the standard library with some functions renamed, and beside each a file of
 * adapters/go that has functions of the old names. The text around the renamed lines is
 * that of the installed Go, whatever its version.
 */
#include "detect/go_overlay.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "detect/embed.h"
#include "detect/go_cache.h"
#include "proc/proc.h"

#include <stdio.h>
#include <string.h>

enum {
	SOURCE_CAP = 4 << 20,
	CAPTURE_CAP = 64 << 10,
	TICKERS_MINOR = 24, /* package weak */
	RENAMES_MAX = 3,
};

struct replaced {
	const char *package, *file; /* below GOROOT/src */
	struct {
		const char *from, *to;
		bool may_lack;
	} rename[RENAMES_MAX];
};

static const struct replaced testing = {
	"testing",
	"testing.go",
	{{"\nfunc (m *M) Run() (code int) {", "\nfunc (m *M) exitpathRun() (code int) {",
	  false},
	 /* Without it, which example failed is not known. */
	 {"= runExamples(m.deps.MatchString, m.examples)",
	  "= exitpathRunExamples(m.deps.MatchString, m.examples)", true}},
};

static const struct replaced tick = {
	"time",
	"tick.go",
	{{"\nfunc NewTicker(d Duration) *Ticker {",
	  "\nfunc exitpathNewTicker(d Duration) *Ticker {", false},
	 {"\nfunc (t *Ticker) Stop() {", "\nfunc (t *Ticker) exitpathStop() {", false},
	 {"\nfunc (t *Ticker) Reset(d Duration) {",
	  "\nfunc (t *Ticker) exitpathReset(d Duration) {", false}},
};

struct overlay {
	const char *dir;    /* of the new files */
	const char *goroot; /* "/usr/lib/go" */
	json_t *replace;
};

static int put_file(struct overlay *o, const char *package, const char *as,
		    const void *text, size_t len, struct err *err)
{
	CLEANUP_FREE char *to = xasprintf("%s/%s_%s", o->dir, package, as);
	CLEANUP_FREE char *from = xasprintf("%s/src/%s/%s", o->goroot, package, as);

	json_put(o->replace, from, to);
	return write_file(to, text, len, err);
}

static int add_file(struct overlay *o, const char *package, const char *as,
		    const unsigned char *start, const unsigned char *end, struct err *err)
{
	return put_file(o, package, as, start, (size_t)(end - start), err);
}

/* 0 when a function that must be there is not there, or twice. */
static int rename_functions(struct overlay *o, const struct replaced *r, struct err *err)
{
	CLEANUP_FREE char *path =
		xasprintf("%s/src/%s/%s", o->goroot, r->package, r->file);
	CLEANUP(buf) struct buf text = {0};

	if (read_file(path, SOURCE_CAP, &text, err) < 0)
		return -1;
	for (size_t i = 0; i < RENAMES_MAX && r->rename[i].from; i++) {
		CLEANUP(buf) struct buf out = {0};
		const char *from = r->rename[i].from, *at = strstr(buf_str(&text), from);

		if (!at && r->rename[i].may_lack)
			continue;
		if (!at || strstr(at + 1, from))
			return 0;
		buf_add(&out, text.data, (size_t)(at - text.data));
		buf_adds(&out, r->rename[i].to);
		buf_adds(&out, at + strlen(from));
		buf_clear(&text);
		buf_add(&text, out.data, out.len);
	}
	return put_file(o, r->package, r->file, text.data, text.len, err) < 0 ? -1 : 1;
}

static int change_testing(struct overlay *o, const char *version, struct err *err)
{
	int rc = rename_functions(o, &testing, err);

	if (rc == 0)
		return err_set(err, ERR_ENVIRONMENT,
			       "the package testing of %s is not as expected: %s/src/"
			       "testing/testing.go has no func (m *M) Run() (code int)",
			       version, o->goroot);
	return rc < 0 ? -1
		      : add_file(o, "testing", "exitpath.go", embed_go_cycles_start,
				 embed_go_cycles_end, err);
}

static int change_time(struct overlay *o, const char *version, struct err *err)
{
	unsigned minor = 0;
	int rc;

	if (sscanf(version, "go1.%u", &minor) != 1 || minor < TICKERS_MINOR)
		return 0;
	rc = rename_functions(o, &tick, err);
	if (rc <= 0)
		return rc;
	if (add_file(o, "time", "exitpath.go", embed_go_time_start, embed_go_time_end,
		     err) < 0)
		return -1;
	return add_file(o, "testing", "exitpath_tickers.go", embed_go_tickers_start,
			embed_go_tickers_end, err);
}

/* --- what the command would see ---------------------------------------------------- */

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
			(char[]){"GOCACHE"},
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

static const char *line_of(const char *text, unsigned i, char **ret)
{
	for (; i && *text; i--)
		text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
	return *ret = xstrndup(text, strcspn(text, "\n"));
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

/* The user's own list, or an empty one; ret has "Replace". */
static int read_list(const char *flags, json_t **ret, struct err *err)
{
	CLEANUP(buf) struct buf text = {0};
	CLEANUP_FREE char *theirs = overlay_of(flags);
	CLEANUP_JSON json_t *all = NULL;

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
	*ret = TAKE_PTR(all);
	return 0;
}

int go_overlay_make(const struct detect_run *run, const char *dir, bool tickers,
		    struct run_spec *spec, struct err *err)
{
	CLEANUP(buf) struct buf env = {0};
	CLEANUP_FREE char *root = NULL, *version = NULL, *flags = NULL, *out = NULL,
			  *cache = NULL;
	CLEANUP_FREE char *list = path_join(dir, "overlay.json"), *all = NULL;
	CLEANUP_JSON json_t *j = NULL;
	const char *given = env_get(&spec->env, "GOFLAGS");
	struct overlay o = {.dir = dir};

	if (go_env(run, spec, &env, err) < 0)
		return -1;
	line_of(buf_str(&env), 0, &root);
	line_of(buf_str(&env), 1, &version);
	line_of(buf_str(&env), 2, &flags);
	line_of(buf_str(&env), 3, &cache);
	if (read_list(flags, &j, err) < 0)
		return -1;
	o.goroot = root;
	o.replace = json_object_get(j, "Replace");
	if (change_testing(&o, version, err) < 0 ||
	    (tickers && change_time(&o, version, err) < 0))
		return -1;
	out = json_pretty(j);
	if (write_file(list, out, strlen(out), err) < 0)
		return -1;
	if (given)
		env_set(&spec->env, "EXITPATH_GO_GOFLAGS", given);
	/* -count: no result of an earlier run. -timeout: it would be that of all cycles
	 * together; the contract's holds. */
	all = xasprintf("-count=1 -timeout=0 %s%s-overlay=%s", flags, *flags ? " " : "",
			list);
	env_set(&spec->env, "GOFLAGS", all);
	go_cache_fill(run, spec, root, version, cache);
	return 0;
}
