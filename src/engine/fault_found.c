/* What was found: in full for people, for the store, and from it. */
#include "engine/fault_explore.h"

#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "engine/fault_memory.h"
#include "fault/calls.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define BINARY_MAX ((size_t)512 << 20)

void fault_end_with(struct fault_report *r, enum outcome outcome, char *why,
		    const char *hint)
{
	r->outcome = outcome;
	free(r->why);
	r->why = why;
	free(r->hint);
	r->hint = xstrdup(hint);
}

static char *class_list(uint32_t classes)
{
	struct buf b = {0};

	for (unsigned c = 0; c < FAULT_CLASSES; c++)
		if (classes & 1u << c)
			buf_addf(&b, "%s%s", b.len ? "," : "",
				 fault_class_name((enum fault_class)c));
	return buf_detach(&b);
}

char *fault_replay(const struct fault_opts *o, char *const *argv, uint64_t key,
		   bool classes)
{
	CLEANUP(strv) struct strv v = {0};

	if (o->invocation) {
		strv_copy(&v, o->invocation->v);
	} else {
		strv_add(&v, "exitpath");
		strv_add(&v, "fault");
		if (o->isolation != ISOLATION_SANDBOX)
			strv_addf(&v, "--isolation=%s", isolation_name(o->isolation));
		if (o->layer)
			strv_addf(&v, "--layer=%s", o->layer->name);
	}
	if (o->forever) {
		strv_add(&v, "--mode");
		strv_add(&v, "forever");
	}
	if (o->forever && classes) {
		strv_add(&v, "--classes");
		strv_take(&v, class_list(o->classes));
	}
	if (o->check && !o->invocation) {
		strv_add(&v, "--check");
		strv_add(&v, o->check);
	}
	if (o->nth > 1)
		strv_addf(&v, "--nth=%u", o->nth);
	strv_add(&v, "--replay");
	strv_addf(&v, "%016" PRIx64, key);
	if (!o->lifecycle) {
		strv_add(&v, "--");
		strv_copy(&v, argv);
	}
	return shell_quote(v.v);
}

static char *replay_of(const struct explore *x, uint64_t key)
{
	return fault_replay(x->opts, x->session.argv, key, true);
}

/* Relative to the project; "$TMPDIR/out": the run's directory had a name of its own. It
 * may be cut. */
static char *argument_of(const struct explore *x, const struct fault_point *p)
{
	const char *project = x->session.project, *rest;

	if (!*p->argument)
		return NULL;
	if (path_is_below(p->argument, project) && p->argument[strlen(project)])
		return xstrdup(p->argument + strlen(project) + 1);
	if (strncmp(p->argument, x->session.scratch, strlen(x->session.scratch)) != 0)
		return xstrdup(p->argument);
	rest = strstr(p->argument + strlen(x->session.scratch), "/tmp");
	return rest ? xasprintf("$TMPDIR%s", rest + 4) : NULL;
}

static void fill_finding(struct explore *x, size_t point, struct fault_finding *f)
{
	const struct fault_point *p = x->plan.points[point];
	const struct fault_call *call = &fault_calls[p->call];
	struct trial *t = &x->trials[point];

	f->defect = t->judgement.defect;
	f->what = TAKE_PTR(t->judgement.what);
	f->more = t->judgement.more;
	t->judgement.more = (struct strv){0};
	f->call = xstrdup(call->name);
	f->argument = argument_of(x, p);
	f->error = xstrdup(fault_error_name(p, x->opts->errnum));
	f->key = p->key;
	f->replay = replay_of(x, p->key);
	fault_fill_chain(x, p, &f->chain);
	if (t->judgement.stack) {
		f->held.nframes = t->judgement.stack->nframes;
		f->held.frames = TAKE_PTR(t->judgement.stack->frames);
		t->judgement.stack->nframes = 0;
	}
}

/* ---- what is known ---- */

static void add_file(struct sha256 *h, const char *path, bool whole)
{
	CLEANUP_FREE char *stamp = NULL;
	CLEANUP(buf) struct buf text = {0};
	struct stat st;

	if (stat(path, &st) < 0)
		return;
	stamp = xasprintf("%lld %lld.%09ld", (long long)st.st_size,
			  (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	if (whole && read_file(path, BINARY_MAX, &text, NULL) == 0)
		sha256_add(h, buf_str(&text), text.len);
	else
		sha256_add_field(h, stamp);
}

/* The project's own by their content: a build that changes nothing is the same. */
static void digest_binaries(const struct explore *x, char ret[SHA256_HEX])
{
	struct sha256 *h = sha256_new();
	const struct sandbox *views =
		x->opts->isolation == ISOLATION_SANDBOX ? &x->session.views : NULL;

	for (size_t i = 0; i < x->record.nmodules; i++) {
		const char *path = x->record.modules[i].path;
		CLEANUP_FREE char *outside = sandbox_outside(views, path);

		sha256_add_field(h, path_base(path));
		if (*path == '/')
			add_file(h, outside, path_is_below(path, x->session.project));
	}
	sha256_finish(h, ret);
}

void fault_recall(struct explore *x)
{
	char binaries[SHA256_HEX];

	if (!x->opts->memory)
		return;
	digest_binaries(x, binaries);
	fault_memory_begin(x->opts->memory, binaries);
	for (size_t i = 0; i < x->plan.n; i++) {
		struct trial *t = &x->trials[i];
		struct fault_finding f = {0};
		uint64_t key = x->plan.points[i]->key;

		if (!fault_memory_get(x->opts->memory, key, &f))
			continue;
		t->known = t->fired = true;
		t->tries = 1;
		t->clean = f.defect == DEFECT_NONE;
		t->confirmed = !t->clean;
		t->finding = f;
		if (t->confirmed) {
			free(t->finding.replay);
			t->finding.replay = replay_of(x, key);
		}
	}
}

void fault_settle(struct explore *x, size_t point)
{
	struct trial *t = &x->trials[point];

	if (t->confirmed) {
		fill_finding(x, point, &t->finding);
		fault_sign(&t->finding);
	}
	fault_memory_put(x->opts->memory, x->plan.points[point]->key,
			 t->confirmed ? &t->finding : NULL);
}

void fault_conclude(struct explore *x)
{
	struct fault_report *r = x->report;

	for (size_t i = 0; i < x->plan.n; i++) {
		struct trial *t = &x->trials[i];

		r->explored += t->fired;
		r->missed += t->tries && !t->fired;
		r->rerun += t->tries && !t->forked && !t->known;
		r->known += t->known;
		if (t->confirmed) {
			*fault_report_finding(r) = t->finding;
			t->finding = (struct fault_finding){0};
		} else if (t->judgement.defect != DEFECT_NONE) {
			fill_finding(
				x, i,
				VEC_ADD(r->unsettled, r->nunsettled, r->unsettled_cap));
		}
	}
	r->unconfirmed = r->nunsettled;
	if (r->explored + r->missed == r->chosen)
		fault_memory_done(x->opts->memory);
	if (r->nfindings)
		fault_end_with(r, OUTCOME_DEFECT, NULL, NULL);
	else if (!r->explored && !x->opts->only)
		fault_end_with(r, OUTCOME_INCONCLUSIVE,
			       xstrdup("no call was made to fail"), "allow more --time");
	else if (r->unconfirmed || r->missed)
		fault_end_with(r, OUTCOME_INCONCLUSIVE,
			       xstrdup("not all of it happens in every run"), NULL);
	else
		fault_end_with(r, OUTCOME_CLEAN, NULL, NULL);
}
