/*
 * A leak that every working leak detector must report, and a record that it was due.
 *
 * Preloaded into each process of a lifecycle. The constructor leaks CANARY_SIZE bytes
 * from exitpath_canary() and appends a block to $EXITPATH_RUN_DIR/proc.PID:
 *
 *	exe /absolute/path
 *	ppid 123
 *	forked
 *	suppressions
 *	instrumented asan|lsan|none
 *	exit normal
 *
 * `suppressions` is there when the process has leak suppressions, compiled in or in the
 * options as it sees them: they match functions by name, so that its report needs names.
 * The last line comes from the destructor, so that it tells a process that ran its exit
 * handlers, and had its leak check turned off, from one that left through _exit().
 * The host expects a report with the canary from each pid whose last block says asan or
 * lsan and which left through exit(). An exec keeps the pid and appends another block. A
 * fork of an instrumented process runs no constructor; its block says `forked`, and it
 * reports the canary at its exit() once more.
 *
 * The record goes through syscall(), which neither a sanitizer nor a preloaded wrapper
 * intercepts. Nothing here prints, aborts, or changes errno, descriptors or signals:
 * where the record cannot be written there is none, and the host sees that.
 */
#include "runtime.h"
#include "scrub.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CANARY_SIZE 4242
#define GAP_BYTES 1024
#define RECORD_ROOM (64 * 1024)
#define OPTIONAL __attribute__((weak, visibility("default")))

/* NOLINTNEXTLINE(bugprone-reserved-identifier): the program's, not a default. */
const char *__lsan_default_suppressions(void) OPTIONAL;

__attribute__((visibility("default"), noinline)) void exitpath_canary(void);

/* Text that is cut rather than overrun. */
struct line {
	size_t len;
	char text[PATH_MAX + 128];
};

static void line_add(struct line *line, const char *text)
{
	while (*text && line->len < sizeof(line->text) - 1)
		line->text[line->len++] = *text++;
	line->text[line->len] = '\0';
}

static void line_add_number(struct line *line, long number)
{
	char digits[3 * sizeof(number) + 1];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	line_add(line, digits + at);
}

/* The name is one line of the record, whatever it holds. */
static void line_add_exe(struct line *line)
{
	char exe[PATH_MAX];
	long length = syscall(SYS_readlink, "/proc/self/exe", exe, sizeof(exe) - 1);

	exe[length > 0 ? length : 0] = '\0';
	for (char *c = exe; *c; c++)
		if (*c == '\n')
			*c = '?';
	line_add(line, exe);
}

/* "suppressions=…", but not "print_suppressions=1", which the host sets. */
static int names_suppressions(const char *variable)
{
	static const char name[] = "suppressions=";
	const char *value = getenv(variable), *at = value;

	while (at && (at = strstr(at, name)) && at > value && at[-1] == '_')
		at += sizeof(name) - 1;
	return at != NULL;
}

static int suppresses(void)
{
	return __lsan_default_suppressions || names_suppressions("LSAN_OPTIONS") ||
	       names_suppressions("ASAN_OPTIONS") || names_suppressions("UBSAN_OPTIONS");
}

/* Past RLIMIT_FSIZE a write would kill the process. */
static int may_write(void)
{
	struct rlimit limit;

	return syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 &&
	       limit.rlim_cur >= RECORD_ROOM;
}

/* What this process wrote its record to: the environment may change until its end. A
 * child of vfork() or clone() inherits it and is told by its pid. */
static struct line record_path;
static size_t record_stem; /* of record_path, what comes before the pid */
static long record_pid;
static const char *record_kind; /* asan, lsan, none */

static int record_open(int create)
{
	const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
	long fd = -1;

	if (create)
		fd = syscall(SYS_openat, AT_FDCWD, record_path.text,
			     flags | O_CREAT | O_EXCL, 0600);
	if (fd < 0 && (!create || errno == EEXIST))
		fd = syscall(SYS_openat, AT_FDCWD, record_path.text, flags);
	return (int)fd;
}

/* One write() per block, so that blocks never mix. more: lines, each after its newline */
static void record_write(const char *more)
{
	struct line block = {0};
	int fd;

	record_pid = syscall(SYS_getpid);
	record_path.len = record_stem;
	line_add_number(&record_path, record_pid);

	line_add(&block, "exe ");
	line_add_exe(&block);
	line_add(&block, "\nppid ");
	line_add_number(&block, syscall(SYS_getppid));
	line_add(&block, more);
	line_add(&block, "\ninstrumented ");
	line_add(&block, record_kind);
	line_add(&block, "\n");

	fd = record_open(1);
	if (fd < 0)
		return;
	(void)!syscall(SYS_write, fd, block.text, block.len);
	syscall(SYS_close, fd);
}

/* In the child of fork(), where other threads' locks may be held: no malloc, no getenv.
 */
static void record_fork(void)
{
	int saved_errno = errno;

	if (may_write())
		record_write("\nforked");
	errno = saved_errno;
}

static void record_start(const char *dir)
{
	record_kind = instrumented();
	line_add(&record_path, dir);
	line_add(&record_path, "/proc.");
	record_stem = record_path.len;
	if (may_write())
		record_write(suppresses() ? "\nsuppressions" : "");
	if (strcmp(record_kind, "none") != 0)
		pthread_atfork(NULL, NULL, record_fork);
}

/*
 * The pointer must survive nowhere: one stale copy in a register or in a dead stack slot
 * that a later frame covers without writing to it makes the canary reachable. So it is
 * never returned or stored, and everything that the allocation touched is overwritten.
 */
void exitpath_canary(void)
{
	/* exitpath: ignore[never-released] planted: a detector must report it */
	void *leaked = malloc(CANARY_SIZE);

	/* Keeps the call, which may be removed as unused, and the frame: no tail call. */
	__asm__ volatile("" : "+r"(leaked) : : "memory");
}

/*
 * Puts the frames of the allocation well below scrub_stack()'s own slots and padding,
 * which it does not overwrite.
 */
__attribute__((noinline)) static void canary_frame(void)
{
	volatile char gap[GAP_BYTES];

	gap[0] = 0;
	exitpath_canary();
	gap[sizeof(gap) - 1] = 0;
}

__attribute__((constructor)) static void canary_init(void)
{
	int saved_errno = errno;
	const char *dir = getenv("EXITPATH_RUN_DIR");

	if (dir && dir[0] == '/')
		record_start(dir);
	canary_frame();
	scrub();
	errno = saved_errno;
}

__attribute__((destructor)) static void canary_fini(void)
{
	static const char text[] = "exit normal\n";
	int saved_errno = errno;
	int fd = -1;

	if (record_pid && record_pid == syscall(SYS_getpid) && may_write())
		fd = record_open(0);
	if (fd >= 0) {
		(void)!syscall(SYS_write, fd, text, sizeof(text) - 1);
		syscall(SYS_close, fd);
	}
	errno = saved_errno;
}
