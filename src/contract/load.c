#include "contract/load.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "contract/faults.h"
#include "contract/later.h"
#include "contract/read.h"
#include "contract/readings.h"
#include "contract/show.h"
#include "contract/suppression.h"
#include "contract/vet.h"

#include <ctype.h>
#include <string.h>

#define MAX_PIDS 4194304  /* the kernel's PID_MAX_LIMIT on 64 bits */
#define MAX_FILES 1048576 /* the kernel's sysctl_nr_open */

static const struct key limits_keys[] = {
	{"memory", read_size, offsetof(struct limits, memory)},
	{"pids", read_uint64, offsetof(struct limits, pids), 1, MAX_PIDS},
	{"disk", read_size, offsetof(struct limits, disk)},
	{"cpu", read_duration, offsetof(struct limits, cpu_ms)},
	{"output", read_size, offsetof(struct limits, output)},
	{"files", read_uint64, offsetof(struct limits, files), 1, MAX_FILES},
};
static const struct keys limits_table = {"limits", limits_keys, ARRAY_SIZE(limits_keys)};

static int read_version(const struct reader *r, const struct key *k,
			const struct yaml *value, void *into)
{
	(void)into;
	return read_check(r, value, YAML_INT, k->name);
}

static int read_limits(const struct reader *r, const struct key *k,
		       const struct yaml *value, void *into)
{
	struct lifecycle *l = into;

	(void)k;
	return read_map(r, &limits_table, value, &l->limits);
}

static int read_network(const struct reader *r, const struct key *k,
			const struct yaml *value, void *into)
{
	static const char *const words[] = {"none", "loopback", NULL};
	struct lifecycle *l = into;
	size_t word;

	if (read_word(r, value, k->name, words, &word) < 0)
		return -1;
	l->network = word == 1 ? NETWORK_LOOPBACK : NETWORK_NONE;
	return 0;
}

/* The URL itself, or the name of the variable that has it: a password in a contract is in
 * the repository. */
static int read_server(const struct reader *r, const struct key *k,
		       const struct yaml *value, void *into)
{
	if (read_check(r, value, YAML_STRING, k->name) < 0)
		return -1;
	if (server_url_refused(value->text)) {
		yaml_error(value, r->name, r->err, "%s %s", k->name,
			   server_url_refused(value->text));
		err_hint(r->err, "pg: postgresql:///NAME?host=/run/postgresql, or "
				 "pg: $DATABASE_URL");
		return -1;
	}
	return read_text(r, k, value, into);
}

static int read_detector(const struct reader *r, const struct yaml *item, void *into)
{
	struct strv *detectors = into;
	char shown[SHOW_MAX];

	if (read_check(r, item, YAML_STRING, "a detector") < 0)
		return -1;
	/* Which ones exist is the registry's knowledge: the engine checks that. */
	for (const char *p = item->text; *p; p++) {
		if (islower((unsigned char)*p) || isdigit((unsigned char)*p) ||
		    *p == '_' || *p == '-')
			continue;
		show_text(item->text, shown);
		yaml_error(item, r->name, r->err, "%s cannot be a detector", shown);
		err_hint(r->err, "`exitpath doctor` lists the detectors");
		return -1;
	}
	if (strv_contains(detectors, item->text))
		return read_twice(r, item, "detectors");
	strv_add(detectors, item->text);
	return 0;
}

static int read_detectors(const struct reader *r, const struct key *k,
			  const struct yaml *value, void *into)
{
	struct lifecycle *l = into;

	if (read_each(r, k, value, &l->detectors, read_detector) < 0)
		return -1;
	if (l->detectors.n)
		return 0;
	yaml_error(value, r->name, r->err, "detectors is an empty list");
	err_hint(r->err, "leave the key out for every detector that fits");
	return -1;
}

#define FIELD(member) offsetof(struct lifecycle, member)
static const struct key lifecycle_keys[] = {
	{"name", read_name, FIELD(name), .required = true},
	{"command", read_text, FIELD(command), .required = true},
	{"detectors", read_detectors},
	{"warmup", read_unsigned, FIELD(warmup), 0, 100},
	{"cycles", read_unsigned, FIELD(cycles), 1, MAX_CYCLES},
	{"timeout", read_duration, FIELD(timeout_ms)},
	{"limits", read_limits},
	{"network", read_network},
	{"repairs", read_bool, FIELD(repairs)},
	{"pg", read_server, FIELD(pg)},
};
#undef FIELD
static const struct keys lifecycle_table = {"a lifecycle", lifecycle_keys,
					    ARRAY_SIZE(lifecycle_keys)};

