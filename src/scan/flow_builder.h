/*
 * What a language's lowering calls (lang_*.c). Statements are lowered in order at the
 * builder's current block; after a jump the current block is dead, and what follows is
 * kept, unreachable.
 */
#ifndef EXITPATH_SCAN_FLOW_BUILDER_H
#define EXITPATH_SCAN_FLOW_BUILDER_H

#include "scan/flow.h"
#include "scan/lang.h"

enum flow_scope_kind {
	SCOPE_LOOP,    /* break and continue end here */
	SCOPE_SWITCH,  /* break ends here */
	SCOPE_FINALLY, /* node: the finally's body; every way out passes it */
	SCOPE_WITH,    /* node: the item; every way out leaves it */
	SCOPE_CLEANUP, /* no way out of its own: what is in it is cleanup */
	SCOPE_CHOICE,  /* a switch that `break` does not see */
};

struct flow_scope {
	enum flow_scope_kind kind;
	uint32_t node;
	const char *label; /* of a loop; not NUL-terminated */
	size_t label_len;
	uint32_t brk, cont; /* blocks */
	uint32_t raise;	    /* FINALLY, WITH: the handler outside of it */
	struct flow_scope *outer;
};

struct flow_builder {
	struct flow *f;
	const struct source_tree *t;
	const struct scan_lang *lang;
	uint32_t at;	/* the current block */
	uint32_t raise; /* where exceptions go now */
	struct flow_scope *scope;
	unsigned copies; /* > 0: within a copy of a finally */
	unsigned depth;	 /* of lowering: foreign text nests deeply */
	struct flow_label {
		const char *name;
		size_t len;
		uint32_t block;
	} * labels; /* goto */
	size_t nlabels, labels_cap;
};

/* One statement, or a block of them: the language's lower(). */
void flow_statement(struct flow_builder *b, uint32_t node);
/* All named children of a node, as statements. */
void flow_statements(struct flow_builder *b, uint32_t node);
/* An expression that is evaluated for its value or effect. */
void flow_eval(struct flow_builder *b, uint32_t node);

/* SOURCE_NONE stands for a part that is not there. */
void flow_if(struct flow_builder *b, uint32_t test, uint32_t then, uint32_t otherwise);
struct flow_loop {
	uint32_t init, test, step, body, otherwise;
	bool test_last;	    /* do … while */
	bool endless;	    /* no test, no end but break */
	uint32_t evaluated; /* in every round before the body: a for's target */
	const char *label;
	size_t label_len;
};
void flow_loop(struct flow_builder *b, const struct flow_loop *l);
struct flow_try {
	uint32_t body, otherwise, finally;
	uint32_t handlers[32];
	unsigned nhandlers;
	bool catches_all; /* one of the handlers takes whatever comes */
};
void flow_try(struct flow_builder *b, const struct flow_try *t);
/* The i-th handler's body is lowered by the language's handler(). */

void flow_with_enter(struct flow_builder *b, struct flow_scope *s, uint32_t item);
void flow_with_leave(struct flow_builder *b, struct flow_scope *s);
/* Cases follow one another: each is begun by flow_case(), fallthrough as said. */
struct flow_switch {
	struct flow_scope scope;
	uint32_t dispatch, after;
	bool has_default;
};
void flow_switch_begin(struct flow_builder *b, struct flow_switch *s, uint32_t value);
void flow_case(struct flow_builder *b, struct flow_switch *s, bool is_default,
	       bool falls_through);
void flow_switch_end(struct flow_builder *b, struct flow_switch *s);

void flow_return(struct flow_builder *b, uint32_t node);
void flow_raise(struct flow_builder *b, uint32_t node);
void flow_break(struct flow_builder *b, uint32_t label);
void flow_continue(struct flow_builder *b, uint32_t label);
void flow_goto(struct flow_builder *b, uint32_t label);
void flow_label(struct flow_builder *b, uint32_t label);
void flow_defer(struct flow_builder *b, uint32_t node);
/* The program ends here (exit(), abort()): no way on. */
void flow_end(struct flow_builder *b);
void flow_catch(struct flow_builder *b, uint32_t node);

#endif
