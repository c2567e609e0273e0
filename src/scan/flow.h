/*
 * The control flow of one function, the same form for every language: blocks of
 * operations with their ways on, exceptions included. Made from a flat tree by
 * flow_build(); a language says what its statements are in lang_*.c, through the calls of
 * flow_builder.h. Intraprocedural: nested functions and lambdas are not entered, they
 * have a flow of their own.
 *
 * A `finally` (with, defer-like scope) stands in the flow once for every way out of its
 * body, so that a path never leaves a return through the finally of an exception.
 */
#ifndef EXITPATH_SCAN_FLOW_H
#define EXITPATH_SCAN_FLOW_H

#include "source/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOW_NONE UINT32_MAX

/* The blocks that every flow has. */
enum { FLOW_EXIT_RETURN, FLOW_EXIT_RAISE, FLOW_FIRST };

enum flow_op_kind {
	FLOW_EVAL,   /* a statement or expression is evaluated */
	FLOW_TEST,   /* the same, and its truth decides: then `next`, else `other` */
	FLOW_RETURN, /* node: the return statement, its value is evaluated */
	FLOW_RAISE,  /* node: the raise, throw; goes to the block's handler */
	FLOW_DEFER,  /* node: the call that runs at every way out from here on (Go) */
	FLOW_LEAVE,  /* node: the with item whose scope ends here */
	FLOW_CATCH,  /* node: the except or catch clause that begins */
};

struct flow_op {
	uint32_t node;
	uint32_t next; /* in the block; FLOW_NONE: the last */
	uint8_t kind;
	bool cleanup; /* in a finally, or in a handler that raises again */
	bool copy;    /* in a finally on the way of an exception or a jump, not the first
		       */
};

struct flow_block {
	uint32_t first, last; /* operations; FLOW_NONE: none */
	uint32_t next, other; /* blocks; both set without a test: either way */
	uint32_t raise;	      /* where an exception of its operations goes */
};

struct flow {
	const struct source_tree *t;
	uint32_t function; /* its node */
	struct flow_block *blocks;
	size_t nblocks, blocks_cap;
	struct flow_op *ops;
	size_t nops, ops_cap;
	uint32_t entry;
	bool gave_up; /* too large: no analysis may use it */
};

enum { FLOW_MAX_BLOCKS = 20000 }; /* finally in finally in finally … */

/* What the language says about itself (lang_*.c). */
struct scan_lang;

void flow_build(const struct scan_lang *lang, const struct source_tree *t,
		uint32_t function, struct flow *ret);
void flow_release(struct flow *f);
DEFINE_CLEANUP(flow)

/* For tests: one line a block, "2: eval 'f = open(p)' -> 3 raise 1". */
void flow_dump(const struct flow *f, struct buf *out);

#endif
