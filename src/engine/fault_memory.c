#include "engine/fault_memory.h"

#include "base/clock.h"
#include "base/mem.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A commit of the database waits for the disk. */
#define WRITE_EVERY_US (UINT64_C(2) * 1000 * 1000)

struct fault_memory {
	struct store *store;
	char base_key[SHA256_HEX], key[SHA256_HEX];
	bool keep_whole, fresh, begun, dirty;
	json_t *points; /* key in hex → null or a finding */
	char *about;	/* or NULL */
	bool whole;
	uint64_t written_us;
};

struct fault_memory *fault_memory_new(struct store *s, const char key[SHA256_HEX],
				      bool keep_whole, bool fresh)
{
	struct fault_memory *m = xcalloc(1, sizeof(*m));

	m->store = s;
	memcpy(m->base_key, key, SHA256_HEX);
	m->keep_whole = keep_whole;
	m->fresh = fresh;
	return m;
}

/* What cannot be written is found out again: no reason to fail. */
static void write_down(struct fault_memory *m)
{
	CLEANUP_JSON json_t *j = json_object();

	if (!m->begun || !m->dirty)
		return;
	json_put_bool(j, "whole", m->whole);
	json_object_set(j, "points", m->points);
	json_put(j, "about", m->about);
	store_put_observation(m->store, m->key, j, NULL);
	m->written_us = clock_us();
	m->dirty = false;
}

void fault_memory_free(struct fault_memory *m)
{
	if (!m)
		return;
	write_down(m);
	json_decref(m->points);
	free(m->about);
	free(m);
}

void fault_memory_begin(struct fault_memory *m, const char *binaries)
{
	CLEANUP_JSON json_t *j = NULL;
	json_t *points;
	struct sha256 *h;

	if (!m || m->begun)
		return;
	h = sha256_new();
	sha256_add_field(h, m->base_key);
	sha256_add_field(h, binaries);
	sha256_finish(h, m->key);
	m->begun = true;
	m->written_us = clock_us();
	m->points = json_object();
	j = m->fresh ? NULL : store_get_observation(m->store, m->key, NULL);
	points = json_object_get(j, "points");
	if (!json_is_object(points) ||
	    (json_get_bool(j, "whole", false) && !m->keep_whole))
		return;
	json_decref(m->points);
	m->points = json_incref(points);
	m->whole = json_get_bool(j, "whole", false);
	m->about = xstrdup(json_get(j, "about", NULL));
}

json_t *fault_memory_keys(const struct fault_memory *m)
{
	json_t *names;
	const char *name;
	json_t *value;

	if (!m || !m->begun || !json_object_size(m->points))
		return NULL;
	names = json_array();
	json_object_foreach (m->points, name, value)
		json_array_append_new(names, json_text(name));
	return names;
}

const char *fault_memory_about(const struct fault_memory *m)
{
	return m && m->about ? m->about : "";
}

void fault_memory_set_about(struct fault_memory *m, const char *about)
{
	if (!m || !m->begun || !strcmp(fault_memory_about(m), about))
		return;
	json_object_clear(m->points);
	m->whole = false;
	free(m->about);
	m->about = xstrdup(about);
}

static void key_name(uint64_t key, char ret[17])
{
	snprintf(ret, 17, "%016" PRIx64, key);
}

bool fault_memory_get(struct fault_memory *m, uint64_t key, struct fault_finding *ret)
{
	char name[17];
	const json_t *j;

	if (!m || !m->begun)
		return false;
	key_name(key, name);
	j = json_object_get(m->points, name);
	if (json_is_null(j))
		return true;
	return j && fault_finding_from_json(j, ret) == 0;
}

void fault_memory_put(struct fault_memory *m, uint64_t key, const struct fault_finding *f)
{
	char name[17];

	if (!m || !m->begun)
		return;
	key_name(key, name);
	json_object_set_new(m->points, name, f ? fault_finding_to_json(f) : json_null());
	m->dirty = true;
	if (clock_us() - m->written_us > WRITE_EVERY_US)
		write_down(m);
}

void fault_memory_done(struct fault_memory *m)
{
	if (!m || !m->begun)
		return;
	m->dirty |= !m->whole;
	m->whole = true;
}
