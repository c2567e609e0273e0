/* What starts runs of one kind: in one network, or for one interpreter. Internal to
 * proc. */
#ifndef EXITPATH_PROC_LANE_H
#define EXITPATH_PROC_LANE_H

#include "base/err.h"
#include "model/sandbox.h"
#include "sandbox/sandbox.h"

struct cgroup;

struct lane {
	struct sandbox sandbox; /* the pool's, with the network; owns nothing */
	struct zygote zygote;	/* pid -1: none */
	struct cgroup *cgroup;
};

void lane_init(struct lane *l);
/* The sandbox and the cgroup. 0, or -1 with err. */
int lane_prepare(struct lane *l, const struct sandbox *sb, enum network network,
		 struct err *err);
void lane_close(struct lane *l);

#endif
