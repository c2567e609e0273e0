/*
 * The seccomp filter of the exit watch, and what the calls mean that it stops.
 */
#ifndef EXITPATH_SANDBOX_NOTIFY_FILTER_H
#define EXITPATH_SANDBOX_NOTIFY_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>

enum { NOTIFY_FILTER_MAX = 192 }; /* instructions */

/* Stops exit_group, and, with names, what makes a name in the file system. Returns the
 * number of instructions; 0: nobody wrote one for this architecture.
 * Async-signal-safe. */
unsigned notify_filter(struct sock_filter ret[NOTIFY_FILTER_MAX], bool names);

/* In the child, before exec: installs the filter for it and all its descendants. The
 * listener, CLOEXEC, or -1 with errno. Async-signal-safe. */
int notify_filter_install(bool names);

/* A call that makes a name: which arguments say where. */
struct name_call {
	int dirfd; /* -1: none, relative to the working directory */
	int path;  /* … of a string; of a struct sockaddr when is_address */
	bool is_address;
};
/* False: it is another call. */
bool notify_name_call(const struct seccomp_data *d, struct name_call *ret);

#endif
