/* A vector of owned strings, always NULL-terminated: v may be passed to execve(). */
#ifndef EXITPATH_BASE_STRV_H
#define EXITPATH_BASE_STRV_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>

struct strv {
	char **v;
	size_t n, cap;
};

void strv_add(struct strv *s, const char *str); /* copies */
void strv_take(struct strv *s, char *str);	/* takes ownership */
void strv_addf(struct strv *s, const char *fmt, ...) PRINTF(2, 3);
void strv_insert(struct strv *s, size_t at, const char *str);
void strv_copy(struct strv *dst, char *const *src); /* appends all of src */
bool strv_contains(const struct strv *s, const char *str);
char *strv_join(const struct strv *s, const char *sep); /* the caller frees */
void strv_release(struct strv *s);
DEFINE_CLEANUP(strv)

/* Environment in a strv: "NAME=value". */
const char *env_get(const struct strv *env, const char *name);
void env_set(struct strv *env, const char *name, const char *value); /* NULL unsets */

/* argv as a POSIX shell reads it; words that need no quotes have none. */
char *shell_quote(char *const *argv);

#endif
