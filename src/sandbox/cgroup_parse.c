#include "sandbox/cgroup_parse.h"

#include "base/mem.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Digits at *p, and moves behind them. 0, or -1: none, or too many. */
static int digits(const char **p, uint64_t *ret)
{
	uint64_t n = 0;
	const char *s = *p;

	if (!isdigit((unsigned char)*s))
		return -1;
	for (; isdigit((unsigned char)*s); s++) {
		unsigned digit = (unsigned)(*s - '0');

		if (n > (UINT64_MAX - digit) / 10)
			return -1;
		n = n * 10 + digit;
	}
	*p = s;
	*ret = n;
	return 0;
}

/* mountinfo writes blanks, tabs, newlines and backslashes as \ooo. */
static char *unescape(const char *s, size_t len)
{
	char *out = xstrndup(s, len), *to = out;

	for (const char *p = out; *p;) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' &&
		    p[2] <= '7' && p[3] >= '0' && p[3] <= '7') {
			*to++ = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 +
				       (p[3] - '0'));
			p += 4;
		} else {
			*to++ = *p++;
		}
	}
	*to = '\0';
	return out;
}

struct field {
	const char *s;
	size_t len;
};

static bool field_is(const struct field *f, const char *s)
{
	return f->len == strlen(s) && !memcmp(f->s, s, f->len);
}

/* id parent major:minor root at options [optional …] - type source super-options */
enum { ROOT = 3, AT = 4, OPTIONS = 5, BEFORE_DASH = 6, FIELDS_MAX = 32 };

static void mount_line(const char *line, size_t len, struct cgroup_mounts *ret)
{
	struct field f[FIELDS_MAX];
	size_t n = 0, dash = BEFORE_DASH;
	const char *end = line + len;

	while (line < end && n < FIELDS_MAX) {
		const char *blank = memchr(line, ' ', (size_t)(end - line));

		if (!blank)
			blank = end;
		f[n++] = (struct field){line, (size_t)(blank - line)};
		line = blank + 1;
	}
	while (dash < n && !field_is(&f[dash], "-"))
		dash++;
	if (dash + 3 >= n)
		return;
	if (field_is(&f[dash + 1], "cgroup") || field_is(&f[dash + 1], "cgroup2")) {
		CLEANUP_FREE char *options = xstrndup(f[OPTIONS].s, f[OPTIONS].len);
		char *super = xstrndup(f[dash + 3].s, f[dash + 3].len);

		*VEC_ADD(ret->v, ret->n, ret->cap) = (struct cgroup_mount){
			.at = unescape(f[AT].s, f[AT].len),
			.root = unescape(f[ROOT].s, f[ROOT].len),
			.options = super,
			.v2 = field_is(&f[dash + 1], "cgroup2"),
			.read_only = cgroup_has_word(options, "ro") ||
				     cgroup_has_word(super, "ro"),
		};
	}
}

void cgroup_mounts_parse(const char *text, struct cgroup_mounts *ret)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		mount_line(text, len, ret);
		text += len + (text[len] == '\n');
	}
}

void cgroup_mounts_release(struct cgroup_mounts *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].at);
		free(m->v[i].root);
		free(m->v[i].options);
	}
	free(m->v);
	*m = (struct cgroup_mounts){0};
}

bool cgroup_has_word(const char *list, const char *word)
{
	size_t want = strlen(word);

	for (;;) {
		size_t len;

		list += strspn(list, ", \n");
		len = strcspn(list, ", \n");
		if (!len)
			return false;
		if (len == want && !memcmp(list, word, len))
			return true;
		list += len;
	}
}

/* id:controllers:path; v2's is 0::path */
char *cgroup_own_path(const char *text, const char *controller)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		CLEANUP_FREE char *line = xstrndup(text, len);
		char *list = strchr(line, ':'),
		     *path = list ? strchr(list + 1, ':') : NULL;

		text += len + (text[len] == '\n');
		if (!path || path[1] != '/')
			continue;
		*list++ = '\0';
		*path++ = '\0';
		if (controller ? cgroup_has_word(list, controller)
			       : !strcmp(line, "0") && !*list)
			return xstrdup(path);
	}
	return NULL;
}

char *cgroup_seen_at(const struct cgroup_mount *m, const char *path)
{
	size_t len = strlen(m->root);
	const char *at = strcmp(m->at, "/") ? m->at : "";

	/* Out of our cgroup namespace: what it is called there is not known. */
	if (!strncmp(path, "/..", 3) || !strncmp(m->root, "/..", 3))
		return NULL;
	if (!strcmp(m->root, "/"))
		len = 0;
	else if (strncmp(path, m->root, len) != 0 || (path[len] && path[len] != '/'))
		return NULL;
	path += len;
	return !strcmp(path, "/") ? xstrdup(m->at) : xasprintf("%s%s", at, path);
}

int cgroup_parse_key(const char *text, const char *key, uint64_t *ret)
{
	size_t want = strlen(key);

	while (*text) {
		size_t len = strcspn(text, "\n");

		if (len > want && !memcmp(text, key, want) && text[want] == ' ') {
			const char *p = text + want + 1;

			return digits(&p, ret);
		}
		text += len + (text[len] == '\n');
	}
	return -1;
}

int cgroup_parse_number(const char *text, uint64_t *ret)
{
	uint64_t n = CGROUP_NO_LIMIT;

	if (!strncmp(text, "max", 3))
		text += 3;
	else if (digits(&text, &n) < 0)
		return -1;
	if (*text && *text != '\n')
		return -1;
	*ret = n;
	return 0;
}

int cgroup_parse_cpu(const char *text, uint64_t *ret_us)
{
	uint64_t ns;

	if (!cgroup_parse_key(text, "usage_usec", ret_us))
		return 0;
	if (cgroup_parse_number(text, &ns) < 0 || ns == CGROUP_NO_LIMIT)
		return -1;
	*ret_us = ns / 1000;
	return 0;
}

#define PREFIX "exitpath-"

void cgroup_name(const struct cgroup_owner *o, char ret_name[CGROUP_NAME_MAX])
{
	snprintf(ret_name, CGROUP_NAME_MAX, PREFIX "%llu-%d-%llu-%u", o->pid_namespace,
		 (int)o->pid, o->start, o->n);
}

int cgroup_name_parse(const char *name, struct cgroup_owner *ret)
{
	uint64_t v[4];

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return -1;
	name += strlen(PREFIX);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		if (digits(&name, &v[i]) < 0 || *name != (i == 3 ? '\0' : '-'))
			return -1;
		name++;
	}
	if (!v[1] || v[1] > INT_MAX || v[3] > UINT_MAX)
		return -1;
	*ret = (struct cgroup_owner){v[0], (pid_t)v[1], v[2], (unsigned)v[3]};
	return 0;
}

int cgroup_parse_start(const char *text, char *ret_state, unsigned long long *ret_start)
{
	const char *p = strrchr(text, ')'); /* the name may hold anything */
	char state;
	uint64_t start;

	if (!p || p[1] != ' ' || !isalpha((unsigned char)p[2]))
		return -1;
	state = p[2];
	p += 3;
	for (int field = 4; field < 22 && *p == ' '; field++)
		p += 1 + strcspn(p + 1, " ");
	if (*p++ != ' ' || digits(&p, &start) < 0)
		return -1;
	*ret_state = state;
	*ret_start = start;
	return 0;
}
