#include "harness.h"

#include "base/mem.h"
#include "model/result.h"

#include <string.h>

/* Random but repeatable values for the round-trip property. */
static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 33;
}

static char *random_text(uint64_t *seed)
{
	static const char *const texts[] = {
		"", "worker_shutdown", "a b", "\xc3\xa9t\xc3\xa9", "\x01\"\\\n", "x/y.c"};
	uint64_t r = next_random(seed) % (ARRAY_SIZE(texts) + 1);

	return r == ARRAY_SIZE(texts) ? NULL : xstrdup(texts[r]);
}

static void random_strv(uint64_t *seed, struct strv *s)
{
	for (uint64_t n = next_random(seed) % 3; n > 0; n--) {
		char *text = random_text(seed);

		strv_take(s, text ? text : xstrdup("-"));
	}
}

static void random_finding(uint64_t *seed, struct finding *f)
{
	f->class = (enum finding_class)(next_random(seed) % (FINDING_INTERMITTENT + 1));
	f->suppressed_by = random_text(seed);
	f->ncycles = next_random(seed) % 4;
	f->leak.resource = (enum resource)(next_random(seed) % (RESOURCE_LOCK + 1));
	f->leak.signature = xasprintf("s%u", (unsigned)next_random(seed));
	f->leak.what = random_text(seed);
	f->leak.units = xcalloc(f->ncycles, sizeof(uint64_t));
	f->leak.bytes = xcalloc(f->ncycles, sizeof(uint64_t));
	for (size_t i = 0; i < f->ncycles; i++)
		f->leak.units[i] = next_random(seed);
	if (next_random(seed) % 2) {
		f->nbase = next_random(seed) % 4;
		f->base_units = xcalloc(f->nbase, sizeof(uint64_t));
	}
	for (uint64_t n = next_random(seed) % 3; n > 0; n--) {
		struct frame *frame = leak_frame(&f->leak);

		frame->function = random_text(seed);
		frame->file = random_text(seed);
		frame->line = (unsigned)next_random(seed);
		frame->project = next_random(seed) % 2;
	}
}

static void random_remark(uint64_t *seed, struct remark *r)
{
	*r = (struct remark){
		.blocks = next_random(seed) % 2,
		.rule = xstrdup("early-exit"),
		.path = xasprintf("p%u", (unsigned)next_random(seed)),
		.line = (unsigned)next_random(seed) % 3,
		.on_base = next_random(seed) % 2,
		.function = random_text(seed),
		.message = xasprintf("m%u", (unsigned)next_random(seed)),
		.excerpt = random_text(seed),
		.justification = random_text(seed),
	};
	random_strv(seed, &r->steps);
}

static void random_check(uint64_t *seed, struct check *c)
{
	c->target = random_text(seed);
	c->detector = random_text(seed);
	c->version = random_text(seed);
	c->outcome = (enum outcome)(next_random(seed) % (OUTCOME_LEAK + 1));
	c->explanation = random_text(seed);
	c->next = random_text(seed);
	for (uint64_t n = next_random(seed) % 4; n > 0; n--)
		random_finding(seed, check_finding(c));
	for (uint64_t n = next_random(seed) % 3; n > 0; n--)
		random_remark(seed, check_remark(c));
	random_strv(seed, &c->notes);
	random_strv(seed, &c->command);
	random_strv(seed, &c->base_artifacts);
	random_strv(seed, &c->candidate_artifacts);
	c->attempt = (unsigned)next_random(seed) % 4;
	c->warmup = (unsigned)next_random(seed) % 4;
	c->base_cycles = next_random(seed) % 9;
	c->candidate_cycles = next_random(seed) % 9;
	c->base_reused = next_random(seed) % 2;
	c->retry = next_random(seed) % 2;
	c->duration_us = next_random(seed);
}

static void random_revision(uint64_t *seed, struct revision_info *r)
{
	r->name = random_text(seed);
	r->commit = random_text(seed);
	r->tree = random_text(seed);
	r->subject = random_text(seed);
}

