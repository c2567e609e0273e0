/*
 * Artifacts: `artifacts/ab/cdef….zst`, one zstd frame with its content size and a
 * checksum. A file gets its name only when it is whole and on disk, so a kill leaves at
 * most a `tmp-…` file, which gc removes.
 */
#include "store/internal.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <zstd.h>

/* Measured on detector reports, 3 is within 5 % of level 9 at a tenth of its time. */
#define LEVEL 3
/* No frame of ours needs a window above 2 MiB; a foreign one may ask for gigabytes. */
#define WINDOW_LOG_MAX 23
#define CHUNK 65536

static void cctx_cleanup(ZSTD_CCtx **p)
{
	ZSTD_freeCCtx(*p);
}

static void dctx_cleanup(ZSTD_DCtx **p)
{
	ZSTD_freeDCtx(*p);
}

/* Bytes in memory (fd -1), or those of a file. */
struct source {
	const char *data, *name;
	size_t len;
	int fd;
};

static ssize_t source_read(struct source *src, void *out, size_t cap)
{
	size_t n = src->len < cap ? src->len : cap;
	ssize_t got;

	if (src->fd < 0) {
		if (n)
			memcpy(out, src->data, n);
		src->data += n;
		src->len -= n;
		return (ssize_t)n;
	}
	do
		got = read(src->fd, out, cap);
	while (got < 0 && errno == EINTR);
	return got;
}

bool sha256_valid(const char *hex)
{
	return strlen(hex) == SHA256_HEX - 1 &&
	       strspn(hex, "0123456789abcdef") == SHA256_HEX - 1;
}

char *artifact_path(const struct store *s, const char *sha256)
{
	return xasprintf("%s/artifacts/%.2s/%s.zst", s->dir, sha256, sha256 + 2);
}

static int file_fail(struct err *err, int errnum, const char *doing, const char *path)
{
	err_errno(err, ERR_ENVIRONMENT, errnum, "cannot %s %s", doing, path);
	return store_hint(err, errnum);
}

static int sync_dir(const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : fsync(fd);
}

/* Feeds src through cctx into out; ret_hex gets the digest of the plain bytes. */
static int compress_to(int out, struct source *src, ZSTD_CCtx *cctx, struct sha256 *sum,
		       const char *path, struct err *err)
{
	CLEANUP_FREE char *in_chunk = xcalloc(2, CHUNK);
	char *out_chunk = in_chunk + CHUNK;
	size_t left;

	for (;;) {
		ssize_t n = source_read(src, in_chunk, CHUNK);
		ZSTD_inBuffer in = {in_chunk, n < 0 ? 0 : (size_t)n, 0};

		if (n < 0)
			return file_fail(err, errno, "read", src->name);
		sha256_add(sum, in_chunk, in.size);
		do {
			ZSTD_outBuffer o = {out_chunk, CHUNK, 0};

			left = ZSTD_compressStream2(cctx, &o, &in,
						    n ? ZSTD_e_continue : ZSTD_e_end);
			if (ZSTD_isError(left))
				return err_set(err, ERR_ENVIRONMENT,
					       "cannot compress %s: %s", src->name,
					       ZSTD_getErrorName(left));
			if (write_all(out, o.dst, o.pos) < 0)
				return file_fail(err, errno, "write", path);
		} while (n ? in.pos < in.size : left != 0);
		if (!n)
			return 0;
	}
}

static int compress_file(int out, struct source *src, uint64_t size,
			 char ret_hex[SHA256_HEX], const char *path, struct err *err)
{
	__attribute__((cleanup(cctx_cleanup))) ZSTD_CCtx *cctx = ZSTD_createCCtx();
	struct sha256 *sum;
	int rc;

	if (!cctx ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(cctx, ZSTD_c_compressionLevel, LEVEL)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(cctx, ZSTD_c_checksumFlag, 1)) ||
	    ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(cctx, size)))
		return err_set(err, ERR_INTERNAL, "zstd refuses to start");
	sum = sha256_new();
	rc = compress_to(out, src, cctx, sum, path, err);
	sha256_finish(sum, ret_hex);
	return rc;
}

/* Gives the finished temporary file its name. */
static int place(struct store *s, const char *tmp, const char *sha256, struct err *err)
{
	CLEANUP_FREE char *path = artifact_path(s, sha256);
	CLEANUP_FREE char *dir =
		xstrndup(path, strlen(path) - strlen(path_base(path)) - 1);
	CLEANUP_FREE char *top = path_join(s->dir, "artifacts");

	if (mkdir(dir, 0700) == 0) {
		if (sync_dir(top) < 0)
			return file_fail(err, errno, "sync", top);
	} else if (errno != EEXIST) {
		return file_fail(err, errno, "make directory", dir);
	}
	if (rename(tmp, path) < 0)
		return file_fail(err, errno, "rename to", path);
	if (sync_dir(dir) < 0)
		return file_fail(err, errno, "sync", dir);
	return 0;
}

static int put_new(struct store *s, struct source *src, uint64_t size,
		   char ret_hex[SHA256_HEX], struct err *err)
{
	CLEANUP_FREE char *tmp = xasprintf("%s/artifacts/tmp-XXXXXX", s->dir);
	CLEANUP_FD int fd = mkostemp(tmp, O_CLOEXEC);

	if (fd < 0)
		return file_fail(err, errno, "create", tmp);
	if (compress_file(fd, src, size, ret_hex, tmp, err) < 0)
		goto failed;
	if (fsync(fd) < 0) {
		file_fail(err, errno, "sync", tmp);
		goto failed;
	}
	if (place(s, tmp, ret_hex, err) < 0)
		goto failed;
	return 0;
failed:
	unlink(tmp);
	return -1;
}

