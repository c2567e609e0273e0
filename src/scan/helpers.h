/*
 * The functions of one file, and what each does to what it is given: a helper that
 * closes its argument, or keeps it, is known by its body and not by its name.
 */
#ifndef EXITPATH_SCAN_HELPERS_H
#define EXITPATH_SCAN_HELPERS_H

#include "scan/effect.h"

#include <stddef.h>

enum { HELPER_PARAMETERS = 8 };

struct helper {
	struct text name;
	unsigned n;			    /* parameters that are known */
	uint8_t effects[HELPER_PARAMETERS]; /* enum effect, of the first parameters */
};

struct helpers {
	struct helper *v; /* by name */
	size_t n, cap;
};

void helpers_find(const struct scan_lang *lang, const struct source_tree *t,
		  struct helpers *ret);
void helpers_release(struct helpers *h);
DEFINE_CLEANUP(helpers)
/* What such a call does to its i-th argument; -1: it is no function of this file, or its
 * name is that of several. */
int helpers_effect(const struct helpers *h, struct text name, unsigned i);

#endif
