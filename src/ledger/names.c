#include "ledger/names.h"

#include "base/fs.h"
#include "base/mem.h"
#include "ledger/snapshot.h"
#include "proc/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
	TIDY_AT = 2048, /* names */
	PENDING = 1024, /* calls that were let go and may not have made theirs yet */
};

static const char *const paths[SHARED_DIRS] = {
	[SHARED_TMP] = "/tmp",
	[SHARED_SHM] = "/dev/shm",
};

const char *shared_dir_path(enum shared_dir d)
{
	return paths[d];
}

static void process_name(pid_t tid, char *ret, size_t size)
{
	struct proc_stat st = {0};

	if (proc_stat_read(tid, &st) < 0)
		snprintf(st.comm, sizeof(st.comm), "?");
	snapshot_name(tid, st.comm, ret, size);
}

/*
 * The directory that holds the last component of path, which ends at len, through the
 * process's own root and working directory: chroot, mount namespaces and links are then
 * the kernel's affair.
 */
static bool stat_parent(pid_t tid, int dirfd, const char *path, size_t len,
			struct stat *ret)
{
	char full[PATH_MAX + 64];
	size_t at;

	if (path[0] == '/')
		snprintf(full, sizeof(full), "/proc/%d/root", tid);
	else if (dirfd == AT_FDCWD)
		snprintf(full, sizeof(full), "/proc/%d/cwd/", tid);
	else
		snprintf(full, sizeof(full), "/proc/%d/fd/%d/", tid, dirfd);
	at = strlen(full);
	if (len >= sizeof(full) - at)
		return false;
	memcpy(full + at, path, len);
	full[at + len] = '\0';
	if (stat(full, ret) == 0)
		return true;
	/* A process that is not dumpable hides its links; most have our root. */
	return errno == EACCES && path[0] == '/' && stat(full + at, ret) == 0;
}

/* Which of the shared directories it is, or -1. */
static int shared_dir_of(const struct stat *parent)
{
	struct stat st;

	for (int d = 0; d < SHARED_DIRS; d++)
		if (stat(paths[d], &st) == 0 && st.st_dev == parent->st_dev &&
		    st.st_ino == parent->st_ino)
			return d;
	return -1;
}

static bool stat_name(const struct shared_name *n, struct stat *ret)
{
	CLEANUP_FREE char *path = path_join(paths[n->dir], n->name);

	return lstat(path, ret) == 0;
}

bool shared_name_exists(const struct shared_name *n)
{
	struct stat st;

	return stat_name(n, &st);
}

static void remember(struct shared_names *s, pid_t tid, const struct shared_name *name)
{
	struct shared_name *n;

	if (s->n >= s->tidy_at) {
		shared_names_tidy(s);
		s->tidy_at = s->n + TIDY_AT;
	}
	n = VEC_ADD(s->v, s->n, s->cap);
	*n = *name;
	n->seen = s->seen++;
	process_name(tid, n->process, sizeof(n->process));
}

void shared_names_add(struct shared_names *s, pid_t tid, int dirfd, const char *path)
{
	struct shared_name n = {0};
	struct stat parent, st = {0};
	size_t end, start;
	int dir;

	if (!path) {
		if (!s->hidden[0])
			process_name(tid, s->hidden, sizeof(s->hidden));
		return;
	}
	end = strlen(path);
	while (end && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/'; start--)
		;
	if (start == end || !stat_parent(tid, dirfd, path, start, &parent))
		return;
	dir = shared_dir_of(&parent);
	if (dir < 0)
		return;
	n.dir = (enum shared_dir)dir;
	n.name = xstrndup(path + start, end - start);
	n.was_there = stat_name(&n, &st);
	if (n.was_there && S_ISDIR(st.st_mode))
		free(n.name); /* `mkdir -p` */
	else
		remember(s, tid, &n);
}

static int compare(const void *a, const void *b)
{
	const struct shared_name *x = a, *y = b;
	int names;

	if (x->dir != y->dir)
		return x->dir < y->dir ? -1 : 1;
	names = strcmp(x->name, y->name);
	if (names)
		return names;
	if (x->was_there != y->was_there)
		return x->was_there ? 1 : -1;
	return (x->seen > y->seen) - (x->seen < y->seen);
}

void shared_names_tidy(struct shared_names *s)
{
	size_t n = 0;

	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), compare);
	for (size_t i = 0; i < s->n; i++) {
		struct shared_name *it = &s->v[i], *last = n ? &s->v[n - 1] : NULL;

		if ((last && last->dir == it->dir && !strcmp(last->name, it->name)) ||
		    (s->seen - it->seen > PENDING && !shared_name_exists(it)))
			free(it->name);
		else
			s->v[n++] = *it;
	}
	s->n = n;
}

void shared_names_release(struct shared_names *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].name);
	free(s->v);
	*s = (struct shared_names){0};
}
