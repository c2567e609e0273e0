/* Foreign text inside messages: quoted, cut, with nothing a terminal would obey. */
#ifndef EXITPATH_CONTRACT_SHOW_H
#define EXITPATH_CONTRACT_SHOW_H

#define SHOW_MAX 72

/* Fills ret with "text" in double quotes, cut after some 60 bytes; control characters
 * and bytes that are not UTF-8 become '?'. */
void show_text(const char *text, char ret[SHOW_MAX]);

#endif
