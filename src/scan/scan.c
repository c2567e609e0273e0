#include "scan/scan.h"

#include "base/macros.h"
#include "scan/flow.h"
#include "scan/helpers.h"
#include "scan/lang.h"
#include "scan/paths.h"

#include <ctype.h>
#include <string.h>

/* By the names that runners look for. */
static bool is_test_file(const char *path)
{
	static const char *const parts[] = {
		"/test/",    "/tests/",	    "/testing/", "/testdata/", "/__tests__/",
		"/example/", "/examples/",  "bench/",	 "/benchmark", "testsuite",
		"/fuzz/",    "/contrib/",   "/demo/",	 "/t/helper/", "/spec/",
		"/docs/",    "/unit-tests/"};
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(path, parts[i]) ||
		    !strncmp(path, parts[i] + 1, strlen(parts[i] + 1)))
			return true;
	return !strncmp(name, "test_", 5) || !strncmp(name, "test-", 5) ||
	       strstr(name, "_test.") || strstr(name, ".test.") ||
	       strstr(name, ".spec.") || strstr(name, "Test.java") ||
	       strstr(name, "Benchmark.java");
}

/* `int cmd_add(int argc, char **argv)`: what main() hands its arguments to. */
static bool is_command(const struct scan_lang *lang, const struct source_tree *t,
		       uint32_t function)
{
	uint32_t body = source_child(t, function, lang->f_body);
	const char *text = t->text + t->nodes[function].start;
	size_t len;

	if (!lang->part_is_own || body == SOURCE_NONE)
		return false;
	len = t->nodes[body].start - t->nodes[function].start;
	return memmem(text, len, "int argc", 8) &&
	       (memmem(text, len, "char **argv", 11) ||
		memmem(text, len, "char *argv[]", 12));
}

/* A test, an example, or main(): when it fails the process ends, and with it all that
 * it holds. */
static enum scan_severity severity_of(const struct scan_lang *lang,
				      const struct source_tree *t, uint32_t function,
				      bool tests)
{
	uint32_t name = lang->name(t, function);

	return tests ||
			       (name != SOURCE_NONE &&
				(source_text_is(t, name, "main") ||
				 !strncmp(t->text + t->nodes[name].start, "test_", 5))) ||
			       is_command(lang, t, function)
		       ? SCAN_NOTE
		       : SCAN_WARNING;
}

static void scan_functions(const struct source_tree *t, const char *path, bool tests,
			   struct scan_findings *out)
{
	const struct scan_lang *lang = scan_lang(t->lang);
	size_t npairs;
	const struct scan_pair *pairs = scan_pairs(t->lang, &npairs);

	CLEANUP(helpers) struct helpers helpers = {0};

	if (!lang)
		return;
	helpers_find(lang, t, &helpers);
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
					    .helpers = &helpers,
					    .severity = severity_of(lang, t, n, tests),
					    .releases = scan_releases(lang, t, n)};
		scan_paths(&fn, pairs, npairs, out);
		scan_cleanup(&fn, out);
	}
}

/* ---- exitpath: ignore[RULE] reason ---- */

#define MARK "exitpath: ignore["

enum ignore { IGNORE_NO, IGNORE_YES, IGNORE_WITHOUT_REASON };

/* What a line says about a rule. */
static enum ignore ignored_by(const char *line, size_t len, const char *rule)
{
	const char *mark = memmem(line, len, MARK, strlen(MARK));
	const char *end = line + len, *name, *close, *reason;

	if (!mark)
		return IGNORE_NO;
	name = mark + strlen(MARK);
	close = memchr(name, ']', (size_t)(end - name));
	if (!close || (size_t)(close - name) != strlen(rule) ||
	    strncmp(name, rule, strlen(rule)) != 0)
		return IGNORE_NO;
	for (reason = close + 1; reason < end; reason++)
		if (isalnum((unsigned char)*reason) || *reason & 0x80)
			return IGNORE_YES;
	return IGNORE_WITHOUT_REASON;
}

static enum ignore is_ignored(const struct source_tree *t, const struct scan_finding *f)
{
	const char *at = t->text, *end = t->text + t->len;

	for (unsigned line = 1; at < end && line <= f->line; line++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((newline ? newline : end) - at);

		if (line + 1 >= f->line) {
			enum ignore i = ignored_by(at, len, f->rule);

			if (i != IGNORE_NO)
				return i;
		}
		at += len + 1;
	}
	return IGNORE_NO;
}

void scan_file(const struct scan_set *rules, const struct source_tree *t,
	       const char *path, struct scan_findings *out, size_t *ret_ignored)
{
	bool tests = is_test_file(path);
	bool marks = memmem(t->text, t->len, MARK, strlen(MARK));
	size_t n = out->n;

	scan_functions(t, path, tests, out);
	scan_queries(rules, t, path, tests, out);
	for (size_t i = n; i < out->n; i++) {
		struct scan_finding *f = &out->v[i];
		const struct scan_rule *rule = scan_set_rule(rules, f->rule);
		enum ignore ignored = marks ? is_ignored(t, f) : IGNORE_NO;

		if (rule && rule->severity < f->severity)
			f->severity = rule->severity;
		if (ignored == IGNORE_YES) {
			scan_finding_release(f);
			*ret_ignored += 1;
			continue;
		}
		if (ignored == IGNORE_WITHOUT_REASON) {
			f->rule = "ignore-without-reason";
			f->shape = SHAPE_FORCED_EXIT;
		}
		if (n != i)
			out->v[n] = *f;
		n++;
	}
	out->n = n;
}
