/*
 * The interpreters that a worker keeps ready (zygote_start_warm()). Internal to proc.
 *
 * Each is for commands with the same interpreter, options, environment, working
 * directory and network: then a fork of it is what a new one would be. The worker's first
 * is started at once, another when it is asked for a second time, so that commands which
 * all have another environment start none. One that cannot be had is not tried again.
 */
#ifndef EXITPATH_PROC_WARM_H
#define EXITPATH_PROC_WARM_H

#include "proc/lane.h"
#include "proc/wire.h"

enum {
	WARM_KEYS = 8,	  /* that are remembered; the one not used for longest goes */
	WARM_SERVERS = 4, /* of them have an interpreter: 25 MB each */
	WARM_DEATHS = 3,  /* then it is not started again */
};

struct warm_server_slot {
	struct lane lane;
	struct strv argv, env; /* argv: the interpreter and its options. n 0: free */
	char *cwd;
	enum network network;
	uint64_t asked; /* when, by warm_servers.clock */
	unsigned times, deaths;
	bool never;
};

struct warm_servers {
	struct warm_server_slot slots[WARM_KEYS];
	uint64_t clock;
};

void warm_init(struct warm_servers *w);
/* The lane that is to start it; NULL: it is to be started anew. cancel: a descriptor. */
struct lane *warm_lane(struct warm_servers *w, const struct sandbox *sb,
		       const struct wire_request *q, int cancel);
void warm_close(struct warm_servers *w);

#endif
