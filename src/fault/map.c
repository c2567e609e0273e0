#include "fault/map.h"

#include "base/fs.h"
#include "base/mem.h"
#include "fault/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* As the shim looks for them. */
static int write_trials(int fd, const struct fault_request *r)
{
	CLEANUP_FREE struct fault_trial *all = NULL;

	if (!r->nkeys)
		return 0;
	all = xcalloc(FAULT_POINTS, sizeof(*all));
	for (size_t i = 0; i < r->nkeys && i < FAULT_POINTS; i++) {
		size_t at = r->keys[i] % FAULT_POINTS;

		while (all[at].key)
			at = (at + 1) % FAULT_POINTS;
		all[at].key = r->keys[i];
	}
	if (lseek(fd, offsetof(struct fault_map, trials), SEEK_SET) < 0)
		return -1;
	return write_all(fd, all, FAULT_POINTS * sizeof(*all));
}

static void fill_head(struct fault_map *head, const struct fault_request *r)
{
	head->magic = FAULT_MAGIC;
	head->mode = r->mode;
	head->classes = r->classes;
	head->call = r->call;
	head->key = r->key;
	head->occurrence = r->occurrence;
	head->errnum = r->errnum;
	head->forever = r->forever;
	head->deadline_ms = r->deadline_ms;
	head->held = UINT32_MAX;
	head->lost_blocks = head->held_blocks = UINT64_MAX;
	if (r->scratch && strlen(r->scratch) < sizeof(head->scratch))
		memcpy(head->scratch, r->scratch, strlen(r->scratch) + 1);
}

int fault_map_make(const char *path, const struct fault_request *r, struct err *err)
{
	/* Of its size only the head is touched. */
	CLEANUP_FREE struct fault_map *head = xcalloc(1, sizeof(*head));
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	fill_head(head, r);
	if (fd < 0 || ftruncate(fd, sizeof(*head)) < 0 ||
	    write_all(fd, head, offsetof(struct fault_map, modules)) < 0 ||
	    write_trials(fd, r) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot make %s", path);
	return 0;
}

static int read_at(int fd, void *to, size_t n, size_t from)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got =
			pread(fd, (char *)to + done, n - done, (off_t)(from + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		done += (size_t)got;
	}
	return 0;
}

static bool is_whole(const struct fault_point *p)
{
	return p->key && p->call < fault_ncalls && p->variant < FAULT_VARIANTS &&
	       p->nframes && p->nframes <= FAULT_FRAMES;
}

static int by_key(const void *a, const void *b)
{
	const struct fault_point *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static int read_points(int fd, struct fault_record *r)
{
	enum { CHUNK = 256 };
	CLEANUP_FREE struct fault_point *chunk = xcalloc(CHUNK, sizeof(*chunk));
	size_t cap = 0;

	for (size_t i = 0; i < FAULT_POINTS; i += CHUNK) {
		if (read_at(fd, chunk, CHUNK * sizeof(*chunk),
			    offsetof(struct fault_map, points) + i * sizeof(*chunk)) < 0)
			return -1;
		for (size_t k = 0; k < CHUNK; k++) {
			struct fault_point *p;

			if (!is_whole(&chunk[k]))
				continue;
			p = VEC_ADD(r->points, r->npoints, cap);
			*p = chunk[k];
			p->argument[sizeof(p->argument) - 1] = '\0';
		}
	}
	if (r->npoints)
		qsort(r->points, r->npoints, sizeof(*r->points), by_key);
	return 0;
}

static int read_modules(int fd, struct fault_record *r, size_t n)
{
	r->modules = xcalloc(n + 1, sizeof(*r->modules));
	if (read_at(fd, r->modules, n * sizeof(*r->modules),
		    offsetof(struct fault_map, modules)) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		r->modules[i].path[FAULT_PATH - 1] = '\0';
	r->nmodules = n;
	return 0;
}

int fault_map_read(const char *path, struct fault_record *ret, struct err *err)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP(fault_record) struct fault_record r = {0};
	struct fault_map *head = NULL;
	CLEANUP_FREE char *bytes = xcalloc(1, offsetof(struct fault_map, modules));
	size_t n;

	head = (struct fault_map *)(void *)bytes;
	if (fd < 0 || read_at(fd, bytes, offsetof(struct fault_map, modules), 0) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s", path);
	r.loaded = head->loaded;
	r.fired = head->fired;
	r.lost = head->lost;
	r.calls = head->calls;
	n = head->nmodules < FAULT_MODULES ? head->nmodules : FAULT_MODULES;
	if (read_modules(fd, &r, n) < 0 || read_points(fd, &r) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s", path);
	*ret = r;
	r = (struct fault_record){0};
	return 0;
}

/* ---- trials ---- */

static int trial_by_key(const void *a, const void *b)
{
	const struct fault_trial *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

int fault_trials_read(const char *path, struct fault_trials *ret, struct err *err)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP(fault_trials)
	struct fault_trials t = {.trials = xcalloc(FAULT_POINTS, sizeof(*t.trials))};
	CLEANUP_FREE char *bytes = xcalloc(1, offsetof(struct fault_map, modules));
	const struct fault_map *head = (const struct fault_map *)(const void *)bytes;

	if (fd < 0 || read_at(fd, bytes, offsetof(struct fault_map, modules), 0) < 0 ||
	    read_at(fd, t.trials, FAULT_POINTS * sizeof(*t.trials),
		    offsetof(struct fault_map, trials)) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read %s", path);
	for (size_t i = 0; i < FAULT_POINTS; i++)
		if (t.trials[i].key)
			t.trials[t.n++] = t.trials[i];
	if (t.n)
		qsort(t.trials, t.n, sizeof(*t.trials), trial_by_key);
	t.held = head->held;
	t.names = head->names;
	t.lost_blocks = head->lost_blocks;
	t.held_blocks = head->held_blocks;
	*ret = t;
	t = (struct fault_trials){0};
	return 0;
}

const struct fault_trial *fault_trials_find(const struct fault_trials *t, uint64_t key)
{
	const struct fault_trial wanted = {.key = key};

	return t->n ? bsearch(&wanted, t->trials, t->n, sizeof(*t->trials), trial_by_key)
		    : NULL;
}

void fault_trials_release(struct fault_trials *t)
{
	free(t->trials);
	*t = (struct fault_trials){0};
}

/* ---- points ---- */

const struct fault_point *fault_record_find(const struct fault_record *r, uint64_t key)
{
	const struct fault_point wanted = {.key = key};

	return r->npoints ? bsearch(&wanted, r->points, r->npoints, sizeof(*r->points),
				    by_key)
			  : NULL;
}

const char *fault_record_module(const struct fault_record *r, const struct fault_frame *f)
{
	return f->module < r->nmodules && *r->modules[f->module].path
		       ? r->modules[f->module].path
		       : NULL;
}

void fault_record_release(struct fault_record *r)
{
	free(r->points);
	free(r->modules);
	*r = (struct fault_record){0};
}
