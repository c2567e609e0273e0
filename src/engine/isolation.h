/*
 * What the runs of a session see of the machine: of the repository the revision's
 * checkout, at the repository's own path; a home directory that belongs to the checkout;
 * what the contract shares and exposes; the run's own directory.
 */
#ifndef EXITPATH_ENGINE_ISOLATION_H
#define EXITPATH_ENGINE_ISOLATION_H

#include "engine/session.h"

bool session_sandboxed(const struct session *s);
/* Resolves the contract's `expose`, and sees whether a sandbox can be had, before
 * anything runs. ERR_USAGE, ERR_ENVIRONMENT. */
int isolation_open(struct session *s, struct err *err);
/* Why this path of the machine cannot be shown to runs, or NULL. */
const char *isolation_refused(const struct session *s, const char *path);
/* Sets st->views, when st->checkout has come. */
int isolation_add_checkout(struct session *s, struct side_state *st, struct err *err);

/* Fills ret (zeroed) for one run with the directory dir, and returns it; NULL: the run
 * is not sandboxed. */
const struct sandbox *session_sandbox(const struct session *s, enum side side,
				      const char *dir, enum network network,
				      struct sandbox *ret);
enum network session_network(const struct session *s); /* of the suite */
/* Keeps how the limits of the run were enforced. */
void session_note_run(struct session *s, const struct run_result *r);

#endif
