/* The watch of names: each call that makes one in the file system stops, others do not.
 */
#include "harness.h"
#include "hostile.h"

#include "base/fs.h"
#include "base/mem.h"
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define CREATE (O_CREAT | O_WRONLY | O_CLOEXEC)

/* ---- the programs ---- */

static void bind_to(const char *path, socklen_t extra)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(a.sun_path, path, strlen(path));
	bind(fd, (struct sockaddr *)&a,
	     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)) + extra);
}

static int makes_names(void)
{
	struct open_how how = {.flags = CREATE, .mode = 0600};
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	dup2(dir, 100);
	open("open", CREATE, 0600);
	openat(100, "openat", CREATE, 0600);
	syscall(SYS_openat2, 100, "openat2", &how, sizeof(how));
	mkdir("mkdir/", 0700);
	mkdirat(100, "mkdirat", 0700);
	mkfifo("fifo", 0600);
	mknodat(100, "mknodat", S_IFREG | 0600, 0);
	rename("open", "rename");
	renameat(AT_FDCWD, "rename", 100, "renameat");
	renameat2(100, "renameat", 100, "renameat2", 1);
	link("renameat2", "link");
	linkat(AT_FDCWD, "link", 100, "linkat", 0);
	symlink("x", "symlink");
	symlinkat("x", 100, "symlinkat");
	bind_to("socket", 0);
	bind_to("socket1", 1);
#ifdef __x86_64__
	syscall(SYS_open, "old-open", CREATE, 0600);
	syscall(SYS_creat, "old-creat", 0600);
	syscall(SYS_mkdir, "old-mkdir", 0700);
	syscall(SYS_mknod, "old-mknod", S_IFREG | 0600, 0);
	syscall(SYS_rename, "old-open", "old-rename");
	syscall(SYS_link, "old-rename", "old-link");
	syscall(SYS_symlink, "x", "old-symlink");
	syscall(SYS_renameat, 100, "old-link", 100, "old-renameat");
#endif
	return 0;
}

static const char made[] =
	"-100 open\n100 openat\n100 openat2\n-100 mkdir/\n100 mkdirat\n-100 fifo\n"
	"100 mknodat\n-100 rename\n100 renameat\n100 renameat2\n-100 link\n100 linkat\n"
	"-100 symlink\n100 symlinkat\n-100 socket\n-100 socket1\n"
#ifdef __x86_64__
	"-100 old-open\n-100 old-creat\n-100 old-mkdir\n-100 old-mknod\n-100 old-rename\n"
	"-100 old-link\n-100 old-symlink\n100 old-renameat\n"
#endif
	;

static int makes_none(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "\0abstract"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	bind(fd, (struct sockaddr *)&a, sizeof(a));
	open("/dev/null", O_RDWR | O_CLOEXEC);
	open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	memfd_create("x", MFD_CLOEXEC);
	unlink("x");
	return 0;
}

/* A path up to the last byte before memory that is not there, and one that goes on. */
static int at_the_edge(void)
{
	char *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p + 2 * 4096, 4096);
	memcpy(p + 2 * 4096 - 5, "edge", 5);
	open(p + 2 * 4096 - 5, CREATE, 0600);
	memcpy(p + 4096 - 3, "middle", 7);
	open(p + 4096 - 3, CREATE, 0600);
	memset(p, 'x', 2 * 4096);
	return open(p, CREATE, 0600) >= 0 || open((char *)8, CREATE, 0600) >= 0;
}

static void *make_one(void *arg)
{
	close(open(arg, CREATE, 0600));
	return NULL;
}

static int makes_in_a_thread(void)
{
	char name[] = "thread";
	pthread_t t;

	pthread_create(&t, NULL, make_one, name);
	pthread_join(t, NULL);
	return 0;
}

/* As a 32-bit program does. */
static int makes_by_int80(void)
{
#ifdef __x86_64__
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long rc = -1;

	memcpy(p, "int80", 6);
	__asm__ volatile("int $0x80"
			 : "=a"(rc)
			 : "a"(5), "b"(p), "c"(CREATE), "d"(0600)
			 : "memory");
	return rc < 0;
#endif
	return 0;
}

static int makes_many(void)
{
	char name[32];

	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "many-%d", i);
		close(open(name, CREATE, 0600));
	}
	return 0;
}

static const struct hostile programs[] = {
	{"makes_names", makes_names},
	{"makes_none", makes_none},
	{"at_the_edge", at_the_edge},
	{"makes_in_a_thread", makes_in_a_thread},
	{"makes_by_int80", makes_by_int80},
	{"makes_many", makes_many},
	{NULL, NULL},
};

/* ---- the watch; it lives in the supervisor, so it tells through a file ---- */

static void at_exit(void *ctx, pid_t pid, int code, bool root)
{
	(void)ctx, (void)pid, (void)code, (void)root;
}

static void at_name(void *ctx, pid_t tid, int dirfd, const char *path)
{
	CLEANUP_FREE char *text = xasprintf("%d %s\n", dirfd, path ? path : "(hidden)");
	CLEANUP_FD int fd = open(ctx, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (tid <= 0 || write(fd, text, strlen(text)) < 0)
		abort();
}

static char *run(const char *name, bool names)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	CLEANUP_FREE char *path = path_join(harness_tmpdir(), "names.log");
	struct run_watch watch = {
		.at_exit = at_exit, .ctx = path, .at_name = names ? at_name : NULL};
	struct buf text = {0};
	struct run_result r;
	struct err err = {0};

	hostile_spec(&spec, harness_tmpdir(), name);
	spec.watch = &watch;
	if (proc_run(&spec, &r, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(r.end, RUN_EXITED);
	assert_int_equal(r.status, 0);
	assert_false(r.watch_failed);
	if (path_exists(path))
		assert_int_equal(read_file(path, 0, &text, NULL), 0);
	unlink(path);
	return buf_detach(&text);
}

/* ---- the tests ---- */

static void sees_names(void **state)
{
	static const struct {
		const char *program, *names;
	} cases[] = {
		{"makes_names", made},
		{"makes_none", ""},
		{"at_the_edge", "-100 edge\n-100 middle\n"},
		{"makes_in_a_thread", "-100 thread\n"},
#ifdef __x86_64__
		{"makes_by_int80", "-100 int80\n"},
#endif
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *seen = run(cases[i].program, true);

		assert_string_equal(seen, cases[i].names);
	}
}

static void sees_each_of_many(void **state)
{
	CLEANUP_FREE char *seen = run("makes_many", true);
	size_t n = 0;

	(void)state;
	for (const char *p = seen; *p; p++)
		n += *p == '\n';
	assert_int_equal(n, 5000);
}

static void needs_not_be_asked_for(void **state)
{
	CLEANUP_FREE char *seen = run("makes_names", false);

	(void)state;
	assert_string_equal(seen, "");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(sees_names),
		HARNESS_TEST(sees_each_of_many),
		HARNESS_TEST(needs_not_be_asked_for),
	};
	int rc = hostile_main(programs, argc, argv);

	return rc >= 0 ? rc : HARNESS_RUN(tests);
}
