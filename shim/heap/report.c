/*
 * The record of a process: at its start, when it forks or becomes another program, and
 * at its exit, when all handlers and destructors have run: a handler that a constructor
 * registers without an object comes after the loader's own (_dl_fini), which runs the
 * destructors of all libraries. Who leaves through _exit(), or is killed, leaves the
 * record of its start.
 *
 * Nothing here prints or changes errno, descriptors or signals; where the record cannot
 * be written there is none, and the host sees that.
 */
#include "heap.h"
#include "runtime.h"
#include "scrub.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPTIONAL __attribute__((weak, visibility("default")))
enum { CANARIES = 4, GAP = 1024, BUFFER = 1 << 15, PATH_ROOM = 32 };

/* NOLINTBEGIN(bugprone-reserved-identifier): the names of sanitizers and of libc. */
void __tsan_init(void) OPTIONAL;
void __msan_init(void) OPTIONAL;
void __hwasan_init(void) OPTIONAL;
int __cxa_atexit(void (*handler)(void *), void *arg, void *object);
/* NOLINTEND(bugprone-reserved-identifier) */

static char path[PATH_MAX + PATH_ROOM];
static size_t stem; /* of path: what comes before the pid */
static struct heap_header header;
static uintptr_t planted[CANARIES + 1]; /* the blocks' addresses, inverted: no pointers */
static void *held_canary;		/* points to it */
static int watched;			/* what is allocated is recorded */

/* ---- the file ---- */

static void name_file(char *name, int32_t number)
{
	char digits[12];
	size_t at = sizeof(digits) - 1, n;
	unsigned pid = (unsigned)number;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + pid % 10);
		pid /= 10;
	} while (pid);
	n = sizeof(digits) - at;
	memcpy(name + stem, digits + at, n);
}

/* Past RLIMIT_FSIZE a write would kill the process. */
static int may_write(uint64_t bytes)
{
	struct rlimit limit;

	return syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 &&
	       limit.rlim_cur >= bytes;
}

