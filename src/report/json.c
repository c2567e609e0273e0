#include "report/formats.h"

static void write_json(const struct result *r, const struct report_opts *opts,
		       struct buf *out)
{
	CLEANUP_JSON json_t *j = result_to_json(r);
	CLEANUP_FREE char *text = json_pretty(j);

	(void)opts;
	buf_adds(out, text);
}

const struct report_format report_json = {
	.name = "json",
	.summary = "the whole result as data (exitpath-result-v1)",
	.write = write_json,
};
