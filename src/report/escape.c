#include "report/escape.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Decodes one UTF-8 sequence; 0 when there is none. */
static size_t decode(const unsigned char *s, uint32_t *ret)
{
	size_t n = utf8_len((const char *)s);
	uint32_t c = n < 2 ? s[0] : s[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3f);
	*ret = c;
	return n;
}

/* C0, DEL, C1; and what reorders, hides or breaks text: Unicode's Cf and Zl, Zp. */
static bool is_hidden(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
}

static void escape(struct buf *out, const char *s, bool lines)
{
	const unsigned char *p = (const unsigned char *)s;

	while (p && *p) {
		uint32_t c = 0;
		size_t n = decode(p, &c);

		if (!n)
			buf_addf(out, "\\x%02x", *p);
		else if (lines && (c == '\n' || c == '\t'))
			buf_addc(out, (char)c);
		else if (c == '\n')
			buf_adds(out, "\\n");
		else if (c == '\t')
			buf_adds(out, "\\t");
		else if (is_hidden(c))
			buf_addf(out, c < 0x80 ? "\\x%02x" : "\\u{%x}", c);
		else
			buf_add(out, p, n);
		p += n ? n : 1;
	}
}

void escape_line(struct buf *out, const char *s)
{
	escape(out, s, false);
}

void escape_lines(struct buf *out, const char *s)
{
	escape(out, s, true);
}

char *escaped(const char *s)
{
	CLEANUP(buf) struct buf out = {0};

	escape_line(&out, s);
	return buf_detach(&out);
}

size_t text_columns(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

void wrap_text(struct buf *out, const char *s, const char *indent, size_t hang,
	       size_t width)
{
	size_t column = 0, margin = text_columns(indent);

	for (bool first = true; *(s += strspn(s, " ")); first = false) {
		size_t len = strcspn(s, " ");
		CLEANUP_FREE char *word = xstrndup(s, len);
		size_t columns = text_columns(word);

		if (column && column + 1 + columns > width) {
			buf_addc(out, '\n');
			column = 0;
		}
		buf_addf(out, "%s%*s%s", column ? " " : indent,
			 column || first ? 0 : (int)hang, "", word);
		column += columns + (column ? 1 : margin + (first ? 0 : hang));
		s += len;
	}
	if (column)
		buf_addc(out, '\n');
}
