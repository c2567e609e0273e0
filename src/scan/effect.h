/* What evaluating a node does to a resource that a function holds. */
#ifndef EXITPATH_SCAN_EFFECT_H
#define EXITPATH_SCAN_EFFECT_H

#include "scan/flow.h"
#include "scan/lang.h"
#include "scan/names.h"
#include "scan/paths.h"

enum { MAX_ALIASES = 4 };

struct helpers;

struct resource {
	struct text name;	      /* `f`, `self._sock`, as it is written */
	const struct scan_pair *pair; /* NULL: known by its release alone */
	uint32_t node;		      /* where it is acquired: the assignment or call */
	struct text error; /* set with it: not acquired when it says so; len 0: none */
	const struct helpers *helpers;	/* of its file; NULL: none are known */
	struct text alias[MAX_ALIASES]; /* other names of it in this function */
	unsigned naliases;
	bool closed_here; /* the function itself releases it: whom it is given to does not
			   */
	bool by_address;  /* filled in: open_it(&f) */
};

/* In the order of what outweighs what. */
enum effect {
	EFFECT_NONE,
	EFFECT_USED,
	EFFECT_REPLACED,
	EFFECT_ESCAPED,
	EFFECT_RELEASED
};

enum effect effect_of(const struct scan_lang *lang, const struct source_tree *t,
		      uint32_t node, const struct resource *r);
/* The same for what runs at the way out (defer): a release within a closure counts. */
enum effect effect_deferred(const struct scan_lang *lang, const struct source_tree *t,
			    uint32_t node, const struct resource *r);

/* What a test says about the resource. */
enum verdict { SAYS_NOTHING, HELD_IF_TRUE, HELD_IF_FALSE };
enum verdict effect_test(const struct scan_lang *lang, const struct source_tree *t,
			 uint32_t node, const struct resource *r, bool error_counts);
/* Does the node assign the name? */
bool effect_assigns(const struct scan_lang *lang, const struct source_tree *t,
		    uint32_t node, struct text name, uint32_t but);

struct text effect_text(const struct source_tree *t, uint32_t node);
/* Of a call: its callee's text, without template and generic arguments. */
struct text effect_callee(const struct scan_lang *lang, const struct source_tree *t,
			  uint32_t call);

#endif
