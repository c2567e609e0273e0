/*
 * What LeakSanitizer and AddressSanitizer write to log_path.PID, with the stack format
 * that lsan.c asks for (LSAN_FRAME_FORMAT). Pure; the text is foreign and may be hostile:
 * time is linear in it, memory is bounded by the limits below.
 *
 * Texts: compiler-rt's lsan_common.cpp, sanitizer_suppressions.cpp, asan_errors.cpp;
 * seen with gcc 12 and clang 14.
 */
#ifndef EXITPATH_DETECT_LSAN_PARSE_H
#define EXITPATH_DETECT_LSAN_PARSE_H

#include "base/buf.h"
#include "detect/frames.h"

#include <stdbool.h>

/* number, pc, function, module, offset, file, line; <null> is unknown. */
#define LSAN_FRAME_FORMAT "    #%n\t%p\t%f\t%m\t%o\t%s\t%l"
enum {
	LSAN_LINE_MAX = 1 << 14, /* bytes; the rest of a longer line is dropped */
	LSAN_LEAKS_MAX = 10000,
	LSAN_SUPPRESSIONS_MAX = 100,
	LSAN_FRAME_NUMBER = 8, /* room for its digits */
};

struct lsan_leak {
	bool direct;
	uint64_t bytes, objects;
	struct raw_stack stack;
};

struct lsan_suppression {
	char *pattern;
	uint64_t count, bytes;
};

struct lsan_log {
	bool leaks_reported; /* the headline of a leak report */
	bool summary;	     /* its last line: the report is whole */
	bool canary;
	bool text;		 /* any line at all */
	struct lsan_leak *leaks; /* without the canary */
	size_t nleaks, leaks_cap;
	size_t dropped; /* leaks above the limit */
	struct lsan_suppression *suppressions;
	size_t nsuppressions, suppressions_cap;
	char *error; /* an error of the program: "heap-use-after-free" */
	struct raw_stack error_stack;
	char *fatal; /* why the runtime itself gave up: the line */
};

struct lsan_parser; /* takes a log in pieces of any size */
struct lsan_parser *lsan_parser_new(struct lsan_log *ret);
void lsan_parser_feed(void *parser, const char *data, size_t len);
void lsan_parser_finish(struct lsan_parser *parser); /* frees it */

/* A line of LSAN_FRAME_FORMAT; ret is released by raw_frame_release(). false: another. */
bool lsan_frame_parse(const char *line, struct raw_frame *ret,
		      char ret_number[LSAN_FRAME_NUMBER]);

/* "==PID==ERROR: LeakSanitizer: …" of any process, or a line of a runtime that gave up:
 * what it says without the pid, which is 0 when there is none. NULL: another line. The
 * text points into line, a NUL-terminated string. */
const char *lsan_headline(const char *line, int *ret_pid);
bool lsan_is_fatal(const char *line);
/* Does a suppression match a function or a module? A part of the text, with `*`, `^` and
 * `$`: TemplateMatch() of sanitizer_common.cpp. */
bool lsan_template_matches(const char *template, const char *text);

void lsan_log_release(struct lsan_log *l);
DEFINE_CLEANUP(lsan_log)

#endif
