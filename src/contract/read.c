#include "contract/read.h"

#include "base/buf.h"
#include "base/mem.h"
#include "contract/load.h"
#include "contract/show.h"
#include "contract/suppression.h"
#include "model/contract.h"

#include <ctype.h>
#include <string.h>

enum { MAX_WORD = 32 };

static size_t min3(size_t a, size_t b, size_t c)
{
	if (b < a)
		a = b;
	return c < a ? c : a;
}

/* Optimal string alignment: insert, delete, replace, swap two neighbours. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t d[MAX_WORD + 1][MAX_WORD + 1], na = strlen(a), nb = strlen(b);

	if (na > MAX_WORD || nb > MAX_WORD)
		return MAX_WORD;
	for (size_t i = 0; i <= na; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= nb; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		for (size_t j = 1; j <= nb; j++) {
			size_t replace = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, replace);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[na][nb];
}

static const struct key *nearest(const struct keys *keys, const char *word)
{
	const struct key *best = NULL;
	size_t least = strlen(word) / 3 + 2; /* farther words are not meant */

	for (size_t i = 0; i < keys->n; i++) {
		size_t d = edit_distance(keys->keys[i].name, word);

		if (d < least) {
			least = d;
			best = &keys->keys[i];
		}
	}
	return best;
}

static const struct key *find(const struct keys *keys, const char *word)
{
	for (size_t i = 0; i < keys->n; i++)
		if (!strcmp(keys->keys[i].name, word))
			return &keys->keys[i];
	return NULL;
}

static int unknown_key(const struct reader *r, const struct keys *keys,
		       const struct yaml *key)
{
	CLEANUP(buf) struct buf allowed = {0};
	const struct key *near = nearest(keys, key->text);
	const struct keys *const *other = r->tables;
	char shown[SHOW_MAX];

	show_text(key->text, shown);
	yaml_error(key, r->name, r->err, "unknown key %s in %s", shown, keys->what);
	for (size_t i = 0; i < keys->n; i++)
		buf_addf(&allowed, "%s%s", i ? ", " : "", keys->keys[i].name);
	while (*other && !find(*other, key->text))
		other++;
	if (*other)
		err_hint(r->err, "%s belongs in %s", key->text, (*other)->what);
	else if (near)
		err_hint(r->err, "did you mean %s? Allowed are: %s", near->name,
			 buf_str(&allowed));
	else
		err_hint(r->err, "allowed are: %s", buf_str(&allowed));
	return -1;
}

int read_map(const struct reader *r, const struct keys *keys, const struct yaml *map,
	     void *into)
{
	if (read_check(r, map, YAML_MAP, keys->what) < 0)
		return -1;
	for (size_t i = 0; i < map->nitems; i += 2) {
		const struct key *k = find(keys, map->items[i].text);

		if (!k)
			return unknown_key(r, keys, &map->items[i]);
		if (k->read(r, k, &map->items[i + 1], into) < 0)
			return -1;
	}
	for (size_t i = 0; i < keys->n; i++) {
		if (!keys->keys[i].required || yaml_get(map, keys->keys[i].name))
			continue;
		return yaml_error(map, r->name, r->err, "%s needs the key %s", keys->what,
				  keys->keys[i].name);
	}
	return 0;
}

static bool scalar(enum yaml_type type)
{
	return type != YAML_LIST && type != YAML_MAP;
}

/* "cycles: "five" is a string, and must be a number". */
static int wrong_type(const struct reader *r, const struct yaml *value,
		      enum yaml_type type, const char *what)
{
	char shown[SHOW_MAX];

	if (value->type == YAML_NULL) {
		yaml_error(value, r->name, r->err, "%s has no value", what);
		err_hint(r->err, "give it %s, or leave it out", yaml_type_name(type));
		return -1;
	}
	if (!scalar(value->type))
		return yaml_error(value, r->name, r->err, "%s must be %s, not %s", what,
				  yaml_type_name(type), yaml_type_name(value->type));
	show_text(value->text, shown);
	yaml_error(value, r->name, r->err, "%s must be %s, and %s is %s", what,
		   yaml_type_name(type), shown, yaml_type_name(value->type));
	if (type == YAML_STRING)
		err_hint(r->err, "put it in quotes");
	else if (value->plain == type)
		err_hint(r->err, "write it without quotes");
	return -1;
}

int read_check(const struct reader *r, const struct yaml *value, enum yaml_type type,
	       const char *what)
{
	if (value->type != type)
		return wrong_type(r, value, type, what);
	if (type == YAML_STRING && !value->text[strspn(value->text, " \t\r\n")])
		return yaml_error(value, r->name, r->err, "%s is blank", what);
	return 0;
}

int read_check_name(const struct reader *r, const struct yaml *value, const char *what)
{
	char shown[SHOW_MAX];
	const char *p;

	if (read_check(r, value, YAML_STRING, what) < 0)
		return -1;
	for (p = value->text; isalnum((unsigned char)*p) || (*p && strchr("_.-", *p));)
		p++;
	/* "." and ".." would leave the artifact's directory. */
	if (!*p && p - value->text <= 64 && value->text[strspn(value->text, ".")])
		return 0;
	show_text(value->text, shown);
	yaml_error(value, r->name, r->err, "%s: %s cannot be a name", what, shown);
	err_hint(r->err, "a name has 1 to 64 of the characters A-Z a-z 0-9 _ . -");
	return -1;
}

