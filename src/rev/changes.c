#include "rev/changes.h"

#include "base/mem.h"
#include "rev/repo.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

int rev_list_files(const char *dir, struct buf *ret_list, bool *ret_found,
		   struct err *err)
{
	CLEANUP(strv) struct strv env = {0};
	CLEANUP(buf) struct buf list = {0};
	struct git_call call = {.env = &env, .cwd = dir, .discover = true};
	struct err why = {0};

	git_clean_env(&env);
	if (git_run(&call, &list, &why, "ls-files", "-z", "--cached", "--others",
		    "--exclude-standard", NULL) < 0) {
		if (!strstr(why.message, "not a git repository")) {
			if (err)
				*err = why;
			return -1;
		}
		*ret_found = false;
		return 0;
	}
	buf_add(ret_list, buf_str(&list), list.len);
	*ret_found = true;
	return 0;
}

int rev_tree_files(struct repo *r, const char *commit, struct buf *ret_list,
		   struct err *err)
{
	struct git_call call = {.env = &r->user_env, .cwd = r->top};

	return git_run(&call, ret_list, err, "ls-tree", "-r", "-z", "--full-tree",
		       "--name-only", commit, NULL);
}

int rev_grep(struct repo *r, const char *commit, const char *expression, bool *ret_found,
	     struct err *err)
{
	int status = 0;
	struct git_call call = {
		.env = &r->user_env, .cwd = r->top, .ret_status = &status};

	if (git_run(&call, NULL, err, "grep", "-q", "-I", "-E", "-e", expression, commit,
		    NULL) < 0)
		return -1;
	*ret_found = status == 0; /* 1: no line; more: git could not look */
	return status > 1
		       ? err_set(err, ERR_ENVIRONMENT, "git grep ended with %d", status)
		       : 0;
}

/* One record of `git diff-tree -z`: ":100644 100644 OID OID M\0PATH\0[PATH\0]". */
struct record {
	char old_mode[7], mode[7], old_oid[65], oid[65], status;
};

static bool read_record(const char *text, struct record *r)
{
	return sscanf(text, ":%6s %6s %64s %64s %c", r->old_mode, r->mode, r->old_oid,
		      r->oid, &r->status) == 5;
}

/* What cat-file is asked for one side of a change; an object with no text is 0. */
static bool has_text(const char *mode)
{
	return strncmp(mode, "100", 3) == 0;
}

static bool other_kind(const char *mode)
{
	return !has_text(mode) && strcmp(mode, "000000") != 0;
}

static int read_records(const struct buf *out, struct rev_changes *ret,
			struct buf *wanted, struct err *err)
{
	const char *p = out->data, *end = out->data + out->len;

	while (p && p < end) {
		struct record r = {0};
		struct rev_change *c;

		if (!read_record(p, &r))
			return err_set(err, ERR_ENVIRONMENT,
				       "git diff-tree said what is not understood: %.80s",
				       p);
		c = VEC_ADD(ret->v, ret->n, ret->cap);
		c->status = r.status == 'T' ? 'M' : r.status;
		c->is_text = !other_kind(r.old_mode) && !other_kind(r.mode);
		p += strlen(p) + 1;
		if (r.status != 'A')
			c->old_path = xstrdup(p);
		if (r.status == 'R')
			p += strlen(p) + 1;
		if (r.status != 'D')
			c->path = xstrdup(p);
		p += strlen(p) + 1;
		if (c->is_text && has_text(r.old_mode))
			buf_addf(wanted, "%s\n", r.old_oid);
		if (c->is_text && has_text(r.mode))
			buf_addf(wanted, "%s\n", r.oid);
	}
	return 0;
}

/* The next answer of cat-file: "OID blob SIZE\nCONTENT\n". */
static const char *take_blob(const char *p, const char *end, size_t max_bytes,
			     struct buf *text, struct rev_change *c)
{
	const char *newline = memchr(p, '\n', (size_t)(end - p));
	unsigned long long size;

	if (!newline || sscanf(p, "%*s blob %llu", &size) != 1 ||
	    size >= (size_t)(end - newline))
		return NULL;
	if (size > max_bytes)
		c->too_large = true;
	else
		buf_add(text, newline + 1, size);
	return newline + 1 + size + 1;
}

static int read_texts(const struct buf *out, size_t max_bytes, struct rev_changes *ret,
		      struct err *err)
{
	const char *p = buf_str(out), *end = p + out->len;

	for (size_t i = 0; i < ret->n; i++) {
		struct rev_change *c = &ret->v[i];

		if (c->is_text && c->old_path)
			p = take_blob(p, end, max_bytes, &c->old_text, c);
		if (p && c->is_text && c->path)
			p = take_blob(p, end, max_bytes, &c->text, c);
		if (!p)
			return err_set(err, ERR_ENVIRONMENT, "cannot read %s",
				       c->path ? c->path : c->old_path);
		if (c->too_large) {
			buf_clear(&c->old_text);
			buf_clear(&c->text);
		}
		if (memchr(buf_str(&c->old_text), '\0', c->old_text.len) ||
		    memchr(buf_str(&c->text), '\0', c->text.len))
			c->is_text = false;
	}
	return 0;
}

int rev_changes(struct repo *r, const char *base, const char *candidate, size_t max_bytes,
		struct rev_changes *ret, struct err *err)
{
	struct git_call call = {.env = &r->user_env, .cwd = r->top};
	CLEANUP(rev_changes) struct rev_changes changes = {0};
	CLEANUP(buf) struct buf records = {0}, wanted = {0}, texts = {0};

	if (git_run(&call, &records, err, "diff-tree", "-r", "-z", "--raw", "--no-abbrev",
		    "-M", "--no-ext-diff", "--no-textconv", "--full-index", base,
		    candidate, NULL) < 0 ||
	    read_records(&records, &changes, &wanted, err) < 0)
		return -1;
	call.input = buf_str(&wanted);
	if (wanted.len > 0 &&
	    git_run(&call, &texts, err, "cat-file", "--batch", NULL) < 0)
		return -1;
	if (read_texts(&texts, max_bytes, &changes, err) < 0)
		return -1;
	*ret = changes;
	changes = (struct rev_changes){0};
	return 0;
}

void rev_changes_release(struct rev_changes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].old_path);
		free(c->v[i].path);
		buf_release(&c->v[i].old_text);
		buf_release(&c->v[i].text);
	}
	free(c->v);
	*c = (struct rev_changes){0};
}
