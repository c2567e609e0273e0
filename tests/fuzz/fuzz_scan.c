/* Any bytes as source that the rules look at, and as the text of a rule. The first byte
 * says which language; 'R': a rule. */
#include "base/mem.h"
#include "contract/rules.h"
#include "scan/scan.h"

#include <sanitizer/lsan_interface.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct scan_rules rules;
static struct scan_set *set;
static struct source_parser *parser;

static void prepare(void)
{
	struct err err = {0};

	__lsan_disable();
	if (rules_builtin(&rules, &err) < 0 || !(set = scan_set_new(&rules, &err)))
		abort();
	parser = source_parser_new();
	__lsan_enable();
}

static void rule(const char *text, size_t len)
{
	CLEANUP(scan_rules) struct scan_rules own = {0};
	struct err err = {0};

	if (rule_parse(text, len, "rule.yaml", &own, &err) < 0)
		return;
	/* tree-sitter 0.25 loses a few bytes of some queries that it refuses. */
	__lsan_disable();
	scan_set_free(scan_set_new(&own, &err));
	__lsan_enable();
}

static void source(enum source_lang lang, const char *text, size_t len)
{
	CLEANUP(source_tree) struct source_tree t = {0};
	CLEANUP(scan_findings) struct scan_findings f = {0};
	size_t ignored = 0;

	source_parse(parser, lang, text, len, NULL, &t);
	if (!t.skipped)
		scan_file(set, &t, "src/input", &f, &ignored);
	for (size_t i = 0; i < f.n; i++)
		if (!scan_set_rule(set, f.v[i].rule) || !f.v[i].line || !f.v[i].message)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* As the engine has it: a NUL behind. AddressSanitizer's regexec() looks for one.
	 */
	CLEANUP_FREE char *text = xstrndup((const char *)data, size);

	if (!set)
		prepare();
	if (!size || strlen(text) != size)
		return 0;
	if (data[0] == 'R')
		rule(text + 1, size - 1);
	else
		source((enum source_lang)(1 + data[0] % (LANG_END - 1)), text + 1,
		       size - 1);
	return 0;
}