int read_word(const struct reader *r, const struct yaml *value, const char *what,
	      const char *const *words, size_t *ret)
{
	CLEANUP(buf) struct buf allowed = {0};
	char shown[SHOW_MAX];

	if (read_check(r, value, YAML_STRING, what) < 0)
		return -1;
	for (size_t i = 0; words[i]; i++) {
		if (!strcmp(words[i], value->text)) {
			*ret = i;
			return 0;
		}
		buf_addf(&allowed, "%s%s", i ? ", " : "", words[i]);
	}
	show_text(value->text, shown);
	yaml_error(value, r->name, r->err, "%s: %s is not known", what, shown);
	err_hint(r->err, "allowed are: %s", buf_str(&allowed));
	return -1;
}

int read_each(const struct reader *r, const struct key *k, const struct yaml *list,
	      void *into,
	      int (*read)(const struct reader *r, const struct yaml *item, void *into))
{
	if (read_check(r, list, YAML_LIST, k->name) < 0)
		return -1;
	for (size_t i = 0; i < list->nitems; i++)
		if (read(r, &list->items[i], into) < 0)
			return -1;
	return 0;
}

int read_twice(const struct reader *r, const struct yaml *item, const char *what)
{
	char shown[SHOW_MAX];

	show_text(item->text, shown);
	return yaml_error(item, r->name, r->err, "%s: %s is listed twice", what, shown);
}

static void *at(const struct key *k, void *into)
{
	return (char *)into + k->offset;
}

int read_text(const struct reader *r, const struct key *k, const struct yaml *value,
	      void *into)
{
	if (read_check(r, value, YAML_STRING, k->name) < 0)
		return -1;
	*(char **)at(k, into) = xstrdup(value->text);
	return 0;
}

int read_name(const struct reader *r, const struct key *k, const struct yaml *value,
	      void *into)
{
	if (read_check_name(r, value, k->name) < 0)
		return -1;
	return read_text(r, k, value, into);
}

int read_bool(const struct reader *r, const struct key *k, const struct yaml *value,
	      void *into)
{
	if (read_check(r, value, YAML_BOOL, k->name) < 0)
		return -1;
	*(bool *)at(k, into) = tolower((unsigned char)value->text[0]) == 't';
	return 0;
}

int read_uint64(const struct reader *r, const struct key *k, const struct yaml *value,
		void *into)
{
	const char *s = value->text;
	size_t digits;
	int64_t n = 0;

	if (read_check(r, value, YAML_INT, k->name) < 0)
		return -1;
	digits = strspn(s, "0123456789");
	/* 010 is ten to YAML 1.2 and eight to YAML 1.1; 0x10 helps nobody here. */
	if (s[digits] || digits > 18 || (s[0] == '0' && digits > 1))
		n = -1;
	for (size_t i = 0; n >= 0 && i < digits; i++)
		n = n * 10 + (s[i] - '0');
	if (n < k->min || n > k->max) {
		char shown[SHOW_MAX];

		show_text(s, shown);
		return yaml_error(value, r->name, r->err,
				  "%s must be a whole number from %lld to %lld, not %s",
				  k->name, (long long)k->min, (long long)k->max, shown);
	}
	*(uint64_t *)at(k, into) = (uint64_t)n;
	return 0;
}

int read_unsigned(const struct reader *r, const struct key *k, const struct yaml *value,
		  void *into)
{
	const struct key alone = {.name = k->name, .min = k->min, .max = k->max};
	uint64_t n;

	if (read_uint64(r, &alone, value, &n) < 0)
		return -1;
	*(unsigned *)at(k, into) = (unsigned)n;
	return 0;
}

int read_duration(const struct reader *r, const struct key *k, const struct yaml *value,
		  void *into)
{
	uint64_t ms;

	/* A number without a unit is refused by parse_duration(), with a better hint. */
	if (value->type != YAML_INT && value->type != YAML_FLOAT &&
	    read_check(r, value, YAML_STRING, k->name) < 0)
		return -1;
	if (parse_duration(value->text, k->name, &ms, r->err) < 0)
		return err_prefix(r->err, "%s:%u:%u", r->name, value->line,
				  value->column);
	if (ms > MAX_TIMEOUT_MS)
		return yaml_error(value, r->name, r->err, "%s is more than 24h", k->name);
	*(uint64_t *)at(k, into) = ms;
	return 0;
}

int read_size(const struct reader *r, const struct key *k, const struct yaml *value,
	      void *into)
{
	if (value->type != YAML_INT && value->type != YAML_FLOAT &&
	    read_check(r, value, YAML_STRING, k->name) < 0)
		return -1;
	if (parse_size(value->text, k->name, at(k, into), r->err) < 0)
		return err_prefix(r->err, "%s:%u:%u", r->name, value->line,
				  value->column);
	return 0;
}

int read_date(const struct reader *r, const struct key *k, const struct yaml *value,
	      void *into)
{
	char shown[SHOW_MAX];

	if (read_check(r, value, YAML_STRING, k->name) < 0)
		return -1;
	if (date_valid(value->text))
		return read_text(r, k, value, into);
	show_text(value->text, shown);
	yaml_error(value, r->name, r->err, "%s: %s is not a day", k->name, shown);
	err_hint(r->err, "write it as YYYY-MM-DD");
	return -1;
}
