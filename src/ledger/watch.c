/*
 * The side in the supervisor. The text goes to a memfd that exitpath made before the fork
 * and reads after the run: it has no path, and the test, which runs under the same user
 * and may write to every file of the run, does not get at it.
 *
 * Three lines prove that the ledger worked in this very run: "canary", a descriptor with
 * a lock that is planted in the supervisor and read by the same code when the root
 * exits; the root's own "exit"; and "end", which counts the bytes and exits before it.
 */
#include "ledger/ledger.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "ledger/names.h"
#include "ledger/shared.h"
#include "ledger/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>

#define CANARY_NAME "exitpath-canary"

enum {
	FLUSH_AT = 64 << 10,  /* bytes */
	TEXT_CAP = 64 << 20,  /* bytes */
	EXITED_CAP = 1 << 18, /* processes that are remembered */
	PROBE_CAP = 4096,     /* pids that are asked one by one */
	CHILDREN_CAP = 1024,
};

struct pids {
	pid_t *v;
	size_t n, cap;
};

struct ledger {
	int fd; /* the text; its offset is the supervisor's and ours */
	char *path, *dir, *tmpdir, *checkout;
	const struct sandbox *sandbox;
	pid_t reaper; /* takes orphans: we, or the sandbox's init; 0: not known yet */
	char root_name[64];
	struct segments before;
	struct shared_names names;
	struct run_watch watch;
	struct buf out;
	uint64_t written; /* bytes already in fd */
	uint64_t exits;
	bool begun;
	struct pids exited; /* every process that was seen, for what names its creator */
	struct pids unwaited; /* of those, which still were there at the last exit */
};

/* What cannot be written is missed by the reader: no "end" line. */
static void flush(struct ledger *l)
{
	write_all(l->fd, buf_str(&l->out), l->out.len);
	l->written += l->out.len;
	buf_clear(&l->out);
}

/* Above 2: the supervisor puts /dev/null there. -1 with errno. */
static int make_memfd(const char *name)
{
	CLEANUP_FD int fd = memfd_create(name, MFD_CLOEXEC);

	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static void add_line(struct ledger *l, const json_t *j)
{
	CLEANUP_FREE char *text = json_dumps(j, JSON_COMPACT);

	if (text) {
		buf_adds(&l->out, text);
		buf_addc(&l->out, '\n');
	}
}

static json_t *new_line(const char *type)
{
	json_t *j = json_object();

	json_put(j, "t", type);
	return j;
}

static void begin(struct ledger *l)
{
	CLEANUP_JSON json_t *j = NULL;

	if (l->begun)
		return;
	l->begun = true;
	j = new_line("begin");
	json_put_int(j, "version", 1);
	json_put(j, "dir", l->dir);
	json_put(j, "tmpdir", l->tmpdir);
	json_put(j, "checkout", l->checkout);
	add_line(l, j);
}

/* Plants a descriptor and a lock, takes them as those of a test are taken. */
static void canary(struct ledger *l)
{
	CLEANUP_FD int fd = make_memfd(CANARY_NAME);
	CLEANUP(snapshot) struct snapshot s = {0};
	CLEANUP_JSON json_t *j = new_line("canary");
	bool seen = false, locked = false;

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		snapshot_take(&s, getpid(), getpid());
	for (size_t i = 0; i < s.nheld; i++) {
		const struct held *h = &s.held[i];
		bool ours = h->fd == fd && strstr(h->target, CANARY_NAME);

		seen |= ours && h->resource == RESOURCE_FD;
		locked |= ours && h->resource == RESOURCE_LOCK;
	}
	json_put_bool(j, "fd", seen);
	json_put_bool(j, "lock", locked);
	add_line(l, j);
}

static void add_pid(struct pids *p, pid_t pid)
{
	if (p->n < EXITED_CAP)
		*VEC_ADD(p->v, p->n, p->cap) = pid;
}

static bool has_pid(const struct pids *p, pid_t pid)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i] == pid)
			return true;
	return false;
}

