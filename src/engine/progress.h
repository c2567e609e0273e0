/* What the engine tells a waiting person. Nothing depends on it. */
#ifndef EXITPATH_ENGINE_PROGRESS_H
#define EXITPATH_ENGINE_PROGRESS_H

#include <stddef.h>

struct progress_event {
	const char *target; /* lifecycle, "setup", "suite", "checkout" */
	const char *what;   /* "base", "candidate" or a sentence */
	const char *detail; /* detectors of the run: "lsan+ledger"; may be NULL */
	size_t done, total; /* cycles; total 0: not counted */
};

struct progress {
	void (*update)(void *ctx, const struct progress_event *e); /* may be NULL */
	void *ctx;
};

static inline void progress_tell(const struct progress *p, const char *target,
				 const char *what, const char *detail, size_t done,
				 size_t total)
{
	const struct progress_event e = {target, what, detail, done, total};

	if (p && p->update)
		p->update(p->ctx, &e);
}

#endif
