/* The text that watch.c writes. Whatever is not as it must be makes all of it worthless.
 */
#include "ledger/ledger.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"

#include <ctype.h>
#include <string.h>

enum { PYTHON_RANDOM = 8 }; /* characters: a to z, 0 to 9, _ */

struct parse {
	struct probe *probe;
	json_t *begin; /* the first line, or NULL */
	const char *dir, *tmpdir, *checkout;
	uint64_t exits;
	bool canary, canary_seen;
	bool root, end;
	char *hidden; /* why something of the root's could not be read */
};

static int refuse(struct parse *p, const char *why)
{
	p->probe->state = PROBE_UNPARSED;
	free(p->probe->detail);
	p->probe->detail = xasprintf("%s: %s", LEDGER_FILE, why);
	return -1;
}

/* The part of path below dir, or NULL. */
static const char *below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 1 && dir[n - 1] == '/')
		n--;
	return n > 1 && !strncmp(path, dir, n) && path[n] == '/' ? path + n + 1 : NULL;
}

/* A descriptor's target as people and signatures name it. */
static char *describe_target(const struct parse *p, const char *target)
{
	const char *rest = below(target, p->tmpdir);

	if (rest)
		return xasprintf("$TMPDIR/%s", rest);
	rest = below(target, p->checkout);
	if (rest)
		return xstrdup(rest);
	if (!strncmp(target, "pipe:[", 6))
		return xstrdup("pipe");
	if (!strncmp(target, "anon_inode:", 11)) {
		const char *name = target + 11 + (target[11] == '[');

		return xstrndup(name, strcspn(name, "]"));
	}
	if (!strncmp(target, "/memfd:", 7))
		return xstrdup(target + 1);
	return xstrdup(target);
}

/* "worker-12" gives "worker-*": pools number their threads. */
static char *describe_thread(const char *name)
{
	CLEANUP(buf) struct buf out = {0};

	for (; *name; name++) {
		if (!isdigit((unsigned char)*name))
			buf_addc(&out, *name);
		else if (!out.len || out.data[out.len - 1] != '*')
			buf_addc(&out, '*');
	}
	return buf_detach(&out);
}

static bool is_separator(char c)
{
	return c == '.' || c == '-' || c == '_';
}

/* Are the last PYTHON_RANDOM bytes of what Python's tempfile makes random names of? */
static bool ends_like_python(const char *name, size_t len)
{
	if (len <= PYTHON_RANDOM)
		return false;
	for (size_t i = len - PYTHON_RANDOM; i < len; i++)
		if (!islower((unsigned char)name[i]) &&
		    !isdigit((unsigned char)name[i]) && name[i] != '_')
			return false;
	return true;
}

/*
 * The start of the end of a name of len bytes, if that may be random: as long as what
 * mkstemp() (6), Python (8) or mktemp(1) (10) make, after a separator or Python's
 * prefix. Else len.
 */
static size_t random_word(const char *name, size_t len)
{
	size_t at = len, n;

	if (ends_like_python(name, len)) {
		at = len - PYTHON_RANDOM;
		if (is_separator(name[at - 1]) || (at == 3 && !strncmp(name, "tmp", 3)))
			return at;
	}
	for (at = len; at && isalnum((unsigned char)name[at - 1]); at--)
		;
	n = len - at;
	return at > 1 && is_separator(name[at - 1]) && (n == 6 || n == 8 || n == 10)
		       ? at
		       : len;
}

/* One component of a path in a temporary directory. */
static void add_temp_name(struct buf *out, const char *name, size_t len)
{
	const char *dot = memrchr(name, '.', len);
	size_t at = random_word(name, len), end = len;

	/* mkstemps(): an extension after the random word */
	if (at == len && dot && len - (size_t)(dot - name) <= 5) {
		end = (size_t)(dot - name);
		at = random_word(name, end);
	}
	buf_add(out, name, at);
	if (at < end)
		buf_addc(out, '*');
	buf_add(out, name + end, len - end);
}

/*
 * What a signature is made of: in temporary directories a word like "Ivleet" must count
 * as random, since one in a hundred names of mkstemp() looks like that. The rest is
 * normalize_target()'s.
 */
static char *steady(const char *what)
{
	static const char *const temps[] = {"$TMPDIR/", "/tmp/", "/dev/shm/"};
	CLEANUP(buf) struct buf out = {0};
	const char *rest = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(temps) && !rest; i++) {
		rest = strstr(what, temps[i]);
		rest = rest ? rest + strlen(temps[i]) : NULL;
	}
	if (!rest)
		return xstrdup(what);
	buf_add(&out, what, (size_t)(rest - what));
	while (*rest) {
		size_t len = strcspn(rest, "/ ");

		add_temp_name(&out, rest, len);
		rest += len;
		if (*rest)
			buf_addc(&out, *rest++);
	}
	return buf_detach(&out);
}

