/*
 * What the files of /proc/PID say, see proc(5). Pure functions over foreign text: a
 * process chooses its paths, its socket names and its threads' names.
 */
#ifndef EXITPATH_LEDGER_PROCFS_H
#define EXITPATH_LEDGER_PROCFS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Sockets are named by their protocol: the file of /proc/PID/net that lists them. */
enum net_file { NET_TCP, NET_TCP6, NET_UDP, NET_UDP6, NET_UNIX, NET_FILES };
const char *net_file_name(enum net_file f);
/* The value of the attribute system.sockprotoname ("TCP", "UNIX-STREAM"); -1: other. */
int net_file_of(const char *protocol);

/* "socket:[123]", the target of a descriptor's link. */
bool procfs_socket_inode(const char *target, uint64_t *ret_inode);
/* How many locks /proc/PID/fdinfo/N shows. */
unsigned procfs_fdinfo_locks(const char *text, size_t len);
/* The flags of open(2) that it shows, close-on-exec among them; 0 when it shows none. */
unsigned procfs_fdinfo_flags(const char *text, size_t len);
/* Is name the file name of one of the first arguments, argv[0] apart, of
 * /proc/PID/cmdline? Interpreters have their script there. */
bool procfs_cmdline_names(const char *text, size_t len, const char *name);
/* The number of the system call that a thread is in, or -1: /proc/PID/syscall. */
long procfs_syscall(const char *text, size_t len);
/*
 * Finds the socket in the text of one of the net files and describes it: "tcp
 * listening on 127.0.0.1:8080", "tcp 127.0.0.1:40000 connected to 127.0.0.1:5432",
 * "unix listening on /run/x". False: it is not there.
 */
bool procfs_socket(enum net_file f, const char *text, size_t len, uint64_t inode,
		   struct buf *out);

struct sysv_segment {
	int id;
	uint64_t size; /* bytes */
	pid_t creator;
	bool removed; /* goes away with its last user */
};
/* One line of /proc/sysvipc/shm; false for the heading. */
bool procfs_sysv_line(const char *line, size_t len, struct sysv_segment *ret);

#endif
