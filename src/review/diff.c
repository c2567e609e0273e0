/* Added and removed lines, and the comments beside them. */
#include "review/internal.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>

/* ---- the difference, as a multiset of lines ---- */

static void split(const char *text, size_t len, struct lines *ret)
{
	size_t cap = 0;
	unsigned number = 0;

	for (const char *p = text, *end = text + len; p < end;) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		const char *next = stop ? stop + 1 : end;
		struct line *l;

		number++;
		stop = stop ? stop : end;
		while (p < stop && isspace((unsigned char)*p))
			p++;
		while (stop > p && isspace((unsigned char)stop[-1]))
			stop--;
		if (stop > p) {
			l = VEC_ADD(ret->v, ret->n, cap);
			*l = (struct line){p, (size_t)(stop - p), number};
		}
		p = next;
	}
}

static int by_text(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int rc = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);

	return rc ? rc : (x->len > y->len) - (x->len < y->len);
}

static int by_number(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

void line_diff(const struct review_file *f, struct line_diff *ret)
{
	struct lines *old = &ret->removed, *now = &ret->added;
	size_t i = 0, k = 0, nold = 0, nnow = 0;

	*ret = (struct line_diff){0};
	split(f->old_text, f->old_len, old);
	split(f->text, f->len, now);
	if (old->n)
		qsort(old->v, old->n, sizeof(*old->v), by_text);
	if (now->n)
		qsort(now->v, now->n, sizeof(*now->v), by_text);
	while (i < old->n || k < now->n) {
		int order = i == old->n	  ? 1
			    : k == now->n ? -1
					  : by_text(&old->v[i], &now->v[k]);

		if (order == 0) {
			i++;
			k++;
		} else if (order < 0) {
			old->v[nold++] = old->v[i++];
		} else {
			now->v[nnow++] = now->v[k++];
		}
	}
	old->n = nold;
	now->n = nnow;
	if (nold)
		qsort(old->v, nold, sizeof(*old->v), by_number);
	if (nnow)
		qsort(now->v, nnow, sizeof(*now->v), by_number);
}

void line_diff_release(struct line_diff *d)
{
	free(d->added.v);
	free(d->removed.v);
}

char *dup_line(const char *text, size_t len)
{
	while (len > 0 && isspace((unsigned char)*text)) {
		text++;
		len--;
	}
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		len--;
	return xstrndup(text, len < 200 ? len : 200);
}

/* ---- justifications ---- */

static bool has_date(const char *s)
{
	for (; strlen(s) >= 10; s++)
		if (isdigit((unsigned char)s[0]) && isdigit((unsigned char)s[3]) &&
		    s[4] == '-' && isdigit((unsigned char)s[5]) &&
		    isdigit((unsigned char)s[6]) && s[7] == '-' &&
		    isdigit((unsigned char)s[8]) && isdigit((unsigned char)s[9]))
			return true;
	return false;
}

static bool has_owner(const char *s)
{
	if (strcasestr(s, "owner"))
		return true;
	for (const char *at = s; (at = strchr(at, '@')); at++)
		if ((at == s || isspace((unsigned char)at[-1]) || at[-1] == '(') &&
		    isalpha((unsigned char)at[1]))
			return true;
	return false;
}

/* Three words beside owner and date say why. */
static bool has_reason(const char *s)
{
	unsigned words = 0;

	while (*s) {
		size_t len = strcspn(s, " \t");
		size_t letters = 0;

		for (size_t i = 0; i < len; i++)
			letters += isalpha((unsigned char)s[i]) != 0;
		words += letters >= 2 && *s != '@';
		s += len + strspn(s + len, " \t");
	}
	return words >= 4;
}

bool is_comment(const char *line, size_t len)
{
	return len > 0 && (*line == '#' || *line == ';' || !strncmp(line, "//", 2) ||
			   !strncmp(line, "/*", 2) || *line == '*' ||
			   !strncmp(line, "--", 2) || !strncmp(line, "<!--", 4));
}

char *justification_at(const char *text, size_t len, unsigned line)
{
	struct lines all = {0};
	struct buf said CLEANUP(buf) = {0};
	size_t at, first;

	split(text, len, &all);
	for (at = 0; at < all.n && all.v[at].number < line; at++)
		;
	for (first = at; first > 0 && at - first < 4 &&
			 is_comment(all.v[first - 1].text, all.v[first - 1].len);
	     first--)
		;
	for (; first <= at && first < all.n; first++) {
		if (said.len)
			buf_addc(&said, ' ');
		buf_add(&said, all.v[first].text, all.v[first].len);
	}
	free(all.v);
	if (!has_date(buf_str(&said)) || !has_owner(buf_str(&said)) ||
	    !has_reason(buf_str(&said)))
		return NULL;
	return buf_detach(&said);
}