static char *stable_target(const char *what)
{
	CLEANUP_FREE char *text = steady(what);

	return normalize_target(text);
}

/*
 * What people read is what the signature has: the next run has another port, another
 * random name. `more` is for people alone.
 */
static struct leak *add_leak(struct parse *p, enum resource r, const char *process,
			     const char *what, const char *more)
{
	struct leak *l = probe_leak(p->probe, r, 1, 0);
	CLEANUP_FREE char *stable = stable_target(what);

	l->process = xstrdup(process);
	l->what = steady(what);
	leak_sign(l);
	free(l->what);
	l->what = xasprintf("%s%s", stable, more ? more : "");
	return l;
}

static bool is_held(enum resource r)
{
	return r == RESOURCE_FD || r == RESOURCE_SOCKET || r == RESOURCE_THREAD ||
	       r == RESOURCE_ZOMBIE || r == RESOURCE_LOCK;
}

/* The run's directory has the reports of detectors, which they hold open themselves. */
static bool of_detectors(const struct parse *p, const char *target)
{
	return p->dir && below(target, p->dir) && !below(target, p->tmpdir) &&
	       !below(target, p->checkout);
}

static int parse_held(struct parse *p, const char *exe, const json_t *held)
{
	const json_t *item;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)held, i, item) {
		const char *to = json_get(item, "to", NULL);
		const char *from = json_get(item, "from", NULL);
		CLEANUP_FREE char *more = NULL, *what = NULL;
		enum resource r;

		if (!to || !resource_parse(json_get(item, "r", ""), &r) || !is_held(r))
			return refuse(p, "an exit names something unknown");
		if (of_detectors(p, to))
			continue;
		what = r == RESOURCE_THREAD ? describe_thread(to)
					    : describe_target(p, to);
		if (from)
			more = xasprintf(" (inherited from %s)", from);
		add_leak(p, r, exe, what, more);
	}
	return 0;
}

static int parse_exit(struct parse *p, const json_t *j)
{
	const char *exe = json_get(j, "exe", NULL), *hidden = json_get(j, "hidden", NULL);
	bool root = json_get_bool(j, "root", false);

	if (json_get_int(j, "pid", 0) <= 0 ||
	    (!exe && (root || hidden || json_object_get(j, "held"))))
		return refuse(p, "an exit without a process");
	if (root && p->root)
		return refuse(p, "the root exits twice");
	p->exits++;
	p->root |= root;
	if (root && hidden)
		p->hidden = xasprintf("%s: %s", exe, hidden);
	if (hidden)
		strv_addf(&p->probe->notes, "could not see what %s holds: %s", exe,
			  hidden);
	if (json_get_bool(j, "more", false))
		strv_addf(&p->probe->notes, "%s holds too much to be listed in full",
			  exe);
	return parse_held(p, exe, json_object_get(j, "held"));
}

static int parse_begin(struct parse *p, json_t *j)
{
	p->dir = json_get(j, "dir", NULL);
	p->tmpdir = json_get(j, "tmpdir", NULL);
	p->checkout = json_get(j, "checkout", NULL);
	if (json_get_int(j, "version", 0) != 1 || !p->tmpdir || !p->checkout)
		return refuse(p, "its first line is of another version");
	p->begin = json_incref(j);
	return 0;
}

static int parse_canary(struct parse *p, const json_t *j)
{
	if (p->canary)
		return refuse(p, "two canaries");
	p->canary = true;
	p->canary_seen = json_get_bool(j, "fd", false) && json_get_bool(j, "lock", false);
	return 0;
}

static int parse_files(struct parse *p, const json_t *j)
{
	const char *hidden = json_get(j, "hidden", NULL);
	const json_t *name, *list = json_object_get(j, "list");
	size_t i;

	if (hidden && !p->hidden)
		p->hidden = xasprintf("TMPDIR: %s", hidden);
	if (json_get_bool(j, "more", false))
		strv_add(&p->probe->notes, "TMPDIR has too many files to be listed");
	json_array_foreach ((json_t *)(uintptr_t)list, i, name) {
		CLEANUP_FREE char *what = NULL;

		if (!json_is_string(name))
			return refuse(p, "a file without a name");
		what = xasprintf("$TMPDIR/%s", json_string_value(name));
		add_leak(p, RESOURCE_TEMPFILE, NULL, what, NULL);
	}
	return 0;
}

