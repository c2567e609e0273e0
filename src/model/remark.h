/* What reading a patch shows, without running it: of the checks `scan` and `review`. */
#ifndef EXITPATH_MODEL_REMARK_H
#define EXITPATH_MODEL_REMARK_H

#include "base/json.h"
#include "base/strv.h"

#include <stdbool.h>

struct remark {
	bool blocks; /* it is why the check is not clean */
	char *rule;  /* id of a rule of scan or review */
	char *path;
	unsigned line;	/* from 1; 0: the whole file */
	bool on_base;	/* path and line are those of base: what is gone */
	char *function; /* around it; NULL: none, or not known */
	char *message;
	char *excerpt;	     /* the line; NULL: none */
	struct strv steps;   /* the way of the failure: "41 acquired here" */
	char *justification; /* reason, owner and date; NULL: none */
};
void remark_release(struct remark *r);

json_t *remark_to_json(const struct remark *r);
/* false: malformed; ret is then to be released all the same. */
bool remark_from_json(const json_t *j, struct remark *ret);

#endif