static bool exists(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

/* Of a zombie nothing but comm, 15 bytes, is left. */
static void take_if_zombie(struct snapshot *s, pid_t pid, pid_t parent)
{
	struct proc_stat st;

	if (proc_stat_read(pid, &st) == 0 && st.ppid == parent && st.state == 'Z')
		snapshot_add(s, RESOURCE_ZOMBIE, -1, st.comm);
}

/* Children that exited before their parent does, and were not waited for. */
static void take_zombies(struct ledger *l, struct snapshot *s, pid_t parent)
{
	struct pids *u = &l->unwaited;
	size_t n = 0;

	for (size_t i = 0; i < u->n; i++) {
		if (!exists(u->v[i]))
			continue;
		take_if_zombie(s, u->v[i], parent);
		u->v[n++] = u->v[i];
	}
	u->n = n;
}

/* The number that the newest process of the machine has, or 0: proc(5). */
static pid_t newest_pid(void)
{
	CLEANUP(buf) struct buf text = {0};
	const char *last;

	if (read_file("/proc/loadavg", 256, &text, NULL) < 0)
		return 0;
	last = strrchr(buf_str(&text), ' ');
	return last ? (pid_t)strtol(last, NULL, 10) : 0;
}

/*
 * Children that a signal killed gave no notice: for the root they are searched for. They
 * have numbers above the root's, mostly few; the walk over /proc takes far longer.
 */
static void take_killed_zombies(const struct ledger *l, struct snapshot *s, pid_t root)
{
	pid_t pids[CHILDREN_CAP], last = newest_pid();
	size_t n;

	if (last >= root && last - root < PROBE_CAP) {
		for (pid_t pid = root + 1; pid <= last; pid++)
			if (exists(pid) && !has_pid(&l->unwaited, pid))
				take_if_zombie(s, pid, root);
		return;
	}
	n = proc_descendants(root, pids, ARRAY_SIZE(pids));
	for (size_t i = 0; i < n && i < ARRAY_SIZE(pids); i++)
		if (!has_pid(&l->unwaited, pids[i]))
			take_if_zombie(s, pids[i], root);
}

static json_t *held_json(const struct held *h)
{
	json_t *j = json_object();

	json_put(j, "r", resource_name(h->resource));
	if (h->fd >= 0)
		json_put_int(j, "fd", h->fd);
	json_put(j, "to", h->target);
	json_put(j, "from", h->from);
	return j;
}

static json_t *held_list(const struct snapshot *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->nheld; i++)
		json_array_append_new(list, held_json(&s->held[i]));
	return list;
}

/* Of a sandboxed run it is the ancestor of all that is our child. */
static pid_t find_reaper(const struct ledger *l, pid_t pid)
{
	struct proc_stat st;

	if (!l->sandbox)
		return getpid();
	while (proc_stat_read(pid, &st) == 0 && st.ppid > 1 && st.ppid != getpid())
		pid = st.ppid;
	return pid;
}

static void add_exit(struct ledger *l, const struct snapshot *s, pid_t pid, int code,
		     bool root)
{
	CLEANUP_JSON json_t *j = new_line("exit");

	json_put_int(j, "pid", pid);
	json_put(j, "exe", s->exe);
	json_put_bool(j, "root", root);
	json_put_int(j, "code", code);
	if (s->hidden[0])
		json_put(j, "hidden", s->hidden);
	if (s->more)
		json_put_bool(j, "more", true);
	if (s->nheld)
		json_object_set_new(j, "held", held_list(s));
	add_line(l, j);
}