static int parse_named(struct parse *p, const json_t *j, enum resource r,
		       const char *prefix)
{
	const char *name = json_get(j, "name", NULL), *exe = json_get(j, "exe", NULL);
	CLEANUP_FREE char *what = NULL, *stable = NULL;

	if (!name)
		return refuse(p, "an object without a name");
	what = xasprintf("%s%s", prefix, name);
	stable = stable_target(what);
	/* A name that does not change: a run may find what the one before has left. */
	if (!strcmp(stable, what) || json_get_bool(j, "old", false))
		r = RESOURCE_SHARED_FILE;
	/* Who made it is no part of the signature: of several, any may be the first. */
	add_leak(p, r, NULL, what, NULL)->process = xstrdup(exe);
	return 0;
}

static int parse_hidden(struct parse *p, const json_t *j)
{
	const char *exe = json_get(j, "exe", NULL);

	if (!exe)
		return refuse(p, "a process without a name");
	strv_addf(&p->probe->notes, "could not see which files %s makes", exe);
	return 0;
}

static int parse_left(struct parse *p, const json_t *j)
{
	const char *exe = json_get(j, "exe", NULL);

	if (!exe)
		return refuse(p, "a process without a name");
	add_leak(p, RESOURCE_CHILD, exe, exe, NULL);
	return 0;
}

static int parse_sysv(struct parse *p, const json_t *j)
{
	CLEANUP_FREE char *more = NULL;

	more = xasprintf(", %lld bytes", (long long)json_get_int(j, "size", 0));
	add_leak(p, RESOURCE_SYSV_SHM, NULL, "System V shared memory", more);
	return 0;
}

static int parse_end(struct parse *p, const json_t *j, size_t offset)
{
	if (json_get_int(j, "offset", -1) != (int64_t)offset ||
	    json_get_int(j, "exits", -1) != (int64_t)p->exits)
		return refuse(p, "its end does not count what is there");
	p->end = true;
	return 0;
}

/* offset is where the line starts. */
static int parse_line(struct parse *p, json_t *j, size_t offset)
{
	const char *type = json_get(j, "t", "");

	if (p->end)
		return refuse(p, "lines after its end");
	if (!strcmp(type, "begin") != !p->begin)
		return refuse(p, "it does not begin once");
	if (!p->begin)
		return parse_begin(p, j);
	if (!strcmp(type, "exit"))
		return parse_exit(p, j);
	if (!strcmp(type, "canary"))
		return parse_canary(p, j);
	if (!strcmp(type, "files"))
		return parse_files(p, j);
	if (!strcmp(type, "left"))
		return parse_left(p, j);
	if (!strcmp(type, "tmp"))
		return parse_named(p, j, RESOURCE_TEMPFILE, "/tmp/");
	if (!strcmp(type, "shm"))
		return parse_named(p, j, RESOURCE_POSIX_SHM, "/dev/shm/");
	if (!strcmp(type, "hidden"))
		return parse_hidden(p, j);
	if (!strcmp(type, "sysv"))
		return parse_sysv(p, j);
	if (!strcmp(type, "end"))
		return parse_end(p, j, offset);
	return refuse(p, "a line of unknown type");
}

static int parse_lines(struct parse *p, const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		CLEANUP_JSON json_t *j = NULL;

		if (!end)
			return refuse(p, "its last line is cut");
		j = json_parse(text + at, (size_t)(end - text) - at, LEDGER_FILE, NULL);
		if (!json_is_object(j))
			return refuse(p, "a line is no JSON object");
		if (parse_line(p, j, at) < 0)
			return -1;
		at = (size_t)(end - text) + 1;
	}
	return 0;
}

/* The state of a file that was read to its end. */
static void conclude(struct parse *p)
{
	struct probe *probe = p->probe;

	probe->state = PROBE_SILENT;
	if (!p->root)
		probe->detail = xstrdup("the exit of the command was not seen");
	else if (p->hidden)
		probe->detail = TAKE_PTR(p->hidden);
	else if (!p->canary_seen)
		probe->detail = xstrdup("the planted descriptor and its lock were not "
					"seen: is /proc mounted?");
	else if (!p->end)
		probe->detail = xstrdup(LEDGER_FILE " stops before the end of the run: "
						    "is memory exhausted?");
	else
		probe->state = PROBE_COMPLETE;
}

int ledger_parse(const char *text, size_t len, struct probe *ret, struct err *err)
{
	struct parse p = {.probe = ret};

	(void)err;
	if (parse_lines(&p, text, len) == 0)
		conclude(&p);
	probe_merge(ret);
	json_decref(p.begin);
	free(p.hidden);
	return 0;
}
