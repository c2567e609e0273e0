#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { CHILD_SKIPS = 77 };

/* Runs check(dir) in a child, which may change its user and its mounts. */
static void in_child(int (*check)(const char *dir), const char *dir)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(check(dir));
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CHILD_SKIPS)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static size_t entries(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n > 2 ? n - 2 : 0; /* "." and ".." */
}

static void test_make_dirs_over_a_file(void **state)
{
	const char *path = harness_file("f", "");
	char *below = path_join(path, "d");
	struct err err = {0};

	(void)state;
	assert_int_equal(make_dirs(path, 0700, &err), -1);
	assert_non_null(strstr(err.message, "Not a directory"));
	assert_int_equal(make_dirs(below, 0700, &err), -1);
	assert_int_equal(make_dirs(harness_tmpdir(), 0700, &err), 0);
	free(below);
}

/* A FIFO that nobody writes to, a device without an end, a directory. */
static void test_read_file_reads_files_only(void **state)
{
	char *fifo = path_join(harness_tmpdir(), "fifo");
	const char *paths[] = {fifo, "/dev/zero", harness_tmpdir()};
	struct buf b = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(mkfifo(fifo, 0600), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		assert_int_equal(read_file(paths[i], 0, &b, &err), -1);
		assert_non_null(strstr(err.message, "not a file"));
	}
	assert_int_equal(b.len, 0);
	free(fifo);
}

static void test_read_file(void **state)
{
	const char *path = harness_file("f", "0123456789");
	CLEANUP(buf) struct buf b = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(read_file(path, 0, &b, &err), 0);
	assert_string_equal(buf_str(&b), "0123456789");
	assert_int_equal(read_file(path, 4, &b, &err), 0);
	assert_string_equal(buf_str(&b), "01234567890123");
	assert_int_equal(read_file(harness_tmpdir(), 0, &b, &err), -1);
	assert_non_null(strstr(err.message, "cannot read"));
	assert_int_equal(read_file("/proc/nonexistent/f", 0, &b, &err), -1);
	assert_string_equal(err.message,
			    "cannot open /proc/nonexistent/f: No such file or directory");
}

