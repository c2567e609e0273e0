#include "proc/output.h"

#include "base/fs.h"
#include "base/mem.h"
#include "proc/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>

#define CHUNK 65536	 /* what a pipe holds unless it was made larger */
#define FINISH_CHUNKS 64 /* 4 MiB: four times /proc/sys/fs/pipe-max-size */

static int open_pipe(struct output *o, int file, uint64_t cap, int *ret_write)
{
	int fds[2];

	if (file < 0)
		return -1;
	if (spawn_pipe(fds) < 0) {
		close(file);
		return -1;
	}
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	*o = (struct output){.pipe = fds[0], .file = file, .cap = cap};
	*ret_write = fds[1];
	return 0;
}

int output_open(struct output *o, const char *dir, const char *name, uint64_t cap,
		int *ret_write)
{
	CLEANUP_FREE char *path = path_join(dir, name);

	return open_pipe(
		o,
		spawn_raise(open(path,
				 O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
				 0600)),
		cap, ret_write);
}

int output_open_file(struct output *o, int file, uint64_t cap, int *ret_write)
{
	if (ftruncate(file, 0) < 0 || lseek(file, 0, SEEK_SET) < 0)
		return -1;
	return open_pipe(o, fcntl(file, F_DUPFD_CLOEXEC, 3), cap, ret_write);
}

static void keep(struct output *o, const char *data, size_t n)
{
	size_t room = o->cap - o->kept < n ? (size_t)(o->cap - o->kept) : n;

	/* A full disk must not stop the program: the rest is counted, not kept. */
	if (o->file >= 0 && write_all(o->file, data, room) < 0) {
		close(o->file);
		o->file = -1;
		o->cut = true;
	} else if (o->file >= 0) {
		o->kept += room;
	}
	if (room < n)
		o->cut = true;
}

bool output_read(struct output *o)
{
	static char chunk[CHUNK]; /* the supervisor has one thread */
	ssize_t n;

	if (o->pipe < 0)
		return false;
	n = read(o->pipe, chunk, sizeof(chunk));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close(o->pipe);
		o->pipe = -1;
		return false;
	}
	o->bytes += (uint64_t)n;
	keep(o, chunk, (size_t)n);
	return true;
}

void output_finish(struct output *o)
{
	/* Whoever still writes is no descendant, and may write for ever. */
	for (int i = 0; i < FINISH_CHUNKS && output_read(o); i++)
		;
	fd_cleanup(&o->pipe);
	fd_cleanup(&o->file);
	o->pipe = o->file = -1;
}
