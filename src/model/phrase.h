/* Words for series and places, as explanations, notes and reports use them. */
#ifndef EXITPATH_MODEL_PHRASE_H
#define EXITPATH_MODEL_PHRASE_H

#include "model/observation.h"

#include <stdint.h>

/* "1 allocation (40 bytes)", "2 to 3 descriptors (data/log.txt)": of the cycles
 * that hold any. The caller frees, here and below. */
char *phrase_units(const struct leak *l, size_t n);
/* " in leak_here (src/worker.c:41)", or "" when no frame is known. */
char *phrase_place(const struct leak *l);
/* "5 of 5 cycles". */
char *phrase_share(const uint64_t *units, size_t n);

size_t series_holding(const uint64_t *units, size_t n); /* cycles with any unit */
uint64_t series_min(const uint64_t *units, size_t n);	/* 0 when empty */
uint64_t series_max(const uint64_t *units, size_t n);

#endif
