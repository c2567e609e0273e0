#include "scan/scan.h"

#include "base/macros.h"
#include "scan/flow.h"
#include "scan/lang.h"
#include "scan/paths.h"

#include <string.h>

/* By the names that runners look for. */
static bool is_test_file(const char *path)
{
	static const char *const parts[] = {
		"/test/",    "/tests/",	   "/testing/",	 "/testdata/", "/__tests__/",
		"/example/", "/examples/", "/bench/",	 "/benchmark", "/fuzz/",
		"/contrib/", "/demo/",	   "/t/helper/", "/spec/",     "/docs/"};
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(path, parts[i]) ||
		    !strncmp(path, parts[i] + 1, strlen(parts[i] + 1)))
			return true;
	return !strncmp(name, "test_", 5) || !strncmp(name, "test-", 5) ||
	       strstr(name, "_test.") || strstr(name, ".test.") ||
	       strstr(name, ".spec.") || strstr(name, "Test.java");
}

/* A test, an example, or main(): when it fails the process ends, and with it all that
 * it holds. */
static enum scan_severity severity_of(const struct scan_lang *lang,
				      const struct source_tree *t, uint32_t function,
				      bool tests)
{
	uint32_t name = lang->name(t, function);

	return tests || (name != SOURCE_NONE && source_text_is(t, name, "main"))
		       ? SCAN_NOTE
		       : SCAN_WARNING;
}

void scan_file(const struct source_tree *t, const char *path, struct scan_findings *out)
{
	const struct scan_lang *lang = scan_lang(t->lang);
	size_t npairs;
	const struct scan_pair *pairs = scan_pairs(t->lang, &npairs);
	bool tests = is_test_file(path);

	if (!lang)
		return;
	for (uint32_t n = 0; n < t->n; n++) {
		CLEANUP(flow) struct flow flow = {0};
		struct scan_function fn;

		if (!source_has(&lang->functions, t->nodes[n].kind))
			continue;
		flow_build(lang, t, n, &flow);
		fn = (struct scan_function){.lang = lang,
					    .t = t,
					    .flow = &flow,
					    .path = path,
					    .severity = severity_of(lang, t, n, tests)};
		scan_paths(&fn, pairs, npairs, out);
		scan_cleanup(&fn, out);
	}
}
