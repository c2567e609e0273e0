/* Which files there are to read. */
#include "source/internal.h"

#include "base/fs.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 256 };

static enum source_lang lang_of_file(const char *path)
{
	enum source_lang lang = source_lang_of_path(path);
	char head[128];
	ssize_t n;
	int fd CLEANUP_FD = -1;

	if (lang != LANG_NONE || strchr(path_base(path), '.'))
		return lang;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	n = fd < 0 ? -1 : read(fd, head, sizeof(head));
	return n > 0 ? source_lang_of(path, head, (size_t)n) : LANG_NONE;
}

static void add(struct source_files *f, const char *path)
{
	enum source_lang lang;
	struct source_file *file;
	struct stat st;

	/* Most files of a repository are no source, and need no stat(). */
	if (source_lang_of_path(path) == LANG_NONE && strchr(path_base(path), '.'))
		return;
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	lang = lang_of_file(path);
	if (lang == LANG_NONE)
		return;
	file = VEC_ADD(f->v, f->n, f->cap);
	file->path = xstrdup(path);
	file->lang = lang;
}

void source_files_add(struct source_files *f, const char *path, size_t skip)
{
	if (source_is_vendored(path + skip))
		f->vendored++;
	else
		add(f, path);
}

void source_files_add_git(struct source_files *f, const char *dir, const char *list,
			  size_t len)
{
	bool here = *dir == '\0' || strcmp(dir, ".") == 0;
	const char *end = list + len;

	for (const char *stop;
	     list < end && (stop = memchr(list, '\0', (size_t)(end - list)));
	     list = stop + 1) {
		char *path CLEANUP_FREE = here ? xstrdup(list) : path_join(dir, list);

		source_files_add(f, path, strlen(path) - strlen(list));
	}
}

static bool is_vendored_dir(const char *name)
{
	char *path CLEANUP_FREE = path_join(name, "");

	return source_is_vendored(path);
}

struct walk {
	struct source_files *files;
	struct ignore *ignore;
	unsigned depth;
};

static void walk_dir(struct walk *w, const char *dir, const char *rel);

static void walk_entry(struct walk *w, const char *dir, const char *rel,
		       const struct dirent *e)
{
	char *path CLEANUP_FREE = path_join(dir, e->d_name);
	char *below CLEANUP_FREE = *rel ? path_join(rel, e->d_name) : xstrdup(e->d_name);
	struct stat st;
	bool is_dir;

	if (lstat(path, &st) < 0)
		return;
	is_dir = S_ISDIR(st.st_mode);
	if (ignore_match(w->ignore, below, is_dir))
		return;
	if (!is_dir) {
		add(w->files, path);
		return;
	}
	if (e->d_name[0] == '.' || w->depth == MAX_DEPTH)
		return;
	if (is_vendored_dir(e->d_name))
		w->files->vendored++;
	else
		walk_dir(w, path, below);
}

static void walk_dir(struct walk *w, const char *dir, const char *rel)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, NULL, alphasort);

	if (n < 0)
		return;
	w->ignore = ignore_enter(w->ignore, dir, rel);
	w->depth++;
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
			walk_entry(w, dir, rel, entries[i]);
		free(entries[i]);
	}
	free(entries);
	w->depth--;
	w->ignore = ignore_leave(w->ignore);
}

int source_files_walk(struct source_files *f, const char *path, struct err *err)
{
	struct walk w = {.files = f};
	struct stat st;

	if (stat(path, &st) < 0)
		return err_errno(err, ERR_USAGE, errno, "%s", path);
	if (S_ISDIR(st.st_mode))
		walk_dir(&w, path, "");
	else
		add(f, path);
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct source_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

void source_files_sort(struct source_files *f)
{
	size_t kept = 0;

	if (f->n == 0)
		return;
	qsort(f->v, f->n, sizeof(*f->v), by_path);
	for (size_t i = 1; i < f->n; i++)
		if (strcmp(f->v[i].path, f->v[kept].path) == 0)
			free(f->v[i].path);
		else
			f->v[++kept] = f->v[i];
	f->n = kept + 1;
}

void source_files_release(struct source_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].path);
	free(f->v);
	*f = (struct source_files){0};
}
