/*
 * Text of others on its way to a terminal or an agent: program names, paths, commit
 * messages, detector output. No control character, invalid UTF-8 or direction mark gets
 * through. Private to report/.
 */
#ifndef EXITPATH_REPORT_ESCAPE_H
#define EXITPATH_REPORT_ESCAPE_H

#include "base/buf.h"

#include <stddef.h>

/* Adds s on one line: what must not be shown becomes \n, \t, \x1b or \u{202e}. NULL adds
 * nothing. */
void escape_line(struct buf *out, const char *s);
/* The same, but newlines and tabs stay: for a command that is to be copied. */
void escape_lines(struct buf *out, const char *s);
char *escaped(const char *s); /* escape_line() as a string; the caller frees */

size_t text_columns(const char *s); /* code points of escaped text */
/*
 * Adds s (escaped before) wrapped at width, the first line led by indent, the others by
 * indent and `hang` more spaces, with a '\n' after each. Words longer than a line stay
 * whole: paths and commands are copied.
 */
void wrap_text(struct buf *out, const char *s, const char *indent, size_t hang,
	       size_t width);

#endif