static int write_whole(long fd, const void *data, size_t n)
{
	const char *at = data;

	while (n) {
		long done = syscall(SYS_write, fd, at, n);

		if (done <= 0)
			return -1;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

static void write_start(uint32_t flags)
{
	long fd = -1, n;
	char exe[PATH_MAX];

	header.magic = HEAP_MAGIC;
	header.state = HEAP_RUNNING;
	header.pid = (int32_t)syscall(SYS_getpid);
	header.ppid = (int32_t)syscall(SYS_getppid);
	header.flags = flags;
	n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", exe, sizeof(exe) - 1);
	if (n > 0) {
		size_t len = (size_t)n, most = sizeof(header.exe) - 1;
		size_t cut = len > most ? len - most : 0;

		memcpy(header.exe, exe + cut, len - cut);
		header.exe[len - cut] = '\0';
	}
	name_file(path, header.pid);
	if (may_write(sizeof(header)))
		fd = syscall(SYS_openat, AT_FDCWD, path,
			     O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	write_whole(fd, &header, sizeof(header));
	syscall(SYS_close, fd);
}

static void write_state(uint32_t state)
{
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	syscall(SYS_pwrite64, fd, &state, sizeof(state),
		(long)offsetof(struct heap_header, state));
	syscall(SYS_close, fd);
}

static int is_own(void)
{
	return stem && header.pid == (int32_t)syscall(SYS_getpid);
}

void heap_stays(void)
{
	if (is_own())
		write_state(HEAP_RUNNING);
}

void heap_becomes(int32_t pid, const char *file, int keep)
{
	struct heap_header h = {.magic = HEAP_MAGIC, .state = HEAP_EXEC};
	char at[sizeof(path)];
	int flags =
		O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (keep ? O_EXCL : O_TRUNC);
	size_t n = strlen(file);
	long fd;

	if (!stem || !may_write(sizeof(h)))
		return;
	h.pid = pid ? pid : (int32_t)syscall(SYS_getpid);
	h.ppid = pid ? (int32_t)syscall(SYS_getpid) : (int32_t)syscall(SYS_getppid);
	memcpy(h.exe, file, n < sizeof(h.exe) ? n : sizeof(h.exe) - 1);
	/* A child of vfork() has its parent's memory: nothing of it is written to. */
	memcpy(at, path, stem);
	name_file(at, h.pid);
	fd = syscall(SYS_openat, AT_FDCWD, at, flags, 0600);
	if (fd < 0)
		return;
	write_whole(fd, &h, sizeof(h));
	syscall(SYS_close, fd);
}

/* ---- the end ---- */

struct out {
	long fd;
	int failed;
	size_t n;
	char data[BUFFER];
};

static void put(struct out *o, const void *data, size_t n)
{
	if (o->n + n > BUFFER) {
		o->failed |= write_whole(o->fd, o->data, o->n);
		o->n = 0;
	}
	memcpy(o->data + o->n, data, n);
	o->n += n;
}

static int is_canary(const struct scanned *b)
{
	for (size_t i = 0; b->size == HEAP_CANARY_SIZE && i <= CANARIES; i++)
		if (planted[i] == ~(uintptr_t)b->address)
			return 1;
	return 0;
}

/* Sums of the blocks by stack; 0: those whose stack found no room. */
static struct heap_stack *sum_up(const struct scan *s, uint32_t nstacks)
{
	struct heap_stack *sums = memory_take((nstacks + 1) * sizeof(*sums));

	for (size_t i = 0; sums && i < s->n; i++) {
		const struct scanned *b = &s->blocks[i];
		struct heap_stack *to = &sums[b->stack <= nstacks ? b->stack : 0];

		if (is_canary(b)) {
			header.canary_lost += b->reach != REACH_HELD;
			header.canary_held += b->reach == REACH_HELD;
			continue;
		}
		header.held_blocks++;
		header.held_bytes += b->size;
		to->lost_blocks += b->reach == REACH_LOST;
		to->lost_bytes += b->reach == REACH_LOST ? b->size : 0;
		to->indirect_blocks += b->reach == REACH_INDIRECT;
		to->indirect_bytes += b->reach == REACH_INDIRECT ? b->size : 0;
		to->reachable_blocks += b->reach == REACH_HELD;
		to->reachable_bytes += b->reach == REACH_HELD ? b->size : 0;
	}
	return sums;
}

/* Stacks that hold something, or gave something back. */
static int has_news(const struct heap_stack *s)
{
	return s->lost_blocks || s->indirect_blocks || s->reachable_blocks || s->freed;
}

static void fill_sums(struct heap_stack *sums, uint32_t nstacks)
{
	for (uint32_t i = 1; i <= nstacks; i++) {
		const struct stack *s = stack_at(i);

		sums[i].freed = s->freed;
		if (!has_news(&sums[i]))
			continue;
		sums[i].flags = s->flags;
		sums[i].first_frame = header.nframes;
		sums[i].nframes = s->nframes;
		header.nstacks++;
		header.nframes += s->nframes;
	}
}

static void put_body(struct out *o, const struct heap_stack *sums, uint32_t nstacks)
{
	const uint32_t end = HEAP_END;
	const struct heap_module *modules;
	uint32_t n;

	modules = stack_modules(&n);
	put(o, &header, sizeof(header));
	for (uint32_t i = 0; i < header.nmodules; i++)
		put(o, &modules[i], sizeof(modules[i]));
	for (uint32_t i = 1; i <= nstacks; i++)
		if (has_news(&sums[i]))
			put(o, &sums[i], sizeof(sums[i]));
	for (uint32_t i = 1; i <= nstacks; i++) {
		const struct stack *s = stack_at(i);

		for (uint32_t k = 0; has_news(&sums[i]) && k < s->nframes; k++) {
			struct heap_frame f = stack_frame(s, k);

			put(o, &f, sizeof(f));
		}
	}
	put(o, &end, sizeof(end));
	o->failed |= write_whole(o->fd, o->data, o->n);
}

/* shim/fault, if it is there. */
int HEAP_TELL(uint64_t lost, uint64_t held) OPTIONAL;

static int is_told(const struct scan *s)
{
	uint64_t lost = 0, held = 0;

	if (!HEAP_TELL || s->unscanned)
		return 0;
	for (size_t i = 0; i < s->n; i++) {
		if (is_canary(&s->blocks[i]))
			continue;
		lost += s->blocks[i].reach != REACH_HELD;
		held++;
	}
	return HEAP_TELL(lost, held);
}

static void write_end(const struct scan *scan)
{
	uint32_t nstacks = stacks_count();
	struct heap_stack *sums = sum_up(scan, nstacks);
	struct out *o = memory_take(sizeof(*o));

	if (!sums || !o)
		return;
	stack_modules(&header.nmodules);
	fill_sums(sums, nstacks);
	header.flags |= scan->unscanned ? HEAP_UNSCANNED : 0u;
	header.flags |= heap_is_glibc() ? 0u : HEAP_FOREIGN;
	header.scanned_bytes = scan->bytes;
	header.lost_blocks = heap_lost_blocks;
	header.lost_stacks = heap_lost_stacks;
	header.allocations = heap_allocations;
	if (!may_write(sizeof(header) + header.nmodules * sizeof(struct heap_module) +
		       header.nstacks * sizeof(struct heap_stack) +
		       header.nframes * sizeof(struct heap_frame)))
		return;
	o->fd = syscall(SYS_openat, AT_FDCWD, path,
			O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	if (o->fd < 0)
		return;
	put_body(o, sums, nstacks);
	syscall(SYS_close, o->fd);
	if (!o->failed)
		write_state(HEAP_ENDED);
}

__attribute__((noinline)) static void finish(void)
{
	struct scan scan;

	scan_all(&scan, (const char *)__builtin_frame_address(0) + 2 * sizeof(void *));
	if (is_told(&scan))
		return;
	/* A copy that no handler of fork() was told of. */
	if (header.pid != (int32_t)syscall(SYS_getpid))
		write_start(header.flags | HEAP_FORKED);
	write_end(&scan);
}

/* Of two threads that end the process one reports. */
__attribute__((noinline)) static void end(uint32_t flags)
{
	static int ended;
	int saved = errno;

	if (__atomic_exchange_n(&ended, 1, __ATOMIC_ACQ_REL))
		return;
	/* Registers that calls keep are put on the stack here, and so are looked at. */
	__builtin_unwind_init();
	heap_busy = 1;
	heap_off();
	header.flags |= flags;
	finish();
	errno = saved;
}

static void at_exit(void *unused)
{
	(void)unused;
	end(0);
}

#define SYMBOL(name) __asm__(#name) __attribute__((visibility("default")))

/* exit() itself does not come this way. A child of vfork() has no end of its own. */
#define LEAVE(name)                                          \
	_Noreturn void wrap_##name(int status) SYMBOL(name); \
	_Noreturn void wrap_##name(int status)               \
	{                                                    \
		if (is_own() && watched)                     \
			end(HEAP_FORCED);                    \
		for (;;)                                     \
			syscall(SYS_exit_group, status);     \
	}
LEAVE(_exit)
LEAVE(_Exit)

/* ---- fork ---- */

static void before_fork(void)
{
	heap_busy++;
	table_lock();
	stacks_lock();
}

static void after_fork(void)
{
	stacks_unlock();
	table_unlock();
	heap_busy--;
}

static void in_child(void)
{
	int saved = errno;

	after_fork();
	write_start(HEAP_FORKED);
	errno = saved;
}

/* ---- the beginning ---- */

/* The pointer is kept nowhere: see common/scrub.h. */
__attribute__((noinline)) static void lose_one(int i)
{
	/* exitpath: ignore[never-released] planted: a detector must report it */
	void *lost = malloc(HEAP_CANARY_SIZE);

	planted[i] = ~(uintptr_t)lost;
	__asm__ volatile("" : "+r"(lost) : : "memory");
}

/* Puts the frames of the allocation well below those of scrub(). */
__attribute__((noinline)) static void plant(void)
{
	volatile char gap[GAP];

	gap[0] = 0;
	for (int i = 0; i < CANARIES; i++)
		lose_one(i);
	gap[sizeof(gap) - 1] = 0;
}

static int is_sanitized(void)
{
	return __tsan_init || __msan_init || __hwasan_init ||
	       strcmp(instrumented(), "none") != 0;
}

static uint32_t look_around(void)
{
	uint64_t before = heap_allocations;

	if (is_sanitized())
		return HEAP_SANITIZED;
	held_canary = malloc(HEAP_CANARY_SIZE);
	planted[CANARIES] = ~(uintptr_t)held_canary;
	__asm__ volatile("" : : "r"(&held_canary) : "memory");
	plant();
	scrub();
	return heap_allocations == before ? HEAP_OWN_MALLOC : 0u;
}

__attribute__((constructor)) static void heap_init(void)
{
	const char *dir = getenv(HEAP_ENV);
	int saved = errno;
	uint32_t flags;
	size_t n = dir ? strlen(dir) : 0;

	if (!n || dir[0] != '/' || n > PATH_MAX) {
		heap_off();
		return;
	}
	memcpy(path, dir, n);
	memcpy(path + n, "/heap.", sizeof("/heap."));
	flags = look_around();
	heap_busy++;
	stem = n + strlen("/heap.");
	write_start(flags);
	if (flags) {
		heap_off();
	} else {
		watched = 1;
		pthread_atfork(before_fork, after_fork, in_child);
		__cxa_atexit(at_exit, NULL, NULL);
	}
	heap_busy--;
	errno = saved;
}
