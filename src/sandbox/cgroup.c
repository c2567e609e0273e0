#include "sandbox/cgroup_group.h"

#include "base/fs.h"
#include "base/macros.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 4096 /* the files that are read: some hundred bytes */

/* Files of /proc have no size: read_file() is not for them. */
static int read_proc(const char *path, struct buf *ret)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : read_fd(fd, 0, ret);
}

static int read_world(struct cgroup_world *w, struct err *err)
{
	CLEANUP(buf) struct buf mounts = {0};

	/* The latter is not there when the kernel has no cgroups. */
	if (read_proc("/proc/self/mountinfo", &mounts) < 0 ||
	    (read_proc("/proc/self/cgroup", &w->own) < 0 && errno != ENOENT))
		return err_errno(err, ERR_ENVIRONMENT, errno,
				 "cannot read which cgroups there are in /proc/self");
	cgroup_mounts_parse(buf_str(&mounts), &w->mounts);
	return 0;
}

static struct cgroup *cgroup_new(void)
{
	struct cgroup *c = xcalloc(1, sizeof(*c));

	for (size_t i = 0; i < CGROUP_FILES; i++)
		c->files[i] = -1;
	c->tier = TIER_POLLING;
	return c;
}

/* why: of each version that cannot be had, "cgroup v2: clause; clause. " */
static struct cgroup *open_best(struct buf *why, struct err *err)
{
	static const struct cgroup_version *const versions[] = {&cgroup_v2, &cgroup_v1};
	struct cgroup_world world = {0};
	struct cgroup *c = NULL;

	if (read_world(&world, err) < 0)
		goto out;
	c = cgroup_new();
	for (size_t i = 0; i < ARRAY_SIZE(versions) && !c->fatal; i++) {
		CLEANUP(buf) struct buf clauses = {0};

		if (!versions[i]->open(c, &world, &clauses)) {
			c->version = versions[i];
			c->tier = versions[i]->tier;
			goto out;
		}
		if (clauses.len)
			buf_addf(why, "%s%s: %s", why->len ? ". " : "", versions[i]->name,
				 buf_str(&clauses));
	}
	if (c->fatal) {
		err_errno(err, ERR_ENVIRONMENT, c->fatal, "cannot make a cgroup");
		free(c);
		c = NULL;
	}
out:
	cgroup_mounts_release(&world.mounts);
	buf_release(&world.own);
	return c;
}

struct cgroup *cgroup_open(struct err *err)
{
	CLEANUP(buf) struct buf why = {0};

	return open_best(&why, err);
}

enum limit_tier cgroup_explain(char **ret_why)
{
	CLEANUP(buf) struct buf why = {0};
	struct err err = {0};
	struct cgroup *c = open_best(&why, &err);
	enum limit_tier tier = c ? c->tier : TIER_POLLING;

	if (c && tier == TIER_POLLING && geteuid() != 0)
		buf_adds(&why,
			 ". Run it as root or, where systemd and cgroup v2 are, with "
			 "`systemd-run --user --scope exitpath …`");
	*ret_why = c ? buf_detach(&why) : xstrdup(err.message);
	cgroup_close(c);
	return tier;
}

enum limit_tier cgroup_tier(const struct cgroup *c)
{
	return c->tier;
}

int cgroup_attach(const struct cgroup *c, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	for (size_t i = 0; i < c->ndirs; i++) {
		const struct cgroup_dir *dir = &c->dirs[i];
		int fd = !pid && dir->tasks >= 0 ? dir->tasks : dir->procs;

		if (write(fd, text, strlen(text)) < 0)
			return -1;
	}
	return 0;
}

static uint64_t read_key(const struct cgroup *c, enum cgroup_file f, const char *key)
{
	char text[TEXT_MAX];
	uint64_t n = 0;

	cgroup_read_kept(c, f, text, sizeof(text));
	cgroup_parse_key(text, key, &n);
	return n;
}

static uint64_t read_number(const struct cgroup *c, enum cgroup_file f,
			    int (*parse)(const char *text, uint64_t *ret))
{
	char text[TEXT_MAX];
	uint64_t n = 0;

	cgroup_read_kept(c, f, text, sizeof(text));
	parse(text, &n);
	return n;
}

static void read_counters(const struct cgroup *c, struct cgroup_usage *ret)
{
	*ret = (struct cgroup_usage){
		.cpu_us = read_number(c, CGROUP_CPU, cgroup_parse_cpu),
		.memory = read_number(c, CGROUP_MEMORY_NOW, cgroup_parse_number),
		.peak = read_number(c, CGROUP_MEMORY_PEAK, cgroup_parse_number),
		.oom_kills = read_key(c, CGROUP_MEMORY_EVENTS, "oom_kill"),
		.refused = read_key(c, CGROUP_PIDS_EVENTS, "max"),
	};
}

static int set_limits(struct cgroup *c, uint64_t memory, uint64_t pids)
{
	if (memory != c->memory_max) {
		if (c->version->set_memory(c, memory) < 0) {
			c->memory_max = 0;
			return -1;
		}
		c->memory_max = memory;
	}
	if (pids != c->pids_max) {
		if (cgroup_write_limit(c->files[CGROUP_PIDS_MAX], pids, "max") < 0)
			return -1;
		c->pids_max = pids;
	}
	return 0;
}

void cgroup_add_own(struct cgroup *c, unsigned processes, uint64_t memory)
{
	c->own_pids += processes;
	c->own_memory += memory;
}

int cgroup_begin(struct cgroup *c, const struct limits *l, unsigned own)
{
	const char *reset;

	if (!c->version)
		return 0;
	if (set_limits(c, l->memory ? l->memory + c->own_memory : CGROUP_NO_LIMIT,
		       l->pids ? l->pids + own + c->own_pids : CGROUP_NO_LIMIT) < 0)
		return -1;
	reset = c->version->peak_reset;
	read_counters(c, &c->before);
	/* Where it cannot be reset, only a peak above the one before is the run's. */
	if (pwrite(c->files[CGROUP_MEMORY_PEAK], reset, strlen(reset), 0) > 0)
		c->before.peak = 0;
	return 0;
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void cgroup_usage(const struct cgroup *c, struct cgroup_usage *ret)
{
	const struct cgroup_usage *before = &c->before;

	*ret = (struct cgroup_usage){0};
	if (!c->version)
		return;
	read_counters(c, ret);
	ret->cpu_us = since(ret->cpu_us, before->cpu_us);
	ret->oom_kills = since(ret->oom_kills, before->oom_kills);
	ret->refused = since(ret->refused, before->refused);
	ret->memory = since(ret->memory, c->own_memory);
	ret->peak = ret->peak <= before->peak ? 0 : since(ret->peak, c->own_memory);
}

void cgroup_close(struct cgroup *c)
{
	if (!c)
		return;
	cgroup_drop(c);
	free(c);
}
