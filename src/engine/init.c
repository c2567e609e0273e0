#include "engine/init.h"

#include "base/fs.h"
#include "base/mem.h"
#include "contract/detect_project.h"
#include "contract/load.h"

#include <errno.h>
#include <fcntl.h>

int engine_init(const char *dir, char **ret_path, const char **ret_kind, struct err *err)
{
	CLEANUP(buf) struct buf yaml = {0};
	CLEANUP_FREE char *path = path_join(dir, CONTRACT_FILE);
	CLEANUP_FD int fd = -1;

	if (project_contract(dir, &yaml, ret_kind, err) < 0)
		return -1;
	/* O_EXCL: an existing contract, or one that appears just now, is never touched.
	 */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 && errno == EEXIST) {
		err_set(err, ERR_USAGE, "%s exists already: it is left as it is", path);
		err_hint(err, "remove it first, or run `exitpath gate`");
		return -1;
	}
	if (fd < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot write %s", path);
	if (write_all(fd, yaml.data, yaml.len) < 0) {
		err_errno(err, ERR_ENVIRONMENT, errno, "cannot write %s", path);
		unlink(path);
		return -1;
	}
	*ret_path = TAKE_PTR(path);
	return 0;
}
