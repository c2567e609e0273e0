/* A growing byte buffer; data is always NUL-terminated once something was added. */
#ifndef EXITPATH_BASE_BUF_H
#define EXITPATH_BASE_BUF_H

#include "base/macros.h"

#include <stddef.h>

struct buf {
	char *data;
	size_t len, cap;
};

void buf_add(struct buf *b, const void *data, size_t len);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
void buf_clear(struct buf *b);		  /* empties it, keeps the memory */
char *buf_detach(struct buf *b);	  /* the caller frees; never NULL */
const char *buf_str(const struct buf *b); /* "" when empty */
void buf_release(struct buf *b);
DEFINE_CLEANUP(buf)

#endif
