/* The input of `exitpath run --batch`, in pieces of any size. */
#include "engine/run_line.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const char *text, size_t len)
{
	CLEANUP(run_line) struct run_line l = {0};
	struct err err = {0};

	if (run_line_parse(text, len, &l, &err) < 0) {
		if (err.kind != ERR_USAGE || !*err.message)
			abort();
		return;
	}
	if (!l.argv.n || !*l.argv.v[0] || l.network == NETWORK_HOST)
		abort();
	for (size_t i = 0; i < l.env.n; i++)
		if (!strchr(l.env.v[i], '=') || *l.env.v[i] == '=')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(lines) struct lines l = {0};
	size_t piece = size ? data[0] % 64 + 1 : 1, len, at = 0, seen = 0;
	const char *text;
	enum line_kind kind;

	do {
		size_t n = size - at < piece ? size - at : piece;

		lines_add(&l, data + at, n);
		at += n;
		if (at == size)
			lines_end(&l);
		while ((kind = lines_next(&l, &text, &len)) != LINE_NONE) {
			seen += len;
			if (kind == LINE_WHOLE)
				use(text, len);
		}
	} while (at < size);
	if (l.at != l.text.len || seen > size)
		abort();
	return 0;
}
