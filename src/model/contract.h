/* The contract as plain data: what is run, how often, under which limits (DESIGN §4). */
#ifndef EXITPATH_MODEL_CONTRACT_H
#define EXITPATH_MODEL_CONTRACT_H

#include "base/hash.h"
#include "base/strv.h"
#include "model/limits.h"
#include "model/sandbox.h"
#include "model/vet.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	DEFAULT_WARMUP = 1,
	DEFAULT_CYCLES = 5,
	MAX_CYCLES = 1000,
};
#define DEFAULT_TIMEOUT_MS UINT64_C(60000)
#define DEFAULT_SETUP_TIMEOUT_MS UINT64_C(1800000)
#define MAX_TIMEOUT_MS UINT64_C(86400000)

struct lifecycle {
	char *name;
	char *command;	       /* a shell command line; NULL when argv is given */
	struct strv argv;      /* run without a shell; empty when command is given */
	struct strv detectors; /* names; empty: every detector that fits */
	unsigned warmup, cycles;
	uint64_t timeout_ms;
	struct limits limits;
	enum network network; /* none or loopback */
	char *pg;     /* URL of a PostgreSQL server, or $NAME that has it; NULL: none */
	bool repairs; /* the patch is meant to repair a leak: base must leak */
};

struct suppression {
	char *match; /* KIND:PATTERN, kind is "leak" (heap) or a resource name */
	char *reason, *owner;
	char *expires; /* YYYY-MM-DD, NULL: never */
	unsigned line; /* in the contract, 1-based */
};

/* What `faults` says; zeros where it says nothing. */
struct fault_settings {
	bool given;	  /* the contract has the key: the gate makes calls fail, too */
	uint32_t classes; /* bits in the order memory, file, net, process, db; 0: all */
	bool forever;
	char *layer;		/* NULL: the one that fits */
	unsigned points;	/* at most; 0: all */
	uint64_t time_ms;	/* for each lifecycle and revision; 0: no limit */
	struct strv lifecycles; /* empty: all */
	char *check;		/* shell command line that must pass after each run */
	/* match is DEFECT:CALL:FUNCTION; see ignore_refused() */
	struct suppression *ignore;
	size_t nignore, ignore_cap;
};

/* What `scan` and `review` say: the gate then reads the patch, too. */
struct scan_settings {
	bool wanted;
	bool notes; /* places that are only notes block as well */
};
struct review_settings {
	bool wanted;
	bool strict; /* what is only shown rejects as well */
	/* What is deliberate; match is RULE:PATH, reason, owner and expires are given */
	struct suppression *allow;
	size_t nallow, allow_cap;
};

/* What `vet` says. */
struct vet_contract {
	bool given;
	struct strv target; /* relative to the contract's directory */
	struct vet_settings settings;
	char *python; /* NULL: python3 */
};

struct contract {
	char *path;  /* where it was read; NULL: from flags */
	char *base;  /* revision; NULL: merge-base with the default branch */
	char *setup; /* shell command line; NULL: none */
	uint64_t setup_timeout_ms;
	struct lifecycle *lifecycles;
	size_t nlifecycles, lifecycles_cap;
	struct strv
		share; /* ignored directories of the working tree, repository-relative */
	struct strv expose; /* paths of the machine that runs may read: absolute or ~/… */
	char *suite;	    /* shell command line; NULL: none */
	struct suppression *suppressions;
	size_t nsuppressions, suppressions_cap;
	struct fault_settings faults;
	struct scan_settings scan;
	struct review_settings review;
	struct vet_contract vet;
	char *later;		     /* canonical JSON of worlds; NULL: none */
	char digest[7 + SHA256_HEX]; /* "sha256:…" over the canonical form */
};

/* The URL without passwords. The caller frees; NULL stays NULL. */
char *server_public(const char *url);
/* Why this cannot be a lifecycle's `pg`, or NULL. */
const char *server_url_refused(const char *text);
/* The variable that text names as $NAME or ${NAME}, or NULL. The caller frees. */
char *server_variable(const char *text);
void lifecycle_release(struct lifecycle *l);
void suppression_release(struct suppression *s);
void contract_release(struct contract *c);
DEFINE_CLEANUP(contract)

#endif
