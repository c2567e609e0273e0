#include "base/mem.h"
#include "verdict/verdict.h"

#include <fnmatch.h>
#include <string.h>

/* Is kind ("leak", "fd", …) of len bytes what the leak is? */
static bool kind_matches(const char *kind, size_t len, enum resource r)
{
	const char *name = resource_name(r);

	if (r == RESOURCE_HEAP && len == 4 && !strncmp(kind, "leak", len))
		return true;
	return strlen(name) == len && !strncmp(kind, name, len);
}

/*
 * Every stack passes through main: naming it would suppress the whole program, so it
 * matches only where main itself acquired.
 */
static bool stack_matches(const char *pattern, const struct leak *l)
{
	bool inner = false;

	for (size_t i = 0; i < l->nframes; i++) {
		const struct frame *f = &l->frames[i];
		CLEANUP_FREE char *function = NULL;

		if (!f->function || function_is_runtime(f->function))
			continue;
		function = normalize_function(f->function);
		if (!fnmatch(pattern, function, 0) &&
		    !(inner && !strcmp(function, "main")))
			return true;
		inner |= !module_is_libc(f->module);
	}
	return false;
}

/* "fd -> data/log.txt" is matched as a whole and by what follows the arrow. */
static bool target_matches(const char *pattern, const char *what)
{
	CLEANUP_FREE char *stable = normalize_target(what);
	const char *arrow = what ? strstr(what, "-> ") : NULL;

	if (!what)
		return false;
	return !fnmatch(pattern, what, 0) || !fnmatch(pattern, stable, 0) ||
	       (arrow && !fnmatch(pattern, arrow + 3, 0));
}

bool suppression_matches(const struct suppression *s, const struct leak *l)
{
	const char *colon = strchr(s->match, ':');

	if (!colon || !colon[1] ||
	    !kind_matches(s->match, (size_t)(colon - s->match), l->resource))
		return false;
	if (stack_matches(colon + 1, l))
		return true;
	/* What a heap leak is called is its size: no identity. */
	return l->resource != RESOURCE_HEAP && target_matches(colon + 1, l->what);
}