static void at_exit(void *ctx, pid_t pid, int code, bool root)
{
	CLEANUP(snapshot) struct snapshot s = {0};
	struct ledger *l = ctx;

	begin(l);
	if (!l->reaper)
		l->reaper = find_reaper(l, pid);
	if (!snapshot_take(&s, pid, l->reaper))
		return;
	take_zombies(l, &s, pid);
	if (root)
		take_killed_zombies(l, &s, pid);
	l->exits++;
	add_pid(&l->exited, pid);
	add_pid(&l->unwaited, pid);
	if (!root && !s.nheld && !s.hidden[0]) {
		buf_addf(&l->out, "{\"t\":\"exit\",\"pid\":%d,\"code\":%d}\n", pid, code);
		if (l->out.len >= FLUSH_AT)
			flush(l);
		return;
	}
	if (!snapshot_identify(&s, pid))
		snprintf(s.exe, sizeof(s.exe), "?");
	add_exit(l, &s, pid, code, root);
	if (root) {
		snprintf(l->root_name, sizeof(l->root_name), "%s", s.exe);
		canary(l);
	}
	flush(l);
}

static void add_left(struct ledger *l, pid_t pid)
{
	CLEANUP_JSON json_t *j = NULL;
	struct proc_stat st;
	char exe[64];

	if (proc_stat_read(pid, &st) < 0 || st.state == 'Z' || st.state == 'X')
		return;
	snapshot_name(pid, st.comm, exe, sizeof(exe));
	j = new_line("left");
	json_put_int(j, "pid", pid);
	json_put(j, "exe", exe);
	add_line(l, j);
}

static void add_leftovers(struct ledger *l)
{
	CLEANUP(strv) struct strv files = {0};
	CLEANUP_JSON json_t *j = new_line("files");
	json_t *list = json_array();
	bool more;

	json_object_set_new(j, "list", list);
	if (leftovers_list(l->tmpdir, &files, &more) < 0)
		json_put(j, "hidden", strerror(errno));
	for (size_t i = 0; i < files.n; i++)
		json_array_append_new(list, json_text(files.v[i]));
	if (more)
		json_put_bool(j, "more", true);
	add_line(l, j);
}

static void at_name(void *ctx, pid_t tid, int dirfd, const char *path)
{
	struct ledger *l = ctx;

	shared_names_add(&l->names, tid, dirfd, path);
}

/* What processes of this run put into /tmp and /dev/shm and what is still there. */
static void add_names(struct ledger *l)
{
	static const char *const types[SHARED_DIRS] = {"tmp", "shm"};
	struct shared_names *s = &l->names;

	shared_names_tidy(s);
	for (size_t i = 0; i < s->n; i++) {
		CLEANUP_JSON json_t *j = NULL;

		if (!shared_name_exists(&s->v[i]))
			continue;
		j = new_line(types[s->v[i].dir]);
		json_put(j, "name", s->v[i].name);
		json_put(j, "exe", s->v[i].process);
		if (s->v[i].was_there)
			json_put_bool(j, "old", true);
		add_line(l, j);
	}
	if (s->hidden[0]) {
		CLEANUP_JSON json_t *j = new_line("hidden");

		json_put(j, "exe", s->hidden);
		add_line(l, j);
	}
}

static void add_segment(struct ledger *l, const struct sysv_segment *s)
{
	CLEANUP_JSON json_t *j = new_line("sysv");

	json_put_int(j, "size", (int64_t)s->size);
	add_line(l, j);
}

/* A view below /tmp has its mount point there. */
static bool holds_view(const struct sandbox *s, const char *dir, const char *name)
{
	CLEANUP_FREE char *path = path_join(dir, name);

	for (size_t i = 0; i < s->nviews; i++)
		if (path_is_below(s->views[i].at, path))
			return true;
	return s->home && path_is_below(s->home, path);
}

/* What a sandboxed run has left where it alone writes; who made it is not known. */
static void add_own_names(struct ledger *l, const char *type, enum shared_dir d, int dir)
{
	CLEANUP(strv) struct strv names = {0};

	if (names_in(dir, &names) < 0) {
		CLEANUP_JSON json_t *j = new_line("hidden");

		json_put(j, "exe", shared_dir_path(d));
		add_line(l, j);
	}
	for (size_t i = 0; i < names.n; i++) {
		CLEANUP_JSON json_t *j = NULL;

		if (holds_view(l->sandbox, shared_dir_path(d), names.v[i]))
			continue;
		j = new_line(type);
		json_object_set_new(j, "name", json_text(names.v[i]));
		json_put(j, "exe", l->root_name[0] ? l->root_name : "?");
		add_line(l, j);
	}
}

