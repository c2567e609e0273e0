#include "engine/session.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/version.h"
#include "contract/load.h"
#include "detect/detect.h"
#include "detect/report_file.h"
#include "engine/fault_gate.h"
#include "engine/isolation.h"
#include "engine/server.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *side_name(enum side s)
{
	return s == SIDE_BASE ? "base" : "candidate";
}

char *session_find_contract(const char *top, const char *prefix)
{
	CLEANUP_FREE char *rel = xstrdup(prefix);

	for (;;) {
		CLEANUP_FREE char *dir = *rel ? path_join(top, rel) : xstrdup(top);
		char *path = path_join(dir, CONTRACT_FILE);
		char *slash;

		if (path_exists(path))
			return path;
		free(path);
		if (!*rel)
			return NULL;
		slash = strrchr(rel, '/');
		*(slash ? slash : rel) = '\0';
	}
}

/* Commands run in the contract's directory when it lies in the repository, at the top
 * when it does not, and without one in the directory that the user is in. */
static void place_contract(struct session *s, const char *path)
{
	const char *top = repo_top(s->repo), *slash;
	size_t len = strlen(top);
	CLEANUP_FREE char *full = path ? realpath(path, NULL) : NULL;

	if (full && !strncmp(full, top, len) && full[len] == '/')
		s->contract_file = xstrdup(full + len + 1);
	slash = s->contract_file ? strrchr(s->contract_file, '/') : NULL;
	s->prefix = slash ? xstrndup(s->contract_file, (size_t)(slash - s->contract_file))
			  : xstrdup(path ? "" : repo_prefix(s->repo));
}

static int check_detectors(const struct strv *names, const char *where, struct err *err)
{
	CLEANUP(strv) struct strv known = {0};
	CLEANUP_FREE char *all = NULL;

	for (size_t i = 0; detectors[i]; i++)
		strv_add(&known, detectors[i]->name);
	all = strv_join(&known, ", ");
	for (size_t i = 0; i < names->n; i++) {
		if (detector_find(names->v[i]))
			continue;
		err_set(err, ERR_USAGE, "%s: there is no detector `%s`", where,
			names->v[i]);
		err_hint(err,
			 "detectors are: %s; `exitpath doctor` shows which work here",
			 all);
		return -1;
	}
	return 0;
}

static bool in_a_word(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 ||
	       (c && strchr("_.-", c));
}

/* Does text name the directory or something in it? Not "./src/app" for "/app", nor
 * "/app-2", but "-I/app/include" and "DIR='/app'". */
static bool names_directory(const char *text, const char *dir)
{
	size_t len = strlen(dir);

	for (const char *hit = text; (hit = strstr(hit, dir)); hit++) {
		bool option = hit - text >= 2 && hit[-2] == '-' &&
			      (hit - text == 2 || !in_a_word(hit[-3]));

		if (!in_a_word(hit[len]) &&
		    (hit == text || !in_a_word(hit[-1]) || option))
			return true;
	}
	return false;
}

/* Both revisions would run the same file: the worst false green of all. In the sandbox
 * the revision is at that path. */
static int check_not_working_tree(const struct session *s, const char *what,
				  const char *text, struct err *err)
{
	const char *top = repo_top(s->repo);

	if (session_sandboxed(s) || !text || !names_directory(text, top))
		return 0;
	err_set(err, ERR_USAGE,
		"%s names %s, the working tree: base and candidate would run the same "
		"files",
		what, top);
	err_hint(err, "use paths relative to the repository: each revision runs in a "
		      "checkout of its own");
	return -1;
}

static int check_commands(const struct session *s, struct err *err)
{
	const struct contract *c = &s->contract;

	if (check_not_working_tree(s, "setup", c->setup, err) < 0 ||
	    check_not_working_tree(s, "suite", c->suite, err) < 0 ||
	    check_not_working_tree(s, "faults.check", c->faults.check, err) < 0)
		return -1;
	for (size_t i = 0; i < c->nlifecycles; i++) {
		const struct lifecycle *l = &c->lifecycles[i];

		if (check_detectors(&l->detectors, l->name, err) < 0 ||
		    check_not_working_tree(s, l->name, l->command, err) < 0)
			return -1;
		for (size_t k = 0; k < l->argv.n; k++)
			if (check_not_working_tree(s, l->name, l->argv.v[k], err) < 0)
				return -1;
	}
	return 0;
}

