#include "engine/sources.h"

#include "rev/changes.h"

#include <sys/stat.h>

static int add_path(struct source_files *files, const char *path, struct err *err)
{
	struct buf list CLEANUP(buf) = {0};
	struct stat st;
	bool found = false;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (rev_list_files(path, &list, &found, err) < 0)
			return -1;
		if (found) {
			source_files_add_git(files, path, buf_str(&list), list.len);
			return 0;
		}
	}
	return source_files_walk(files, path, err);
}

int engine_sources(const struct strv *paths, struct source_files *ret, struct err *err)
{
	struct source_files files CLEANUP(source_files) = {0};

	if (paths->n == 0 && add_path(&files, ".", err) < 0)
		return -1;
	for (size_t i = 0; i < paths->n; i++)
		if (add_path(&files, paths->v[i], err) < 0)
			return -1;
	source_files_sort(&files);
	*ret = files;
	files = (struct source_files){0};
	return 0;
}
