/*
 * A seccomp filter that stops each process of a tree at its exit_group, and where it
 * makes a name in the file system, until the supervisor has looked at it. Internal to
 * proc.
 */
#ifndef EXITPATH_PROC_EXIT_NOTIFY_H
#define EXITPATH_PROC_EXIT_NOTIFY_H

#include "model/run.h"

/* In the child, before exec: installs the filter for it and all its descendants, and
 * sends the listener through a socket. 0, or -1 with errno. Async-signal-safe. */
int exit_notify_install(int socket, bool names);
/* In the supervisor, once the child has exec'ed: the listener, or -1. */
int exit_notify_receive(int socket);

enum { EXIT_NOTIFY_SEEN = 16 };

struct exit_notify {
	int fd; /* the listener, -1: none */
	pid_t root;
	const struct run_watch *watch;
	/* The latest processes shown to the watch, and when: see already_seen(). */
	struct {
		pid_t pid;
		uint64_t us; /* since boot */
	} seen[EXIT_NOTIFY_SEEN];
	unsigned nseen;
};

/* Takes over fd. */
void exit_notify_init(struct exit_notify *n, int fd, pid_t root,
		      const struct run_watch *watch);
/* Serves one notification; call it when n->fd is readable. -1 with errno: the watch
 * does not work any more. */
int exit_notify_serve(struct exit_notify *n);
void exit_notify_release(struct exit_notify *n);

#endif
