/*
 * Rules of `exitpath scan`: one YAML document each, see rules/README.md. Errors are
 * ERR_USAGE, "FILE:LINE:COLUMN: what".
 */
#ifndef EXITPATH_CONTRACT_RULES_H
#define EXITPATH_CONTRACT_RULES_H

#include "base/err.h"
#include "model/rule.h"

/* Adds the rule of one document. An id that is there already is an error. */
int rule_parse(const char *text, size_t len, const char *name, struct scan_rules *ret,
	       struct err *err);
/* Those of a directory, *.yaml in order of name; none when there is no directory. */
int rules_load_dir(const char *dir, struct scan_rules *ret, struct err *err);
/* Those that are carried in the binary. */
int rules_builtin(struct scan_rules *ret, struct err *err);

#endif
