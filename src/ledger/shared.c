#include "ledger/shared.h"

#include "base/fs.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 64, SYSV_CAP = 1 << 20 };

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct strv *s)
{
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), compare);
}

static void parse_segments(const char *text, struct segments *s)
{
	for (const char *line = text, *end; *line; line = end) {
		struct sysv_segment segment;

		end = strchrnul(line, '\n');
		if (procfs_sysv_line(line, (size_t)(end - line), &segment))
			*VEC_ADD(s->v, s->n, s->cap) = segment;
		end += *end == '\n';
	}
}

void segments_read(struct segments *s)
{
	CLEANUP(buf) struct buf text = {0};

	*s = (struct segments){0};
	if (read_file("/proc/sysvipc/shm", SYSV_CAP, &text, NULL) == 0)
		parse_segments(buf_str(&text), s);
}

void segments_read_fd(int fd, struct segments *s)
{
	CLEANUP(buf) struct buf text = {0};

	*s = (struct segments){0};
	if (fd >= 0 && read_fd(fd, SYSV_CAP, &text) == 0)
		parse_segments(buf_str(&text), s);
}

void segments_release(struct segments *s)
{
	free(s->v);
	*s = (struct segments){0};
}

bool segment_known(const struct segments *s, int id)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].id == id)
			return true;
	return false;
}

struct walk {
	struct strv *found;
	bool more;
};

static void walk_dir(struct walk *w, int fd, const char *path, unsigned depth);

static void walk_entry(struct walk *w, int dir, const char *name, const char *path,
		       unsigned depth)
{
	CLEANUP_FREE char *full = path[0] ? path_join(path, name) : xstrdup(name);
	int fd = openat(dir, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && depth < MAX_DEPTH) {
		walk_dir(w, fd, full, depth + 1);
		return;
	}
	if (fd >= 0)
		close(fd);
	if (w->found->n == LEFTOVERS_CAP)
		w->more = true;
	else
		strv_add(w->found, full);
}

/* pytest keeps what its tests put into tmp_path on purpose, the last three runs of each
 * user, and removes the rest itself. */
static bool is_kept(const char *name, unsigned depth)
{
	return !depth && !strncmp(name, "pytest-of-", 10);
}

/* Takes ownership of fd. */
static void walk_dir(struct walk *w, int fd, const char *path, unsigned depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;
	bool empty = true;

	if (!dir) {
		close(fd);
		return;
	}
	while (!w->more && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		empty = false;
		if (is_kept(e->d_name, depth))
			continue;
		walk_entry(w, dirfd(dir), e->d_name, path, depth);
	}
	closedir(dir);
	if (empty && path[0])
		strv_addf(w->found, "%s/", path);
}

int leftovers_list(const char *dir, struct strv *ret, bool *ret_more)
{
	struct walk w = {.found = ret};
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret_more = false;
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	walk_dir(&w, fd, "", 0);
	sort(ret);
	*ret_more = w.more;
	return 0;
}

int names_in(int dir, struct strv *ret)
{
	/* Of its own: the offset of dir belongs to all that have it. */
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		int errnum = errno;

		if (fd >= 0)
			close(fd);
		errno = errnum;
		return -1;
	}
	while (ret->n < LEFTOVERS_CAP && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			strv_add(ret, e->d_name);
	closedir(d);
	sort(ret);
	return 0;
}
