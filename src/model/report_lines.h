/* The reports of adapters: a line each, a token that only the adapter knows, a space and
 * a JSON object. The program under test can write into the file, too. */
#ifndef EXITPATH_MODEL_REPORT_LINES_H
#define EXITPATH_MODEL_REPORT_LINES_H

#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Calls each() for every whole line that has the token and an object; a last line without
 * a newline was being written and is left out. *ret_malformed: what is wrong with the
 * first other line, or that each() refused; it stays what it was when all are well or it
 * is set already. The caller frees.
 */
void report_lines_parse(const char *text, size_t len, const char *token,
			bool (*each)(void *ctx, const json_t *object), void *ctx,
			char **ret_malformed);

#endif
