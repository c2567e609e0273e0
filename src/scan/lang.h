/*
 * What scan knows about a language: one table each (lang_*.c). Everything else is the
 * same for all of them.
 */
#ifndef EXITPATH_SCAN_LANG_H
#define EXITPATH_SCAN_LANG_H

#include "source/source.h"

#include <stdbool.h>

struct flow_builder;

struct scan_lang {
	enum source_lang id;
	bool exceptions; /* calls may raise */
	/* Kinds, resolved once by scan_lang(). Names: separated by spaces, see
	 * source_kinds(). */
	const char *function_kinds; /* that have a flow of their own */
	const char *opaque_kinds;   /* not entered: nested functions, lambdas, classes */
	const char *call_kinds;	    /* constructors are calls */
	const char *identifier_kinds, *member_kinds;
	const char *assign_kinds; /* fields `left` and `right`, or as assign() says */
	struct source_kinds functions, opaque, calls, identifiers, members, assigns;
	/* Around a resource: what hands it on as it is (casts, await, parentheses), what
	 * contains it (lists, tuples, literals), what gives it to the caller (return,
	 * yield, raise), what releases it at its end (with), what takes its address. */
	const char *transparent_kinds, *container_kinds, *return_kinds, *with_kinds,
		*address_kinds, *argument_list_kinds, *keyword_kinds;
	struct source_kinds transparent, containers, returns, withs, addresses,
		argument_lists, keywords;
	const char *raising_kinds; /* may raise though they are no calls: await, yield */
	const char *if_kinds, *jump_kinds, *goto_kinds;
	const char *block_kinds, *finally_kinds, *handler_kinds, *try_kinds;
	struct source_kinds raising, ifs, jumps, gotos, blocks, finallys, handlers, tries;
	const char *declaration_kinds; /* a local is declared in one; "": by assignment */
	struct source_kinds declarations;
	const char *config_kinds; /* conditional compilation; NULL: there is none */
	struct source_kinds configs;
	bool classes;	  /* a call of an upper case name makes an object */
	bool closeable;	  /* what has a close() is to be closed whatever happens (Java) */
	bool part_is_own; /* free(p->name) does not release p (C) */
	bool part_is_resource; /* return resp.Body hands resp on (Go) */
	/* Boolean operators are taken apart where they are tests. */
	const char *and_tokens[2], *or_tokens[2], *not_tokens[2];
	const char *binary_kinds, *not_kinds, *paren_kinds;
	struct source_kinds binaries, nots, parens;
	bool call_is_member;	       /* `o.m(x)` is one node with the object o (Java) */
	const char *constructor_field; /* what a `new` makes; NULL: calls alone */
	const char *callee_field, *arguments_field, *object_field, *member_field,
		*operand_field; /* of a call, of a member access, of a `not` */
	uint8_t f_body, f_name, f_callee, f_arguments, f_object, f_member, f_operand,
		f_left, f_right, f_operator, f_constructor, f_type, f_condition,
		f_alternative;

	void (*prepare)(void); /* resolves the kinds of its own file, once */
	void (*lower)(struct flow_builder *b, uint32_t node);
	void (*handler)(struct flow_builder *b, uint32_t node); /* an except's body */
	/* Of a node of assign_kinds: its target and value; value SOURCE_NONE: declared
	 * without. false: it is none. */
	bool (*assign)(const struct source_tree *t, uint32_t node, uint32_t *ret_target,
		       uint32_t *ret_value);
	/* The identifier that a function is known by; SOURCE_NONE: it has no name. */
	uint32_t (*name)(const struct source_tree *t, uint32_t function);
};

/* The first child of that kind, or SOURCE_NONE. */
uint32_t scan_child_of_kind(const struct source_tree *t, uint32_t n, uint16_t kind);

/* Resolved; NULL: scan has no table of that language. Any thread. */
const struct scan_lang *scan_lang(enum source_lang id);

#endif
