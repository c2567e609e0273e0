#include "contract/toolchain.h"

#include "base/fs.h"
#include "base/mem.h"
#include "model/sandbox.h"

#include <stdlib.h>
#include <string.h>

/* How many components below the home directory belong to one toolchain. What is not
 * listed is its first: ~/.pyenv, ~/.nvm, ~/miniconda3. */
static const struct {
	const char *start;
	size_t components;
	const char *also; /* what comes with it */
} places[] = {
	/* ~/.cargo itself holds the tokens of the registry. */
	{".cargo/", 2, ".rustup"}, {".local/share/", 3, NULL}, {".local/", 2, NULL},
	{".cache/", 2, NULL},	   {".config/", 2, NULL},      {"go/", 2, NULL},
};

static char *components(const char *path, size_t n)
{
	const char *end = path;

	while (n--) {
		end += strcspn(end, "/");
		if (n && *end)
			end++;
	}
	return xstrndup(path, (size_t)(end - path));
}

static void add(const char *home, const char *project, const char *part, struct strv *ret)
{
	CLEANUP_FREE char *full = path_join(home, part);
	CLEANUP_FREE char *entry = xasprintf("~/%s", part);

	if (path_exists(full) && !path_is_below(project, full) &&
	    !strv_contains(ret, entry))
		strv_add(ret, entry);
}

static void expose(const char *path, const char *home, const char *project,
		   struct strv *ret)
{
	const char *rest;
	size_t n = 1;

	if (!path_is_below(path, home) || !strcmp(path, home))
		return;
	rest = path + strlen(home) + 1;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (strncmp(rest, places[i].start, strlen(places[i].start)) != 0)
			continue;
		n = places[i].components;
		if (places[i].also)
			add(home, project, places[i].also, ret);
		break;
	}
	if (strchr(rest, '/')) {
		CLEANUP_FREE char *part = components(rest, n);

		add(home, project, part, ret);
	}
}

void toolchain_expose(const char *program, const char *dir, struct strv *ret)
{
	const char *home = home_dir();
	CLEANUP_FREE char *found =
		strchr(program, '/') ? xstrdup(program) : find_program(program);
	CLEANUP_FREE char *real = found ? realpath(found, NULL) : NULL;
	CLEANUP_FREE char *project = realpath(dir, NULL);

	if (!real || !project || !home)
		return;
	if (found[0] == '/')
		expose(found, home, project, ret);
	expose(real, home, project, ret);
}
