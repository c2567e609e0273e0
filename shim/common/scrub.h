/* Planted leaks: one stale copy of the pointer, in a register or in a dead stack slot
 * that a later frame covers without writing to it, makes the block reachable. */
#ifndef SHIM_COMMON_SCRUB_H
#define SHIM_COMMON_SCRUB_H

/* Overwrites the stack below the caller, and the registers that calls do not keep. */
void scrub(void);

#endif
