/* A patch to one file: the first byte is its kind, a NUL separates base and candidate. */
#include "review/review.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool knows(void *ctx, const char *module, const char *from)
{
	(void)ctx;
	(void)from;
	return strlen(module) % 2 != 0;
}

static char *copy(const uint8_t *data, size_t len)
{
	char *text = calloc(1, len + 1);

	if (!text)
		abort();
	memcpy(text, data, len);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = {
		"tests/test_a.py",
		"a.test.js",
		"a.test.ts",
		"a_test.go",
		"src/test/ATest.java",
		"tests/a.rs",
		"tests/test_a.c",
		"a_test.cc",
		".github/workflows/ci.yml",
		"lsan.supp",
		"pyproject.toml",
		"package.json",
		"src/a.py",
		"src/a.js",
		"a.snap",
	};
	struct review_items items CLEANUP(review_items) = {0};
	const uint8_t *stop;
	size_t old_len;
	char *old, *now;

	if (size < 2)
		return 0;
	stop = memchr(data + 1, '\0', size - 1);
	old_len = stop ? (size_t)(stop - data - 1) : size - 1;
	old = copy(data + 1, old_len);
	now = stop ? copy(stop + 1, size - old_len - 2) : copy(data, 0);
	{
		const char *path = paths[data[0] % ARRAY_SIZE(paths)];
		struct review_file file = {path, path, old, now, old_len, strlen(now)};
		struct review_patch patch = {&file, 1, knows, NULL};

		review_patch(&patch, &items);
		for (size_t i = 0; i < items.n; i++)
			if (!items.v[i].path || !items.v[i].message)
				abort();
	}
	free(old);
	free(now);
	return 0;
}
