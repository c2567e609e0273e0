#include "contract/load.h"

#include "base/json.h"
#include "base/mem.h"
#include "contract/faults.h"
#include "contract/readings.h"
#include "contract/suppression.h"
#include "contract/vet.h"

#include <stdio.h>
#include <string.h>

/* Like json_put(), but texts that are not UTF-8 (argv from a command line) stay distinct
 * from each other. */
static json_t *exact(const char *text)
{
	char value[SHA256_HEX + 8] = "bytes:";
	json_t *j = json_string(text);

	if (!j) {
		sha256_hex(text, strlen(text), value + 6);
		j = json_string(value);
	}
	return j;
}

static void put(json_t *obj, const char *key, const char *text)
{
	if (text)
		json_object_set_new(obj, key, exact(text));
}

static void put_list(json_t *obj, const char *key, const struct strv *list)
{
	json_t *j = json_array();

	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(j, exact(list->v[i]));
	json_object_set_new(obj, key, j);
}

static json_t *limits_json(const struct limits *l)
{
	json_t *j = json_object();

	json_put_int(j, "memory", (int64_t)l->memory);
	json_put_int(j, "disk", (int64_t)l->disk);
	json_put_int(j, "output", (int64_t)l->output);
	json_put_int(j, "cpu_ms", (int64_t)l->cpu_ms);
	json_put_int(j, "pids", (int64_t)l->pids);
	json_put_int(j, "files", (int64_t)l->files);
	return j;
}

static json_t *lifecycle_json(const struct lifecycle *l)
{
	CLEANUP_FREE char *server = server_public(l->pg);
	json_t *j = json_object();

	put(j, "name", l->name);
	put(j, "command", l->command);
	if (l->argv.n)
		put_list(j, "argv", &l->argv);
	put_list(j, "detectors", &l->detectors);
	json_put_int(j, "warmup", l->warmup);
	json_put_int(j, "cycles", l->cycles);
	json_put_int(j, "timeout_ms", (int64_t)l->timeout_ms);
	json_object_set_new(j, "limits", limits_json(&l->limits));
	put(j, "network", network_name(l->network));
	json_put_bool(j, "repairs", l->repairs);
	put(j, "pg", server);
	return j;
}

static void hash(const json_t *j, char ret_hex[SHA256_HEX])
{
	CLEANUP_FREE char *text = json_canonical(j);

	sha256_hex(text, strlen(text), ret_hex);
}

void contract_digest(struct contract *c)
{
	CLEANUP_JSON json_t *j = json_object();
	json_t *lifecycles = json_array(), *suppressions = json_array();
	char hex[SHA256_HEX];

	for (size_t i = 0; i < c->nlifecycles; i++)
		json_array_append_new(lifecycles, lifecycle_json(&c->lifecycles[i]));
	for (size_t i = 0; i < c->nsuppressions; i++)
		json_array_append_new(suppressions,
				      suppression_json(&c->suppressions[i]));
	json_put_int(j, "version", 1);
	put(j, "base", c->base);
	put(j, "setup", c->setup);
	json_put_int(j, "setup_timeout_ms", (int64_t)c->setup_timeout_ms);
	json_object_set_new(j, "lifecycles", lifecycles);
	put_list(j, "share", &c->share);
	put_list(j, "expose", &c->expose);
	put(j, "suite", c->suite);
	json_object_set_new(j, "suppressions", suppressions);
	if (c->faults.given)
		json_object_set_new(j, "faults", faults_json(&c->faults));
	if (c->scan.wanted)
		json_object_set_new(j, "scan", scan_settings_json(&c->scan));
	if (c->review.wanted)
		json_object_set_new(j, "review", review_settings_json(&c->review));
	if (c->vet.given)
		json_object_set_new(j, "vet", vet_settings_json(&c->vet));
	put(j, "later", c->later);
	hash(j, hex);
	snprintf(c->digest, sizeof(c->digest), "sha256:%s", hex);
}

void contract_setup_digest(const struct contract *c, char ret_hex[SHA256_HEX])
{
	CLEANUP_JSON json_t *j = json_object();

	put(j, "setup", c->setup);
	put_list(j, "share", &c->share);
	put_list(j, "expose", &c->expose);
	hash(j, ret_hex);
}
