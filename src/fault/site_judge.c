#include "fault/site.h"

#include "base/buf.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

static void add(struct fault_finding *f, enum fault_defect d, char *what)
{
	if (f->defect != DEFECT_NONE) {
		strv_take(&f->more, what);
		return;
	}
	f->defect = d;
	f->what = what;
}

static void judge_end(const struct site_trial *t, struct fault_finding *f)
{
	const char *at = t->detail && *t->detail ? t->detail : NULL;

	if (t->end == SITE_HANG)
		add(f, DEFECT_HANG,
		    xasprintf("%s had not ended after %.0f s%s%s", t->test, t->seconds,
			      at ? ", " : "", at ? at : ""));
	else if (t->end == SITE_SIGNAL)
		add(f, DEFECT_CRASH,
		    xasprintf("SIG%s in %s%s%s",
			      t->signal ? sigabbrev_np(t->signal) : "KILL", t->test,
			      at ? ", " : "", at ? at : ""));
}

static void judge_report(const struct site_point *p, const struct site_trial *t,
			 struct fault_finding *f)
{
	if (!p->must || t->end != SITE_DONE || !t->passed || !t->same || t->repeated ||
	    t->logged || t->told)
		return;
	add(f, DEFECT_SWALLOWED,
	    xasprintf("nobody was told: %s passes with the same output, and no error is "
		      "logged",
		      t->test));
}

static bool is_file(enum resource r)
{
	return r == RESOURCE_TEMPFILE || r == RESOURCE_SHARED_FILE ||
	       r == RESOURCE_POSIX_SHM || r == RESOURCE_SYSV_SHM;
}

static char *describe(const struct site_held *h, const struct site_trial *t)
{
	struct buf b = {0};

	if (h->leak.units[0] > 1)
		buf_addf(&b, "%" PRIu64 " × ", h->leak.units[0]);
	buf_addf(&b, "%s", h->leak.what);
	if (h->leak.resource == RESOURCE_UNCLOSED)
		buf_adds(&b, " closed by its destructor alone");
	else if (h->gc)
		buf_addf(&b, " (%s) released by the garbage collector alone",
			 resource_name(h->leak.resource));
	else
		buf_addf(&b, " (%s) %s", resource_name(h->leak.resource),
			 is_file(h->leak.resource) ? "left behind" : "still held");
	buf_addf(&b, " after %s", t->test);
	return buf_detach(&b);
}

/* What is of a higher level explains what lies beneath it. */
static unsigned rank(enum resource r)
{
	static const enum resource order[] = {
		RESOURCE_POOL_SLOT, RESOURCE_DB_CONNECTION,
		RESOURCE_SESSION,   RESOURCE_TASK,
		RESOURCE_THREAD,    RESOURCE_CHILD,
		RESOURCE_SOCKET,    RESOURCE_FD,
		RESOURCE_TEMPFILE,
	};
	unsigned i = 0;

	while (i < ARRAY_SIZE(order) && order[i] != r)
		i++;
	return i;
}

static void judge_held(const struct site_trial *t, struct fault_finding *f)
{
	const struct site_held *top = NULL;

	for (size_t i = 0; i < t->nheld; i++) {
		const struct site_held *h = &t->held[i];

		if (h->owned &&
		    (!top || rank(h->leak.resource) < rank(top->leak.resource)))
			top = h;
	}
	if (!top)
		return;
	add(f, is_file(top->leak.resource) ? DEFECT_FILE : DEFECT_HELD, describe(top, t));
	leak_copy(&f->held, &top->leak, 1);
	for (size_t i = 0; i < t->nheld; i++)
		if (t->held[i].owned && &t->held[i] != top)
			add(f, DEFECT_HELD, describe(&t->held[i], t));
}

bool site_judge(const struct site_point *p, const struct site_trial *t,
		struct fault_finding *ret)
{
	if (!t->fired)
		return false;
	judge_end(t, ret);
	judge_report(p, t, ret);
	judge_held(t, ret);
	if (t->checked && t->check_status)
		add(ret, DEFECT_CHECK,
		    xasprintf("the check fails with %d%s%s", t->check_status,
			      t->check_said ? ": " : "",
			      t->check_said ? t->check_said : ""));
	return ret->defect != DEFECT_NONE;
}
