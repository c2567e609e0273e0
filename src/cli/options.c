#include "cli/options.h"

#include "base/mem.h"
#include "engine/units.h"
#include "report/escape.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct common common;

static const char *isolation; /* as it was written */

static const struct option_row common_rows[] = {
	{"json", NULL, "print JSON on stdout", OPTION_FLAG, &common.json, 0, 0},
	{"format", "F", "print in this format: see `exitpath report --help`", OPTION_TEXT,
	 &common.format, 0, 0},
	{"quiet", NULL, "no progress on stderr", OPTION_FLAG, &common.quiet, 0, 0},
	{"verbose", NULL, "all frames, learned and suppressed findings as well",
	 OPTION_FLAG, &common.verbose, 0, 0},
	{"store", "DIR", "where evidence and checkouts are kept (.git/exitpath)",
	 OPTION_TEXT, &common.store, 0, 0},
	{"contract", "FILE", "the contract (the nearest exitpath.yaml)", OPTION_TEXT,
	 &common.contract, 0, 0},
	{"isolation", "MODE", "sandbox or none ($EXITPATH_ISOLATION, else sandbox)",
	 OPTION_TEXT, &isolation, 0, 0},
	{0},
};

static const struct option_row *find_in(const struct option_row *rows, const char *name,
					size_t len)
{
	for (; rows && rows->name; rows++)
		if (strlen(rows->name) == len && !strncmp(rows->name, name, len))
			return rows;
	return NULL;
}

/* Longest common prefix, then same first letter: enough for a typing mistake. */
static const char *nearest(const struct options *o, const char *name)
{
	const struct option_row *tables[] = {o->rows, common_rows};
	const char *best = NULL;
	size_t best_score = 1;

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
		for (const struct option_row *r = tables[t]; r && r->name; r++) {
			size_t score = 0;

			while (name[score] && name[score] == r->name[score])
				score++;
			if (score > best_score) {
				best = r->name;
				best_score = score;
			}
		}
	}
	return best;
}

static int store_number(const struct option_row *r, const char *value, struct err *err)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(value, &end, 10);
	if (!*value || *end || errno || n < r->min || n > r->max)
		return err_set(err, ERR_USAGE, "--%s: `%s` is not a number from %d to %d",
			       r->name, value, r->min, r->max);
	*(int *)r->target = (int)n;
	return 0;
}

static int store_limit(const struct option_row *r, const char *value, struct err *err)
{
	const enum limit_unit unit = r->kind == OPTION_LIMIT_BYTES ? LIMIT_BYTES
				     : r->kind == OPTION_LIMIT_MS  ? LIMIT_MS
								   : LIMIT_COUNT;
	CLEANUP_FREE char *what = xasprintf("--%s", r->name);

	return units_limit(value, unit, what, r->target, err);
}

static int store_list(const struct option_row *r, const char *value, struct err *err)
{
	while (*value) {
		size_t n = strcspn(value, ",");

		if (!n)
			break;
		strv_take(r->target, xstrndup(value, n));
		value += n + (value[n] == ',');
		if (!*value)
			return 0;
	}
	return err_set(err, ERR_USAGE, "--%s has an empty item", r->name);
}

static int store_value(const struct option_row *r, const char *value, struct err *err)
{
	switch (r->kind) {
	case OPTION_FLAG:
		*(bool *)r->target = true;
		return 0;
	case OPTION_TEXT:
		if (!*value)
			return err_set(err, ERR_USAGE, "--%s is empty: --%s %s", r->name,
				       r->name, r->value);
		*(const char **)r->target = value;
		return 0;
	case OPTION_COMMAND:
		*(const char **)r->target = value;
		return 0;
	case OPTION_NUMBER:
		return store_number(r, value, err);
	case OPTION_DURATION: {
		CLEANUP_FREE char *what = xasprintf("--%s", r->name);

		return units_duration(value, what, r->target, err);
	}
	case OPTION_LIMIT_BYTES:
	case OPTION_LIMIT_MS:
	case OPTION_LIMIT_COUNT:
		return store_limit(r, value, err);
	case OPTION_LIST:
		return store_list(r, value, err);
	}
	return err_set(err, ERR_INTERNAL, "--%s has no kind", r->name);
}

