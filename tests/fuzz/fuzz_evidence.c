/*
 * Text of foreign programs on its way into the evidence summary: one line, bounded,
 * printable UTF-8, and no absolute path, whatever comes in.
 */
#include "base/mem.h"
#include "store/internal.h"

#include <ctype.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *value)
{
	CLEANUP_JSON json_t *utf8 = json_string(value);

	if (!utf8 || !*value || strlen(value) > EVIDENCE_VALUE_MAX)
		abort();
	for (const char *p = value; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			abort();
		/* "://" is followed by a host; a lone "/" is the root. */
		if (*p == '/' && isalnum((unsigned char)p[1]) &&
		    (p == value || strchr(" \"'([<=,;|", p[-1])))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = xstrndup((const char *)data, size);

	for (int free_text = 0; free_text < 2; free_text++) {
		CLEANUP_FREE char *value = evidence_value(text, "project", free_text);

		check(value);
	}
	return 0;
}
