/* What the watch of a run saw of a PostgreSQL server's sessions, and what of it is held.
 */
#ifndef EXITPATH_DETECT_PG_REPORT_H
#define EXITPATH_DETECT_PG_REPORT_H

#include "base/buf.h"
#include "base/json.h"
#include "model/observation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pg_state {
	PG_IDLE,
	PG_IN_TRANSACTION, /* idle in transaction, and that of a failed one */
	PG_ACTIVE,
	PG_LOCKED, /* active, and waits for a lock */
	PG_HIDDEN, /* another role's: not told */
};

struct pg_session {
	char *id;   /* of the session: its pid and when it began */
	char *work; /* of what it is at: id, and when its transaction began */
	enum pg_state state;
	char *what;  /* state and statement without literals: stable over runs */
	char *name;  /* application_name */
	int64_t ms;  /* how long it has been in that state */
	bool ours;   /* named as the run's */
	bool canary; /* exitpath's own */
};

enum pg_sample_kind { PG_SAMPLE_EXIT, PG_SAMPLE_CYCLE, PG_SAMPLE_END };

struct pg_sample {
	enum pg_sample_kind kind;
	int64_t us, cycle, sockets, left;
	char *exe;
	bool asked; /* the server was asked for sessions */
	struct pg_session *sessions;
	size_t nsessions, sessions_cap;
};

struct pg_report {
	struct pg_sample *samples;
	size_t nsamples, samples_cap;
	char *failed;	    /* why the server was asked in vain; or NULL */
	bool malformed;	    /* not what the watch writes */
	bool ended;	    /* the last line is there */
	bool hidden;	    /* the states of other roles are not told */
	bool no_canary;	    /* a sample does not have it */
	size_t seen;	    /* sessions of the run in all samples */
	struct strv others; /* names of sessions that are not known to be the run's */
};

/* Pure. text: lines of detect/pg_watch.h. canary: the backend of the planted session. */
void pg_report_parse(const char *text, size_t len, int canary, struct pg_report *ret);
/* One answer of pg_sessions(). */
void pg_sample_add(struct pg_sample *s, const json_t *sessions, int canary);

/* Sessions that were open when the process that had them exited; but those of after,
 * which outlived it. */
void pg_report_exits(const struct pg_report *r, const struct pg_sample *after,
		     struct probe *ret);
/* What the cycle, from 1, has left, of all cycles. */
void pg_report_cycle(const struct pg_report *r, size_t cycle, size_t cycles,
		     struct probe *ret);
/* Sessions whose processes are gone. */
void pg_report_orphans(const struct pg_sample *after, struct probe *ret);
size_t pg_report_cycles(const struct pg_report *r); /* that were told of, without 0 */
/* The samples for people, without literals. */
void pg_report_text(const struct pg_report *r, const struct pg_sample *after,
		    struct buf *ret);

/*
 * A statement without what changes from run to run and may be secret: literals, numbers
 * and comments become "?", lists of them one, space is folded. At most PG_STATEMENT_MAX
 * bytes. Pure; any text. The caller frees.
 */
#define PG_STATEMENT_MAX 120
char *pg_statement(const char *query);

void pg_sample_release(struct pg_sample *s);
void pg_report_release(struct pg_report *r);
DEFINE_CLEANUP(pg_sample)
DEFINE_CLEANUP(pg_report)

#endif
