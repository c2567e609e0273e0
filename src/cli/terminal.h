/* What the terminal can show, and the progress line on it. */
#ifndef EXITPATH_CLI_TERMINAL_H
#define EXITPATH_CLI_TERMINAL_H

#include "engine/progress.h"

#include <stdbool.h>

/* NO_COLOR, TERM=dumb and a stream that is no terminal turn colour off, and animation. */
bool terminal_color(int fd);
unsigned terminal_width(int fd); /* 80 when it is not known */

/* A line on stderr that is rewritten on a terminal, and one line per phase elsewhere.
 * quiet: nothing at all. */
const struct progress *progress_line(bool quiet);
void progress_clear(void); /* before anything else is printed */

#endif
