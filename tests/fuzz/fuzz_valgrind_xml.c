/* valgrind's XML. */
#include "detect/valgrind_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(valgrind_report) struct valgrind_report r = {0};
	struct valgrind_parser *p = valgrind_parser_new(&r);

	for (size_t at = 0; at < size; at += 1000)
		valgrind_parser_feed(p, (const char *)data + at,
				     size - at < 1000 ? size - at : 1000);
	valgrind_parser_finish(p);
	if (r.nleaks > VALGRIND_LEAKS_MAX || r.nerrors > VALGRIND_ERRORS_MAX)
		abort();
	for (size_t i = 0; i < r.nleaks; i++) {
		struct leak l = {.resource = RESOURCE_HEAP};

		if (r.leaks[i].stack.n > FRAMES_MAX)
			abort();
		frames_fill(&l, &r.leaks[i].stack,
			    &(const struct source_root){"/checkout", "/checkout"}, NULL);
		leak_sign(&l);
		leak_release(&l);
	}
	return 0;
}
