/* The gate's checks that read the patch and run nothing. */
#ifndef EXITPATH_ENGINE_GATE_READINGS_H
#define EXITPATH_ENGINE_GATE_READINGS_H

#include "engine/session.h"

/* Each adds one check to the result. */
int session_review(struct session *s, struct err *err);
int session_scan(struct session *s, struct err *err);

#endif
