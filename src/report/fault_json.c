#include "base/mem.h"
#include "report/formats.h"

static void write_json(const struct fault_report *r, const struct report_opts *opts,
		       struct buf *out)
{
	CLEANUP_JSON json_t *j = fault_report_to_json(r);
	CLEANUP_FREE char *text = json_pretty(j);

	(void)opts;
	buf_adds(out, text);
}

const struct fault_format fault_json = {"json", write_json};
