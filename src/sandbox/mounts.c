/* Mount points, for the root of a zygote and for each run. */
#include "sandbox/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int inner_make_point(const char *path, bool is_dir)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (i == len && !is_dir)
			break;
		if (mkdir(part, 0755) < 0 && errno != EEXIST &&
		    !(errno == EROFS && access(part, F_OK) == 0))
			return -1;
	}
	if (is_dir)
		return 0;
	/* Not by open(): it would wait for the reader of a FIFO. */
	return mknod(path, S_IFREG | 0644, 0) < 0 ? access(path, F_OK) : 0;
}
