/* A worker that went mad, or a request file that something wrote into. */
#include "proc/wire.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void request(const uint8_t *data, size_t size)
{
	CLEANUP(wire_request) struct wire_request q = {0};
	CLEANUP(wire_request) struct wire_request again = {0};
	CLEANUP(buf) struct buf b = {0};
	struct pool_run run;

	if (wire_get_request(data, size, &q) < 0) {
		if (q.cwd || q.argv.v || q.env.v)
			abort();
		return;
	}
	if (!q.argv.n || !q.argv.v[0] || !q.env.v || q.cwd[0] != '/')
		abort();
	/* What was read is said again with the same bytes. */
	run = (struct pool_run){
		.argv = &q.argv,
		.env = &q.env,
		.cwd = q.cwd,
		.timeout_ms = q.timeout_ms,
		.limits = q.limits,
		.network = q.network,
		.warm = q.warm,
		.discard = q.discard,
	};
	wire_put_request(&b, &run, q.output_cap);
	if (b.len != size || memcmp(b.data, data, size) ||
	    wire_get_request(b.data, b.len, &again) < 0)
		abort();
}

static void reply(const uint8_t *data, size_t size)
{
	CLEANUP(wire_reply) struct wire_reply r = {0};

	if (wire_get_reply(data, size, &r) < 0) {
		if (r.error || r.hint)
			abort();
		return;
	}
	if (r.run.end >= RUN_ENDS || r.run.tier >= TIERS ||
	    strnlen(r.run.step, sizeof(r.run.step)) == sizeof(r.run.step))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	request(data, size);
	reply(data, size);
	return 0;
}
