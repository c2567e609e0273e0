/*
 * The input of `exitpath run --batch`: one JSON object a line.
 *
 *	{"id": any, "cmd": ["…"], "cwd": "…", "env": {"K": "V"}, "network": "none",
 *	 "discard": true, "warm": "python", "wall": "5s", "cpu": …, "memory": "256M",
 *"disk": …, "output": …, "pids": 64, "files": …}
 *
 * Only cmd must be there. A limit is a string with a unit as in the contract, or a whole
 * number of milliseconds, bytes or pieces; 0, null or "none" lift it.
 */
#ifndef EXITPATH_ENGINE_RUN_LINE_H
#define EXITPATH_ENGINE_RUN_LINE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "model/limits.h"
#include "model/run.h"
#include "model/sandbox.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define RUN_LINE_MAX ((size_t)1 << 20) /* bytes; longer lines are bad input */

struct run_line {
	json_t *id; /* NULL: none */
	struct strv argv;
	struct strv env; /* "NAME=value": in addition */
	char *cwd;	 /* NULL: none was given */
	uint64_t wall_ms;
	struct limits limits;
	enum network network;
	bool discard;
	enum warm warm;
	const char *boxed; /* a key that only a sandbox can obey, NULL: none */
};

/* ret holds the defaults, and has nothing that is owned. ERR_USAGE that names the key;
 * ret must be released then, too, and may have its id. */
int run_line_parse(const char *text, size_t len, struct run_line *ret, struct err *err);
void run_line_release(struct run_line *l);
DEFINE_CLEANUP(run_line)

/* Bytes that come in any pieces, as lines. */
struct lines {
	struct buf text;
	size_t at, scanned; /* where the next line begins; no '\n' before scanned */
	bool skipping;	    /* the rest of a line that was too long */
	bool ended;
	uint64_t number; /* of the latest line, from 1 */
};

enum line_kind {
	LINE_NONE, /* more bytes are needed, or there is no more */
	LINE_WHOLE,
	LINE_TOO_LONG, /* more than RUN_LINE_MAX; its text is lost */
};

void lines_add(struct lines *l, const void *data, size_t len);
void lines_end(struct lines *l); /* what has no newline yet is the last line */
/* ret_text: valid until lines_add(). Lines that are blank are left out. */
enum line_kind lines_next(struct lines *l, const char **ret_text, size_t *ret_len);
void lines_release(struct lines *l);
DEFINE_CLEANUP(lines)

#endif
