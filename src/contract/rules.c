#include "contract/rules.h"

#include "base/fs.h"
#include "base/mem.h"
#include "contract/read.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RULE_MAX_BYTES = 1 << 18 };

/* rules/pack: "name\0length in decimal\0text" of each, one after the other. */
extern const char embed_rules_start[], embed_rules_end[];

static int read_shape(const struct reader *r, const struct key *k,
		      const struct yaml *value, void *into)
{
	struct scan_rule *rule = into;

	if (read_check(r, value, YAML_STRING, k->name) < 0)
		return -1;
	for (int s = 0; s < SCAN_SHAPES; s++)
		if (value->text[0] == scan_shape_letter((enum scan_shape)s) &&
		    !value->text[1]) {
			rule->shape = (enum scan_shape)s;
			return 0;
		}
	return yaml_error(value, r->name, r->err, "shape: \"%s\" is no shape of a rule",
			  value->text);
}

static int read_severity(const struct reader *r, const struct key *k,
			 const struct yaml *value, void *into)
{
	static const char *const words[] = {"note", "warning", "error", NULL};
	struct scan_rule *rule = into;
	size_t word;

	if (read_word(r, value, k->name, words, &word) < 0)
		return -1;
	rule->severity = (enum scan_severity)word;
	return 0;
}

static int add_text(const struct reader *r, const struct yaml *item, void *into)
{
	if (read_check(r, item, YAML_STRING, "an element") < 0)
		return -1;
	strv_add(into, item->text);
	return 0;
}

static int read_texts(const struct reader *r, const struct key *k,
		      const struct yaml *value, void *into)
{
	return read_each(r, k, value, (char *)into + k->offset, add_text);
}

static int read_query(const struct reader *r, const struct key *k,
		      const struct yaml *value, void *into)
{
	struct scan_rule *rule = into;

	rule->query_line = value->line;
	return read_text(r, k, value, into);
}

static const struct key example_keys[] = {
	{"language", read_name, offsetof(struct rule_example, language),
	 .required = true},
	{"code", read_text, offsetof(struct rule_example, code), .required = true},
};
static const struct keys example_table = {"an example", example_keys,
					  ARRAY_SIZE(example_keys)};

static int add_bad(const struct reader *r, const struct yaml *item, void *into)
{
	struct scan_rule *rule = into;
	struct rule_example *e = VEC_ADD(rule->bad, rule->nbad, rule->bad_cap);

	e->line = item->line;
	return read_map(r, &example_table, item, e);
}

static int add_good(const struct reader *r, const struct yaml *item, void *into)
{
	struct scan_rule *rule = into;
	struct rule_example *e = VEC_ADD(rule->good, rule->ngood, rule->good_cap);

	e->line = item->line;
	return read_map(r, &example_table, item, e);
}

static int read_bad(const struct reader *r, const struct key *k, const struct yaml *value,
		    void *into)
{
	return read_each(r, k, value, into, add_bad);
}

static int read_good(const struct reader *r, const struct key *k,
		     const struct yaml *value, void *into)
{
	return read_each(r, k, value, into, add_good);
}

static const struct key rule_keys[] = {
	{"id", read_name, offsetof(struct scan_rule, id), .required = true},
	{"shape", read_shape, 0, .required = true},
	{"severity", read_severity, 0},
	{"languages", read_texts, offsetof(struct scan_rule, languages),
	 .required = true},
	{"query", read_query, offsetof(struct scan_rule, query)},
	{"where", read_texts, offsetof(struct scan_rule, where)},
	{"message", read_text, offsetof(struct scan_rule, message)},
	{"explain", read_text, offsetof(struct scan_rule, explain), .required = true},
	{"fix", read_text, offsetof(struct scan_rule, fix), .required = true},
	{"references", read_texts, offsetof(struct scan_rule, references)},
	{"bad", read_bad, 0, .required = true},
	{"good", read_good, 0, .required = true},
};
static const struct keys rule_table = {"a rule", rule_keys, ARRAY_SIZE(rule_keys)};
static const struct keys *const tables[] = {&rule_table, &example_table, NULL};

static int check(const struct reader *r, const struct yaml *doc,
		 const struct scan_rule *rule, const struct scan_rules *rules)
{
	if (scan_rule_find(rules, rule->id))
		return yaml_error(doc, r->name, r->err, "there is a rule \"%s\" already",
				  rule->id);
	if (rule->query && !rule->message)
		return yaml_error(doc, r->name, r->err,
				  "a rule with a query needs a message");
	return 0;
}

int rule_parse(const char *text, size_t len, const char *name, struct scan_rules *ret,
	       struct err *err)
{
	const struct reader r = {name, err, tables};
	CLEANUP(yaml) struct yaml doc = {0};
	struct scan_rule rule = {.file = xstrdup(name), .severity = SCAN_WARNING};

	if (yaml_parse(text, len, name, &doc, err) < 0 ||
	    read_map(&r, &rule_table, &doc, &rule) < 0 ||
	    check(&r, &doc, &rule, ret) < 0) {
		scan_rule_release(&rule);
		return -1;
	}
	*VEC_ADD(ret->v, ret->n, ret->cap) = rule;
	return 0;
}

static int is_yaml(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 5 && !strcmp(d->d_name + n - 5, ".yaml");
}

int rules_load_dir(const char *dir, struct scan_rules *ret, struct err *err)
{
	struct dirent **names;
	int n = scandir(dir, &names, is_yaml, alphasort), rc = 0;

	if (n < 0)
		return errno == ENOENT ? 0
				       : err_errno(err, ERR_ENVIRONMENT, errno,
						   "cannot read %s", dir);
	for (int i = 0; i < n; i++) {
		CLEANUP_FREE char *path = path_join(dir, names[i]->d_name);
		CLEANUP(buf) struct buf text = {0};

		if (rc == 0)
			rc = read_file(path, RULE_MAX_BYTES, &text, err);
		if (rc == 0)
			rc = rule_parse(buf_str(&text), text.len, path, ret, err);
		free(names[i]);
	}
	free(names);
	return rc;
}

int rules_builtin(struct scan_rules *ret, struct err *err)
{
	const char *p = embed_rules_start;

	while (p < embed_rules_end && *p) {
		const char *name = p, *length = name + strlen(name) + 1;
		const char *text = length + strlen(length) + 1;
		size_t len = strtoul(length, NULL, 10);

		if (rule_parse(text, len, name, ret, err) < 0)
			return -1;
		ret->v[ret->n - 1].builtin = true;
		p = text + len;
	}
	return 0;
}