static int read_lifecycle(const struct reader *r, const struct yaml *item, void *into)
{
	struct contract *c = into;
	struct lifecycle *l = VEC_ADD(c->lifecycles, c->nlifecycles, c->lifecycles_cap);

	l->warmup = DEFAULT_WARMUP;
	l->cycles = DEFAULT_CYCLES;
	l->timeout_ms = DEFAULT_TIMEOUT_MS;
	if (read_map(r, &lifecycle_table, item, l) < 0)
		return -1;
	for (size_t i = 0; i + 1 < c->nlifecycles; i++)
		if (!strcmp(c->lifecycles[i].name, l->name))
			return read_twice(r, yaml_get(item, "name"), "lifecycles");
	return 0;
}

static int read_lifecycles(const struct reader *r, const struct key *k,
			   const struct yaml *value, void *into)
{
	struct contract *c = into;

	if (read_each(r, k, value, c, read_lifecycle) < 0)
		return -1;
	if (c->nlifecycles)
		return 0;
	yaml_error(value, r->name, r->err, "lifecycles is an empty list");
	err_hint(r->err, "a contract that checks nothing would always be clean");
	return -1;
}

/* git takes a leading '-' for an option. */
static int read_base(const struct reader *r, const struct key *k,
		     const struct yaml *value, void *into)
{
	if (read_check(r, value, YAML_STRING, k->name) < 0)
		return -1;
	for (const char *p = value->text; *p; p++)
		if (*value->text == '-' || isspace((unsigned char)*p) ||
		    iscntrl((unsigned char)*p)) {
			char shown[SHOW_MAX];

			show_text(value->text, shown);
			return yaml_error(value, r->name, r->err,
					  "base: %s is not a revision", shown);
		}
	return read_text(r, k, value, into);
}

/* Why the parts of a path cannot be, or NULL. */
static const char *parts_refused(const char *path)
{
	if (strpbrk(path, "*?["))
		return "must be one path, not a pattern";
	for (const char *p = path; *p;) {
		size_t len = strcspn(p, "/");

		if (len == 0 || (len == 1 && p[0] == '.') ||
		    (len == 2 && !strncmp(p, "..", 2)))
			return "must not contain empty parts, . or ..";
		p += len + (p[len] == '/');
	}
	return NULL;
}

static const char *share_refused(const char *path)
{
	if (path[0] == '/' || path[0] == '~')
		return "must be relative to the repository";
	for (const char *p = path; *p;) {
		size_t len = strcspn(p, "/");

		if (len == 4 && !strncmp(p, ".git", 4))
			return "would let a revision read git's own files";
		p += len + (p[len] == '/');
	}
	return parts_refused(path);
}

/* Whether it leads to the user's home or to the repository is for the engine to see. */
static const char *expose_refused(const char *path)
{
	size_t start = path[0] == '~' ? 2 : 1;

	if (path[0] != '/' && strncmp(path, "~/", 2) != 0)
		return path[0] == '~' && !path[1]
			       ? "is all of the home directory: name what is needed"
			       : "must be absolute, or begin with ~/";
	if (!path[start])
		return path[0] == '~' ? "is all of the home directory: name what is "
					"needed"
				      : "is all of the machine: name what is needed";
	return parts_refused(path + start);
}

static int read_path(const struct reader *r, const struct yaml *item, const char *key,
		     const char *what, const char *(*refused)(const char *path),
		     struct strv *list)
{
	CLEANUP_FREE char *path = NULL;
	const char *why;
	size_t len;

	if (read_check(r, item, YAML_STRING, what) < 0)
		return -1;
	why = refused(item->text);
	if (why) {
		char shown[SHOW_MAX];

		show_text(item->text, shown);
		return yaml_error(item, r->name, r->err, "%s: %s %s", key, shown, why);
	}
	len = strlen(item->text);
	path = xstrndup(item->text, item->text[len - 1] == '/' ? len - 1 : len);
	if (strv_contains(list, path))
		return read_twice(r, item, key);
	strv_take(list, TAKE_PTR(path));
	return 0;
}

static int read_shared(const struct reader *r, const struct yaml *item, void *into)
{
	struct contract *c = into;

	return read_path(r, item, "share", "a shared directory", share_refused,
			 &c->share);
}

static int read_exposed(const struct reader *r, const struct yaml *item, void *into)
{
	struct contract *c = into;

	return read_path(r, item, "expose", "an exposed path", expose_refused,
			 &c->expose);
}

static int read_share(const struct reader *r, const struct key *k,
		      const struct yaml *value, void *into)
{
	return read_each(r, k, value, into, read_shared);
}

static int read_expose(const struct reader *r, const struct key *k,
		       const struct yaml *value, void *into)
{
	return read_each(r, k, value, into, read_exposed);
}

static int read_match(const struct reader *r, const struct key *k,
		      const struct yaml *value, void *into)
{
	char shown[SHOW_MAX];
	const char *why;

	if (read_check(r, value, YAML_STRING, k->name) < 0)
		return -1;
	why = suppression_refused(value->text);
	if (!why)
		return read_text(r, k, value, into);
	show_text(value->text, shown);
	yaml_error(value, r->name, r->err, "match: %s %s", shown, why);
#define RESOURCE(id, name, unit, lasting, meaning) ", " name
	err_hint(r->err,
		 "name one function or file: leak:cache_init, fd:/var/log/app-*; kinds "
		 "are leak"
#include "model/resource.def"
	);
#undef RESOURCE
	return -1;
}

