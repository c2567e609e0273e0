/* What the process of a test wrote: lines of JSON, of which the last counts. */
#include "base/mem.h"
#include "vet/judge.h"

#include <string.h>

void vet_sight_release(struct vet_sight *s)
{
	json_decref(s->seen);
	free(s->stage);
	free(s->said);
	*s = (struct vet_sight){0};
}

static void take_line(struct vet_sight *s, const char *line, size_t len)
{
	CLEANUP_JSON json_t *j = json_parse(line, len, "a test", NULL);
	const char *stage = json_get(j, "stage", NULL);
	const char *broken = json_get(j, "broken", NULL);
	json_t *seen = json_object_get(j, "seen");

	if (broken) {
		s->broken = true;
		free(s->said);
		s->said = xstrdup(broken);
	}
	if (stage) {
		free(s->stage);
		s->stage = xstrdup(stage);
	}
	if (json_is_object(seen)) {
		json_decref(s->seen);
		s->seen = json_incref(seen);
	}
}

static char *last_line(const char *text)
{
	size_t len = strlen(text), from;

	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	for (from = len; from && text[from - 1] != '\n';)
		from--;
	return len == from ? NULL : xstrndup(text + from, len - from);
}

void vet_sight_take(struct vet_sight *s, const struct run_result *run, const char *out,
		    size_t len, const char *err)
{
	const char *end = out + len;

	s->run = *run;
	while (out < end) {
		const char *newline = memchr(out, '\n', (size_t)(end - out));

		if (!newline)
			break; /* it was being written */
		take_line(s, out, (size_t)(newline - out));
		out = newline + 1;
	}
	if (!s->said)
		s->said = last_line(err);
	/* Only a process that came to its end has said all. */
	if (!run_result_passed(run)) {
		json_decref(s->seen);
		s->seen = NULL;
	}
}

const json_t *vet_several(const struct vet_sight *judge)
{
	const json_t *tests = json_object_get(judge->seen, "tests");

	return json_is_array(tests) && json_array_size(tests) ? tests : NULL;
}