static void add_own_segments(struct ledger *l, int sysvipc)
{
	struct segments own;

	segments_read_fd(sysvipc, &own);
	for (size_t i = 0; i < own.n; i++)
		if (!own.v[i].removed)
			add_segment(l, &own.v[i]);
	segments_release(&own);
}

static void add_own(struct ledger *l, const struct run_private *own)
{
	add_own_names(l, "tmp", SHARED_TMP, own->tmp);
	add_own_names(l, "shm", SHARED_SHM, own->shm);
	add_own_segments(l, own->sysvipc);
}

/* Segments name their creator: those of other programs are left out. */
static void add_segments(struct ledger *l, const struct segments *after)
{
	for (size_t i = 0; i < after->n; i++) {
		const struct sysv_segment *s = &after->v[i];

		if (!s->removed && !segment_known(&l->before, s->id) &&
		    has_pid(&l->exited, s->creator))
			add_segment(l, s);
	}
}

static void add_shared(struct ledger *l)
{
	struct segments after;

	add_names(l);
	segments_read(&after);
	add_segments(l, &after);
	segments_release(&after);
}

static void at_end(void *ctx, const pid_t *left, size_t nleft,
		   const struct run_private *own)
{
	CLEANUP_JSON json_t *j = NULL;
	struct ledger *l = ctx;

	begin(l);
	for (size_t i = 0; i < nleft; i++)
		add_left(l, left[i]);
	add_leftovers(l);
	if (own)
		add_own(l, own);
	else
		add_shared(l);
	j = new_line("end");
	json_put_int(j, "exits", (int64_t)l->exits);
	json_put_int(j, "offset", (int64_t)(l->written + l->out.len));
	add_line(l, j);
	flush(l);
}

/* /proc shows paths without symbolic links; of a sandboxed run, as the run has them. */
static char *resolve(const struct ledger_opts *opts, const char *path)
{
	char *real = opts->sandbox ? NULL : realpath(path, NULL);

	return real ? real : xstrdup(path);
}

struct ledger *ledger_new(const struct ledger_opts *opts, struct err *err)
{
	struct ledger *l;

	int fd = make_memfd("exitpath-ledger");

	if (fd < 0) {
		err_errno(err, ERR_ENVIRONMENT, errno, "ledger: memfd_create");
		return NULL;
	}
	l = xcalloc(1, sizeof(*l));
	l->fd = fd;
	l->path = path_join(opts->dir, LEDGER_FILE);
	l->dir = resolve(opts, opts->dir);
	l->tmpdir = resolve(opts, opts->tmpdir);
	l->checkout = resolve(opts, opts->checkout);
	l->sandbox = opts->sandbox;
	l->watch = (struct run_watch){.at_exit = at_exit,
				      .at_end = at_end,
				      .at_name = l->sandbox ? NULL : at_name,
				      .ctx = l};
	if (!l->sandbox)
		segments_read(&l->before);
	return l;
}

const struct run_watch *ledger_watch(struct ledger *l)
{
	return &l->watch;
}

int ledger_read(const struct ledger *l, struct buf *ret, struct err *err)
{
	if (lseek(l->fd, 0, SEEK_SET) < 0 || read_fd(l->fd, TEXT_CAP, ret) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "ledger: read");
	if (ret->len && (remove_tree(l->path, err) < 0 ||
			 write_file(l->path, ret->data, ret->len, err) < 0))
		return -1;
	return 0;
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	segments_release(&l->before);
	shared_names_release(&l->names);
	close(l->fd);
	buf_release(&l->out);
	free(l->path);
	free(l->dir);
	free(l->tmpdir);
	free(l->checkout);
	free(l->exited.v);
	free(l->unwaited.v);
	free(l);
}