static int split_names(const char *text, struct strv *ret, struct err *err)
{
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ",");
		CLEANUP_FREE char *name = xstrndup(p, n);

		if (n && !strv_contains(ret, name))
			strv_take(ret, TAKE_PTR(name));
		p += n + (p[n] == ',');
	}
	if (ret->n)
		return 0;
	err_set(err, ERR_USAGE, "--detector names no detector");
	err_hint(err, "leave it out for every detector that fits");
	return -1;
}

/* A lifecycle's name as the contract allows it, from a program's path. */
static char *name_from(const char *path)
{
	char *name = xstrndup(path_base(path), 64);

	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_.-", *p))
			*p = '_';
	if (name[strspn(name, ".")])
		return name;
	free(name);
	return xstrdup("command");
}

void contract_only_command(struct contract *c, char *const *argv)
{
	struct lifecycle *l;

	for (size_t i = 0; i < c->nlifecycles; i++)
		lifecycle_release(&c->lifecycles[i]);
	c->nlifecycles = 0;
	l = VEC_ADD(c->lifecycles, c->nlifecycles, c->lifecycles_cap);
	l->name = name_from(argv[0]);
	strv_copy(&l->argv, argv);
	l->warmup = DEFAULT_WARMUP;
	l->cycles = DEFAULT_CYCLES;
	l->timeout_ms = DEFAULT_TIMEOUT_MS;
}

static void replace(char **field, const char *value)
{
	if (!value)
		return;
	free(*field);
	*field = *value ? xstrdup(value) : NULL;
}

static int keep_only(struct contract *c, const char *name, struct err *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->nlifecycles; i++) {
		if (strcmp(c->lifecycles[i].name, name))
			lifecycle_release(&c->lifecycles[i]);
		else
			c->lifecycles[kept++] = c->lifecycles[i];
	}
	c->nlifecycles = kept;
	return kept ? 0
		    : err_set(err, ERR_USAGE, "the contract has no lifecycle `%s`", name);
}

static int apply_flags(struct session *s, struct err *err)
{
	const struct gate_opts *o = s->opts;
	struct contract *c = &s->contract;

	if (!c->setup_timeout_ms)
		c->setup_timeout_ms = DEFAULT_SETUP_TIMEOUT_MS;
	replace(&c->base, o->base);
	replace(&c->setup, o->setup);
	replace(&c->suite, o->suite);
	if (o->argv && o->argv[0])
		contract_only_command(c, o->argv);
	else if (o->only && keep_only(c, o->only, err) < 0)
		return -1;
	for (size_t i = 0; i < c->nlifecycles; i++) {
		struct lifecycle *l = &c->lifecycles[i];

		if (o->warmup >= 0)
			l->warmup = (unsigned)o->warmup;
		if (o->cycles >= 0)
			l->cycles = (unsigned)o->cycles;
		if (o->timeout_ms)
			l->timeout_ms = o->timeout_ms;
		l->repairs = l->repairs || o->repairs;
		replace(&l->pg, o->pg);
		if (o->detectors) {
			strv_release(&l->detectors);
			if (split_names(o->detectors, &l->detectors, err) < 0)
				return -1;
		}
	}
	if (faults_apply(o, c, err) < 0)
		return -1;
	contract_digest(c);
	return 0;
}

static int load_contract(struct session *s, struct err *err)
{
	const struct gate_opts *o = s->opts;
	CLEANUP_FREE char *path = NULL;

	if (!o->contract)
		path = session_find_contract(repo_top(s->repo), repo_prefix(s->repo));
	else if (strcmp(o->contract, "/dev/null")) /* that is: none, flags alone */
		path = xstrdup(o->contract);
	if (path && contract_load(path, &s->contract, err) < 0)
		return -1;
	if (!path && !(o->argv && o->argv[0])) {
		err_set(err, ERR_USAGE, "no %s here, and no command after --",
			CONTRACT_FILE);
		err_hint(err,
			 "`exitpath init` writes a contract; or: exitpath %s -- COMMAND",
			 o->command);
		return -1;
	}
	place_contract(s, path);
	if (apply_flags(s, err) < 0)
		return -1;
	return check_commands(s, err);
}

/* The contract as a revision has it; empty when it has none, or none that can be read,
 * which is a warning. */
