#include "proc/lane.h"

#include "sandbox/cgroup.h"

void lane_init(struct lane *l)
{
	*l = (struct lane){.zygote = {.pid = -1, .socket = -1}};
}

int lane_prepare(struct lane *l, const struct sandbox *sb, enum network network,
		 struct err *err)
{
	l->sandbox = *sb;
	l->sandbox.network = network;
	if (!l->cgroup)
		l->cgroup = cgroup_open(err);
	return l->cgroup ? 0 : -1;
}

void lane_close(struct lane *l)
{
	if (l->zygote.pid > 0)
		zygote_stop(&l->zygote);
	if (l->cgroup)
		cgroup_close(l->cgroup);
	lane_init(l);
}
