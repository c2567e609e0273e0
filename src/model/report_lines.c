#include "model/report_lines.h"

#include "base/mem.h"

#include <string.h>

static json_t *object_of(const char *line, size_t len, const char *token)
{
	size_t n = strlen(token);

	if (len <= n || strncmp(line, token, n) != 0 || line[n] != ' ')
		return NULL;
	return json_parse(line + n + 1, len - n - 1, "report", NULL);
}

void report_lines_parse(const char *text, size_t len, const char *token,
			bool (*each)(void *ctx, const json_t *object), void *ctx,
			char **ret_malformed)
{
	const char *end;

	for (; (end = memchr(text, '\n', len));
	     len -= (size_t)(end + 1 - text), text = end + 1) {
		size_t n = (size_t)(end - text);
		CLEANUP_JSON json_t *j = object_of(text, n, token);

		if (json_is_object(j) && each(ctx, j))
			continue;
		if (!*ret_malformed)
			*ret_malformed = xasprintf("a line that the adapter did not "
						   "write: %.*s",
						   n > 80 ? 80 : (int)n, text);
	}
}