#define FIELD(member) offsetof(struct suppression, member)
static const struct key suppression_keys[] = {
	{"match", read_match, FIELD(match), .required = true},
	{"reason", read_text, FIELD(reason), .required = true},
	{"owner", read_text, FIELD(owner), .required = true},
	{"expires", read_date, FIELD(expires)},
};
#undef FIELD
static const struct keys suppression_table = {"a suppression", suppression_keys,
					      ARRAY_SIZE(suppression_keys)};

static int read_suppression(const struct reader *r, const struct yaml *item, void *into)
{
	struct contract *c = into;
	struct suppression *s =
		VEC_ADD(c->suppressions, c->nsuppressions, c->suppressions_cap);

	s->line = item->line;
	if (read_map(r, &suppression_table, item, s) < 0)
		return -1;
	for (size_t i = 0; i + 1 < c->nsuppressions; i++)
		if (!strcmp(c->suppressions[i].match, s->match))
			return read_twice(r, yaml_get(item, "match"), "suppressions");
	return 0;
}

static int read_suppressions(const struct reader *r, const struct key *k,
			     const struct yaml *value, void *into)
{
	return read_each(r, k, value, into, read_suppression);
}

#define FIELD(member) offsetof(struct contract, member)
static const struct key contract_keys[] = {
	{"version", read_version, .required = true},
	{"base", read_base, FIELD(base)},
	{"setup", read_text, FIELD(setup)},
	{"setup_timeout", read_duration, FIELD(setup_timeout_ms)},
	{"lifecycles", read_lifecycles, .required = true},
	{"share", read_share},
	{"expose", read_expose},
	{"suite", read_text, FIELD(suite)},
	{"faults", read_faults},
	{"scan", read_scan},
	{"review", read_review},
	{"vet", read_vet},
	{"worlds", read_worlds},
	{"suppressions", read_suppressions},
};
#undef FIELD
static const struct keys contract_table = {"the contract", contract_keys,
					   ARRAY_SIZE(contract_keys)};

/* First, since another version may have other keys. */
static int check_version(const struct reader *r, const struct yaml *root)
{
	const struct yaml *version = NULL;

	if (root->type == YAML_NULL) {
		yaml_error(root, r->name, r->err, "the contract is empty");
		err_hint(r->err, "`exitpath init` writes one");
		return -1;
	}
	if (root->type == YAML_MAP)
		version = yaml_get(root, "version");
	if (!version || version->type != YAML_INT || !strcmp(version->text, "1"))
		return 0; /* or refused by its row of the table */
	yaml_error(version, r->name, r->err, "version must be 1, not %.20s",
		   version->text);
	err_hint(r->err, "this exitpath reads version 1; a newer one may read this file");
	return -1;
}

int contract_parse(const char *text, size_t len, const char *name, struct contract *ret,
		   struct err *err)
{
	static const struct keys *const tables[] = {
		&contract_table, &lifecycle_table, &limits_table, &suppression_table,
		&faults_table,	 &ignore_table,	   &scan_table,	  &review_table,
		&allow_table,	 &vet_table,	   NULL};
	const struct reader r = {.name = name, .err = err, .tables = tables};
	CLEANUP(contract) struct contract c = {0};
	CLEANUP(yaml) struct yaml root = {0};

	if (len > CONTRACT_MAX_BYTES)
		return err_set(err, ERR_USAGE, "%s:1:1: more than %d bytes", name,
			       CONTRACT_MAX_BYTES);
	if (yaml_parse(text, len, name, &root, err) < 0)
		return -1;
	c.setup_timeout_ms = DEFAULT_SETUP_TIMEOUT_MS;
	if (check_version(&r, &root) < 0 ||
	    read_map(&r, &contract_table, &root, &c) < 0 ||
	    check_faults(&r, &root, &c) < 0)
		return -1;
	c.later = later_canonical(&root);
	contract_digest(&c);
	*ret = c;
	c = (struct contract){0};
	return 0;
}

int contract_load(const char *path, struct contract *ret, struct err *err)
{
	CLEANUP(buf) struct buf text = {0};

	if (read_file(path, CONTRACT_MAX_BYTES + 1, &text, err) < 0) {
		if (err)
			err->kind = ERR_USAGE;
		err_hint(err, "`exitpath init` writes a contract; `exitpath leak -- CMD` "
			      "needs none");
		return -1;
	}
	if (contract_parse(buf_str(&text), text.len, path, ret, err) < 0)
		return -1;
	ret->path = xstrdup(path);
	return 0;
}