static void random_result(uint64_t *seed, struct result *r)
{
	r->run_id = random_text(seed);
	r->command = random_text(seed);
	r->started = random_text(seed);
	r->duration_us = next_random(seed);
	r->exitpath_version = random_text(seed);
	r->config_digest = random_text(seed);
	r->isolation = random_text(seed);
	r->limit_tier = random_text(seed);
	r->repository = random_text(seed);
	random_revision(seed, &r->base);
	random_revision(seed, &r->candidate);
	r->setup = random_text(seed);
	r->suite = random_text(seed);
	r->reproduce = random_text(seed);
	r->outcome = (enum outcome)(next_random(seed) % (OUTCOME_LEAK + 1));
	random_strv(seed, &r->warnings);
	for (uint64_t n = next_random(seed) % 4; n > 0; n--)
		random_check(seed, result_check(r));
}

static void json_round_trip(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		CLEANUP(result) struct result r = {0}, back = {0};
		CLEANUP_JSON json_t *j = NULL, *k = NULL, *parsed = NULL;
		CLEANUP_FREE char *text = NULL;
		struct err err = {0};
		uint64_t s = seed;

		random_result(&s, &r);
		j = result_to_json(&r);
		text = json_canonical(j);
		parsed = json_parse(text, strlen(text), "t", &err);
		assert_non_null(parsed);
		assert_int_equal(result_from_json(parsed, &back, &err), 0);
		k = result_to_json(&back);
		assert_true(json_equal(j, k));
		assert_int_equal(back.nchecks, r.nchecks);
		for (size_t i = 0; i < r.nchecks; i++)
			assert_int_equal(back.checks[i].nfindings, r.checks[i].nfindings);
	}
}

static void malformed_json_is_refused(void **state)
{
#define HEAD "{\"schema_version\":\"exitpath-result-v1\""
	static const char *const cases[] = {
		"{}",
		"7",
		"{\"schema_version\":\"exitpath-result-v2\"}",
		HEAD "}",
		HEAD ",\"outcome\":\"green\",\"checks\":[]}",
		HEAD ",\"outcome\":\"clean\"}",
		HEAD ",\"outcome\":\"clean\",\"checks\":7}",
		HEAD ",\"outcome\":\"clean\",\"checks\":[],\"warnings\":7}",
		HEAD ",\"outcome\":\"clean\",\"checks\":[7]}",
		HEAD ",\"outcome\":\"clean\",\"checks\":[{}]}",
#define CHECK ",\"outcome\":\"clean\",\"checks\":[{\"outcome\":\"leak\","
		HEAD CHECK "\"findings\":7}]}",
		HEAD CHECK "\"findings\":[7]}]}",
		HEAD CHECK "\"findings\":[{\"class\":\"odd\"}]}]}",
		HEAD CHECK "\"findings\":[{\"class\":\"new\"}]}]}",
		HEAD CHECK "\"findings\":[{\"class\":\"new\",\"base_units\":7}]}]}",
		HEAD CHECK "\"notes\":[7]}]}",
		HEAD CHECK "\"command\":{}}]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct result r = {0};
		struct err err = {0};
		CLEANUP_JSON json_t *j = json_loads(cases[i], JSON_DECODE_ANY, NULL);

		assert_non_null(j);
		assert_int_equal(result_from_json(j, &r, &err), -1);
		assert_int_equal(err.kind, ERR_ENVIRONMENT);
		assert_null(r.checks); /* untouched on failure */
	}
}

static void every_outcome_and_class_has_a_name(void **state)
{
	(void)state;
	for (int c = FINDING_NEW; c <= FINDING_INTERMITTENT; c++)
		assert_non_null(finding_class_name((enum finding_class)c));
	for (int o = OUTCOME_CLEAN; o <= OUTCOME_LEAK; o++) {
		enum outcome back;

		assert_true(outcome_parse(outcome_name((enum outcome)o), &back));
		assert_int_equal(back, o);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		HARNESS_TEST(json_round_trip),
		HARNESS_TEST(malformed_json_is_refused),
		HARNESS_TEST(every_outcome_and_class_has_a_name),
	};

	return HARNESS_RUN(tests);
}
