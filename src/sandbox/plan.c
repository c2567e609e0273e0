#include "sandbox/plan.h"

#include "base/err.h"
#include "base/mem.h"
#include "sandbox/filter.h"
#include "sandbox/make_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int add_string(struct plan *p, const char *s, uint32_t *ret, struct err *err)
{
	size_t len = strlen(s) + 1;

	if (len > sizeof(p->strings) - p->nstrings)
		return err_set(err, ERR_USAGE,
			       "sandbox: the paths of the views are too "
			       "long together");
	memcpy(p->strings + p->nstrings, s, len);
	*ret = p->nstrings;
	p->nstrings += (uint32_t)len;
	return 0;
}

/* Absolute, and nothing that would lead elsewhere than it says. */
static bool is_clean(const char *path)
{
	const char *p = path;

	if (*p != '/' || !p[1])
		return false;
	while (*p) {
		size_t len = strcspn(++p, "/");

		if (!len || (len == 1 && p[0] == '.') ||
		    (len == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		p += len;
	}
	return true;
}

/* $HOME of a service may be "/", empty, or a directory that all programs need. */
static bool can_be_home(const char *path)
{
	static const char *const taken[] = {"/usr",   "/bin",  "/sbin", "/lib", "/lib32",
					    "/lib64", "/etc",  "/opt",	"/nix", "/gnu",
					    "/sys",   "/proc", "/dev"};

	if (!path || !is_clean(path))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		if (path_is_below(path, taken[i]))
			return false;
	return true;
}

static int add_view(struct plan *p, const struct sandbox_view *v, struct err *err)
{
	struct plan_view *to;
	struct stat st;

	if (p->nviews == PLAN_VIEWS)
		return err_set(err, ERR_USAGE, "sandbox: more than %d views", PLAN_VIEWS);
	if (!is_clean(v->from) || !is_clean(v->at))
		return err_set(err, ERR_USAGE, "sandbox: `%s` cannot be seen at `%s`",
			       v->from, v->at);
	if (stat(v->from, &st) < 0)
		return err_errno(err, ERR_USAGE, errno, "sandbox: %s", v->from);
	to = &p->views[p->nviews++];
	to->mode = (uint8_t)v->mode;
	to->is_dir = S_ISDIR(st.st_mode);
	if (v->mode == VIEW_DISCARD && !to->is_dir)
		return err_set(err, ERR_USAGE, "sandbox: %s is no directory", v->from);
	return add_string(p, v->from, &to->from, err) < 0
		       ? -1
		       : add_string(p, v->at, &to->at, err);
}

/* Is it always there? */
static bool is_shown(const char *path)
{
	static const char *const always[] = {"/usr", "/etc", "/opt", "/nix", "/gnu"};

	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		if (path_is_below(path, always[i]))
			return true;
	return false;
}

/* What /etc leads to and lies elsewhere, and where NixOS has its programs. */
static int add_needed(struct plan *p, struct err *err)
{
	static const struct {
		const char *path;
		bool network; /* of use only with the machine's */
	} needed[] = {
		{"/etc/resolv.conf", true}, /* systemd-resolved: in /run */
		{"/etc/ssl/certs", false},  /* openSUSE: in /var/lib */
	};
	char nixos[] = "/run/current-system";
	struct stat st;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(needed) && rc == 0; i++) {
		CLEANUP_FREE char *real = NULL;

		if (needed[i].network && p->network != NETWORK_HOST)
			continue;
		real = realpath(needed[i].path, NULL);
		if (real && !is_shown(real))
			rc = add_view(p, &(struct sandbox_view){real, real, VIEW_READ},
				      err);
	}
	if (rc == 0 && stat(nixos, &st) == 0)
		rc = add_view(p, &(struct sandbox_view){nixos, nixos, VIEW_READ}, err);
	return rc;
}

static struct plan *make(const struct sandbox *sb, bool server, struct err *err)
{
	struct plan *p = xcalloc(1, sizeof(*p));
	mode_t mask = umask(022);
	int rc = 0;

	umask(mask);
	p->umask = mask;
	p->nstrings = 1;
	p->network = (uint8_t)sb->network;
	p->is_root = geteuid() == 0;
	p->is_server = server;
	if (can_be_home(sb->home))
		rc = add_string(p, sb->home, &p->home, err);
	if (rc == 0)
		rc = add_needed(p, err);
	for (size_t i = 0; i < sb->nviews && rc == 0; i++)
		rc = add_view(p, &sb->views[i], err);
	if (rc == 0)
		rc = filter_compile(p, err);
	if (rc == 0)
		return p;
	free(p);
	return NULL;
}

struct plan *plan_new(const struct sandbox *sb, struct err *err)
{
	return make(sb, false, err);
}

struct plan *plan_new_server(const struct sandbox *sb, struct err *err)
{
	return make(sb, true, err);
}
