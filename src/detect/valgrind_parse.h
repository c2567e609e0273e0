/*
 * valgrind's XML output, protocol 4 (docs/internals/xml-output-protocol4.txt of
 * valgrind; seen with 3.19), through expat. Pure; the text is foreign and may be
 * hostile: declarations of entities and deep nesting end the parse.
 */
#ifndef EXITPATH_DETECT_VALGRIND_PARSE_H
#define EXITPATH_DETECT_VALGRIND_PARSE_H

#include "detect/frames.h"

#include <stdbool.h>
#include <sys/types.h>

enum {
	VALGRIND_LEAKS_MAX = 10000,
	VALGRIND_ERRORS_MAX = 100,
	VALGRIND_TEXT_MAX = 1 << 14, /* bytes of one element's text */
};

enum valgrind_kind {
	VALGRIND_DEFINITE,
	VALGRIND_INDIRECT,
	VALGRIND_POSSIBLE,
	VALGRIND_FD, /* a descriptor open at the end: the stack that opened it */
};

struct valgrind_leak {
	enum valgrind_kind kind;
	uint64_t bytes, blocks;
	struct raw_stack stack;
};

struct valgrind_error { /* of another kind: "InvalidRead" */
	char *kind;
	struct raw_stack stack;
};

struct valgrind_report {
	pid_t pid, ppid;
	char *exe;     /* argv[0] of the program */
	bool running;  /* it was started: a forked child's report lacks this */
	bool finished; /* it ended and the leak check was begun … */
	bool closed;   /* … and the document is whole */
	bool canary;
	struct valgrind_leak *leaks; /* without the canary */
	size_t nleaks, leaks_cap;
	struct valgrind_error *errors;
	size_t nerrors, errors_cap;
	size_t dropped;	  /* leaks above the limit */
	char *suppressed; /* the last suppression that was used */
	char *malformed;  /* why the text is no XML of valgrind's; NULL: it is */
};

struct valgrind_parser; /* takes a document in pieces of any size */
struct valgrind_parser *valgrind_parser_new(struct valgrind_report *ret);
void valgrind_parser_feed(void *parser, const char *data, size_t len);
void valgrind_parser_finish(struct valgrind_parser *parser); /* frees it */

void valgrind_report_release(struct valgrind_report *r);
DEFINE_CLEANUP(valgrind_report)

#endif
