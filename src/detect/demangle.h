/* Names of C++ functions as the sanitizer runtimes print them. */
#ifndef EXITPATH_DETECT_DEMANGLE_H
#define EXITPATH_DETECT_DEMANGLE_H

struct demangler; /* loads libstdc++ when the first C++ name comes, if it is there */

struct demangler *demangler_new(void);
void demangler_free(struct demangler *d); /* NULL is fine */

/* "_ZN1a1bEi" → "a::b(int)"; a name that is none of C++, or that would grow beyond
 * measure, stays as it is. The caller frees. */
char *demangle(struct demangler *d, const char *name);

#endif
