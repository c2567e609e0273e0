/* What adapters/python/exitpath_vet_driver.py writes about a test, beside which the test
 * runs. */
#include "base/mem.h"
#include "vet/judge.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct vet_settings settings = VET_DEFAULTS;
	const struct run_result run = {.end = RUN_EXITED};
	CLEANUP(vet_test) struct vet_test t = {0};
	struct vet_sights s = {.judge = {.asked = true}};
	CLEANUP_JSON json_t *j = NULL;

	vet_sight_take(&s.judge, &run, (const char *)data, size, "");
	s.again = s.buggy = s.judge;
	vet_several(&s.judge);
	vet_judge(&s, &settings, &t);
	j = vet_test_json(&t);
	/* Whatever is said: a rejection has a reason, and a score is one. */
	if ((t.verdict == VET_ACCEPTED) != (t.reasons.n == 0) || t.score > 1)
		abort();
	/* On the buggy revision it must not have passed. */
	if (t.verdict == VET_ACCEPTED)
		abort();
	vet_sight_release(&s.judge);
	return 0;
}
