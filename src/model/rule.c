#include "model/rule.h"

#include <stdlib.h>
#include <string.h>

const struct scan_rule *scan_rule_find(const struct scan_rules *rules, const char *id)
{
	for (size_t i = 0; i < rules->n; i++)
		if (!strcmp(rules->v[i].id, id))
			return &rules->v[i];
	return NULL;
}

static void release_examples(struct rule_example *e, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(e[i].language);
		free(e[i].code);
	}
	free(e);
}

void scan_rule_release(struct scan_rule *r)
{
	free(r->file);
	free(r->id);
	strv_release(&r->languages);
	free(r->query);
	strv_release(&r->where);
	free(r->message);
	free(r->explain);
	free(r->fix);
	strv_release(&r->references);
	release_examples(r->bad, r->nbad);
	release_examples(r->good, r->ngood);
	*r = (struct scan_rule){0};
}

void scan_rules_release(struct scan_rules *r)
{
	for (size_t i = 0; i < r->n; i++)
		scan_rule_release(&r->v[i]);
	free(r->v);
	*r = (struct scan_rules){0};
}
