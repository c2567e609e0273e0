/*
 * Which lines a patch changes, whole functions around: what `git diff -W` shows. The
 * text is git's, its content foreign: only counted lines of a hunk are content, so that
 * a line "+++ b/x" in a file is none of the headers.
 */
#include "rev/changes.h"

#include "base/mem.h"
#include "rev/repo.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	struct rev_ranges *ret;
	char *path;		      /* of the file under way; NULL: none, or left out */
	unsigned long old_left, left; /* lines of the hunk that are still to come */
};

static void add_range(struct parser *p, unsigned long first, unsigned long n)
{
	struct rev_range *r;

	if (!p->path)
		return;
	r = VEC_ADD(p->ret->v, p->ret->n, p->ret->cap);
	r->path = xstrdup(p->path);
	if (!first || !n || first > UINT_MAX || n > UINT_MAX - first)
		return;
	r->first = (unsigned)first;
	r->last = (unsigned)(first + n - 1);
}

/* "12,3" or "12"; the end, or NULL. */
static const char *read_span(const char *text, unsigned long *first, unsigned long *n)
{
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	*first = strtoul(text, &end, 10);
	*n = 1;
	if (*end == ',' && end[1] >= '0' && end[1] <= '9')
		*n = strtoul(end + 1, &end, 10);
	return end;
}

static void read_hunk(struct parser *p, const char *line)
{
	unsigned long old, old_n, new, new_n;
	const char *next = read_span(line + 4, &old, &old_n);

	if (!next || strncmp(next, " +", 2) != 0 || !read_span(next + 2, &new, &new_n))
		return;
	p->old_left = old_n;
	p->left = new_n;
	add_range(p, new, new_n);
}

static void read_header(struct parser *p, const char *line)
{
	if (!strncmp(line, "diff --git ", 11)) {
		free(TAKE_PTR(p->path));
	} else if (!strncmp(line, "+++ b/", 6)) {
		size_t n = strlen(line + 6);

		free(p->path);
		/* git ends a name that has a blank with a tab. */
		p->path = xstrndup(line + 6, n && line[5 + n] == '\t' ? n - 1 : n);
		if (!*p->path)
			free(TAKE_PTR(p->path));
	} else if (!strncmp(line, "@@ -", 4)) {
		read_hunk(p, line);
	}
}

static void read_content(struct parser *p, char kind)
{
	if (kind != '+' && kind != '\\' && p->old_left)
		p->old_left--;
	if (kind != '-' && kind != '\\' && p->left)
		p->left--;
}

void rev_ranges_parse(const char *text, size_t len, struct rev_ranges *ret)
{
	struct parser p = {.ret = ret};
	const char *end = text + len;

	for (const char *at = text; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((stop ? stop : end) - at);

		if (p.old_left || p.left) {
			read_content(&p, n ? *at : ' ');
		} else {
			CLEANUP_FREE char *line = xstrndup(at, n);

			read_header(&p, line);
		}
		at += n + 1;
	}
	free(p.path);
}

static int changed(struct repo *r, const char *context, const char *base,
		   const char *candidate, struct rev_ranges *ret, struct err *err)
{
	struct git_call call = {.env = &r->user_env, .cwd = r->top};
	CLEANUP(buf) struct buf text = {0};

	if (git_run(&call, &text, err, "-c", "core.quotePath=false", "diff-tree", "-r",
		    "-p", context, "-M", "--no-color", "--no-ext-diff", "--no-textconv",
		    "--src-prefix=a/", "--dst-prefix=b/", base, candidate, NULL) < 0)
		return -1;
	rev_ranges_parse(buf_str(&text), text.len, ret);
	return 0;
}

void rev_ranges_release(struct rev_ranges *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].path);
	free(r->v);
	*r = (struct rev_ranges){0};
}

int rev_changed_ranges(struct repo *r, const char *base, const char *candidate,
		       struct rev_ranges *ret, struct err *err)
{
	return changed(r, "-W", base, candidate, ret, err);
}

int rev_changed_lines(struct repo *r, const char *base, const char *candidate,
		      struct rev_ranges *ret, struct err *err)
{
	return changed(r, "-U0", base, candidate, ret, err);
}
