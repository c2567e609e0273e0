#include "contract/show.h"

#include "base/json.h"

#include <string.h>

void show_text(const char *text, char ret[SHOW_MAX])
{
	size_t at = 0;

	ret[at++] = '"';
	while (*text && at < SHOW_MAX - 12) {
		size_t n = utf8_len(text);

		if (n == 0 || (unsigned char)*text < 0x20 || *text == 0x7f) {
			ret[at++] = '?';
			text += n ? n : 1;
			continue;
		}
		memcpy(ret + at, text, n);
		at += n;
		text += n;
	}
	if (*text) {
		memcpy(ret + at, "…", 3);
		at += 3;
	}
	ret[at++] = '"';
	ret[at] = '\0';
}
