/*
 * Which call fails. Preloaded into each process of a run; exitpath made the file
 * $EXITPATH_FAULT (abi/fault.h), which all of them map.
 *
 * Nearly every call is one of a stack that was seen before, so stacks are told apart
 * cheaply first, at a glance (unwind.c). The whole stack is walked when the glance is
 * new, and again at its 2nd, 4th, 8th … occurrence: different stacks may look the same.
 * The walk decides about the key, and its times depend on nothing but the calls of the
 * process before: a run that records and one that fails a point see the same keys.
 *
 * Nothing here prints, allocates, or changes errno; what fails here fails open: without
 * the file, calls go on as if the library were not there.
 */
#include "fault.h"

#include "fork.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLOTS = 1 << 16 };

/* Of this process; a fork inherits them. Races cost a count, never a wrong key. */
struct slot {
	uint64_t glance;		/* 0: free */
	uint64_t key;			/* of the last walk; 0: never a point */
	uint32_t point[FAULT_VARIANTS]; /* index in the map plus 1; 0: none */
	uint32_t trial[FAULT_VARIANTS]; /* … of FAULT_EXPLORE */
	uint32_t count;
	uint32_t asked; /* bits: these have map->key */
};

static struct slot slots[SLOTS];
static struct fault_map *map;
static uint64_t reached;	/* occurrences of map->key in this process */
static int failing;		/* FAULT_FOREVER has begun in this process */
static struct fault_trial *own; /* of a forked child */
static uint32_t own_call;	/* … and the call that failed */
static __thread int busy;
__thread int fault_within;

static const uint8_t classes[] = {
#define CALL(name, class, ...) FAULT_CLASS_##class,
#include "abi/calls.def"
#undef CALL
};

static const uint8_t must_be_reported[] = {
#define CALL(name, class, type, parameters, arguments, failure, errnos, reported, ...) \
	reported,
#include "abi/calls.def"
#undef CALL
};

#define NONE 0
#define INTERRUPT 1 << FAULT_EINTR
#define PARTLY(n) 1 << FAULT_EINTR | 1 << FAULT_SHORT
static const uint8_t variants[] = {
#define CALL(name, class, type, parameters, arguments, failure, errnos, reported, how, \
	     subject, variants)                                                        \
	(variants) | 1 << FAULT_FAIL,
#include "abi/calls.def"
#undef CALL
};

