/* Base 64 (RFC 4648, with padding), for bytes that are no text. */
#ifndef EXITPATH_BASE_BASE64_H
#define EXITPATH_BASE_BASE64_H

#include <stddef.h>

char *base64_encode(const void *data, size_t len); /* the caller frees */

#endif
