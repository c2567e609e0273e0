/* A sanitizer's log, and an option string of the user's. */
#include "base/mem.h"
#include "detect/lsan_options.h"
#include "detect/lsan_parse.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(const uint8_t *data, size_t size, size_t piece, struct lsan_log *ret)
{
	struct lsan_parser *p = lsan_parser_new(ret);

	for (size_t at = 0; at < size; at += piece)
		lsan_parser_feed(p, (const char *)data + at,
				 size - at < piece ? size - at : piece);
	lsan_parser_finish(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(lsan_log) struct lsan_log whole = {0}, pieces = {0};
	CLEANUP_FREE char *text = xcalloc(size + 1, 1), *left = NULL, *again = NULL,
			  *fault = NULL;

	memcpy(text, data, size);
	parse(data, size, size + 1, &whole);
	parse(data, size, 3, &pieces);
	if (whole.nleaks != pieces.nleaks || whole.summary != pieces.summary ||
	    whole.canary != pieces.canary || whole.nleaks > LSAN_LEAKS_MAX)
		abort();
	for (size_t i = 0; i < whole.nleaks; i++) {
		struct leak l = {.resource = RESOURCE_HEAP};

		if (whole.leaks[i].stack.n > FRAMES_MAX)
			abort();
		frames_fill(&l, &whole.leaks[i].stack,
			    &(const struct source_root){"/checkout", "/checkout"}, NULL);
		leak_sign(&l);
		leak_release(&l);
	}
	left = lsan_options_strip(text);
	again = lsan_options_strip(left);
	if (strcmp(left, again) != 0)
		abort();
	fault = lsan_options_fault(text, "/nonexistent");
	return 0;
}
