/* What a sandboxed run sees of the machine. */
#ifndef EXITPATH_MODEL_SANDBOX_H
#define EXITPATH_MODEL_SANDBOX_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>

/* --isolation: how commands are run. */
enum isolation {
	ISOLATION_SANDBOX,
	ISOLATION_NONE, /* must be asked for, and is recorded */
	ISOLATIONS,
};
const char *isolation_name(enum isolation i); /* "sandbox", "none" */
/* 0, or -1 when there is none of that name. */
int isolation_parse(const char *name, enum isolation *ret);

enum network {
	NETWORK_NONE,	  /* no interface is up */
	NETWORK_LOOPBACK, /* 127.0.0.1 and ::1 of the run's own */
	NETWORK_HOST,	  /* the machine's: set-ups only */
};
const char *network_name(enum network n); /* "none", "loopback", "host" */
/* 0, or -1 when there is none of that name. */
int network_parse(const char *name, enum network *ret);

enum view_mode {
	VIEW_READ,    /* read-only */
	VIEW_WRITE,   /* the very files */
	VIEW_DISCARD, /* writable, and what is written is thrown away after the run */
};

/* A file or directory of the machine, and where the run sees it. Both absolute. */
struct sandbox_view {
	char *from, *at;
	enum view_mode mode;
};

/*
 * Always there, read-only: /usr, /bin, /sbin, /lib*, /etc, /opt, /nix, /gnu, /sys and a
 * private /proc and /dev. Always private, empty and writable: /tmp, /var/tmp, /dev/shm,
 * home. All else is not there, but for the views; a later view may lie within an earlier.
 */
struct sandbox {
	struct sandbox_view *views;
	size_t nviews, views_cap;
	char *home; /* NULL, relative, or a directory of the system: none */
	enum network network;
};

/* Directories that each run has of its own, home apart: NULL at the end. */
extern const char *const sandbox_own_dirs[];
bool sandbox_is_own_dir(const char *path); /* one of them, by the letters */

void sandbox_add_view(struct sandbox *s, const char *from, const char *at,
		      enum view_mode mode);
/* Appends copies of src's views, and takes over home and network. */
void sandbox_copy(struct sandbox *dst, const struct sandbox *src);
/* Where on the machine is what a run sees at path: a copy of path outside of all views,
 * and with s NULL. The caller frees. */
char *sandbox_outside(const struct sandbox *s, const char *path);
/* Is path dir, or below it? By the letters: both absolute, without "." and "..". */
bool path_is_below(const char *path, const char *dir);
void sandbox_release(struct sandbox *s);
DEFINE_CLEANUP(sandbox)

#endif
