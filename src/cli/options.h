/*
 * Long options from one table per command: parsing, --help and the completion come from
 * the same rows. GNU conventions: --name VALUE, --name=VALUE, -- ends options.
 */
#ifndef EXITPATH_CLI_OPTIONS_H
#define EXITPATH_CLI_OPTIONS_H

#include "base/err.h"
#include "base/strv.h"
#include "model/sandbox.h"

#include <stdbool.h>
#include <stdint.h>

enum option_kind {
	OPTION_FLAG,	 /* bool *: set to true */
	OPTION_TEXT,	 /* const char **, not empty */
	OPTION_COMMAND,	 /* const char **; empty: none, whatever the contract says */
	OPTION_NUMBER,	 /* int *: min … max */
	OPTION_DURATION, /* uint64_t *: milliseconds */
	/* uint64_t *: bytes, milliseconds, pieces; 0 or none: 0 */
	OPTION_LIMIT_BYTES,
	OPTION_LIMIT_MS,
	OPTION_LIMIT_COUNT,
	OPTION_LIST, /* struct strv *: A,B adds two; may be given again */
};

struct option_row {
	const char *name;  /* without the dashes */
	const char *value; /* metavariable; NULL for flags */
	const char *help;  /* one line */
	enum option_kind kind;
	void *target;
	int min, max; /* OPTION_NUMBER */
};

struct options {
	const char *usage;	       /* "exitpath leak [OPTION…] -- COMMAND…" */
	const char *about;	       /* a paragraph */
	const struct option_row *rows; /* name NULL ends the table */
	size_t operands;	       /* how many it takes at most */
	bool command;		       /* it takes a command after "--" */
	bool help;		       /* --help was given */
};

/* Flags that every command has. */
struct common {
	bool json, quiet, verbose;
	const char *format, *store, *contract;
	/* --isolation, else $EXITPATH_ISOLATION, else the sandbox */
	enum isolation isolation;
};
extern struct common common;

/*
 * Parses argv[1…]. Operands are added to ret_operands; what follows "--" is not
 * touched: *ret_rest points at it, or at the final NULL. ERR_USAGE on failure, with
 * the nearest option as the hint; for operands or a command that are not taken, too.
 */
int options_parse(struct options *o, char **argv, struct strv *ret_operands,
		  char ***ret_rest, struct err *err);
void options_help(const struct options *o); /* on stdout */

#endif
