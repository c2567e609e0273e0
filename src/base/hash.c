#include "base/hash.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct sha256 {
	EVP_MD_CTX *ctx;
};

struct sha256 *sha256_new(void)
{
	struct sha256 *h = xcalloc(1, sizeof(*h));

	h->ctx = EVP_MD_CTX_new();
	/* libcrypto fails here, and below, only without memory; 3.0 then goes on without
	 * its context, and crashes. */
	if (!OSSL_LIB_CTX_get0_global_default() || !h->ctx ||
	    !EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL))
		out_of_memory();
	return h;
}

void sha256_add(struct sha256 *h, const void *data, size_t len)
{
	if (!EVP_DigestUpdate(h->ctx, data, len))
		out_of_memory();
}

void sha256_add_field(struct sha256 *h, const char *s)
{
	char prefix[32];
	size_t len = s ? strlen(s) : 0;

	snprintf(prefix, sizeof(prefix), "%s%zu:", s ? "" : "-", len);
	sha256_add(h, prefix, strlen(prefix));
	if (s)
		sha256_add(h, s, len);
}

void sha256_finish(struct sha256 *h, char ret_hex[SHA256_HEX])
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned int n = 0;

	if (!EVP_DigestFinal_ex(h->ctx, md, &n))
		out_of_memory();
	for (unsigned int i = 0; i < n && i < 32; i++)
		snprintf(ret_hex + 2 * i, 3, "%02x", md[i]);
	EVP_MD_CTX_free(h->ctx);
	free(h);
}

void sha256_hex(const void *data, size_t len, char ret_hex[SHA256_HEX])
{
	struct sha256 *h = sha256_new();

	sha256_add(h, data, len);
	sha256_finish(h, ret_hex);
}

int sha256_file(const char *path, char ret_hex[SHA256_HEX], struct err *err)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sha256 *h;
	char chunk[65536];
	ssize_t n;

	if (fd < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot open %s", path);
	h = sha256_new();
	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int saved = errno;
			char ignored[SHA256_HEX];

			sha256_finish(h, ignored);
			return err_errno(err, ERR_ENVIRONMENT, saved, "cannot read %s",
					 path);
		}
		sha256_add(h, chunk, (size_t)n);
	}
	sha256_finish(h, ret_hex);
	return 0;
}