#define FIRST_E(first, ...) first
static const int first_errno[] = {
#define CALL(name, class, type, parameters, arguments, failure, errnos, ...) \
	FIRST_##errnos,
#include "abi/calls.def"
#undef CALL
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
	return h ^ (h >> 29);
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static uint64_t mix_text(uint64_t h, const char *s)
{
	while (*s)
		h = mix(h, (unsigned char)*s++);
	return h;
}

/* What calls there is not the program's: the loader, the runtimes of sanitizers, and
 * what exitpath itself has preloaded. */
static int of_runtime(const char *path)
{
	static const char *const prefixes[] = {"ld-",	    "libasan.",	 "liblsan.",
					       "libubsan.", "libtsan.",	 "libclang_rt.",
					       "exitpath-", "linux-vdso"};
	const char *name = file_name(path);

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return 1;
	return 0;
}

/* ---- the map ---- */

/* A name is written by whoever takes the row; others may see it half, and take another
 * row for the same object: no harm. */
static uint32_t module_index(const char *path)
{
	uint32_t n = __atomic_load_n(&map->nmodules, __ATOMIC_ACQUIRE), at;

	for (uint32_t i = 0; i < n && i < FAULT_MODULES; i++)
		if (!strcmp(map->modules[i].path, path))
			return i;
	at = __atomic_fetch_add(&map->nmodules, 1, __ATOMIC_ACQ_REL);
	if (at >= FAULT_MODULES)
		return UINT32_MAX;
	memcpy(map->modules[at].path, path, strlen(path) + 1);
	return at;
}

static void describe_fd(char *to, size_t size, int fd)
{
	char link[32] = "/proc/self/fd/", digits[12];
	size_t n = sizeof(digits), at = strlen(link);
	unsigned value = (unsigned)fd;
	long len;

	do {
		digits[--n] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	memcpy(link + at, digits + n, sizeof(digits) - n);
	link[at + sizeof(digits) - n] = '\0';
	len = syscall(SYS_readlinkat, AT_FDCWD, link, to, size - 1);
	to[len > 0 ? len : 0] = '\0';
}

static int fd_of(const struct subject *s)
{
	if (s->kind == SUBJECT_FD)
		return s->fd;
	if (s->kind == SUBJECT_STREAM && s->stream)
		return s->stream->_fileno;
	return -1;
}

static const char *path_of(const struct subject *s)
{
	if (s->kind == SUBJECT_PREPARED)
		return fault_statement(s->prepared);
	return s->kind == SUBJECT_PATH || s->kind == SUBJECT_STATEMENT ? s->path : NULL;
}

/* Does the statement change what others see? */
static int changes(const char *sql)
{
	static const char *const not [] = {"select",  "begin",	"rollback", "pragma",
					   "explain", "show",	"set",	    "savepoint",
					   "listen",  "attach", "declare",  "fetch"};

	while (sql && (*sql == ' ' || *sql == '\n' || *sql == '\t'))
		sql++;
	for (size_t i = 0; sql && i < sizeof(not ) / sizeof(*not ); i++)
		if (!strncasecmp(sql, not [i], strlen(not [i])))
			return 0;
	return sql != NULL;
}

/* Is what the call works on a file that is being written? Standard output and error
 * belong to whoever reads them. */
static int is_written(const struct subject *s)
{
	int fd = fd_of(s);
	struct stat st;
	long flags;

	if (s->kind == SUBJECT_PATH)
		return 1;
	if (s->kind == SUBJECT_STATEMENT || s->kind == SUBJECT_PREPARED)
		return changes(path_of(s));
	if (s->kind == SUBJECT_STREAM && (s->stream == stdout || s->stream == stderr))
		return 0;
	if (fd < 0 || fd == 1 || fd == 2 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	flags = syscall(SYS_fcntl, fd, F_GETFL);
	return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

static void fill(struct fault_point *p, uint32_t call, uint32_t variant,
		 const struct subject *s, const uintptr_t *stack, uint32_t n)
{
	char text[sizeof(p->argument)] = "";

	if (path_of(s))
		strncpy(text, path_of(s), sizeof(text) - 1);
	else if (fd_of(s) >= 0)
		describe_fd(text, sizeof(text), fd_of(s));
	for (size_t i = 0; i < sizeof(text) && text[i]; i++)
		p->argument[i] = text[i] >= ' ' && text[i] < 0x7f ? text[i] : '?';
	p->call = call;
	p->variant = (uint16_t)variant;
	p->pid = (int32_t)syscall(SYS_getpid);
	p->flags = fault_unsafe(0) |
		   (must_be_reported[call] && is_written(s) ? FAULT_WRITTEN : 0u);
	for (uint32_t i = 0; i < n; i++) {
		char path[FAULT_PATH];

		p->frames[i].module = UINT32_MAX;
		if (fault_module_of(stack[i], path, &p->frames[i].offset))
			p->frames[i].module = module_index(path);
	}
	__atomic_store_n(&p->nframes, (uint16_t)n, __ATOMIC_RELEASE);
}

/* The row of the key plus 1, or 0 when there is no room. */
static uint32_t point_of(uint64_t key, uint32_t call, uint32_t variant,
			 const struct subject *s, const uintptr_t *stack, uint32_t n)
{
	for (uint32_t i = 0; i < FAULT_POINTS; i++) {
		uint32_t at = (uint32_t)((key + i) % FAULT_POINTS);
		struct fault_point *p = &map->points[at];
		uint64_t was = 0;

		if (__atomic_compare_exchange_n(&p->key, &was, key, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			__atomic_fetch_add(&map->npoints, 1, __ATOMIC_RELAXED);
			fill(p, call, variant, s, stack, n);
			return at + 1;
		}
		if (was == key)
			return at + 1;
	}
	__atomic_fetch_add(&map->lost, 1, __ATOMIC_RELAXED);
	return 0;
}

/* The row of the key plus 1, or 0: exitpath has not asked for it. */
static uint32_t trial_of(uint64_t key)
{
	for (uint32_t i = 0; i < FAULT_POINTS; i++) {
		uint32_t at = (uint32_t)((key + i) % FAULT_POINTS);

		if (map->trials[at].key == key)
			return at + 1;
		if (!map->trials[at].key)
			break;
	}
	return 0;
}

/* ---- stacks ---- */

static struct slot *slot_of(uint64_t glance)
{
	for (uint32_t i = 0; i < 64; i++) {
		struct slot *s = &slots[(glance + i) % SLOTS];
		uint64_t was = 0;

		if (__atomic_load_n(&s->glance, __ATOMIC_RELAXED) == glance ||
		    __atomic_compare_exchange_n(&s->glance, &was, glance, 0,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    was == glance)
			return s;
	}
	return NULL;
}

/* What a library of a database calls within itself: it would not know its own state. */
static int of_database(const char *path)
{
	return !strncmp(file_name(path), "libpq.", 6) ||
	       !strncmp(file_name(path), "libsqlite3", 10);
}

static uint64_t key_of(uint32_t call, const uintptr_t *stack, uint32_t n)
{
	uint64_t h = mix(1, call), offset;
	char path[FAULT_PATH];

	for (uint32_t i = 0; i < n; i++) {
		if (!fault_module_of(stack[i], path, &offset))
			continue;
		if (i == 0 &&
		    (of_runtime(path) ||
		     (classes[call] == FAULT_CLASS_DATABASE && of_database(path))))
			return 0;
		h = mix(mix_text(h, file_name(path)), offset);
	}
	return h ? h : 1;
}

/* A key of its own for each way to fail. */
static uint64_t key_with(uint64_t key, uint32_t variant)
{
	uint64_t h = variant ? mix(key, variant) : key;

	return h ? h : 1;
}

/* Nothing interrupts what does not wait. */
static int may_wait(const struct subject *s)
{
	struct stat st;

	return s->kind != SUBJECT_FD || fstat(s->fd, &st) < 0 || !S_ISREG(st.st_mode);
}

/* Is it possible for this call? A short read of one byte is none. */
static int may_be(uint32_t call, uint32_t variant, const struct subject *s)
{
	return (variants[call] >> variant & 1) && (variant != FAULT_SHORT || s->partly) &&
	       (variant != FAULT_EINTR || may_wait(s));
}

/* What is found for the key in this call, beside what was found for it before. */
static void look_up(struct slot *slot, uint32_t call, uint32_t v, const struct subject *s,
		    const uintptr_t *stack, uint32_t n)
{
	uint64_t key = key_with(slot->key, v);
	int asked = key == map->key && map->mode != FAULT_EXPLORE;

	if (!may_be(call, v, s))
		return;
	if (map->mode == FAULT_EXPLORE && !slot->trial[v])
		slot->trial[v] = trial_of(key);
	if ((map->mode == FAULT_RECORD || asked) && !slot->point[v])
		slot->point[v] = point_of(key, call, v, s, stack, n);
	slot->asked |= (uint32_t)asked << v;
}

static void walk(struct slot *slot, uint32_t call, const struct subject *s)
{
	uintptr_t stack[FAULT_FRAMES];
	uint32_t n = fault_unwind(stack, FAULT_FRAMES);
	uint64_t key;

	fault_list_objects();
	key = n ? key_of(call, stack, n) : 0;
	if (key != slot->key) {
		slot->key = key;
		slot->asked = 0;
		memset(slot->point, 0, sizeof(slot->point));
		memset(slot->trial, 0, sizeof(slot->trial));
	}
	for (uint32_t v = 0; v < FAULT_VARIANTS && key; v++)
		look_up(slot, call, v, s, stack, n);
}

/* ---- the decision ---- */

static int take_turn(uint32_t variant)
{
	uint32_t none = 0;

	if (__atomic_add_fetch(&reached, 1, __ATOMIC_RELAXED) != map->occurrence ||
	    !__atomic_compare_exchange_n(&map->fired, &none, 1, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return 0;
	map->fired_pid = (int32_t)syscall(SYS_getpid);
	failing = map->mode == FAULT_FOREVER && variant == FAULT_FAIL;
	return 1;
}

/* The first time that a key is reached decides about it, in whichever process. */
static int explore(struct fault_trial *t, uint32_t call, uint32_t variant)
{
	uint32_t none = TRIAL_NOT_REACHED, unsafe;

	if (t->state != TRIAL_NOT_REACHED || own || map->late >= FAULT_LATE_MAX ||
	    !__atomic_compare_exchange_n(&t->state, &none, TRIAL_BEGUN, 0,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return 0;
	t->reached = 1;
	unsafe = fault_unsafe(1);
	if (unsafe) {
		t->why = unsafe;
		t->state = TRIAL_UNSAFE;
		return 0;
	}
	if (!fault_fork(t))
		return 0;
	own = t;
	own_call = call;
	failing = map->forever && variant == FAULT_FAIL;
	return 1;
}

static void count_reached(const struct slot *slot, uint32_t v)
{
	if (slot->point[v])
		__atomic_fetch_add(&map->points[slot->point[v] - 1].count, 1,
				   __ATOMIC_RELAXED);
	if (own && slot->trial[v] && own == &map->trials[slot->trial[v] - 1])
		own->reached++;
}

static int is_turn(const struct slot *slot, uint32_t call, uint32_t v)
{
	if (slot->trial[v])
		return explore(&map->trials[slot->trial[v] - 1], call, v);
	return map->mode != FAULT_RECORD && (slot->asked >> v & 1) && take_turn(v);
}

/* A glance may take two stacks for one. For the first time of a point that does not
 * matter; to count the times each stack is walked. */
static int is_walked(uint32_t count)
{
	return map->occurrence > 1 || !(count & (count - 1));
}

/* enum fault_variant; -1: it does not fail. */
static int fails(uint32_t call, const struct subject *s, uint64_t glance)
{
	struct slot spare = {0}, *slot = slot_of(glance);
	uint32_t count;

	if (!slot)
		slot = &spare;
	count = __atomic_add_fetch(&slot->count, 1, __ATOMIC_RELAXED);
	if (is_walked(count))
		walk(slot, call, s);
	if (!slot->key)
		return -1;
	for (uint32_t v = 0; v < FAULT_VARIANTS; v++)
		count_reached(slot, v);
	if (failing) {
		__atomic_fetch_add(own ? &own->fired : &map->fired, 1, __ATOMIC_RELAXED);
		return FAULT_FAIL;
	}
	for (uint32_t v = 0; v < FAULT_VARIANTS; v++)
		if ((v != FAULT_SHORT || s->partly) && is_turn(slot, call, v))
			return (int)v;
	return -1;
}

static int error_of(uint32_t call, int variant)
{
	switch (variant) {
	case FAULT_FAIL:
		return map->errnum ? map->errnum : first_errno[call];
	case FAULT_EINTR:
		return EINTR;
	case FAULT_SHORT:
		return FAULT_PART;
	default:
		return 0;
	}
}

/* A forked child has failed. That the call is repeated matters where it must be reported:
 * all else is let through unseen. */
static int is_over(uint32_t call)
{
	return own && !failing && (call != own_call || !must_be_reported[call]);
}

static int wanted(uint32_t call)
{
	return !is_over(call) && !busy && !fault_within && map &&
	       (map->classes >> classes[call] & 1) &&
	       (map->call == UINT32_MAX || map->call == call);
}

int fault_decide(uint32_t call, const struct subject *s, const void *frame)
{
	int saved, error;

	if (!wanted(call))
		return 0;
	saved = errno;
	busy = 1;
	__atomic_fetch_add(&map->calls, 1, __ATOMIC_RELAXED);
	error = error_of(call, fails(call, s, mix(call + 1, fault_glance(frame)) | 1));
	/* As if the stream had failed: who looks at the end shall see it. */
	if (error > 0 && s->kind == SUBJECT_STREAM && s->stream)
		s->stream->_flags |= _IO_ERR_SEEN;
	busy = 0;
	errno = saved;
	return error;
}

__attribute__((constructor)) static void fault_init(void)
{
	const char *path = getenv(FAULT_ENV);
	int saved = errno;
	long fd = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
	void *at = MAP_FAILED;

	if (fd >= 0) {
		at = (void *)syscall(SYS_mmap, NULL, sizeof(*map), PROT_READ | PROT_WRITE,
				     MAP_SHARED, fd, 0L);
		syscall(SYS_close, fd);
	}
	if (at != MAP_FAILED && ((struct fault_map *)at)->magic == FAULT_MAGIC) {
		fault_list_objects();
		fault_fork_init(at, path);
		__atomic_fetch_add(&((struct fault_map *)at)->loaded, 1,
				   __ATOMIC_RELAXED);
		map = at;
	}
	errno = saved;
}
