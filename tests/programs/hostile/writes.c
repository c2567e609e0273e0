/*
 * writes PATH…: changes what it can. In a directory it makes a file, a directory and a
 * link, all named hostile-*; a file it writes, truncates, chmods, renames, links and
 * unlinks. "wrote" says only that the call succeeded: whether the machine's files were
 * meant, the driver sees.
 */
#include "hostile.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static void attempt(const char *how, const char *path, int failed)
{
	if (failed)
		printf("contained: %s %s: %s\n", how, path, strerrorname_np(errno));
	else
		printf("wrote: %s %s\n", how, path);
}

static int make_file(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int write_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, "hostile\n", 8);
	close(fd);
	return n == 8 ? 0 : -1;
}

static void spoil_directory(const char *path)
{
	char name[4200];

	snprintf(name, sizeof(name), "%s/hostile-file", path);
	attempt("create", name, make_file(name));
	snprintf(name, sizeof(name), "%s/hostile-directory", path);
	attempt("mkdir", name, mkdir(name, 0777));
	snprintf(name, sizeof(name), "%s/hostile-link", path);
	attempt("symlink", name, symlink("/etc/passwd", name));
}

static void spoil_file(const char *path)
{
	char other[4200];

	snprintf(other, sizeof(other), "%s-hostile", path);
	attempt("write", path, write_file(path));
	attempt("chmod", path, chmod(path, 0777));
	attempt("setxattr", path, setxattr(path, "user.hostile", "1", 1, 0));
	attempt("truncate", path, truncate(path, 0));
	attempt("link", path, link(path, "hostile-hard-link"));
	attempt("rename", path, rename(path, other));
	attempt("unlink", path, unlink(path));
}

int main(int argc, char **argv)
{
	struct stat st;

	for (int i = 1; i < argc; i++)
		if (stat(argv[i], &st))
			attempt("find", argv[i], 1);
		else if (S_ISDIR(st.st_mode))
			spoil_directory(argv[i]);
		else
			spoil_file(argv[i]);
	return 0;
}
