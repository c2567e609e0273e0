#include "review/internal.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>

void set_excerpt(struct review_item *i, const struct source_tree *t, uint32_t n)
{
	size_t len;
	const char *line = source_line_at(t, t->nodes[n].start, &len);

	i->excerpt = dup_line(line, len);
}

void definitions(const struct source_tree *t, struct strv *ret)
{
	struct source_kinds kinds = source_kinds(
		t->lang,
		"function_definition function_declaration method_declaration "
		"class_definition class_declaration function_item method_definition "
		"struct_item type_spec field_declaration property_signature "
		"public_field_definition enum_variant enumerator const_spec "
		"preproc_def preproc_function_def variable_declarator "
		"generator_function_declaration");

	for (uint32_t n = 0; n < t->n; n++) {
		uint32_t name;

		if (!source_has(&kinds, t->nodes[n].kind))
			continue;
		name = source_child(t, n, source_field(t->lang, "name"));
		if (name == SOURCE_NONE)
			name = source_child(t, n, source_field(t->lang, "declarator"));
		while (name != SOURCE_NONE && t->nodes[name].after != name + 1)
			name = source_first(t,
					    name); /* C: the name is in the declarator */
		if (name != SOURCE_NONE && t->nodes[name].end - t->nodes[name].start > 2)
			strv_take(ret, source_text_dup(t, name));
	}
}

/* One file's trees, kept while all of the patch is compared. */
struct sides {
	struct test_pair pair;
	unsigned class;
	const char *path;
};

static const struct source_tree *tree_of(const struct units *u)
{
	return u->present ? &u->tree : NULL;
}

/* Definitions of base that no changed file has any more. */
static void find_gone(const struct sides *s, size_t n, struct strv *ret)
{
	struct strv old CLEANUP(strv) = {0}, now CLEANUP(strv) = {0};

	for (size_t i = 0; i < n; i++) {
		if (s[i].class & FILE_TEST)
			continue;
		if (s[i].pair.old.present)
			definitions(&s[i].pair.old.tree, &old);
		if (s[i].pair.now.present)
			definitions(&s[i].pair.now.tree, &now);
	}
	for (size_t i = 0; i < old.n; i++)
		if (!strv_contains(&now, old.v[i]))
			strv_add(ret, old.v[i]);
}

/* Rust has its tests beside the code; a helper of C may be anywhere. */
static bool has_tests(const struct units *u)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->v[i].kind == UNIT_TEST)
			return true;
	return false;
}

static bool in_test(const struct sides *s)
{
	if (s->class & FILE_TEST)
		return true;
	return (s->pair.old.tree.lang == LANG_RUST ||
		s->pair.now.tree.lang == LANG_RUST) &&
	       (has_tests(&s->pair.old) || has_tests(&s->pair.now));
}

/* test_a.py became a.py: no runner looks there. */
static void review_name(const struct review_file *f, const struct sides *s,
			struct review_items *out)
{
	if (f->old_path && f->path && file_is_collected(f->old_path) &&
	    !file_is_collected(f->path) && has_tests(&s->pair.now))
		review_add(out, REVIEW_TEST_DISABLED, f->path, 0,
			   "it was %s: by this name no runner looks for tests",
			   f->old_path);
}

/* ---- does the test know what the fix touches? ---- */

static void add_words(const char *text, size_t len, struct strv *words)
{
	for (const char *p = text, *end = text + len; p < end;) {
		const char *start = p;

		while (p < end && (isalnum((unsigned char)*p) || *p == '_'))
			p++;
		if (p - start >= 4 && isalpha((unsigned char)*start))
			strv_take(words, xstrndup(start, (size_t)(p - start)));
		if (p == start)
			p++;
	}
}

static char *stem_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return xstrndup(name, strcspn(name, "."));
}

/* Names around the changed lines of the code: functions, what they call, the file. */
static void changed_words(const struct review_file *f, struct strv *ret)
{
	struct line_diff d;

	line_diff(f, &d);
	for (size_t i = 0; i < d.added.n; i++)
		add_words(d.added.v[i].text, d.added.v[i].len, ret);
	for (size_t i = 0; i < d.removed.n; i++)
		add_words(d.removed.v[i].text, d.removed.v[i].len, ret);
	line_diff_release(&d);
	strv_take(ret, stem_of(f->path));
}

static void review_related(const struct review_patch *patch, const struct sides *s,
			   struct review_items *out)
{
	struct strv words CLEANUP(strv) = {0};
	const struct sides *test = NULL;
	size_t code = 0;

	for (size_t i = 0; i < patch->n; i++) {
		if (!s[i].pair.now.present)
			continue;
		if (in_test(&s[i])) {
			if (!test && has_tests(&s[i].pair.now))
				test = &s[i];
			continue;
		}
		code++;
		changed_words(&patch->files[i], &words);
		definitions(&s[i].pair.now.tree, &words);
	}
	if (!code || !test)
		return;
	for (size_t i = 0; i < patch->n; i++)
		for (size_t k = 0; in_test(&s[i]) && k < words.n; k++)
			if (s[i].pair.now.present &&
			    memmem(patch->files[i].text, patch->files[i].len, words.v[k],
				   strlen(words.v[k])))
				return;
	review_add(out, REVIEW_FIX_UNRELATED, test->path, 0,
		   "no test of the patch names a function, file or word that its code "
		   "changes");
}

void review_patch(const struct review_patch *patch, struct review_items *out)
{
	struct source_parser *p = source_parser_new();
	struct sides *s = xcalloc(patch->n + 1, sizeof(*s));
	struct test_pair *tests = xcalloc(patch->n + 1, sizeof(*tests));
	struct strv gone CLEANUP(strv) = {0};
	size_t ntests = 0;

	for (size_t i = 0; i < patch->n; i++) {
		const struct review_file *f = &patch->files[i];

		s[i].path = f->path ? f->path : f->old_path;
		s[i].class = file_class(s[i].path) |
			     (f->old_path ? file_class(f->old_path) & FILE_TEST : 0);
		units_read(p, f->old_path, f->old_text, f->old_len, &s[i].pair.old);
		units_read(p, f->path, f->text, f->len, &s[i].pair.now);
		if (in_test(&s[i]))
			tests[ntests++] = s[i].pair;
	}
	find_gone(s, patch->n, &gone);
	review_lines(patch, out);
	compare_tests(tests, ntests, &gone, out);
	for (size_t i = 0; i < patch->n; i++) {
		if (!s[i].pair.now.present)
			continue;
		review_name(&patch->files[i], &s[i], out);
		review_exits(tree_of(&s[i].pair.old), &s[i].pair.now.tree, s[i].path,
			     s[i].class, out);
		if (in_test(&s[i]))
			review_mocks(patch, tree_of(&s[i].pair.old), &s[i].pair.now.tree,
				     s[i].path, out);
	}
	review_related(patch, s, out);
	review_items_sort(out);
	for (size_t i = 0; i < patch->n; i++) {
		units_release(&s[i].pair.old);
		units_release(&s[i].pair.now);
	}
	free(tests);
	free(s);
	source_parser_free(p);
}
