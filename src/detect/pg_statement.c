/* SQL without its literals, by the lexical rules of PostgreSQL (docs, 4.1). */
#include "detect/pg_report.h"

#include "base/mem.h"

#include <ctype.h>
#include <string.h>

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Past a quoted text that begins at p with quote; doubled quotes stay inside. */
static const char *past_quoted(const char *p, bool escapes)
{
	char quote = *p++;

	while (*p) {
		if (escapes && *p == '\\' && p[1])
			p += 2;
		else if (*p != quote)
			p++;
		else if (p[1] == quote)
			p += 2;
		else
			return p + 1;
	}
	return p;
}

/* Past $tag$…$tag$, or p when there is none here. */
static const char *past_dollar(const char *p)
{
	const char *tag_end = p + 1, *close;
	CLEANUP_FREE char *tag = NULL;

	if (isdigit((unsigned char)*tag_end))
		return p;
	while (in_word(*tag_end))
		tag_end++;
	if (*tag_end != '$')
		return p;
	tag = xstrndup(p, (size_t)(tag_end - p) + 1);
	close = strstr(tag_end + 1, tag);
	return close ? close + strlen(tag) : p + strlen(p);
}

/* Comments nest. */
static const char *past_comment(const char *p)
{
	unsigned depth = 0;

	if (p[0] == '-')
		return p + strcspn(p, "\n");
	do {
		bool open = p[0] == '/' && p[1] == '*',
		     close = p[0] == '*' && p[1] == '/';

		depth = depth + open - close;
		p += open || close ? 2 : 1;
	} while (depth && *p);
	return p;
}

static void space(struct buf *b)
{
	if (b->len && b->data[b->len - 1] != ' ' && b->data[b->len - 1] != '(')
		buf_addc(b, ' ');
}

/* "?, ?" is "?": lists have other lengths in other runs. */
static void placeholder(struct buf *b)
{
	size_t n = b->len;

	while (n && b->data[n - 1] == ' ')
		n--;
	if (n > 1 && b->data[n - 1] == ',') {
		n--;
		while (n && b->data[n - 1] == ' ')
			n--;
		if (n && b->data[n - 1] == '?') {
			b->len = n;
			b->data[n] = '\0';
			return;
		}
	}
	buf_addc(b, '?');
}

static const char *past_number(const char *p)
{
	while (in_word(*p) || (*p == '.' && p[1] != '.') ||
	       ((*p == '+' || *p == '-') && (p[-1] == 'e' || p[-1] == 'E') &&
		isdigit((unsigned char)p[1])))
		p++;
	return p;
}

/* A word; E'…', B'…', X'…', N'…' and U&'…' are literals. */
static const char *add_word(struct buf *b, const char *p)
{
	const char *end = p;

	while (in_word(*end) || *end == '$')
		end++;
	if (*end == '\'' && end - p == 1 && strchr("eEbBxXnN", *p)) {
		placeholder(b);
		return past_quoted(end, *p == 'e' || *p == 'E');
	}
	if (end - p == 1 && (*p == 'u' || *p == 'U') && end[0] == '&' && end[1] == '\'') {
		placeholder(b);
		return past_quoted(end + 1, false);
	}
	buf_add(b, p, (size_t)(end - p));
	return end;
}

static const char *add_token(struct buf *b, const char *p)
{
	const char *end;

	if (isspace((unsigned char)*p)) {
		space(b);
		return p + 1;
	}
	if (!strncmp(p, "--", 2) || !strncmp(p, "/*", 2)) {
		space(b);
		return past_comment(p);
	}
	if (*p == '\'') {
		placeholder(b);
		return past_quoted(p, false);
	}
	if (*p == '"') {
		for (end = past_quoted(p, false); p < end; p++)
			buf_addc(b, iscntrl((unsigned char)*p) ? '?' : *p);
		return end;
	}
	if (*p == '$' && (end = past_dollar(p)) != p) {
		placeholder(b);
		return end;
	}
	if (isdigit((unsigned char)*p) || (*p == '$' && isdigit((unsigned char)p[1])) ||
	    (*p == '.' && isdigit((unsigned char)p[1]))) {
		placeholder(b);
		return past_number(p + 1);
	}
	if (in_word(*p))
		return add_word(b, p);
	buf_addc(b, iscntrl((unsigned char)*p) ? '?' : *p);
	return p + 1;
}

char *pg_statement(const char *query)
{
	/* What goes beyond is cut; lists fold before that. */
	enum { ENOUGH = 8 * PG_STATEMENT_MAX };
	CLEANUP(buf) struct buf b = {0};
	size_t len;

	for (const char *p = query; *p && b.len < ENOUGH;)
		p = add_token(&b, p);
	len = b.len;
	while (len && (b.data[len - 1] == ' ' || b.data[len - 1] == ';'))
		len--;
	if (len > PG_STATEMENT_MAX) {
		/* Not within a character. */
		len = PG_STATEMENT_MAX - 3;
		while (len && ((unsigned char)b.data[len] & 0xc0) == 0x80)
			len--;
		return xasprintf("%.*s...", (int)len, b.data);
	}
	return xstrndup(buf_str(&b), len);
}
