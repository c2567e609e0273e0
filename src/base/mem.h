/*
 * Allocation that cannot fail for its caller: out of memory ends exitpath with
 * status 70 and a message, since no verdict can be trusted after it.
 */
#ifndef EXITPATH_BASE_MEM_H
#define EXITPATH_BASE_MEM_H

#include <stddef.h>

void out_of_memory(void) __attribute__((noreturn));
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n, size_t size);
char *xstrdup(const char *s); /* NULL stays NULL */
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Makes room for one more element: VEC_ADD(v, n, cap) gives a zeroed &v[n++]. */
void *vec_grow(void *data, size_t *n, size_t *cap, size_t size);
#define VEC_ADD(v, n, cap) ((v) = vec_grow((v), &(n), &(cap), sizeof(*(v))), &(v)[(n)-1])

#endif