static int parse_long(struct options *o, char ***argv, struct err *err)
{
	const char *name = **argv + 2;
	size_t len = strcspn(name, "=");
	const struct option_row *r = find_in(o->rows, name, len);
	const char *value = name[len] ? name + len + 1 : NULL;

	if (!r)
		r = find_in(common_rows, name, len);
	if (!r) {
		const char *near = nearest(o, name);

		err_set(err, ERR_USAGE, "there is no option --%.*s", (int)len, name);
		if (near)
			err_hint(err, "did you mean --%s? `--help` lists all", near);
		else
			err_hint(err, "`--help` lists all options");
		return -1;
	}
	if (r->kind == OPTION_FLAG && value)
		return err_set(err, ERR_USAGE, "--%s takes no value", r->name);
	if (r->kind != OPTION_FLAG && !value) {
		value = (*argv)[1];
		/* In `--base --candidate x` the value was forgotten. */
		if (!value || !strncmp(value, "--", 2)) {
			err_set(err, ERR_USAGE, "--%s needs a value: --%s %s", r->name,
				r->name, r->value);
			if (value && value[2])
				err_hint(err, "when %s is the value: --%s=%s", value,
					 r->name, value);
			return -1;
		}
		++*argv;
	}
	return store_value(r, value, err);
}

static int check_operands(const struct options *o, const char *name,
			  const struct strv *operands, char **rest, struct err *err)
{
	const char *first = operands->n > o->operands ? operands->v[o->operands]
			    : !o->command	      ? *rest
						      : NULL;

	if (!first)
		return 0;
	err_set(err, ERR_USAGE, "unexpected `%s`", first);
	if (o->command)
		err_hint(err, "the command comes after --: exitpath %s -- %s", name,
			 first);
	else
		err_hint(err, "usage: %s", o->usage);
	return -1;
}

static int choose_isolation(struct err *err)
{
	const char *from = isolation ? "--isolation" : "$EXITPATH_ISOLATION";
	const char *name = isolation ? isolation : getenv("EXITPATH_ISOLATION");

	if (!name || !*name || isolation_parse(name, &common.isolation) == 0)
		return 0;
	err_set(err, ERR_USAGE, "%s: there is no isolation `%s`", from, name);
	err_hint(err, "sandbox, or none: timed, capped and killed as a tree, but able to "
		      "reach all that you can");
	return -1;
}

int options_parse(struct options *o, char **argv, struct strv *ret_operands,
		  char ***ret_rest, struct err *err)
{
	const char *name = *argv;

	for (argv++; *argv; argv++) {
		if (!strcmp(*argv, "--")) {
			argv++;
			break;
		}
		if (!strcmp(*argv, "--help") || !strcmp(*argv, "-h")) {
			o->help = true;
		} else if (!strncmp(*argv, "--", 2)) {
			if (parse_long(o, &argv, err) < 0)
				return -1;
		} else if (**argv == '-' && (*argv)[1]) {
			err_set(err, ERR_USAGE, "there is no option %s", *argv);
			err_hint(err, "options are long: `--help` lists them");
			return -1;
		} else {
			strv_add(ret_operands, *argv);
		}
	}
	*ret_rest = argv;
	if (o->help)
		return 0;
	return choose_isolation(err) < 0
		       ? -1
		       : check_operands(o, name, ret_operands, argv, err);
}

/* printf() counts bytes, and the ellipsis of a list has three. */
static int width_in_bytes(const char *left)
{
	return (int)(22 + strlen(left) - text_columns(left));
}

static void print_rows(const struct option_row *rows)
{
	for (; rows && rows->name; rows++) {
		CLEANUP_FREE char *left =
			rows->value ? xasprintf("--%s %s", rows->name, rows->value)
				    : xasprintf("--%s", rows->name);

		printf("  %-*s %s\n", width_in_bytes(left), left, rows->help);
	}
}

void options_help(const struct options *o)
{
	printf("usage: %s\n\n%s\n", o->usage, o->about);
	if (o->rows && o->rows->name) {
		puts("\noptions:");
		print_rows(o->rows);
	}
	puts("\noptions of every command:");
	print_rows(common_rows);
	printf("  %-22s %s\n", "--help", "this text");
}
