/*
 * The candidate's points are tried first, all that were asked for; then, on base, those
 * of the same places that were bad: what is good there is the candidate's own doing. With
 * `repairs` base is explored in full, since what is bad there is what has to be found.
 */
#include "engine/fault_gate.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/version.h"
#include "contract/load.h"
#include "engine/fault_memory.h"
#include "engine/isolation.h"
#include "engine/measure.h"
#include "engine/server.h"
#include "engine/surroundings.h"
#include "verdict/verdict.h"

#include <inttypes.h>
#include <string.h>

static void replace(char **field, const char *value)
{
	if (!value)
		return;
	free(*field);
	*field = *value ? xstrdup(value) : NULL;
}

uint32_t faults_usable(uint32_t classes)
{
	const uint32_t all = (1u << FAULT_CLASSES) - 1;

	return classes ? classes & all : all;
}

int faults_apply(const struct gate_opts *opts, struct contract *c, struct err *err)
{
	const struct fault_opts *o = opts->fault;
	struct fault_settings *f = &c->faults;

	if (o) {
		f->given = true;
		f->classes = o->classes ? o->classes : f->classes;
		f->forever = opts->fault_forever < 0 ? f->forever : opts->fault_forever;
		f->points = o->points ? o->points : f->points;
		f->time_ms = o->time_ms ? o->time_ms : f->time_ms;
		replace(&f->check, o->check);
		replace(&f->layer, o->layer ? o->layer->name : NULL);
	}
	if (f->layer && !fault_layer_find(f->layer)) {
		CLEANUP(buf) struct buf all = {0};

		for (size_t i = 0; fault_layers[i]; i++)
			buf_addf(&all, "%s%s", i ? ", " : "", fault_layers[i]->name);
		err_set(err, ERR_USAGE, "faults: there is no layer `%s`", f->layer);
		err_hint(err, "layers are: %s", buf_str(&all));
		return -1;
	}
	if (!faults_usable(f->classes))
		return err_set(
			err, ERR_USAGE,
			"faults: calls of the class db cannot be made to fail yet");
	return 0;
}

bool faults_wanted(const struct session *s, const struct lifecycle *l)
{
	const struct fault_settings *f = &s->contract.faults;
	bool named = s->opts->only || (s->opts->argv && s->opts->argv[0]);
	bool command = !strcmp(s->opts->command, "fault");

	if (!command && (!f->given || strcmp(s->opts->command, "gate") != 0))
		return false;
	return (command && named) || !f->lifecycles.n ||
	       strv_contains(&f->lifecycles, l->name);
}

static void add_classes(uint32_t classes, struct strv *v)
{
	CLEANUP(strv) struct strv names = {0};

	for (unsigned c = 0; c < FAULT_CLASSES; c++)
		if (classes & 1u << c)
			strv_add(&names, engine_fault_class_name((enum fault_class)c));
	if (!names.n)
		return;
	strv_add(v, "--classes");
	strv_take(v, strv_join(&names, ","));
}

void faults_reproduce(const struct gate_opts *opts, struct strv *v)
{
	const struct fault_opts *o = opts->fault;

	if (!o)
		return;
	add_classes(o->classes, v);
	if (opts->fault_forever >= 0)
		strv_addf(v, "--mode=%s", opts->fault_forever ? "forever" : "once");
	if (o->layer)
		strv_addf(v, "--layer=%s", o->layer->name);
	if (o->call)
		strv_addf(v, "--call=%s", o->call);
	if (o->check)
		strv_addf(v, "--check=%s", o->check);
	if (o->points)
		strv_addf(v, "--points=%u", o->points);
	if (o->time_ms)
		strv_addf(v, "--time=%" PRIu64 "ms", o->time_ms);
	if (opts->diff)
		strv_addf(v, "--diff=%s", opts->diff);
	if (o->key)
		strv_addf(v, "--replay=%016" PRIx64, o->key);
}

void faults_add_key(const struct contract *c, const struct fault_opts *o,
		    struct sha256 *h)
{
	struct contract same = *c; /* shallow: for its digest alone */
	CLEANUP_FREE char *numbers = xasprintf("%" PRIx32 " %d %d %u", o->classes,
					       o->forever, o->errnum, o->nth);

	same.base = NULL;
	same.faults.points = 0;
	same.faults.time_ms = 0;
	contract_digest(&same);
	sha256_add_field(h, "fault");
	sha256_add_field(h, same.digest);
	sha256_add_field(h, numbers);
	sha256_add_field(h, o->check);
	sha256_add_field(h, o->layer ? o->layer->name : NULL);
	sha256_add_field(h, isolation_name(o->isolation));
}

static void memory_key(const struct session *s, const struct lifecycle *l,
		       const struct fault_opts *o, const char *tree, char ret[SHA256_HEX])
{
	struct sha256 *h = sha256_new();

	sha256_add_field(h, tree);
	sha256_add_field(h, s->prefix);
	sha256_add_field(h, l->name);
	faults_add_key(&s->contract, o, h);
	surroundings_add(h);
	sha256_finish(h, ret);
}

/* What a replay of a point on this side begins with. */
static void add_invocation(const struct session *s, const struct lifecycle *l,
			   enum side side, struct strv *v)
{
	const struct gate_opts *o = s->opts;
	const struct {
		const char *flag, *value;
	} texts[] = {
		{"--store", o->store},
		{"--contract", o->contract},
		{"--setup", o->setup},
		{"--check", o->fault ? o->fault->check : NULL},
		{"--layer", o->fault && o->fault->layer ? o->fault->layer->name : NULL},
		{"--lifecycle", l->argv.n ? NULL : l->name},
	};

