#include "detect/preload.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int write_library(const char *path, const unsigned char *start,
			 const unsigned char *end, struct err *err)
{
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0 || write_all(fd, start, (size_t)(end - start)) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot write %s", path);
	return 0;
}

int preload_add(const char *dir, const char *name, const unsigned char *start,
		const unsigned char *end, struct strv *env, struct err *err)
{
	CLEANUP_FREE char *path = path_join(dir, name), *all = NULL;
	const char *old = env_get(env, "LD_PRELOAD");

	/* ld.so(8): separators, and the start of a token that it expands. */
	if (strpbrk(path, " :$\t\n")) {
		err_set(err, ERR_ENVIRONMENT, "%s cannot be preloaded under that name",
			path);
		err_hint(err, "set TMPDIR to a path without spaces, `:` and `$`");
		return -1;
	}
	if (write_library(path, start, end, err) < 0)
		return -1;
	all = old && *old ? xasprintf("%s:%s", path, old) : xstrdup(path);
	env_set(env, "LD_PRELOAD", all);
	return 0;
}
