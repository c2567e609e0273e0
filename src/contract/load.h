/*
 * exitpath.yaml → struct contract. Errors are ERR_USAGE and read
 * "exitpath.yaml:LINE:COLUMN: what is wrong", with what is allowed as the hint.
 */
#ifndef EXITPATH_CONTRACT_LOAD_H
#define EXITPATH_CONTRACT_LOAD_H

#include "base/err.h"
#include "model/contract.h"

#define CONTRACT_FILE "exitpath.yaml"
#define CONTRACT_MAX_BYTES (1 << 20)

/* Unknown keys, wrong types, out-of-range numbers, duplicate keys, aliases and tags are
 * errors. name is used in messages. Also fills ret->digest. */
int contract_parse(const char *text, size_t len, const char *name, struct contract *ret,
		   struct err *err);
int contract_load(const char *path, struct contract *ret, struct err *err);

/* Sets c->digest: sha256 over the canonical form, in which defaults are filled in and
 * comments, key order and quoting do not matter. Call after flags changed c. */
void contract_digest(struct contract *c);
/* The digest of what decides a checkout's content beside its tree: the set-up, and what
 * it may read, share and expose. */
void contract_setup_digest(const struct contract *c, char ret_hex[SHA256_HEX]);

/* "5s", "500ms", "2m", "1h" → milliseconds; "256M", "1G", "64K", "512" → bytes.
 * Both refuse zero, signs, fractions, overflow. 0 or -1 with ERR_USAGE naming what. */
int parse_duration(const char *text, const char *what, uint64_t *ret_ms, struct err *err);
int parse_size(const char *text, const char *what, uint64_t *ret_bytes, struct err *err);

/* Suppressions that candidate has and base has not (or that expire later): lines of
 * text for the report, added to ret_lines. */
void contract_widened(const struct contract *base, const struct contract *candidate,
		      struct strv *ret_lines);
/* The same for what else decides a check: commands, cycles, detectors, set-up, suite,
 * and what runs may use, reach and read. A base without lifecycles has nothing to
 * weaken. */
void contract_weakened(const struct contract *base, const struct contract *candidate,
		       struct strv *ret_lines);

#endif
