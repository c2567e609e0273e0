/* Records come back from a store that others may have written to; what can be read must
 * print, whatever it says. */
#include "model/result.h"
#include "report/report.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(result) struct result r = {0};
	CLEANUP(observation) struct observation o = {0};
	struct err err = {0};
	CLEANUP_JSON json_t *j = json_parse((const char *)data, size, "fuzz", &err);

	if (!j)
		return 0;
	observation_from_json(j, &o, &err);
	if (result_from_json(j, &r, &err) < 0)
		return 0;
	for (size_t i = 0; report_formats[i]; i++) {
		CLEANUP(buf) struct buf out = {0};
		struct report_opts opts = {.verbose = size % 2, .color = size % 3};

		report_formats[i]->write(&r, &opts, &out);
	}
	return 0;
}
