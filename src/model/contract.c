#include "model/contract.h"

void lifecycle_release(struct lifecycle *l)
{
	free(l->name);
	free(l->command);
	strv_release(&l->argv);
	strv_release(&l->detectors);
	*l = (struct lifecycle){0};
}

void contract_release(struct contract *c)
{
	for (size_t i = 0; i < c->nlifecycles; i++)
		lifecycle_release(&c->lifecycles[i]);
	for (size_t i = 0; i < c->nsuppressions; i++) {
		free(c->suppressions[i].match);
		free(c->suppressions[i].reason);
		free(c->suppressions[i].owner);
		free(c->suppressions[i].expires);
	}
	free(c->path);
	free(c->base);
	free(c->setup);
	free(c->lifecycles);
	strv_release(&c->share);
	strv_release(&c->expose);
	free(c->suite);
	free(c->suppressions);
	free(c->later);
	*c = (struct contract){0};
}
