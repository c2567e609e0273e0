#include "engine/run_line.h"

#include "base/mem.h"
#include "engine/units.h"

#include <stddef.h>
#include <string.h>

/* Keys are foreign: enough of them to be known again, and nothing that a terminal would
 * obey, since jansson has seen that they are UTF-8. */
#define SHOWN "%.60s"

struct key {
	const char *name;
	int (*read)(const struct key *k, const json_t *value, struct run_line *l,
		    struct err *err);
	enum limit_unit unit;
	size_t offset; /* of a limit */
};

static int refuse(const struct key *k, const char *expected, struct err *err)
{
	return err_set(err, ERR_USAGE, "%s: must be %s", k->name, expected);
}

static int read_id(const struct key *k, const json_t *value, struct run_line *l,
		   struct err *err)
{
	(void)k, (void)value, (void)l, (void)err; /* was read before all others */
	return 0;
}

static int read_cmd(const struct key *k, const json_t *value, struct run_line *l,
		    struct err *err)
{
	size_t i;
	json_t *word;

	if (!json_is_array(value) || !json_array_size(value))
		return refuse(k, "a list of strings: [\"program\", \"argument\"]", err);
	json_array_foreach (value, i, word) {
		if (!json_is_string(word))
			return refuse(k, "a list of strings", err);
		strv_add(&l->argv, json_string_value(word));
	}
	return *l->argv.v[0] ? 0 : refuse(k, "a list that begins with a program", err);
}

static int read_cwd(const struct key *k, const json_t *value, struct run_line *l,
		    struct err *err)
{
	if (!json_string_length(value))
		return refuse(k, "a directory", err);
	l->cwd = xstrdup(json_string_value(value));
	return 0;
}

static int read_env(const struct key *k, const json_t *value, struct run_line *l,
		    struct err *err)
{
	const char *name;
	const json_t *text;
	void *at;

	if (!json_is_object(value))
		return refuse(k, "an object of strings", err);
	for (at = json_object_iter((json_t *)(uintptr_t)value); at;
	     at = json_object_iter_next((json_t *)(uintptr_t)value, at)) {
		name = json_object_iter_key(at);
		text = json_object_iter_value(at);
		if (!*name || strchr(name, '=') || !json_is_string(text))
			return refuse(k, "an object of names and strings", err);
		env_set(&l->env, name, json_string_value(text));
	}
	return 0;
}

static int read_network(const struct key *k, const json_t *value, struct run_line *l,
			struct err *err)
{
	const char *name = json_string_value(value);

	l->boxed = k->name;
	if (!name || network_parse(name, &l->network) < 0 || l->network == NETWORK_HOST)
		return refuse(k, "\"none\" or \"loopback\"", err);
	return 0;
}

static int read_discard(const struct key *k, const json_t *value, struct run_line *l,
			struct err *err)
{
	if (!json_is_boolean(value))
		return refuse(k, "true or false", err);
	l->discard = json_is_true(value);
	if (l->discard)
		l->boxed = k->name;
	return 0;
}

static int read_warm(const struct key *k, const json_t *value, struct run_line *l,
		     struct err *err)
{
	const char *name = json_string_value(value);

	if (!name || warm_parse(name, &l->warm) < 0)
		return refuse(k, "\"python\" or \"none\"", err);
	if (l->warm != WARM_NONE)
		l->boxed = k->name;
	return 0;
}

static int read_limit(const struct key *k, const json_t *value, struct run_line *l,
		      struct err *err)
{
	uint64_t *limit = (uint64_t *)(void *)((char *)l + k->offset);

	if (json_is_null(value)) {
		*limit = 0;
		return 0;
	}
	if (json_is_integer(value))
		return units_limit_number(json_integer_value(value), k->unit, k->name,
					  limit, err);
	if (json_is_string(value))
		return units_limit(json_string_value(value), k->unit, k->name, limit,
				   err);
	return refuse(k, "a whole number, a string with a unit, or \"none\"", err);
}

#define LIMIT(name, unit, member)                                         \
	{                                                                 \
		name, read_limit, unit, offsetof(struct run_line, member) \
	}

