/* .gitignore files where git is not asked: gitignore(5) without $GIT_DIR/info/exclude. */
#include "source/internal.h"

#include "base/fs.h"
#include "base/mem.h"

#include <fnmatch.h>

struct pattern {
	char *glob;
	bool negated, dirs_only, anchored;
};

struct ignore {
	struct ignore *parent;
	size_t skip; /* of rel: bytes before the part below this directory */
	struct pattern *v;
	size_t n, cap;
};

/* As git's wildmatch: "**" stands for any number of directories. */
static bool match_parts(const char *glob, const char *path)
{
	for (;;) {
		size_t n = strcspn(glob, "/"), m = strcspn(path, "/");
		char part[256], name[256];

		if (n == 2 && strncmp(glob, "**", 2) == 0) {
			if (!glob[n])
				return true;
			for (const char *p = path;; p = strchr(p, '/') + 1) {
				if (match_parts(glob + n + 1, p))
					return true;
				if (!strchr(p, '/'))
					return false;
			}
		}
		if (n >= sizeof(part) || m >= sizeof(name))
			return false;
		memcpy(part, glob, n);
		memcpy(name, path, m);
		part[n] = name[m] = '\0';
		if (fnmatch(part, name, 0) != 0)
			return false;
		if (!glob[n] || !path[m])
			return !glob[n] && !path[m];
		glob += n + 1;
		path += m + 1;
	}
}

static void add_line(struct ignore *i, const char *line, size_t len)
{
	struct pattern p = {0};

	while (len > 0 &&
	       (line[len - 1] == '\r' || line[len - 1] == ' ' || line[len - 1] == '\t'))
		len--;
	if (len > 0 && line[0] == '!') {
		p.negated = true;
		line++;
		len--;
	}
	if (len > 0 && line[len - 1] == '/') {
		p.dirs_only = true;
		len--;
	}
	if (len == 0 || line[0] == '#')
		return;
	p.anchored = memchr(line, '/', len) != NULL;
	if (line[0] == '/') {
		line++;
		len--;
	}
	p.glob = xstrndup(line, len);
	*VEC_ADD(i->v, i->n, i->cap) = p;
}

struct ignore *ignore_enter(struct ignore *parent, const char *dir, const char *rel)
{
	struct ignore *i = xcalloc(1, sizeof(*i));
	char *path CLEANUP_FREE = path_join(dir, ".gitignore");
	struct buf text CLEANUP(buf) = {0};

	i->parent = parent;
	i->skip = *rel ? strlen(rel) + 1 : 0;
	if (read_file(path, 1 << 20, &text, NULL) < 0)
		return i;
	for (const char *line = buf_str(&text); *line;) {
		size_t len = strcspn(line, "\n");

		add_line(i, line, len);
		line += len + (line[len] == '\n');
	}
	return i;
}

struct ignore *ignore_leave(struct ignore *i)
{
	struct ignore *parent = i->parent;

	for (size_t k = 0; k < i->n; k++)
		free(i->v[k].glob);
	free(i->v);
	free(i);
	return parent;
}

bool ignore_match(const struct ignore *i, const char *rel, bool is_dir)
{
	for (; i; i = i->parent)
		for (size_t k = i->n; k-- > 0;) {
			const struct pattern *p = &i->v[k];
			const char *below = rel + i->skip;

			if (p->dirs_only && !is_dir)
				continue;
			if (p->anchored ? match_parts(p->glob, below)
					: match_parts(p->glob, path_base(below)))
				return !p->negated;
		}
	return false;
}
