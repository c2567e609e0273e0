#include "detect/pg_watch.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "proc/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	TEXT_CAP = 64 << 20,
	SOCKETS_CAP = 1024, /* of a process that are looked at */
	CYCLES_CAP = 100000,
};

struct pg_watch {
	int fd;
	struct pg_conn *conn;
	char *name, *since, *mark;
	const struct run_watch *inner;
	struct run_watch watch;
	bool claimed; /* a process ended that had sockets: are its sessions gone? */
};

static json_t *line(const char *type)
{
	json_t *j = json_object();

	json_put(j, "t", type);
	json_put_int(j, "us", (int64_t)clock_us());
	return j;
}

/* What cannot be written is missed by the reader: no "end". */
static void add(struct pg_watch *w, const json_t *j)
{
	CLEANUP_FREE char *text = json_dumps(j, JSON_COMPACT);
	CLEANUP_FREE char *whole = text ? xasprintf("%s\n", text) : NULL;

	if (whole)
		write_all(w->fd, whole, strlen(whole));
}

/* After a failure the server is asked no more: each time would cost its whole wait. */
static void ask(struct pg_watch *w, json_t *j)
{
	json_t *sessions = NULL;
	struct err why = {0};

	if (!w->conn)
		return;
	if (pg_sessions(w->conn, w->name, w->since, &sessions, &why) == 0) {
		json_object_set_new(j, "sessions", sessions);
		return;
	}
	CLEANUP_JSON json_t *failed = line("failed");

	json_put(failed, "why", why.message);
	add(w, failed);
	pg_close(w->conn);
	w->conn = NULL;
}

/* --- whose sockets ------------------------------------------------------------------ */

struct sockets {
	unsigned long v[SOCKETS_CAP]; /* inodes */
	size_t n;
};

static void list_sockets(pid_t pid, struct sockets *ret)
{
	char path[64], link[64];
	struct dirent *e;
	DIR *d;

	ret->n = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	if (!d)
		return;
	while ((e = readdir(d)) && ret->n < SOCKETS_CAP) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);

		if (n <= 0)
			continue;
		link[n] = '\0';
		if (sscanf(link, "socket:[%lu]", &ret->v[ret->n]) == 1)
			ret->n++;
	}
	closedir(d);
}

static bool has(const struct sockets *s, unsigned long inode)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i] == inode)
			return true;
	return false;
}

/* Those that a forked child shares with its parent stay open when it exits. */
static size_t own_sockets(pid_t pid)
{
	struct sockets own, parents;
	struct proc_stat st;
	size_t n = 0;

	list_sockets(pid, &own);
	if (!own.n)
		return 0;
	parents.n = 0;
	if (proc_stat_read(pid, &st) == 0 && st.ppid > 1)
		list_sockets(st.ppid, &parents);
	for (size_t i = 0; i < own.n; i++)
		n += !has(&parents, own.v[i]);
	return n;
}

/* --- the events --------------------------------------------------------------------- */

static void exe_name(pid_t pid, char ret[64])
{
	char path[64], link[4096];
	struct proc_stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, link, sizeof(link) - 1);
	if (n > 0) {
		link[n] = '\0';
		snprintf(ret, 64, "%.63s", path_base(link));
	} else {
		snprintf(ret, 64, "%.63s", proc_stat_read(pid, &st) == 0 ? st.comm : "?");
	}
}

static void at_exit(void *ctx, pid_t pid, int code, bool root)
{
	struct pg_watch *w = ctx;
	CLEANUP_JSON json_t *j = NULL;
	size_t sockets;
	char exe[64];

	if (w->inner && w->inner->at_exit)
		w->inner->at_exit(w->inner->ctx, pid, code, root);
	sockets = own_sockets(pid);
	if (!sockets && !root && !w->claimed)
		return;
	exe_name(pid, exe);
	j = line("exit");
	json_put_bool(j, "root", root);
	json_put(j, "exe", exe);
	json_put_int(j, "sockets", (int64_t)sockets);
	ask(w, j);
	w->claimed = sockets > 0;
	add(w, j);
}

static void at_name(void *ctx, pid_t tid, int dirfd_, const char *path)
{
	struct pg_watch *w = ctx;
	size_t len = w->mark ? strlen(w->mark) : 0;
	CLEANUP_JSON json_t *j = NULL;
	char *end;
	long cycle;

	if (w->inner && w->inner->at_name)
		w->inner->at_name(w->inner->ctx, tid, dirfd_, path);
	if (!len || !path || strncmp(path, w->mark, len) != 0)
		return;
	cycle = strtol(path + len, &end, 10);
	if (end == path + len || *end || cycle < 0 || cycle > CYCLES_CAP)
		return;
	j = line("cycle");
	json_put_int(j, "cycle", cycle);
	ask(w, j);
	add(w, j);
}

static void at_end(void *ctx, const pid_t *left, size_t nleft,
		   const struct run_private *own)
{
	struct pg_watch *w = ctx;
	CLEANUP_JSON json_t *j = line("end");

	if (w->inner && w->inner->at_end)
		w->inner->at_end(w->inner->ctx, left, nleft, own);
	json_put_int(j, "left", (int64_t)nleft);
	ask(w, j);
	add(w, j);
	pg_close(w->conn);
	w->conn = NULL;
}

/* Above 2: the supervisor puts /dev/null there. */
static int make_memfd(void)
{
	CLEANUP_FD int fd = memfd_create("exitpath-pg", MFD_CLOEXEC);

	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

struct pg_watch *pg_watch_new(const struct pg_watch_opts *o, struct err *err)
{
	int fd = make_memfd();
	struct pg_watch *w;

	if (fd < 0) {
		pg_close(o->conn);
		err_errno(err, ERR_ENVIRONMENT, errno, "pg: memfd_create");
		return NULL;
	}
	w = xcalloc(1, sizeof(*w));
	*w = (struct pg_watch){
		.fd = fd,
		.conn = o->conn,
		.name = xstrdup(o->name),
		.since = xstrdup(o->since),
		.mark = xstrdup(o->mark),
		.inner = o->inner,
	};
	w->watch = (struct run_watch){.at_exit = at_exit, .at_end = at_end, .ctx = w};
	if (o->mark || (o->inner && o->inner->at_name))
		w->watch.at_name = at_name;
	return w;
}

const struct run_watch *pg_watch_of(struct pg_watch *w)
{
	return &w->watch;
}

int pg_watch_read(const struct pg_watch *w, struct buf *ret, struct err *err)
{
	if (lseek(w->fd, 0, SEEK_SET) < 0 || read_fd(w->fd, TEXT_CAP, ret) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "pg: read");
	return 0;
}

void pg_watch_free(struct pg_watch *w)
{
	if (!w)
		return;
	pg_close(w->conn);
	close(w->fd);
	free(w->name);
	free(w->since);
	free(w->mark);
	free(w);
}
