/*
 * TMPDIR of a process that is forked at a point. The paths that it has in memory are
 * those of TMPDIR, so the copy takes that place while the child lives, and the files
 * themselves stand aside for the parent.
 */
#include "fork.h"

#include "sys.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { ENTRIES = 64, BYTES = 4 << 20, DEPTH = 4 };

struct entry {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

typedef int (*visit)(int dir, const char *name, const struct stat *st, void *arg);

static int is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* -1 when a visit says so, or it cannot be read. */
static int each_entry(int dir, visit f, void *arg)
{
	_Alignas(8) char bytes[2048];
	struct stat st;
	long n;

	while ((n = sys(SYS_getdents64, dir, bytes, sizeof(bytes))) > 0)
		for (long at = 0; at < n;) {
			struct entry *e = (struct entry *)(void *)(bytes + at);

			at += e->reclen;
			if (is_dot(e->name))
				continue;
			if (fstatat(dir, e->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			    f(dir, e->name, &st, arg) < 0)
				return -1;
		}
	return n < 0 ? -1 : 0;
}

static int open_dir(int at, const char *name)
{
	return (int)sys(SYS_openat, at, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int each_below(int at, const char *name, visit f, void *arg)
{
	int dir = open_dir(at, name), rc;

	if (dir < 0)
		return -1;
	rc = each_entry(dir, f, arg);
	sys(SYS_close, dir);
	return rc;
}

/* ---- count ---- */

struct count {
	uint32_t n, depth;
	uint64_t bytes;
};

static int count_entry(int dir, const char *name, const struct stat *st, void *arg)
{
	struct count *c = arg;
	int rc;

	if (++c->n > ENTRIES)
		return -1;
	if (S_ISREG(st->st_mode)) {
		c->bytes += (uint64_t)st->st_size;
		return c->bytes > BYTES || st->st_nlink > 1 ? -1 : 0;
	}
	if (!S_ISDIR(st->st_mode) || c->depth == DEPTH)
		return -1;
	c->depth++;
	rc = each_below(dir, name, count_entry, c);
	c->depth--;
	return rc;
}

uint32_t fault_scratch_count(const char *dir)
{
	struct count c = {0};

	return each_below(AT_FDCWD, dir, count_entry, &c) < 0 ? UINT32_MAX : c.n;
}

/* ---- remove ---- */

static int remove_entry(int dir, const char *name, const struct stat *st, void *arg)
{
	int flags = 0;

	if (S_ISDIR(st->st_mode)) {
		fchmodat(dir, name, 0700, 0);
		each_below(dir, name, remove_entry, arg);
		flags = AT_REMOVEDIR;
	}
	sys(SYS_unlinkat, dir, name, flags);
	return 0;
}

/* What is removed makes places in the directory move: until nothing goes any more. */
void fault_scratch_clear(const char *dir)
{
	for (int i = 0; i < 16 && fault_scratch_count(dir); i++)
		each_below(AT_FDCWD, dir, remove_entry, NULL);
}

/* ---- copy ---- */

struct copy {
	int to;
	uint32_t depth;
};

static int copy_bytes(int from, int to)
{
	char bytes[8192];
	long n;

	while ((n = sys(SYS_read, from, bytes, sizeof(bytes))) > 0)
		for (long done = 0, put; done < n; done += put) {
			put = sys(SYS_write, to, bytes + done, n - done);
			if (put <= 0)
				return -1;
		}
	return n < 0 ? -1 : 0;
}

static int copy_file(int dir, int to, const char *name, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	int in = (int)sys(SYS_openat, dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int out = (int)sys(SYS_openat, to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			   st->st_mode & 07777);
	int rc = in < 0 || out < 0 ? -1 : copy_bytes(in, out);

	if (rc == 0)
		rc = (int)sys(SYS_fchmod, out, st->st_mode & 07777);
	if (rc == 0)
		rc = futimens(out, times);
	if (in >= 0)
		sys(SYS_close, in);
	if (out >= 0)
		sys(SYS_close, out);
	return rc;
}

static int copy_entry(int dir, const char *name, const struct stat *st, void *arg)
{
	struct copy *c = arg, below = {.depth = c->depth + 1};
	int rc;

	if (S_ISREG(st->st_mode))
		return copy_file(dir, c->to, name, st);
	if (c->depth == DEPTH || sys(SYS_mkdirat, c->to, name, st->st_mode & 07777) < 0)
		return -1;
	below.to = open_dir(c->to, name);
	if (below.to < 0)
		return -1;
	rc = each_below(dir, name, copy_entry, &below);
	sys(SYS_close, below.to);
	return rc;
}

static void kept_name(char *to, const char *dir)
{
	size_t n = strlen(dir);

	memcpy(to, dir, n);
	memcpy(to + n, ".kept", 6);
}

int fault_scratch_swap(const char *dir)
{
	char kept[FAULT_PATH + 8];
	struct copy c = {0};
	struct stat st;
	int rc;

	kept_name(kept, dir);
	if (fstatat(AT_FDCWD, dir, &st, 0) < 0 ||
	    sys(SYS_renameat2, AT_FDCWD, dir, AT_FDCWD, kept, 0) < 0)
		return -1;
	if (sys(SYS_mkdirat, AT_FDCWD, dir, st.st_mode & 07777) < 0) {
		sys(SYS_renameat2, AT_FDCWD, kept, AT_FDCWD, dir, 0);
		return -1;
	}
	c.to = open_dir(AT_FDCWD, dir);
	rc = c.to < 0 ? -1 : each_below(AT_FDCWD, kept, copy_entry, &c);
	if (c.to >= 0)
		sys(SYS_close, c.to);
	if (rc < 0)
		fault_scratch_restore(dir);
	return rc;
}

void fault_scratch_restore(const char *dir)
{
	char kept[FAULT_PATH + 8];

	kept_name(kept, dir);
	fault_scratch_clear(dir);
	sys(SYS_unlinkat, AT_FDCWD, dir, AT_REMOVEDIR);
	sys(SYS_renameat2, AT_FDCWD, kept, AT_FDCWD, dir, 0);
}
