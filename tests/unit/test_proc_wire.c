/* What a pool and its worker say survives the way, and nothing else passes. */
#include "harness.h"

#include "base/macros.h"
#include "proc/wire.h"

#include <string.h>

static void sample(struct strv *argv, struct strv *env, struct pool_run *ret)
{
	strv_add(argv, "cc");
	strv_add(argv, "");
	strv_add(argv, "a b\n\"c");
	strv_add(env, "A=1");
	*ret = (struct pool_run){
		.argv = argv,
		.env = env,
		.cwd = "/tmp/x",
		.timeout_ms = 5000,
		.limits = GENERATED_LIMITS,
		.network = NETWORK_LOOPBACK,
		.discard = true,
	};
}

static void keeps_requests(void **state)
{
	CLEANUP(strv) struct strv argv = {0}, env = {0};
	CLEANUP(buf) struct buf b = {0};
	CLEANUP(wire_request) struct wire_request q = {0};
	const struct limits limits = GENERATED_LIMITS;
	struct pool_run run;

	(void)state;
	sample(&argv, &env, &run);
	wire_put_request(&b, &run, 77);
	assert_int_equal(wire_get_request(b.data, b.len, &q), 0);
	assert_int_equal(q.argv.n, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(q.argv.v[i], argv.v[i]);
	assert_int_equal(q.env.n, 1);
	assert_string_equal(q.env.v[0], "A=1");
	assert_null(q.env.v[1]);
	assert_string_equal(q.cwd, "/tmp/x");
	assert_int_equal(q.timeout_ms, 5000);
	assert_int_equal(q.output_cap, 77);
	assert_memory_equal(&q.limits, &limits, sizeof(limits));
	assert_int_equal(q.network, NETWORK_LOOPBACK);
	assert_int_equal(q.warm, WARM_NONE);
	assert_true(q.discard);
}

static void keeps_replies(void **state)
{
	CLEANUP(buf) struct buf b = {0};
	CLEANUP(wire_reply) struct wire_reply got = {0};
	char error[] = "no user namespaces", hint[] = "";
	struct wire_reply sent = {
		.run = {.end = RUN_SANDBOX_FAILED,
			.step = "userns",
			.errnum = -3,
			.status = 7,
			.signal = 9,
			.tier = TIER_CGROUP_1,
			.wall_us = UINT64_MAX,
			.stdout_bytes = 1,
			.stderr_cut = true,
			.left_behind = 4},
		.error = error,
		.hint = hint,
	};

	(void)state;
	wire_put_reply(&b, &sent);
	assert_in_range(b.len, 1, WIRE_MAX_REPLY);
	assert_int_equal(wire_get_reply(b.data, b.len, &got), 0);
	assert_int_equal(got.run.end, RUN_SANDBOX_FAILED);
	assert_string_equal(got.run.step, "userns");
	assert_int_equal(got.run.errnum, -3);
	assert_int_equal(got.run.status, 7);
	assert_int_equal(got.run.signal, 9);
	assert_int_equal(got.run.tier, TIER_CGROUP_1);
	assert_true(got.run.wall_us == UINT64_MAX);
	assert_true(got.run.stderr_cut && !got.run.stdout_cut);
	assert_int_equal(got.run.left_behind, 4);
	assert_string_equal(got.error, error);
	assert_string_equal(got.hint, "");
}

static void cuts_long_texts(void **state)
{
	CLEANUP(buf) struct buf b = {0};
	CLEANUP(wire_reply) struct wire_reply got = {0};
	static char text[10000];
	struct wire_reply sent = {.error = text};

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	sent.hint = text;
	wire_put_reply(&b, &sent);
	assert_in_range(b.len, 1, WIRE_MAX_REPLY);
	assert_int_equal(wire_get_reply(b.data, b.len, &got), 0);
	assert_in_range(strlen(got.error), 1000, WIRE_MAX_REPLY);
}

/* Every prefix is refused, and so is what has a byte more. */
static void refuses_parts(void **state)
{
	CLEANUP(strv) struct strv argv = {0}, env = {0};
	CLEANUP(buf) struct buf request = {0}, reply = {0};
	const struct wire_reply empty = {0};
	struct pool_run run;

	(void)state;
	sample(&argv, &env, &run);
	wire_put_request(&request, &run, 1);
	wire_put_reply(&reply, &empty);
	for (size_t n = 0; n <= request.len + 1; n++) {
		struct wire_request q = {0};

		if (n == request.len)
			continue;
		assert_int_equal(wire_get_request(request.data, n, &q), -1);
		assert_null(q.cwd);
	}
	for (size_t n = 0; n <= reply.len + 1; n++) {
		struct wire_reply r = {0};

		if (n != reply.len)
			assert_int_equal(wire_get_reply(reply.data, n, &r), -1);
	}
}

/* Any one byte is changed to any of some values: a whole value, or -1. */
static void survives_damage(void **state)
{
	static const unsigned char values[] = {0, 1, 2, 0x7f, 0x80, 0xff};
	CLEANUP(strv) struct strv argv = {0}, env = {0};
	CLEANUP(buf) struct buf b = {0};
	struct pool_run run;
	unsigned refused = 0;

	(void)state;
	sample(&argv, &env, &run);
	wire_put_request(&b, &run, 1);
	for (size_t at = 0; at < b.len; at++)
		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			CLEANUP(wire_request) struct wire_request q = {0};
			char saved = b.data[at];

			b.data[at] = (char)values[i];
			if (wire_get_request(b.data, b.len, &q) < 0)
				refused++;
			else
				assert_true(q.argv.n > 0 && q.cwd && q.cwd[0] == '/');
			b.data[at] = saved;
		}
	assert_in_range(refused, 100, 6 * b.len);
}

static void refuses_what_cannot_be(void **state)
{
	CLEANUP(strv) struct strv argv = {0}, env = {0};
	struct pool_run run;
	struct wire_request q = {0};
	static const struct {
		const char *cwd;
		enum network network;
		enum warm warm;
		bool command;
	} cases[] = {
		{"tmp", NETWORK_NONE, WARM_NONE, true},
		{"", NETWORK_NONE, WARM_NONE, true},
		{"/", (enum network)3, WARM_NONE, true},
		{"/", NETWORK_NONE, (enum warm)3, true},
		{"/", NETWORK_NONE, WARM_NONE, false},
	};

	(void)state;
	sample(&argv, &env, &run);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf) struct buf b = {0};
		const struct strv none = {0};

		run.cwd = cases[i].cwd;
		run.network = cases[i].network;
		run.warm = cases[i].warm;
		run.argv = cases[i].command ? &argv : &none;
		wire_put_request(&b, &run, 1);
		assert_int_equal(wire_get_request(b.data, b.len, &q), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(keeps_requests),  HARNESS_TEST(keeps_replies),
		HARNESS_TEST(cuts_long_texts), HARNESS_TEST(refuses_parts),
		HARNESS_TEST(survives_damage), HARNESS_TEST(refuses_what_cannot_be),
	};

	return HARNESS_RUN(tests);
}