static void test_whole_reads_and_writes(void **state)
{
	CLEANUP(buf) struct buf b = {0};
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(write_all(fds[1], "abc", 3), 0);
	close(fds[1]);
	assert_int_equal(read_fd(fds[0], 0, &b), 0);
	assert_string_equal(buf_str(&b), "abc");
	close(fds[0]);
	assert_int_equal(write_all(-1, "x", 1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(read_fd(-1, 0, &b), -1);
}

static void test_write_file_replaces(void **state)
{
	const char *path = harness_file("f", "old");
	CLEANUP(buf) struct buf b = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(write_file(path, "new\0text", 8, &err), 0);
	assert_int_equal(read_file(path, 0, &b, &err), 0);
	assert_int_equal(b.len, 8);
	assert_memory_equal(b.data, "new\0text", 8);
	assert_int_equal(entries(harness_tmpdir()), 1);
}

static void test_write_file_fails(void **state)
{
	CLEANUP_FREE char *dir = path_join(harness_tmpdir(), "d");
	struct err err = {0};

	(void)state;
	assert_int_equal(write_file("/proc/nonexistent/f", "x", 1, &err), -1);
	assert_int_equal(err.kind, ERR_ENVIRONMENT);
	/* A directory cannot be replaced by a file. */
	assert_int_equal(make_dirs(dir, 0700, &err), 0);
	assert_int_equal(write_file(dir, "x", 1, &err), -1);
	assert_non_null(strstr(err.message, "cannot rename"));
	assert_int_equal(entries(harness_tmpdir()), 1);
}

static int full_disk(const char *dir)
{
	CLEANUP_FREE char *path = path_join(dir, "f"), *big = xcalloc(1 << 20, 1);
	CLEANUP(buf) struct buf b = {0};
	struct err err = {0};

	if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return CHILD_SKIPS;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", dir, "tmpfs", 0, "size=64k") < 0)
		return CHILD_SKIPS;
	if (write_file(path, "old", 3, &err) < 0)
		return 1;
	if (write_file(path, big, 1 << 20, &err) == 0)
		return 2;
	if (!strstr(err.message, "No space left on device") ||
	    err.kind != ERR_ENVIRONMENT)
		return 3;
	if (read_file(path, 0, &b, &err) < 0 || strcmp(buf_str(&b), "old") != 0)
		return 4;
	return entries(dir) == 1 ? 0 : 5;
}

static void test_write_file_on_a_full_disk(void **state)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_true(full >= 0);
	assert_int_equal(write_all(full, "x", 1), -1);
	assert_int_equal(errno, ENOSPC);
	close(full);
	in_child(full_disk, harness_tmpdir());
}

static void test_make_dirs(void **state)
{
	CLEANUP_FREE char *deep = path_join(harness_tmpdir(), "a/b//c/");
	CLEANUP_FREE char *below = path_join(harness_file("f", ""), "x");
	struct err err = {0};
	struct stat st;

	(void)state;
	assert_int_equal(make_dirs(deep, 0700, &err), 0);
	assert_int_equal(make_dirs(deep, 0700, &err), 0);
	assert_int_equal(stat(deep, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(make_dirs(below, 0700, &err), -1);
	assert_non_null(strstr(err.message, "Not a directory"));
}

static void test_remove_tree_stays_inside(void **state)
{
	CLEANUP_FREE char *keep = path_join(harness_tmpdir(), "keep");
	CLEANUP_FREE char *tree = path_join(harness_tmpdir(), "tree");
	CLEANUP_FREE char *deep = path_join(tree, "a/b");
	CLEANUP_FREE char *link = path_join(tree, "a/link");
	CLEANUP_FREE char *dangling = path_join(tree, "dangling");
	CLEANUP_FREE char *fifo = path_join(tree, "fifo");
	CLEANUP_FREE char *itself = path_join(harness_tmpdir(), "to-keep");
	struct err err = {0};

	(void)state;
	assert_int_equal(make_dirs(keep, 0700, &err), 0);
	harness_file("keep/file", "precious");
	assert_int_equal(make_dirs(deep, 0700, &err), 0);
	harness_file("tree/a/b/file", "");
	assert_int_equal(symlink(keep, link), 0);
	assert_int_equal(symlink("nowhere", dangling), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink(keep, itself), 0);

	assert_int_equal(remove_tree(tree, &err), 0);
	assert_false(path_exists(tree));
	assert_int_equal(remove_tree(itself, &err), 0);
	assert_int_equal(entries(keep), 1);
	assert_int_equal(remove_tree(tree, &err), 0); /* missing is fine */
}

static int remove_read_only(const char *dir)
{
	CLEANUP_FREE char *tree = path_join(dir, "tree"), *sub = path_join(tree, "sub");
	CLEANUP_FREE char *file = path_join(sub, "file");
	struct err err = {0};
	int fd;

	/* root may write anywhere, so the test would prove nothing. */
	if (geteuid() == 0 &&
	    (chmod(dir, 0777) < 0 || setgid(65534) < 0 || setuid(65534) < 0))
		return CHILD_SKIPS;
	if (make_dirs(sub, 0700, &err) < 0)
		return 1;
	fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0400);
	if (fd < 0)
		return 2;
	close(fd);
	if (chmod(sub, 0) < 0 || chmod(tree, 0500) < 0)
		return 3;
	if (remove_tree(tree, &err) < 0)
		return 4;
	return path_exists(tree) ? 5 : 0;
}

static void test_remove_tree_with_read_only_directories(void **state)
{
	(void)state;
	in_child(remove_read_only, harness_tmpdir());
}

static int remove_mounted(const char *dir)
{
	CLEANUP_FREE char *tree = path_join(dir, "tree"), *other = path_join(tree, "m");
	CLEANUP_FREE char *file = path_join(other, "file");
	struct err err = {0};

	if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return CHILD_SKIPS;
	if (make_dirs(other, 0700, &err) < 0)
		return 1;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", other, "tmpfs", 0, NULL) < 0)
		return CHILD_SKIPS;
	if (write_file(file, "precious", 8, &err) < 0)
		return 2;
	if (remove_tree(tree, &err) == 0)
		return 3;
	return path_exists(file) ? 0 : 4;
}

static void test_remove_tree_stays_in_its_file_system(void **state)
{
	(void)state;
	in_child(remove_mounted, harness_tmpdir());
}

static void test_paths(void **state)
{
	CLEANUP_FREE char *a = path_join("/", "x"), *b = path_join("d", "x");
	CLEANUP_FREE char *c = path_join("", "x");

	(void)state;
	assert_string_equal(a, "/x");
	assert_string_equal(b, "d/x");
	assert_string_equal(c, "/x");
	assert_string_equal(path_base("/usr/lib/x.so"), "x.so");
	assert_string_equal(path_base("x"), "x");
	assert_string_equal(path_base("x/"), "");
}

static void test_make_temp_dir(void **state)
{
	struct err err = {0};
	CLEANUP_FREE char *a = make_temp_dir(harness_tmpdir(), "run", &err);
	CLEANUP_FREE char *b = make_temp_dir(harness_tmpdir(), "run", &err);
	struct stat st;

	(void)state;
	assert_string_not_equal(a, b);
	assert_int_equal(stat(a, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_null(make_temp_dir("/proc/nonexistent", "run", &err));
	assert_non_null(
		strstr(err.message, "cannot make a directory in /proc/nonexistent"));
}

static void test_find_program(void **state)
{
	CLEANUP_FREE char *sh = find_program("sh"), *direct = find_program("/bin/sh");
	CLEANUP_FREE char *plain = xstrdup(harness_file("plain", ""));

	(void)state;
	assert_non_null(sh);
	assert_int_equal(sh[0], '/');
	assert_string_equal(direct, "/bin/sh");
	assert_null(find_program("no-such-program-anywhere"));
	assert_null(find_program(plain));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_read_file),
		HARNESS_TEST(test_make_dirs_over_a_file),
		HARNESS_TEST(test_read_file_reads_files_only),
		HARNESS_TEST(test_whole_reads_and_writes),
		HARNESS_TEST(test_write_file_replaces),
		HARNESS_TEST(test_write_file_fails),
		HARNESS_TEST(test_write_file_on_a_full_disk),
		HARNESS_TEST(test_make_dirs),
		HARNESS_TEST(test_remove_tree_stays_inside),
		HARNESS_TEST(test_remove_tree_with_read_only_directories),
		HARNESS_TEST(test_remove_tree_stays_in_its_file_system),
		HARNESS_TEST(test_paths),
		HARNESS_TEST(test_make_temp_dir),
		HARNESS_TEST(test_find_program),
	};

	return HARNESS_RUN(tests);
}
