#include "harness.h"

#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FD 1024
#define MAX_FILES 64

static char fds_before[MAX_FD];
static char tmpdir[PATH_MAX];
static char *files[MAX_FILES];
static size_t n_files;
static int has_failed;

/* Marks open descriptors in open_fds[]; the one that reads the directory does not count.
 */
static void list_fds(char open_fds[MAX_FD])
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	memset(open_fds, 0, MAX_FD);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		char *end;
		long fd = strtol(entry->d_name, &end, 10);

		if (end != entry->d_name && *end == '\0' && fd < MAX_FD &&
		    fd != dirfd(dir))
			open_fds[fd] = 1;
	}
	closedir(dir);
}

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* An assertion that fails leaves its test by longjmp(), and what that held with it: only
 * where all passed is memory that is lost somebody's mistake. LeakSanitizer asks. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return has_failed;
}

int harness_run_ended(int failures)
{
	has_failed = failures != 0;
	return failures;
}

int harness_setup(void **state)
{
	(void)state;
	list_fds(fds_before);
	return 0;
}

int harness_teardown(void **state)
{
	char fds_after[MAX_FD];
	int failed = 0;

	(void)state;
	list_fds(fds_after);
	for (int fd = 0; fd < MAX_FD; fd++) {
		char link[64], target[PATH_MAX];
		ssize_t len;

		if (fds_before[fd] || !fds_after[fd])
			continue;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = readlink(link, target, sizeof(target) - 1);
		target[len < 0 ? 0 : len] = '\0';
		fprintf(stderr, "leaked fd %d: %s\n", fd, target);
		close(fd);
		failed = -1;
	}

	while (n_files > 0)
		free(files[--n_files]);
	if (tmpdir[0]) {
		if (nftw(tmpdir, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0) {
			fprintf(stderr, "cannot remove %s\n", tmpdir);
			failed = -1;
		}
		tmpdir[0] = '\0';
	}
	return failed;
}

const char *harness_tmpdir(void)
{
	if (!tmpdir[0]) {
		const char *parent = getenv("TMPDIR");

		snprintf(tmpdir, sizeof(tmpdir), "%s/exitpath-unit-XXXXXX",
			 parent ? parent : "/tmp");
		if (!mkdtemp(tmpdir)) {
			tmpdir[0] = '\0';
			fail_msg("cannot create a temporary directory");
		}
	}
	return tmpdir;
}

const char *harness_file(const char *name, const char *content)
{
	char *path = NULL;
	FILE *file;

	if (n_files == MAX_FILES || asprintf(&path, "%s/%s", harness_tmpdir(), name) < 0)
		fail_msg("cannot name %s", name);
	files[n_files++] = path;
	file = fopen(path, "we");
	if (!file)
		fail_msg("cannot create %s", path);
	if (fputs(content, file) < 0 || fclose(file) != 0)
		fail_msg("cannot write %s", path);
	return path;
}