static int contract_of(struct session *s, enum side side, struct contract *ret,
		       struct err *err)
{
	const char *commit = s->side[side].rev.commit;
	CLEANUP(buf) struct buf text = {0};
	struct err why = {0};
	bool found = false;

	if (rev_read_file(s->repo, commit, s->contract_file, &text, &found, &why) == 0 &&
	    (!found ||
	     contract_parse(buf_str(&text), text.len, s->contract_file, ret, &why) == 0))
		return 0;
	if (why.kind != ERR_USAGE) {
		*err = why;
		return -1;
	}
	strv_addf(&s->result->warnings, "the contract of %s cannot be read: %s",
		  side_name(side), why.message);
	return 0;
}

static void want_readings(struct session *s, const struct contract *c)
{
	s->scan.wanted |= c->scan.wanted;
	s->scan.notes |= c->scan.notes;
	s->review.wanted |= c->review.wanted;
	s->review.strict |= c->review.strict;
}

/*
 * What the patch does to the contract is shown, whoever wrote it: suppressions and
 * commands of this run, and those that the candidate would bring when another contract
 * is followed. A contract outside of the repository is not the patch's.
 */
static int compare_contracts(struct session *s, struct err *err)
{
	CLEANUP(contract) struct contract old = {0}, new = {0};
	CLEANUP(strv) struct strv proposed = {0};
	struct strv *lines = &s->result->warnings;

	want_readings(s, &s->contract);
	if (!s->contract_file)
		return 0;
	if (contract_of(s, SIDE_BASE, &old, err) < 0 ||
	    contract_of(s, SIDE_CANDIDATE, &new, err) < 0)
		return -1;
	want_readings(s, &old);
	contract_widened(&old, &s->contract, lines);
	contract_widened(&old, &new, &proposed);
	contract_weakened(&old, &new, &proposed);
	for (size_t i = 0; i < proposed.n; i++)
		if (!strv_contains(lines, proposed.v[i]))
			strv_add(lines, proposed.v[i]);
	return 0;
}

static int resolve_sides(struct session *s, struct err *err)
{
	CLEANUP_FREE char *base = xstrdup(s->contract.base);
	const char *candidate = s->opts->candidate ? s->opts->candidate : REV_WORKTREE;

	if (!base && rev_default_base(s->repo, &base, err) < 0)
		return -1;
	if (rev_resolve(s->repo, base, &s->side[SIDE_BASE].rev, err) < 0 ||
	    rev_resolve(s->repo, candidate, &s->side[SIDE_CANDIDATE].rev, err) < 0)
		return -1;
	s->same = !strcmp(s->side[SIDE_BASE].rev.tree, s->side[SIDE_CANDIDATE].rev.tree);
	return 0;
}

static void describe(struct session *s)
{
	struct result *r = s->result;
	char now[21];

	clock_iso(now);
	r->command = xstrdup(s->opts->command);
	r->started = xstrdup(now);
	r->exitpath_version = xstrdup(EXITPATH_VERSION);
	r->config_digest = xstrdup(s->contract.digest);
	r->repository = xstrdup(repo_name(s->repo));
	r->setup = xstrdup(s->contract.setup);
	r->suite = xstrdup(s->contract.suite);
	revision_copy(&r->base, &s->side[SIDE_BASE].rev);
	revision_copy(&r->candidate, &s->side[SIDE_CANDIDATE].rev);
}

int session_open(struct session *s, const struct gate_opts *opts, struct result *ret,
		 struct err *err)
{
	*s = (struct session){.opts = opts, .result = ret};
	s->side[0].checkout.lock_fd = s->side[1].checkout.lock_fd = -1;
	s->repo = repo_open(opts->dir, opts->store, err);
	if (!s->repo || load_contract(s, err) < 0)
		return -1;
	progress_tell(opts->progress, "revisions", "resolving", NULL, 0, 0);
	if (resolve_sides(s, err) < 0)
		return -1;
	describe(s);
	if (compare_contracts(s, err) < 0)
		return -1;
	if (server_check(s, err) < 0 || isolation_open(s, err) < 0)
		return -1;
	s->scratch = scratch_make(s->repo, err);
	if (!s->scratch)
		return -1;
	s->store = store_open(repo_store(s->repo), err);
	if (!s->store)
		return -1;
	ret->run_id = store_begin(s->store, opts->command, s->contract.digest, err);
	return ret->run_id ? 0 : -1;
}

