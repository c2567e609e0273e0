#include "model/outcome.h"

#include "base/macros.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name, *meaning;
	int code, rank;
} table[] = {
#define OUTCOME(id, name, code, rank, meaning) \
	[OUTCOME_##id] = {name, meaning, code, rank},
#include "model/outcome.def"
#undef OUTCOME
};

const char *outcome_name(enum outcome o)
{
	return table[o].name;
}

const char *outcome_meaning(enum outcome o)
{
	return table[o].meaning;
}

int outcome_exit_code(enum outcome o)
{
	return table[o].code;
}

bool outcome_parse(const char *name, enum outcome *ret_outcome)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (!strcmp(table[i].name, name)) {
			*ret_outcome = (enum outcome)i;
			return true;
		}
	}
	return false;
}

enum outcome outcome_worse(enum outcome a, enum outcome b)
{
	return table[a].rank >= table[b].rank ? a : b;
}
