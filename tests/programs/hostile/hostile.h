/*
 * What the hostile programs share: each says what it managed, a line for each attempt.
 *
 *	escaped: WHAT           it did what a sandboxed program must not be able to do
 *	contained: WHAT: ERRNO  it was refused
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELPER __attribute__((unused)) static

/* failed: what the call returned was an error, and errno says which. */
HELPER void report(const char *what, int failed)
{
	if (failed)
		printf("contained: %s: %s\n", what, strerrorname_np(errno));
	else
		printf("escaped: %s\n", what);
	fflush(stdout);
}

/*
 * Programs that kill whatever they can see do so only inside: host_ns is the inode of
 * the machine's pid namespace, from the driver.
 */
HELPER void need_own_pid_namespace(const char *host_ns)
{
	char link[64] = "", expected[64];

	if (readlink("/proc/self/ns/pid", link, sizeof(link) - 1) < 0)
		exit(3);
	snprintf(expected, sizeof(expected), "pid:[%s]", host_ns);
	if (strcmp(link, expected) == 0) {
		puts("escaped: in the pid namespace of the machine");
		exit(3);
	}
}

#endif
