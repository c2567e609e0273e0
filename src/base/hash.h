/* SHA-256 through libcrypto. */
#ifndef EXITPATH_BASE_HASH_H
#define EXITPATH_BASE_HASH_H

#include "base/err.h"

#include <stddef.h>

#define SHA256_HEX 65 /* 64 digits and the NUL */

struct sha256; /* a running digest */

struct sha256 *sha256_new(void);
void sha256_add(struct sha256 *h, const void *data, size_t len);
/* Adds a length-prefixed field, so that ("ab","c") and ("a","bc") differ. */
void sha256_add_field(struct sha256 *h, const char *s);
void sha256_finish(struct sha256 *h, char ret_hex[SHA256_HEX]); /* frees h */

void sha256_hex(const void *data, size_t len, char ret_hex[SHA256_HEX]);
int sha256_file(const char *path, char ret_hex[SHA256_HEX], struct err *err);

#endif
