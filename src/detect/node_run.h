/* From the records of a run's node processes to a probe (detect/node.c). */
#ifndef EXITPATH_DETECT_NODE_RUN_H
#define EXITPATH_DETECT_NODE_RUN_H

#include "detect/detect.h"

struct node_run {
	char *dir;     /* of the adapter and of the records */
	bool expected; /* the command is one of node: no record at all is a fault */
};

int node_collect(struct detect_run *run, const struct run_result *result,
		 struct probe *ret, struct err *err);

#endif
