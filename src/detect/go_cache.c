#include "detect/go_cache.h"

#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "detect/embed.h"
#include "proc/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

enum { CAPTURE_CAP = 64 << 10, COPY_STEP = 1 << 30 };

/* What most tests need of the standard library: not all of it, which is twice as much. */
#define SEED                                                                      \
	"package seed\n\nimport (\n\t_ \"archive/zip\"\n\t_ \"database/sql\"\n\t" \
	"_ \"encoding/csv\"\n\t_ \"encoding/gob\"\n\t_ \"encoding/xml\"\n\t"      \
	"_ \"html/template\"\n\t_ \"math/rand\"\n\t_ \"net/http/httptest\"\n\t"   \
	"_ \"os/signal\"\n\t\"testing\"\n\t_ \"testing/fstest\"\n\t"              \
	"_ \"testing/iotest\"\n\t_ \"testing/quick\"\n)\n\n"                      \
	"func TestNothing(*testing.T) {}\n"

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define CLEANUP_DIR __attribute__((cleanup(close_dir)))

/* --- compiling it ------------------------------------------------------------------- */

/* The flags of GOFLAGS that are about how packages are compiled. The caller frees. */
static char *compile_flags(const char *all)
{
	static const char *const kept[] = {
		"-race",     "-msan",	   "-asan",    "-trimpath",
		"-gcflags=", "-asmflags=", "-overlay="};
	struct strv words = {0};
	char *ret;

	for (const char *s = all; *s; s += strspn(s, " ")) {
		size_t n = strcspn(s, " ");

		for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
			if (!strncmp(s, kept[i], strlen(kept[i])))
				strv_take(&words, xstrndup(s, n));
		s += n;
	}
	ret = strv_join(&words, " ");
	strv_release(&words);
	return ret;
}

static void seed_key(const char *goroot, const char *version, const char *flags,
		     char ret[SHA256_HEX])
{
	struct sha256 *h = sha256_new();
	const char *overlay = strstr(flags, "-overlay=");
	CLEANUP_FREE char *other =
		xstrndup(flags, overlay ? (size_t)(overlay - flags) : strlen(flags));

	sha256_add_field(h, goroot);
	sha256_add_field(h, version);
	sha256_add_field(h, other); /* ours is the last, and its path is the run's */
	sha256_add(h, embed_go_cycles_start,
		   (size_t)(embed_go_cycles_end - embed_go_cycles_start));
	sha256_add(h, embed_go_time_start,
		   (size_t)(embed_go_time_end - embed_go_time_start));
	sha256_add(h, embed_go_tickers_start,
		   (size_t)(embed_go_tickers_end - embed_go_tickers_start));
	sha256_finish(h, ret);
}

static int write_module(const char *dir, struct err *err)
{
	static const char module[] = "module seed\n\ngo 1.18\n";
	CLEANUP_FREE char *mod = path_join(dir, "go.mod"),
			  *test = path_join(dir, "seed_test.go");

	if (write_file(mod, module, strlen(module), err) < 0)
		return -1;
	return write_file(test, SEED, strlen(SEED), err);
}

static int compile(const char *dir, const char *cache, const struct run_spec *spec,
		   const char *version, const char *flags, struct err *err)
{
	CLEANUP_FREE char *go = find_program("go"), *tmp = path_join(dir, "tmp");
	CLEANUP(strv) struct strv env = {0};
	CLEANUP(buf) struct buf out = {0};
	char *argv[] = {go, (char[]){"test"}, (char[]){"."}, NULL};

	if (!go || make_dirs(tmp, 0700, err) < 0)
		return -1;
	strv_copy(&env, spec->env.v);
	env_set(&env, "GOCACHE", cache);
	env_set(&env, "GOFLAGS", flags);
	env_set(&env, "GOTOOLCHAIN", version);
	env_set(&env, "GOWORK", "off");
	env_set(&env, "GOPROXY", "off");
	env_set(&env, "PWD", dir);
	env_set(&env, "TMPDIR", tmp); /* not dir: there go takes no go.mod for one */
	return proc_capture(
		argv,
		&(struct capture_opts){.cwd = dir, .env = env.v, .cap = CAPTURE_CAP},
		&out, NULL, err);
}

/* What other versions have left: one is enough. */
static void remove_others(const char *dir)
{
	CLEANUP_DIR DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		CLEANUP_FREE char *path = path_join(dir, e->d_name);

		if (e->d_name[0] != '.' && strcmp(e->d_name, "lock") != 0)
			remove_tree(path, NULL);
	}
}

