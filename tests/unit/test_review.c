/* The patches of tests/review: each is rejected for the rules that it names, and for no
 * other; `~rule` is shown and does not reject. */
#include "harness.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/strv.h"
#include "review/review.h"

#include <stdio.h>
#include <string.h>

struct texts {
	char *path;
	struct buf old, now;
	bool has_old, has_now;
};

struct patch_case {
	char *name, *expected;
	struct texts files[8];
	size_t n;
};

static struct texts *file_of(struct patch_case *c, const char *path)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->files[i].path, path) == 0)
			return &c->files[i];
	assert_true(c->n < ARRAY_SIZE(c->files));
	c->files[c->n].path = xstrdup(path);
	return &c->files[c->n++];
}

static bool knows(void *ctx, const char *module, const char *from)
{
	(void)ctx;
	(void)from;
	return !strncmp(module, "app", 3) || !strncmp(module, "./", 2) ||
	       !strcmp(module, "axios") || !strcmp(module, "requests.get");
}

static void rules_of(const struct review_items *items, struct buf *out, struct buf *told)
{
	for (size_t i = 0; i < items->n; i++) {
		const struct review_item *v = &items->v[i];
		bool rejects = review_item_rejects(v, false);
		struct buf word CLEANUP(buf) = {0};

		buf_addf(&word, "%s%s ",
			 rejects	    ? ""
			 : v->justification ? "ok:"
					    : "~",
			 review_rule_name(v->rule));
		buf_addf(told, "  %s:%u %s %s\n", v->path, v->line, word.data,
			 v->message);
		if ((rejects || v->justification) && !strstr(buf_str(out), word.data))
			buf_addf(out, "%s", word.data);
	}
}

/* Every rule named is there, and no other that rejects. */
static bool as_expected(const char *expected, const struct review_items *items,
			const char *rules)
{
	char *copy CLEANUP_FREE = xstrdup(expected), *save = NULL;
	size_t rejecting = 0, found = 0;

	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		bool there = false;

		if (*w != '~') {
			char *spaced CLEANUP_FREE = xasprintf("%s ", w);

			rejecting++;
			there = strstr(rules, spaced) != NULL;
		}
		for (size_t i = 0; *w == '~' && i < items->n; i++)
			there |= !strcmp(review_rule_name(items->v[i].rule), w + 1);
		if (!there)
			return false;
	}
	for (const char *p = rules; (p = strchr(p, ' ')); p++)
		found++;
	return found == rejecting;
}

static void try_case(struct patch_case *c, unsigned *failed)
{
	struct review_file files[ARRAY_SIZE(c->files)] = {0};
	struct review_patch patch = {.files = files, .n = c->n, .knows_module = knows};
	struct review_items items CLEANUP(review_items) = {0};
	struct buf rules CLEANUP(buf) = {0}, told CLEANUP(buf) = {0};

	for (size_t i = 0; i < c->n; i++) {
		struct texts *t = &c->files[i];

		files[i] = (struct review_file){
			.old_path = t->has_old ? t->path : NULL,
			.path = t->has_now ? t->path : NULL,
			.old_text = buf_str(&t->old),
			.text = buf_str(&t->now),
			.old_len = t->old.len,
			.len = t->now.len,
		};
	}
	review_patch(&patch, &items);
	rules_of(&items, &rules, &told);
	if (as_expected(c->expected, &items, buf_str(&rules)))
		return;
	print_error("%s: expected [%s], got [%s]\n%s", c->name, c->expected,
		    buf_str(&rules), buf_str(&told));
	(*failed)++;
}

static void case_release(struct patch_case *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->files[i].path);
		buf_release(&c->files[i].old);
		buf_release(&c->files[i].now);
	}
	free(c->name);
	free(c->expected);
	*c = (struct patch_case){0};
}

static void begin_case(struct patch_case *c, const char *line, size_t len)
{
	char *head CLEANUP_FREE = xstrndup(line + 4, len - 4);
	char *colon = strstr(head, ": ");

	c->expected = xstrdup(colon ? colon + 2 : "");
	if (colon)
		*colon = '\0';
	c->name = xstrdup(head);
}

/* Runs all cases of a file; returns how many there are. */
static unsigned run_cases(const char *name, unsigned *failed)
{
	char *path CLEANUP_FREE = path_join(TEST_SOURCE_DIR "/../review", name);
	struct buf text CLEANUP(buf) = {0};
	struct patch_case c = {0};
	struct buf *to = NULL;
	unsigned n = 0;

	assert_int_equal(read_file(path, 0, &text, NULL), 0);
	for (const char *line = text.data; *line;) {
		size_t len = strcspn(line, "\n");

		if (!strncmp(line, "=== ", 4)) {
			if (c.name)
				try_case(&c, failed);
			case_release(&c);
			begin_case(&c, line, len);
			to = NULL;
			n++;
		} else if (c.name &&
			   (!strncmp(line, "--- ", 4) || !strncmp(line, "+++ ", 4))) {
			char *file CLEANUP_FREE = xstrndup(line + 4, len - 4);
			struct texts *t = file_of(&c, file);

			to = *line == '-' ? &t->old : &t->now;
			*(*line == '-' ? &t->has_old : &t->has_now) = true;
		} else if (to) {
			buf_add(to, line, len);
			buf_addc(to, '\n');
		}
		line += len + (line[len] == '\n');
	}
	if (c.name)
		try_case(&c, failed);
	case_release(&c);
	return n;
}

static void test_patches_that_weaken(void **state)
{
	unsigned failed = 0;

	(void)state;
	assert_true(run_cases("weakens.txt", &failed) >= 40);
	assert_int_equal(failed, 0);
}

static void test_patches_that_do_not(void **state)
{
	unsigned failed = 0;

	(void)state;
	assert_true(run_cases("harmless.txt", &failed) >= 20);
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_patches_that_weaken),
		HARNESS_TEST(test_patches_that_do_not),
	};

	return HARNESS_RUN(tests);
}
