#include "detect/demangle.h"

#include "base/mem.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAME_MAX_LEN = 4096,
	/* Each back reference may copy all that stands before it, so that a short name
	 * of n references grows to the e^(n/e) fold: 40 are two million. */
	REFERENCES_MAX = 32,
};

typedef char *demangle_fn(const char *name, char *buf, size_t *len, int *status);

struct demangler {
	demangle_fn *fn; /* __cxa_demangle(), or NULL */
	bool tried;
};

struct demangler *demangler_new(void)
{
	return xcalloc(1, sizeof(struct demangler));
}

void demangler_free(struct demangler *d)
{
	free(d);
}

/* It stays loaded: what it allocated at its start has no other owner. */
static demangle_fn *load(struct demangler *d)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};

	for (size_t i = 0; i < 2 && !d->tried && !d->fn; i++) {
		void *library = dlopen(libraries[i], RTLD_NOW | RTLD_NODELETE);
		void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;

		memcpy(&d->fn, &symbol, sizeof(d->fn));
		if (library)
			dlclose(library);
	}
	d->tried = true;
	return d->fn;
}

/* "S_", "S1A_", "T_", "T0_": a part of the name that is meant once more. */
static size_t count_references(const char *name)
{
	size_t n = 0;

	for (const char *p = name; *p; p++) {
		const char *end = p + 1;

		if (*p != 'S' && *p != 'T')
			continue;
		while (isdigit((unsigned char)*end) || isupper((unsigned char)*end))
			end++;
		n += *end == '_';
	}
	return n;
}

char *demangle(struct demangler *d, const char *name)
{
	demangle_fn *fn;
	char *result = NULL;
	int status;

	if (!strncmp(name, "_Z", 2) && strnlen(name, NAME_MAX_LEN) < NAME_MAX_LEN &&
	    count_references(name) <= REFERENCES_MAX && (fn = load(d)))
		result = fn(name, NULL, NULL, &status);
	return result ? result : xstrdup(name);
}
