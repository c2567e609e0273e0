#include "detect/merge.h"

#include "base/mem.h"

#include <string.h>

/* What must be repaired first: a broken detector before a program that left early. */
static int rank(enum probe_state s)
{
	switch (s) {
	case PROBE_COMPLETE:
		return 0;
	case PROBE_NOT_FITTING:
		return 1;
	case PROBE_INTERRUPTED:
		return 2;
	case PROBE_FORCED_EXIT:
		return 3;
	case PROBE_UNPARSED:
		return 4;
	case PROBE_SILENT:
		return 5;
	}
	abort();
}

void probe_worsen(struct probe *p, enum probe_state state, char *detail)
{
	if (rank(state) > rank(p->state)) {
		free(p->detail);
		p->state = state;
		p->detail = detail;
	} else {
		free(detail);
	}
}

static struct leak *find(struct probe *p, const char *signature)
{
	for (size_t i = 0; i < p->nleaks; i++)
		if (!strcmp(p->leaks[i].signature, signature))
			return &p->leaks[i];
	return NULL;
}

void probe_take_most(struct probe *dst, struct probe *src)
{
	for (size_t i = 0; i < src->nleaks; i++) {
		struct leak *l = &src->leaks[i], *known = find(dst, l->signature);

		if (!known) {
			*VEC_ADD(dst->leaks, dst->nleaks, dst->leaks_cap) = *l;
			*l = (struct leak){0};
		} else if (l->units[0] > known->units[0]) {
			known->units[0] = l->units[0];
			known->bytes[0] = l->bytes[0];
		}
	}
}

void probe_note(struct probe *p, char *note)
{
	if (strv_contains(&p->notes, note))
		free(note);
	else
		strv_take(&p->notes, note);
}
