/*
 * Whole stacks, fast enough for every call of malloc(). The rule that leads from a call
 * to its caller's frame is asked of libgcc once, and kept by the call's address; where
 * none is simple enough (a signal's frame, a realigned one, another processor) libgcc
 * walks the stack itself. Nothing here allocates.
 */
#ifndef SHIM_COMMON_WALK_H
#define SHIM_COMMON_WALK_H

#include <stdint.h>

enum { WALK_RULES = 1 << 14 };

/* 0: free. Threads read and write them without a lock: an entry whose halves are of
 * different writers is none. */
struct walk_rule {
	uint64_t check; /* address, rule and generation mixed */
	uint64_t rule;
};

/* rules: WALK_RULES zeroed ones, for good. Before it, and where the rules lead elsewhere
 * than libgcc, libgcc walks. */
void walk_init(struct walk_rule *rules);
/* Objects were unloaded: other ones may come to their addresses. */
void walk_forget(void);

/*
 * The stack above a function of this library: frame is its __builtin_frame_address(0),
 * and it is built with frame pointers. Addresses within the calls, innermost first.
 * ret_whole: the stack was followed to where the program or the thread starts.
 */
uint32_t walk_stack(const void *frame, uintptr_t *ret, uint32_t max, int *ret_whole);
/* By libgcc alone, without frames of this library. */
uint32_t walk_slowly(uintptr_t *ret, uint32_t max);

#endif