/* Already there, and whole? Then it becomes as young as a new one, for gc. */
static bool have(struct store *s, const char *sha256)
{
	CLEANUP_FREE char *path = artifact_path(s, sha256);

	return artifact_read(s, sha256, UINT64_MAX, NULL, NULL, NULL) == 0 &&
	       utimensat(AT_FDCWD, path, NULL, 0) == 0;
}

int artifact_put(struct store *s, const void *data, size_t len, char ret_hex[SHA256_HEX],
		 struct err *err)
{
	struct source src = {.data = data, .name = "an artifact", .len = len, .fd = -1};
	char hex[SHA256_HEX];

	sha256_hex(len ? data : "", len, hex);
	if (!have(s, hex) && put_new(s, &src, len, hex, err) < 0)
		return -1;
	memcpy(ret_hex, hex, SHA256_HEX);
	return 0;
}

int store_artifact(struct store *s, const void *data, size_t len,
		   char ret_hex[SHA256_HEX], struct err *err)
{
	CLEANUP_FD int lock = store_lock(s, LOCK_SH, err);

	return lock < 0 ? -1 : artifact_put(s, data, len, ret_hex, err);
}

int store_artifact_file(struct store *s, const char *path, char ret_hex[SHA256_HEX],
			struct err *err)
{
	CLEANUP_FD int lock = store_lock(s, LOCK_SH, err);
	/* Programs under test write these files: follow no link, wait for no pipe. */
	CLEANUP_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct source src = {.name = path, .fd = fd};
	char hex[SHA256_HEX];
	struct stat st;

	if (lock < 0)
		return -1;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot open %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_ENVIRONMENT, "cannot keep %s: not a regular file",
			       path);
	if (sha256_file(path, hex, err) < 0)
		return -1;
	if (!have(s, hex) && put_new(s, &src, (uint64_t)st.st_size, hex, err) < 0)
		return -1;
	memcpy(ret_hex, hex, SHA256_HEX);
	return 0;
}

/* Reading: what has been seen so far of the file and of its content. */
struct reader {
	const char *path;
	uint64_t limit, size, stored_size;
	struct sha256 *plain, *packed;
	struct buf *out;
	bool ended; /* the frame is complete */
};

static int damaged(struct err *err, const struct reader *r, const char *why)
{
	return err_set(err, ERR_ENVIRONMENT, "artifact %s is damaged: %s", r->path, why);
}

static int decompress_chunk(struct reader *r, ZSTD_DCtx *dctx, ZSTD_inBuffer *in,
			    char *out_chunk, struct err *err)
{
	ZSTD_outBuffer o;

	do {
		size_t left;

		if (r->ended)
			return damaged(err, r, "something follows its end");
		o = (ZSTD_outBuffer){out_chunk, CHUNK, 0};
		left = ZSTD_decompressStream(dctx, &o, in);
		if (ZSTD_isError(left))
			return damaged(err, r, ZSTD_getErrorName(left));
		r->ended = left == 0;
		if (o.pos > r->limit - r->size)
			return damaged(err, r, "it holds more than was recorded");
		r->size += o.pos;
		sha256_add(r->plain, out_chunk, o.pos);
		if (r->out)
			buf_add(r->out, out_chunk, o.pos);
	} while (in->pos < in->size || (o.pos == CHUNK && !r->ended));
	return 0;
}

static int read_frame(struct reader *r, int fd, ZSTD_DCtx *dctx, struct err *err)
{
	CLEANUP_FREE char *in_chunk = xcalloc(2, CHUNK);
	struct source src = {.fd = fd};
	ssize_t n;

	while ((n = source_read(&src, in_chunk, CHUNK)) > 0) {
		ZSTD_inBuffer in = {in_chunk, (size_t)n, 0};

		r->stored_size += (uint64_t)n;
		sha256_add(r->packed, in_chunk, (size_t)n);
		if (decompress_chunk(r, dctx, &in, in_chunk + CHUNK, err) < 0)
			return -1;
	}
	if (n < 0)
		return file_fail(err, errno, "read", r->path);
	return r->ended ? 0 : damaged(err, r, "its end is missing");
}

int artifact_read(struct store *s, const char *sha256, uint64_t limit, struct buf *out,
		  struct stored *ret, struct err *err)
{
	__attribute__((cleanup(dctx_cleanup))) ZSTD_DCtx *dctx = ZSTD_createDCtx();
	CLEANUP_FREE char *path = artifact_path(s, sha256);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct reader r = {.path = path, .limit = limit, .out = out};
	char plain[SHA256_HEX], packed[SHA256_HEX];
	int rc;

	if (fd < 0 && errno == ENOENT)
		return err_set(err, ERR_ENVIRONMENT, "artifact %s is missing", path);
	if (fd < 0)
		return file_fail(err, errno, "open", path);
	if (!dctx || ZSTD_isError(ZSTD_DCtx_setParameter(dctx, ZSTD_d_windowLogMax,
							 WINDOW_LOG_MAX)))
		return err_set(err, ERR_INTERNAL, "zstd refuses to start");
	r.plain = sha256_new();
	r.packed = sha256_new();
	rc = read_frame(&r, fd, dctx, err);
	sha256_finish(r.plain, plain);
	sha256_finish(r.packed, packed);
	if (rc < 0)
		return -1;
	if (strcmp(plain, sha256))
		return damaged(err, &r, "its content does not match its name");
	if (ret) {
		*ret = (struct stored){.size = r.size, .stored_size = r.stored_size};
		memcpy(ret->stored_sha256, packed, SHA256_HEX);
	}
	return 0;
}