/* The seed is DIR/KEY; whatever has another name is not whole. */
static int make_seed(const char *dir, const char *seed, const struct run_spec *spec,
		     const char *version, const char *flags, struct err *err)
{
	CLEANUP_FREE char *work = path_join(dir, "module"),
			  *cache = path_join(dir, "unfinished");
	int rc;

	remove_others(dir);
	if (make_dirs(work, 0700, err) < 0 || make_dirs(cache, 0700, err) < 0)
		return -1;
	rc = write_module(work, err) < 0 ||
			     compile(work, cache, spec, version, flags, err) < 0 ||
			     rename(cache, seed) < 0
		     ? -1
		     : 0;
	remove_tree(work, NULL);
	if (rc < 0)
		remove_tree(cache, NULL);
	return rc;
}

/* --- copying it --------------------------------------------------------------------- */

/*
 * The directory that the run sees as path, made where it is not there, or -1. Runs of
 * before may have left links in it: none is followed.
 */
static int open_inside(const struct sandbox *s, const char *path)
{
	const struct sandbox_view *v = NULL;
	CLEANUP_FD int fd = -1;
	int ret;

	for (size_t i = s->nviews; i-- && !v;)
		if (path_is_below(path, s->views[i].at))
			v = &s->views[i];
	if (!v || v->mode != VIEW_WRITE)
		return -1;
	fd = open(v->from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (const char *p = path + strlen(v->at); fd >= 0 && *p; p += strcspn(p, "/")) {
		CLEANUP_FREE char *name = NULL;
		CLEANUP_FD int up = -1;

		p += strspn(p, "/");
		name = xstrndup(p, strcspn(p, "/"));
		if (!*name)
			break;
		up = fd;
		mkdirat(up, name, 0700);
		fd = openat(up, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	ret = fd;
	fd = -1;
	return ret;
}

static int copy_bytes(int from, int to)
{
	ssize_t n;

	do
		n = sendfile(to, from, NULL, COPY_STEP);
	while (n > 0);
	return n < 0 ? -1 : 0;
}

/* What is there already stays; 0 also when it is. */
static int copy_file(int from_dir, int to_dir, const char *name)
{
	CLEANUP_FD int to =
		openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CLEANUP_FD int from = -1;

	if (to < 0)
		return errno == EEXIST ? 0 : -1;
	from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (from >= 0 && copy_bytes(from, to) == 0)
		return 0;
	unlinkat(to_dir, name, 0);
	return -1;
}

static int copy_part(int from_dir, int to_dir, const char *name)
{
	CLEANUP_FD int to = -1;
	CLEANUP_DIR DIR *d = NULL;
	int from = openat(from_dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *e;

	if (from < 0)
		return -1;
	d = fdopendir(from);
	if (!d) {
		close(from);
		return -1;
	}
	mkdirat(to_dir, name, 0700);
	to = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return -1;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && copy_file(from, to, e->d_name) < 0)
			return -1;
	return 0;
}

/* Entries and outputs are in 256 directories, 00 to ff. */
static void copy_seed(const char *seed, int to)
{
	CLEANUP_FD int from = open(seed, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (unsigned i = 0; from >= 0 && i < 256; i++) {
		char name[3];

		snprintf(name, sizeof(name), "%02x", i);
		if (copy_part(from, to, name) < 0)
			return;
	}
}

void go_cache_fill(const struct detect_run *run, const struct run_spec *spec,
		   const char *goroot, const char *version, const char *gocache)
{
	const char *all = env_get(&spec->env, "GOFLAGS");
	CLEANUP_FREE char *flags = NULL, *seed = NULL, *lock = NULL;
	CLEANUP_FD int to = -1, locked = -1;
	char key[SHA256_HEX];
	struct err why = {0};

	if (!run->sandbox || !run->cache || gocache[0] != '/' || !all)
		return;
	to = open_inside(run->sandbox, gocache);
	if (to < 0 || make_dirs(run->cache, 0700, &why) < 0)
		return;
	flags = compile_flags(all);
	seed_key(goroot, version, flags, key);
	seed = path_join(run->cache, key);
	lock = path_join(run->cache, "lock");
	locked = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (locked < 0 || flock(locked, LOCK_EX) < 0)
		return;
	if (path_exists(seed) ||
	    make_seed(run->cache, seed, spec, version, flags, &why) == 0)
		copy_seed(seed, to);
}