void session_close(struct session *s)
{
	for (int i = 0; i < 2; i++) {
		if (s->side[i].have_checkout)
			checkout_release(&s->side[i].checkout);
		revision_release(&s->side[i].rev);
		free(s->side[i].cwd);
		free(s->side[i].seen_cwd);
		sandbox_release(&s->side[i].views);
	}
	sandbox_release(&s->exposed);
	for (size_t i = 0; i < s->nartifacts; i++)
		free(s->artifacts[i].name);
	free(s->artifacts);
	if (s->scratch)
		scratch_remove(s->scratch);
	free(s->scratch);
	if (s->store)
		store_close(s->store);
	if (s->repo)
		repo_close(s->repo);
	contract_release(&s->contract);
	free(s->contract_file);
	free(s->prefix);
	*s = (struct session){0};
}

static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash > path ? xstrndup(path, (size_t)(slash - path)) : xstrdup("/");
}

const char *session_seen(const struct session *s, enum side side)
{
	return session_sandboxed(s) ? repo_top(s->repo) : s->side[side].use->dir;
}

void session_env(const struct session *s, enum side side, const char *tmpdir,
		 struct strv *ret)
{
	CLEANUP_FREE char *above = NULL;

	rev_clean_env(ret);
	/* A command that loses the checkout's .git must not find the user's above it. */
	above = session_sandboxed(s) ? parent_of(repo_top(s->repo))
				     : path_join(repo_store(s->repo), "trees");
	env_set(ret, "GIT_CEILING_DIRECTORIES", above);
	env_set(ret, "PWD", s->side[side].seen_cwd);
	env_set(ret, "OLDPWD", NULL);
	env_set(ret, "TMPDIR", tmpdir);
}

int session_keep(struct session *s, const char *name, const void *data, size_t len,
		 struct strv *list, struct err *err)
{
	struct artifact_ref ref = {0};

	if (store_artifact(s->store, data, len, ref.sha256, err) < 0)
		return -1;
	ref.name = xasprintf("artifacts/%s", name);
	*VEC_ADD(s->artifacts, s->nartifacts, s->artifacts_cap) = ref;
	if (list)
		strv_add(list, ref.name);
	return 0;
}

void session_add_file(struct buf *out, const char *path, size_t cap)
{
	buf_addf(out, "\n--- %s\n", path_base(path));
	if (read_regular(path, cap, out) < 0)
		buf_adds(out, "(none)\n");
}

char *session_reproduce(const struct session *s)
{
	const struct gate_opts *o = s->opts;
	CLEANUP_FREE char *server = server_public(o->pg);
	CLEANUP(strv) struct strv v = {0};

	strv_add(&v, "exitpath");
	strv_add(&v, o->command);
	strv_add(&v, "--base");
	strv_addf(&v, "%.12s", s->side[SIDE_BASE].rev.commit);
	strv_add(&v, "--candidate");
	strv_addf(&v, "%.12s", s->side[SIDE_CANDIDATE].rev.commit);
	const struct {
		const char *flag, *value;
	} texts[] = {
		{"--store", o->store},	  {"--contract", o->contract},
		{"--lifecycle", o->only}, {"--setup", o->setup},
		{"--suite", o->suite},	  {"--detector", o->detectors},
		{"--pg", server},
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!texts[i].value)
			continue;
		strv_add(&v, texts[i].flag);
		strv_add(&v, texts[i].value);
	}
	faults_reproduce(o, &v);
	if (o->warmup >= 0)
		strv_addf(&v, "--warmup=%d", o->warmup);
	if (o->cycles >= 0)
		strv_addf(&v, "--cycles=%d", o->cycles);
	if (o->timeout_ms)
		strv_addf(&v, "--timeout=%llums", (unsigned long long)o->timeout_ms);
	if (o->repairs)
		strv_add(&v, "--repairs");
	if (o->jobs > 1)
		strv_addf(&v, "--jobs=%u", o->jobs);
	if (!session_sandboxed(s))
		strv_add(&v, "--isolation=none");
	strv_add(&v, "--fresh");
	if (o->argv && o->argv[0]) {
		strv_add(&v, "--");
		strv_copy(&v, o->argv);
	}
	return shell_quote(v.v);
}
