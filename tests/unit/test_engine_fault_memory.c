/* What is kept of each point, over openings of the store. */
#include "store_fixture.h"

#include "engine/fault_memory.h"

static const char key[SHA256_HEX] =
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static struct store *open_store(void)
{
	CLEANUP_FREE char *dir = path_join(harness_tmpdir(), "store");
	struct err err = {0};
	struct store *s = store_open(dir, &err);

	if (!s)
		fail_msg("%s", err.message);
	return s;
}

static void fill(struct fault_finding *f)
{
	struct frame *frame = leak_frame(&f->chain);

	f->defect = DEFECT_CRASH;
	f->call = xstrdup("malloc");
	f->what = xstrdup("SIGSEGV");
	f->key = UINT64_MAX;
	frame->function = xstrdup("f");
	fault_sign(f);
}

/* One run: it knows the given points, and settles a clean and a bad one. */
static void run_once(struct store *s, const char *binaries, bool keep, bool fresh,
		     bool done, bool knows)
{
	struct fault_memory *m = fault_memory_new(s, key, keep, fresh);
	struct fault_finding clean = {0}, bad = {0}, mine = {0};

	assert_false(fault_memory_get(m, 1, &clean)); /* not begun */
	fault_memory_begin(m, binaries);
	assert_int_equal(fault_memory_get(m, 1, &clean), knows);
	assert_int_equal(fault_memory_get(m, UINT64_MAX, &bad), knows);
	assert_false(fault_memory_get(m, 2, &mine));
	if (knows) {
		assert_int_equal(clean.defect, DEFECT_NONE);
		assert_int_equal(bad.defect, DEFECT_CRASH);
		assert_string_equal(bad.signature, "crash|malloc|?!f");
	}
	fill(&mine);
	fault_memory_put(m, 1, NULL);
	fault_memory_put(m, UINT64_MAX, &mine);
	if (done)
		fault_memory_done(m);
	fault_memory_free(m);
	fault_finding_release(&bad);
	fault_finding_release(&mine);
}

static void test_what_is_known(void **state)
{
	struct store *s = open_store();

	(void)state;
	run_once(s, "a", false, false, false, false);
	run_once(s, "a", false, false, false, true); /* it was cut short */
	run_once(s, "b", false, false, false, false);
	run_once(s, "a", false, true, false, false); /* --fresh */
	run_once(s, "a", false, false, true, true);
	run_once(s, "a", false, false, false, false); /* came to its end */
	run_once(s, "a", false, false, true, true);
	store_close(s);
	s = open_store();
	run_once(s, "a", true, false, false, true); /* base */
	store_close(s);
}

/* The store is anybody's who may write to it. */
static void test_malformed(void **state)
{
	static const char *const texts[] = {
		"[]",
		"{}",
		"{\"points\": 5}",
		"{\"points\": []}",
		"{\"points\": {\"0000000000000001\": 5, \"ffffffffffffffff\": {}}}",
		"{\"points\": {\"0000000000000001\": {\"defect\": \"none\"}}}"};
	struct store *s = open_store();
	char full[SHA256_HEX];
	struct sha256 *h = sha256_new();

	(void)state;
	sha256_add_field(h, key);
	sha256_add_field(h, "a");
	sha256_finish(h, full);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP_JSON json_t *j =
			json_parse(texts[i], strlen(texts[i]), "t", NULL);

		assert_non_null(j);
		assert_int_equal(store_put_observation(s, full, j, NULL), 0);
		run_once(s, "a", false, false, false, false);
	}
	store_close(s);
}

static void test_without(void **state)
{
	struct fault_finding f = {0};

	(void)state;
	fault_memory_begin(NULL, "a");
	fault_memory_put(NULL, 1, NULL);
	assert_false(fault_memory_get(NULL, 1, &f));
	fault_memory_done(NULL);
	fault_memory_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_what_is_known),
		HARNESS_TEST(test_malformed),
		HARNESS_TEST(test_without),
	};

	return HARNESS_RUN(tests);
}
