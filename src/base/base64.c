#include "base/base64.h"

#include "base/mem.h"

#include <openssl/evp.h>

/* EVP_EncodeBlock() counts in int: whole groups of three bytes, without padding between.
 */
#define PIECE ((size_t)3 << 20)

char *base64_encode(const void *data, size_t len)
{
	const unsigned char *from = data;
	char *text = xcalloc(len / 3 * 4 + 5, 1), *at = text;

	while (len) {
		size_t n = len < PIECE ? len : PIECE;

		at += EVP_EncodeBlock((unsigned char *)at, from, (int)n);
		from += n;
		len -= n;
	}
	return text;
}
