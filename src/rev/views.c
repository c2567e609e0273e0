/*
 * What a sandboxed run sees of its checkout.
 *
 * The checkout is mounted over the repository's own path, and so hides the objects that
 * it borrows: <top>/.git/objects is the checkout's own there, and what the store holds
 * is not there at all. So every object directory below the top is shown in
 * /run/exitpath/objects, and over each list of alternates of the checkout and its
 * submodules lies one that says so. git needs no environment variable then, and has
 * nothing to complain about; a clone that a test makes works as well.
 */
#include "rev/repo.h"

#include "base/fs.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define OBJECTS_AT "/run/exitpath/objects"
enum { MAX_OBJECTS = 256, MAX_DEPTH = 32, ALTERNATES_CAP = 1 << 20 };

struct viewing {
	const struct repo *r;
	const struct checkout *c;
	struct sandbox *sandbox;
	struct strv objects; /* real paths */
	struct strv seen;    /* where each of them is seen */
	unsigned lists;	     /* alternates files that were written */
};

/* What git_quote_path() and git write; the caller frees. */
static char *unquote(const char *line, size_t len)
{
	struct buf b = {0};

	if (len < 2 || line[0] != '"' || line[len - 1] != '"')
		return xstrndup(line, len);
	for (size_t i = 1; i + 1 < len; i++) {
		if (line[i] == '\\' && i + 2 < len && strchr("n\"\\", line[i + 1]))
			buf_addc(&b, line[++i] == 'n' ? '\n' : line[i]);
		else
			buf_addc(&b, line[i]);
	}
	return buf_detach(&b);
}

static void add_objects(struct viewing *v, const char *path)
{
	CLEANUP_FREE char *real = realpath(path, NULL);
	struct stat st;

	if (!real || stat(real, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    v->objects.n == MAX_OBJECTS || strv_contains(&v->objects, real))
		return;
	if (path_is_below(real, v->r->top))
		strv_addf(&v->seen, "%s/%zu", OBJECTS_AT, v->objects.n);
	else
		strv_add(&v->seen, real);
	sandbox_add_view(v->sandbox, real, v->seen.v[v->seen.n - 1], VIEW_READ);
	strv_take(&v->objects, TAKE_PTR(real));
}

/* The alternates that an object directory names: their real paths are added to ret. */
static void read_alternates(const char *objects, struct strv *ret)
{
	CLEANUP_FREE char *file = path_join(objects, "info/alternates");
	CLEANUP(buf) struct buf text = {0};

	if (read_file(file, ALTERNATES_CAP, &text, NULL) < 0)
		return;
	for (const char *line = buf_str(&text), *end; *line;
	     line = end + (*end == '\n')) {
		CLEANUP_FREE char *path = NULL, *full = NULL, *real = NULL;

		end = strchrnul(line, '\n');
		if (*line == '#' || end == line)
			continue;
		path = unquote(line, (size_t)(end - line));
		full = path[0] == '/' ? xstrdup(path) : path_join(objects, path);
		real = realpath(full, NULL);
		if (real && !strv_contains(ret, real) && ret->n < MAX_OBJECTS)
			strv_add(ret, real);
	}
}

/* The list that is seen in place of the one in git_dir, which is inside of the checkout
 * at rel. */
static int show_list(struct viewing *v, const char *rel, struct err *err)
{
	CLEANUP_FREE char *dir = xstrndup(v->c->dir, strlen(v->c->dir) - strlen("/src"));
	CLEANUP_FREE char *objects =
		xasprintf("%s/%s%s.git/objects", v->c->dir, rel, *rel ? "/" : "");
	CLEANUP_FREE char *at = xasprintf("%s/%s%s.git/objects/info/alternates",
					  v->r->top, rel, *rel ? "/" : "");
	CLEANUP_FREE char *name = xasprintf("alternates.%u", v->lists++);
	CLEANUP_FREE char *file = path_join(dir, name);
	CLEANUP(strv) struct strv all = {0};
	CLEANUP(buf) struct buf text = {0};

	read_alternates(objects, &all);
	for (size_t i = 0; i < all.n; i++) /* grows meanwhile */
		read_alternates(all.v[i], &all);
	for (size_t i = 0; i < all.n; i++) {
		add_objects(v, all.v[i]);
		for (size_t k = 0; k < v->objects.n; k++) {
			if (strcmp(v->objects.v[k], all.v[i]) != 0)
				continue;
			git_quote_path(&text, v->seen.v[k]);
			buf_addc(&text, '\n');
		}
	}
	if (write_file(file, buf_str(&text), text.len, err) < 0)
		return -1;
	sandbox_add_view(v->sandbox, file, at, VIEW_READ);
	return 0;
}

struct module {
	struct viewing *v;
	const char *rel;
	unsigned depth;
};

static int show_module(void *ctx, const char *path, const char *commit, struct err *err)
{
	const struct module *up = ctx;
	CLEANUP_FREE char *rel = *up->rel ? path_join(up->rel, path) : xstrdup(path);
	CLEANUP_FREE char *dir = path_join(up->v->c->dir, rel);
	CLEANUP_FREE char *list = path_join(dir, ".git/objects/info/alternates");
	struct module own = {.v = up->v, .rel = rel, .depth = up->depth + 1};

	(void)commit;
	if (!path_exists(list) || own.depth > MAX_DEPTH)
		return 0;
	if (show_list(up->v, rel, err) < 0)
		return -1;
	return tree_each_module(up->v->r, dir, show_module, &own, err);
}

/* Where the mount point of something below the home directory must be. */
static int make_point_in_home(const struct checkout *c, const char *home,
			      const char *path, struct err *err)
{
	CLEANUP_FREE char *point = NULL;

	if (!home || !path_is_below(path, home))
		return 0;
	point = xasprintf("%s%s", c->home, path + strlen(home));
	return make_dirs(point, 0755, err);
}

/* The user's, unless it is in the repository, or the repository itself. */
static const char *home_seen(const struct repo *r)
{
	const char *home = home_dir();

	return home && !path_is_below(home, r->top) ? home : NULL;
}

int checkout_views(struct repo *r, const struct checkout *c, struct sandbox *ret,
		   struct err *err)
{
	struct viewing v = {.r = r, .c = c, .sandbox = ret};
	struct module top = {.v = &v, .rel = ""};
	const char *home = home_seen(r);
	int rc;

	if (home)
		sandbox_add_view(ret, c->home, home, VIEW_WRITE);
	if (make_point_in_home(c, home, r->top, err) < 0)
		return -1;
	sandbox_add_view(ret, c->dir, r->top, VIEW_WRITE);
	for (size_t i = 0; i < c->shared.n; i++) {
		CLEANUP_FREE char *dir = path_join(r->top, c->shared.v[i]);

		sandbox_add_view(ret, dir, dir, VIEW_READ);
	}
	rc = show_list(&v, "", err);
	if (rc == 0)
		rc = tree_each_module(r, c->dir, show_module, &top, err);
	strv_release(&v.objects);
	strv_release(&v.seen);
	return rc;
}