static const struct key keys[] = {
	{"id", read_id, LIMIT_COUNT, 0},
	{"cmd", read_cmd, LIMIT_COUNT, 0},
	{"cwd", read_cwd, LIMIT_COUNT, 0},
	{"env", read_env, LIMIT_COUNT, 0},
	{"network", read_network, LIMIT_COUNT, 0},
	{"discard", read_discard, LIMIT_COUNT, 0},
	{"warm", read_warm, LIMIT_COUNT, 0},
	LIMIT("wall", LIMIT_MS, wall_ms),
	LIMIT("cpu", LIMIT_MS, limits.cpu_ms),
	LIMIT("memory", LIMIT_BYTES, limits.memory),
	LIMIT("disk", LIMIT_BYTES, limits.disk),
	LIMIT("output", LIMIT_BYTES, limits.output),
	LIMIT("pids", LIMIT_COUNT, limits.pids),
	LIMIT("files", LIMIT_COUNT, limits.files),
};

static int unknown(const char *name, struct err *err)
{
	CLEANUP(strv) struct strv names = {0};
	CLEANUP_FREE char *list = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		strv_add(&names, keys[i].name);
	list = strv_join(&names, ", ");
	err_set(err, ERR_USAGE, "unknown key \"" SHOWN "\"", name);
	err_hint(err, "there are %s", list);
	return -1;
}

static int read_keys(const json_t *object, struct run_line *l, struct err *err)
{
	json_t *o = (json_t *)(uintptr_t)object;

	for (void *at = json_object_iter(o); at; at = json_object_iter_next(o, at)) {
		const char *name = json_object_iter_key(at);
		const struct key *k = NULL;

		for (size_t i = 0; i < ARRAY_SIZE(keys) && !k; i++)
			if (!strcmp(keys[i].name, name))
				k = &keys[i];
		if (!k)
			return unknown(name, err);
		if (k->read(k, json_object_iter_value(at), l, err) < 0)
			return -1;
	}
	if (!l->argv.n)
		return err_set(err, ERR_USAGE, "no cmd: {\"cmd\": [\"program\"]}");
	return 0;
}

int run_line_parse(const char *text, size_t len, struct run_line *ret, struct err *err)
{
	json_error_t e;
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
	int rc;

	if (!j)
		return err_set(err, ERR_USAGE, "not JSON at column %d: %s", e.column,
			       e.text);
	if (!json_is_object(j)) {
		json_decref(j);
		return err_set(err, ERR_USAGE, "not an object: {\"cmd\": [\"program\"]}");
	}
	ret->id = json_incref(json_object_get(j, "id"));
	rc = read_keys(j, ret, err);
	json_decref(j);
	return rc;
}

void run_line_release(struct run_line *l)
{
	json_decref(l->id);
	strv_release(&l->argv);
	strv_release(&l->env);
	free(l->cwd);
	*l = (struct run_line){0};
}

/* ---- lines ---- */

void lines_add(struct lines *l, const void *data, size_t len)
{
	size_t left = l->text.len - l->at;

	if (l->at && left)
		memmove(l->text.data, l->text.data + l->at, left);
	l->text.len = left;
	l->scanned -= l->at;
	l->at = 0;
	buf_add(&l->text, data, len);
}

void lines_end(struct lines *l)
{
	l->ended = true;
}

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
			return false;
	return true;
}

/* Gives what is up to the next newline or, with ended, to the end. */
static bool cut(struct lines *l, const char **ret_text, size_t *ret_len)
{
	size_t left = l->text.len - l->scanned;
	const char *end = left ? memchr(l->text.data + l->scanned, '\n', left) : NULL;
	size_t stop = end ? (size_t)(end - l->text.data) : l->text.len;

	l->scanned = l->text.len;
	if (!end && (!l->ended || l->at == l->text.len))
		return false;
	*ret_text = l->text.data + l->at;
	*ret_len = stop - l->at;
	l->at = l->scanned = stop + (end != NULL);
	return true;
}

enum line_kind lines_next(struct lines *l, const char **ret_text, size_t *ret_len)
{
	while (cut(l, ret_text, ret_len)) {
		if (l->skipping) {
			l->skipping = false;
			continue;
		}
		l->number++;
		if (*ret_len > RUN_LINE_MAX)
			return LINE_TOO_LONG;
		if (!is_blank(*ret_text, *ret_len))
			return LINE_WHOLE;
	}
	if (!l->skipping && l->text.len - l->at <= RUN_LINE_MAX)
		return LINE_NONE;
	/* Of a line that is too long already, the rest is not kept either. */
	l->at = l->scanned = l->text.len;
	if (l->skipping)
		return LINE_NONE;
	l->skipping = true;
	l->number++;
	return LINE_TOO_LONG;
}

void lines_release(struct lines *l)
{
	buf_release(&l->text);
	*l = (struct lines){0};
}
