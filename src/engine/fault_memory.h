/*
 * What became of each point, kept in the store, so that a run that was cut short goes on
 * where it was, and what is known of base need not be found out again. Internal to
 * engine/fault*.c.
 */
#ifndef EXITPATH_ENGINE_FAULT_MEMORY_H
#define EXITPATH_ENGINE_FAULT_MEMORY_H

#include "base/hash.h"
#include "base/json.h"
#include "model/fault.h"

struct store;
struct fault_memory;

/*
 * key: of all that decides about a point but the binaries: tree, contract, command,
 * options, machine. keep_whole: what an earlier run came to the end of is used, too
 * (base); else it begins anew. fresh: nothing is used. The caller frees.
 */
struct fault_memory *fault_memory_new(struct store *s, const char key[SHA256_HEX],
				      bool keep_whole, bool fresh);
/* Writes what is new. */
void fault_memory_free(struct fault_memory *m);
static inline void fault_memory_cleanup(struct fault_memory **m)
{
	fault_memory_free(*m);
}

/* For layers; all with m NULL: nothing is remembered. */

/* After the command ran without a fault. binaries: a digest of what keys belong to; "":
 * they belong to the sources alone. Reads what is known. */
void fault_memory_begin(struct fault_memory *m, const char *binaries);
/* Is the point known? ret (zeroed): the finding, with defect DEFECT_NONE when it was
 * survived; its replay is not kept. */
bool fault_memory_get(struct fault_memory *m, uint64_t key, struct fault_finding *ret);
/* The keys that are known, as names; NULL: none. The caller lets go of it. */
json_t *fault_memory_keys(const struct fault_memory *m);
/* What keys belong to that is seen in a run alone ("": not seen yet). Another than it
 * was: nothing is known any more. */
const char *fault_memory_about(const struct fault_memory *m);
void fault_memory_set_about(struct fault_memory *m, const char *about);
/* A point is settled: f is confirmed, or NULL: survived. Written now and then. */
void fault_memory_put(struct fault_memory *m, uint64_t key,
		      const struct fault_finding *f);
/* All points were tried. */
void fault_memory_done(struct fault_memory *m);

#endif