	strv_add(v, "exitpath");
	strv_add(v, "fault");
	strv_add(v, "--base");
	strv_addf(v, "%.12s", s->side[SIDE_BASE].rev.commit);
	strv_add(v, "--candidate");
	strv_addf(v, "%.12s", s->side[side].rev.commit);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!texts[i].value)
			continue;
		strv_add(v, texts[i].flag);
		strv_add(v, texts[i].value);
	}
	if (!session_sandboxed(s))
		strv_add(v, "--isolation=none");
}

/* Keeps the whole report, all counts and findings. */
static int keep_report(struct session *s, const struct lifecycle *l, enum side side,
		       const struct fault_report *r, struct strv *list, struct err *err)
{
	CLEANUP_JSON json_t *j = fault_report_to_json(r);
	CLEANUP_FREE char *text = json_pretty(j);
	CLEANUP_FREE char *name = xasprintf("%s/fault/%s.json", l->name, side_name(side));

	return session_keep(s, name, text, strlen(text), list, err);
}

int faults_changed_since(struct repo *r, const char *name, const char *candidate,
			 struct rev_ranges *ret, struct err *err)
{
	struct revision_info since = {0};
	int rc = rev_resolve(r, name, &since, err);

	if (rc == 0)
		rc = rev_changed_ranges(r, since.commit, candidate, ret, err);
	revision_release(&since);
	return rc;
}

/* One side. only: the findings of the other, or NULL. */
static int run_side(struct session *s, const struct lifecycle *l, enum side side,
		    const struct fault_report *only, struct fault_report *ret,
		    struct err *err)
{
	const struct fault_settings *f = &s->contract.faults;
	const struct fault_opts *flags = s->opts->fault;
	CLEANUP(strv) struct strv argv = {0}, env = {0}, invocation = {0};
	CLEANUP(sandbox) struct sandbox views = {0};
	CLEANUP(rev_ranges) struct rev_ranges changed = {0};
	__attribute__((cleanup(fault_memory_cleanup))) struct fault_memory *memory = NULL;
	char key[SHA256_HEX];
	const struct side_state *own = &s->side[s->same ? SIDE_BASE : side];
	struct fault_place place = {
		.cwd = s->side[side].seen_cwd,
		.checkout = s->side[side].use->dir,
		.seen = session_seen(s, side),
		.env = &env,
		.limits = l->limits,
		.timeout_ms = l->timeout_ms,
	};
	struct fault_opts opts = {
		.place = &place,
		.check = f->check,
		.invocation = &invocation,
		.lifecycle = !l->argv.n,
		.layer = f->layer ? fault_layer_find(f->layer) : NULL,
		.dir = s->side[side].cwd,
		.isolation = s->opts->isolation,
		.classes = faults_usable(f->classes),
		.forever = f->forever,
		.only = only,
		.inside = true,
		.points = only ? 0 : f->points,
		.time_ms = only ? 0 : f->time_ms,
		.progress = s->opts->progress,
	};

	if (side == SIDE_CANDIDATE && (s->opts->diff || f->points || f->time_ms)) {
		if (faults_changed_since(s->repo,
					 s->opts->diff ? s->opts->diff
						       : s->side[SIDE_BASE].rev.commit,
					 s->side[side].rev.commit, &changed, err) < 0)
			return -1;
		opts.changed = &changed;
	}
	if (flags && !only) {
		opts.call = flags->call;
		opts.caller = flags->caller;
		opts.path = flags->path;
		opts.key = flags->key;
	}
	if (flags)
		opts.no_fork = flags->no_fork;
	if (session_sandboxed(s)) {
		sandbox_copy(&views, &own->views);
		views.network = l->network;
		if (server_show(s, l, &views, err) < 0)
			return -1;
		place.views = &views;
	}
	session_env(s, side, "/tmp", &env);
	lifecycle_argv(l, &argv);
	add_invocation(s, l, side, &invocation);
	memory_key(s, l, &opts, s->side[side].rev.tree, key);
	memory = fault_memory_new(s->store, key, side == SIDE_BASE, s->opts->fresh);
	opts.memory = opts.key ? NULL : memory;
	progress_tell(s->opts->progress, l->name, side_name(side), "fault", 0, 0);
	return engine_fault(&opts, argv.v, ret, err);
}

int session_faults(struct session *s, const struct lifecycle *l, struct err *err)
{
	CLEANUP(fault_report) struct fault_report base = {0}, candidate = {0};
	struct fault_case in = {
		.target = l->name,
		.base = &base,
		.candidate = &candidate,
		.ignore = s->contract.faults.ignore,
		.nignore = s->contract.faults.nignore,
		.repairs = l->repairs,
	};
	CLEANUP(check) struct check c = {.attempt = 1};
	bool ready = true;
	char today[21];

	if (session_setup(s, 3u, &ready, err) < 0)
		return -1;
	if (!ready)
		return 0;
	if (run_side(s, l, SIDE_CANDIDATE, NULL, &candidate, err) < 0 ||
	    run_side(s, l, SIDE_BASE, l->repairs ? NULL : &candidate, &base, err) < 0 ||
	    keep_report(s, l, SIDE_BASE, &base, &c.base_artifacts, err) < 0 ||
	    keep_report(s, l, SIDE_CANDIDATE, &candidate, &c.candidate_artifacts, err) <
		    0)
		return -1;
	clock_iso(today);
	today[10] = '\0'; /* the day of it */
	in.today = today;
	verdict_fault(&in, &c);
	c.version = xstrdup(EXITPATH_VERSION);
	lifecycle_argv(l, &c.command);
	*result_check(s->result) = c;
	c = (struct check){0};
	return 0;
}
