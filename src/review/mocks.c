/* Modules that tests replace although nothing here has them. */
#include "review/internal.h"

#include "base/mem.h"

#include <stdio.h>

static uint32_t field(const struct source_tree *t, uint32_t n, const char *name)
{
	return source_child(t, n, source_field(t->lang, name));
}

/* The module that the call at n replaces; NULL: it replaces none. The caller frees. */
static char *mocked_at(const struct source_tree *t, uint32_t n)
{
	uint32_t callee = field(t, n, "function"), args = field(t, n, "arguments"), first;
	char *name CLEANUP_FREE = NULL, *text;
	size_t len;
	bool python = t->lang == LANG_PYTHON;

	if (callee == SOURCE_NONE || args == SOURCE_NONE ||
	    t->nodes[callee].end - t->nodes[callee].start > 60)
		return NULL;
	name = tokens_of(t, callee);
	if (python ? strcmp(name, "patch") && strcmp(name, "mock . patch") &&
			     strcmp(name, "mocker . patch") &&
			     strcmp(name, "unittest . mock . patch")
		   : strcmp(name, "jest . mock") && strcmp(name, "vi . mock") &&
			     strcmp(name, "jest . doMock") && strcmp(name, "vi . doMock"))
		return NULL;
	first = source_named_child(t, args, 0);
	if (first == SOURCE_NONE)
		return NULL;
	text = source_text_dup(t, first);
	len = strlen(text);
	if (len < 3 || !strchr("\"'", text[0])) {
		free(text);
		return NULL;
	}
	text[len - 1] = '\0';
	memmove(text, text + 1, len - 1);
	return text;
}

/* sys.modules["x"] = … */
static char *module_set_at(const struct source_tree *t, uint32_t n)
{
	char *text CLEANUP_FREE = NULL;
	const char *quote, *end;

	if (t->lang != LANG_PYTHON ||
	    strcmp(source_kind_name(t->lang, t->nodes[n].kind), "assignment") != 0)
		return NULL;
	text = source_text_dup(t, n);
	if (strncmp(text, "sys.modules[", 12) != 0 || !strchr("\"'", text[12]))
		return NULL;
	quote = text + 13;
	end = strchr(quote, text[12]);
	return end ? xstrndup(quote, (size_t)(end - quote)) : NULL;
}

static void collect(const struct source_tree *t, struct strv *known)
{
	for (uint32_t n = 0; t && n < t->n; n++) {
		char *module = mocked_at(t, n);

		module = module ? module : module_set_at(t, n);
		if (module)
			strv_take(known, module);
	}
}

void review_mocks(const struct review_patch *patch, const struct source_tree *old,
		  const struct source_tree *now, const char *path,
		  struct review_items *out)
{
	struct strv known CLEANUP(strv) = {0};

	if (!patch->knows_module)
		return;
	collect(old, &known);
	for (uint32_t n = 0; n < now->n; n++) {
		char *module CLEANUP_FREE = mocked_at(now, n);

		if (!module)
			module = module_set_at(now, n);
		if (!module || strv_contains(&known, module) ||
		    patch->knows_module(patch->ctx, module, path))
			continue;
		set_excerpt(review_add(out, REVIEW_MOCK_UNKNOWN, path,
				       source_line(now, n),
				       "`%s` is in no manifest of the repository, and no "
				       "file of "
				       "it",
				       module),
			    now, n);
	}
}
