#include "base/strv.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void strv_take(struct strv *s, char *str)
{
	if (s->n + 2 > s->cap) {
		s->cap = s->cap ? 2 * s->cap : 8;
		s->v = xrealloc(s->v, s->cap, sizeof(*s->v));
	}
	s->v[s->n++] = str;
	s->v[s->n] = NULL;
}

void strv_add(struct strv *s, const char *str)
{
	strv_take(s, xstrdup(str));
}

void strv_addf(struct strv *s, const char *fmt, ...)
{
	va_list ap;
	char *str = NULL;

	va_start(ap, fmt);
	if (vasprintf(&str, fmt, ap) < 0)
		str = xstrdup("");
	va_end(ap);
	strv_take(s, str);
}

void strv_insert(struct strv *s, size_t at, const char *str)
{
	char *last;

	strv_add(s, str);
	last = s->v[s->n - 1];
	memmove(s->v + at + 1, s->v + at, (s->n - 1 - at) * sizeof(*s->v));
	s->v[at] = last;
}

void strv_copy(struct strv *dst, char *const *src)
{
	for (; src && *src; src++)
		strv_add(dst, *src);
}

bool strv_contains(const struct strv *s, const char *str)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->v[i], str))
			return true;
	return false;
}

char *strv_join(const struct strv *s, const char *sep)
{
	struct buf b = {0};

	for (size_t i = 0; i < s->n; i++) {
		if (i)
			buf_adds(&b, sep);
		buf_adds(&b, s->v[i]);
	}
	return buf_detach(&b);
}

void strv_release(struct strv *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = (struct strv){0};
}

static size_t env_find(const struct strv *env, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < env->n; i++)
		if (!strncmp(env->v[i], name, len) && env->v[i][len] == '=')
			return i;
	return env->n;
}

const char *env_get(const struct strv *env, const char *name)
{
	size_t i = env_find(env, name);

	return i < env->n ? env->v[i] + strlen(name) + 1 : NULL;
}

void env_set(struct strv *env, const char *name, const char *value)
{
	size_t i = env_find(env, name);

	if (i == env->n) {
		if (value)
			strv_addf(env, "%s=%s", name, value);
		return;
	}
	free(env->v[i]);
	if (value) {
		env->v[i] = xasprintf("%s=%s", name, value);
		return;
	}
	memmove(env->v + i, env->v + i + 1, (env->n - i) * sizeof(*env->v));
	env->n--;
}

static bool needs_quotes(const char *s)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_@%+=:,./-";

	return !*s || s[strspn(s, safe)];
}

char *shell_quote(char *const *argv)
{
	struct buf b = {0};

	for (size_t i = 0; argv[i]; i++) {
		if (i)
			buf_addc(&b, ' ');
		if (!needs_quotes(argv[i])) {
			buf_adds(&b, argv[i]);
			continue;
		}
		buf_addc(&b, '\'');
		for (const char *p = argv[i]; *p; p++) {
			if (*p == '\'')
				buf_adds(&b, "'\\''");
			else
				buf_addc(&b, *p);
		}
		buf_addc(&b, '\'');
	}
	return buf_detach(&b);
}
