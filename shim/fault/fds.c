/*
 * Descriptors of a process that is forked at a point. A fork shares open files: their
 * offsets, and whatever is a channel to somebody. So the process is forked only while all
 * it has open can be opened again or has no state.
 */
#include "fork.h"

#include "sys.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { FDS_CAP = 128, MEMORY_DEVICES = 1 };

struct entry {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

void fault_number(char *to, const char *prefix, uint64_t value)
{
	size_t n = strlen(prefix), digits = 1;

	memcpy(to, prefix, n);
	for (uint64_t v = value; v >= 10; v /= 10)
		digits++;
	to[n + digits] = '\0';
	for (size_t i = digits; i--; value /= 10)
		to[n + i] = (char)('0' + value % 10);
}

void fault_read_link(long dir, const char *link, char *to, size_t size)
{
	long n = sys(SYS_readlinkat, dir, link, to, size - 1);

	to[n > 0 ? n : 0] = '\0';
}

static int number_of(const char *name)
{
	int n = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		n = n * 10 + (*name - '0');
	return *name ? -1 : n;
}

uint32_t fault_each_fd(uint32_t (*f)(int fd, void *arg), void *arg)
{
	_Alignas(8) char bytes[2048];
	int dir = (int)sys(SYS_openat, AT_FDCWD, "/proc/self/fd",
			   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint32_t found = dir < 0 ? FAULT_DEVICES : 0;
	long n;

	while (!found && (n = sys(SYS_getdents64, dir, bytes, sizeof(bytes))) > 0)
		for (long at = 0; at < n && !found;) {
			struct entry *e = (struct entry *)(void *)(bytes + at);
			int fd = number_of(e->name);

			at += e->reclen;
			if (fd >= 0 && fd != dir)
				found = f(fd, arg);
		}
	if (dir >= 0)
		sys(SYS_close, dir);
	return found;
}

static int output_of(const struct fault_outputs *o, const struct stat *st)
{
	for (int i = 0; i < 2; i++)
		if (st->st_dev == o->dev[i] && st->st_ino == o->ino[i])
			return i;
	return -1;
}

/* ---- safe or not ---- */

struct look {
	const struct fault_outputs *outputs;
	struct {
		uint64_t dev, ino;
	} seen[FDS_CAP];
	size_t n;
};

/* Two descriptors of one file may share an offset: one that is opened again would not. */
static uint32_t look_at_file(struct look *l, int fd, const struct stat *st)
{
	long flags = sys(SYS_fcntl, fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY || flags & O_PATH ||
	    l->n == FDS_CAP)
		return FAULT_FILES;
	for (size_t i = 0; i < l->n; i++)
		if (l->seen[i].dev == st->st_dev && l->seen[i].ino == st->st_ino)
			return FAULT_FILES;
	l->seen[l->n].dev = st->st_dev;
	l->seen[l->n++].ino = st->st_ino;
	return 0;
}

/* /dev/null, zero, full, random, urandom: no state */
static int is_memory_device(const struct stat *st)
{
	unsigned minor = minor(st->st_rdev);

	return major(st->st_rdev) == MEMORY_DEVICES &&
	       (minor == 3 || minor == 5 || (minor >= 7 && minor <= 9));
}

static uint32_t look_at(int fd, void *arg)
{
	struct look *l = arg;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return FAULT_DEVICES;
	if (output_of(l->outputs, &st) >= 0)
		return 0;
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return look_at_file(l, fd, &st);
	if (S_ISCHR(st.st_mode))
		return is_memory_device(&st) ? 0 : FAULT_DEVICES;
	return S_ISSOCK(st.st_mode) ? FAULT_SOCKETS : FAULT_DEVICES;
}

uint32_t fault_unsafe_fds(const struct fault_outputs *outputs)
{
	struct look l = {.outputs = outputs};

	return fault_each_fd(look_at, &l);
}

/* ---- of its own ---- */

struct replace {
	const struct fault_outputs *outputs;
	const int *out;
};

static uint32_t replace(int fd, int by, long descriptor_flags)
{
	long done = sys(SYS_dup3, by, fd,
			descriptor_flags & FD_CLOEXEC ? (long)O_CLOEXEC : 0);

	return done < 0;
}

static uint32_t make_private(int fd, void *arg)
{
	const struct replace *r = arg;
	long own = sys(SYS_fcntl, fd, F_GETFD), flags = sys(SYS_fcntl, fd, F_GETFL);
	long offset, again;
	char link[64];
	struct stat st;
	uint32_t failed;
	int output;

	if (fd == r->out[0] || fd == r->out[1])
		return 0;
	if (own < 0 || flags < 0 || fstat(fd, &st) < 0)
		return 1;
	output = output_of(r->outputs, &st);
	if (output >= 0)
		return replace(fd, r->out[output], own);
	if (S_ISCHR(st.st_mode))
		return 0;
	fault_number(link, "/proc/self/fd/", (uint64_t)fd);
	offset = sys(SYS_lseek, fd, 0, SEEK_CUR);
	again = sys(SYS_openat, AT_FDCWD, link,
		    (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_CLOEXEC);
	if (again < 0)
		return 1;
	failed = offset < 0 || sys(SYS_lseek, again, offset, SEEK_SET) < 0 ||
		 replace(fd, (int)again, own);
	sys(SYS_close, again);
	return failed;
}

int fault_private_fds(const struct fault_outputs *outputs, const int out[2])
{
	struct replace r = {outputs, out};

	return fault_each_fd(make_private, &r) ? -1 : 0;
}

/* ---- what is held ---- */

struct held {
	uint32_t n;
	uint64_t names;
};

static uint32_t hold(int fd, void *arg)
{
	struct held *h = arg;
	char link[64], target[FORK_PATH];
	uint64_t hash = (uint64_t)fd + 1;

	if (fd <= 2)
		return 0;
	fault_number(link, "/proc/self/fd/", (uint64_t)fd);
	fault_read_link(AT_FDCWD, link, target, sizeof(target));
	for (const char *c = target; *c; c++) {
		hash = (hash ^ (unsigned char)*c) * UINT64_C(0x9E3779B97F4A7C15);
		hash ^= hash >> 29;
	}
	h->n++;
	h->names += hash;
	return 0;
}

uint32_t fault_held(uint64_t *ret_names)
{
	struct held h = {0};
	uint32_t failed = fault_each_fd(hold, &h);

	*ret_names = h.names;
	return failed ? UINT32_MAX : h.n;
}
