/*
 * Free text made fit for the summary. What could be a path is cut to what is relative to
 * the repository; whatever is left is one printable line.
 */
#include "store/internal.h"

#include "base/buf.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define ELLIPSIS "..."
#define MASK "***"
#define LONG_TOKEN 24 /* letters and digits mixed without a break: a key, not a word */

struct cleaner {
	const char *text, *p, *repository;
	bool free_text;
	bool mask_next; /* the word before announced a secret */
	struct buf out;
};

/* May a path begin behind this byte? */
static bool boundary(const struct cleaner *c)
{
	unsigned char prev;

	if (c->p == c->text)
		return true;
	prev = (unsigned char)c->p[-1];
	return !isalnum(prev) && prev != '.' && prev < 0x80;
}

static size_t path_length(const char *p)
{
	size_t n = 0;

	while (p[n] && !isspace((unsigned char)p[n]) && !iscntrl((unsigned char)p[n]) &&
	       !strchr("\"'`()[]{}<>,;|=*?", p[n]) &&
	       !(p[n] == ':' && (p[n + 1] == '/' || p[n + 1] == '~')))
		n++;
	return n;
}

/* "-I/usr/include": in an option a path may follow letters. */
static bool in_option(const struct cleaner *c)
{
	const char *w = c->p;

	while (w > c->text && !isspace((unsigned char)w[-1]))
		w--;
	return *w == '-' && !memchr(w, '/', (size_t)(c->p - w));
}

static bool path_starts(const struct cleaner *c)
{
	const char *p = c->p;

	if (*p == '/' && in_option(c))
		return true;
	if (!boundary(c))
		return false;
	return *p == '/' || !strncmp(p, "../", 3) || (p[0] == '\\' && p[1] == '\\') ||
	       (*p == '~' && memchr(p, '/', path_length(p))) ||
	       (isalpha((unsigned char)p[0]) && p[1] == ':' &&
		(p[2] == '\\' || (p[2] == '/' && p[3] != '/')));
}

static bool climbs(const char *path, size_t len)
{
	for (size_t i = 0; i + 1 < len; i++)
		if (path[i] == '.' && path[i + 1] == '.' &&
		    (i == 0 || path[i - 1] == '/') &&
		    (i + 2 == len || path[i + 2] == '/'))
			return true;
	return false;
}

/* The part behind the directory that is named like the repository, or NULL. */
static const char *behind_repository(const char *path, size_t len, const char *repository)
{
	size_t n = repository ? strlen(repository) : 0;

	for (size_t i = 0; n && i + n + 2 < len; i++)
		if (path[i] == '/' && !memcmp(path + i + 1, repository, n) &&
		    path[i + 1 + n] == '/')
			return path + i + n + 2;
	return NULL;
}

static void add_path(struct cleaner *c)
{
	size_t len = path_length(c->p);
	const char *end = c->p + len, *start;

	while (end > c->p + 1 && (end[-1] == '/' || end[-1] == '\\'))
		end--;
	start = behind_repository(c->p, (size_t)(end - c->p), c->repository);
	while (start && start < end && *start == '/')
		start++;
	if (!start || start == end || climbs(start, (size_t)(end - start))) {
		start = end;
		while (start > c->p && start[-1] != '/' && start[-1] != '\\')
			start--;
	}
	buf_add(&c->out, start, (size_t)(end - start));
	c->p += len ? len : 1;
}

/* Behind "scheme:": host and port; user, password, path and query are dropped. */
static void add_authority(struct cleaner *c)
{
	const char *p = c->p + 3, *end = p + strcspn(p, " \t\r\n\"'`<>");
	const char *host = p, *stop = p + strcspn(p, "/?# \t\r\n\"'`<>");
	size_t n;

	for (const char *q = p; q < stop; q++)
		if (*q == '@')
			host = q + 1;
	n = strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			 "0123456789.-:[]");
	buf_adds(&c->out, "://");
	buf_add(&c->out, host, n < (size_t)(stop - host) ? n : (size_t)(stop - host));
	c->p = end;
}

static bool announces_secret(const char *word, size_t len)
{
	static const char *const names[] = {"pass", "pwd",  "token",  "secret", "key",
					    "auth", "cred", "bearer", "basic"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (size_t at = 0; at + strlen(names[i]) <= len; at++)
			if (!strncasecmp(word + at, names[i], strlen(names[i])))
				return *word == '-' || word[len - 1] == ':' ||
				       len == strlen(names[i]);
	return false;
}

static bool looks_like_key(const char *word, size_t len)
{
	size_t run = 0, digits = 0, letters = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char b = (unsigned char)word[i];

		run = isalnum(b) ? run + 1 : 0;
		digits = run ? digits + !!isdigit(b) : 0;
		letters = run ? letters + !!isalpha(b) : 0;
		if (run >= LONG_TOKEN && digits && letters)
			return true;
	}
	return false;
}

/* At the beginning of a word of free text: masks it when it may be a secret. */
static bool mask_word(struct cleaner *c)
{
	size_t len = strcspn(c->p, " \t\r\n"), name = strcspn(c->p, "= \t\r\n");
	const char *at = memchr(c->p, '@', len), *colon = memchr(c->p, ':', len);
	bool url = memmem(c->p, len, "://", 3); /* add_authority() takes care of it */
	bool masked = c->mask_next || looks_like_key(c->p, len) ||
		      (!url && at && colon && colon < at);

	c->mask_next = announces_secret(c->p, len);
	if (!masked && !url && name && name < len) {
		/* NAME=VALUE: the name stays, should it be one. */
		if (!memchr(c->p, '/', name))
			buf_add(&c->out, c->p, name + 1);
		masked = true;
	}
	if (!masked)
		return false;
	buf_adds(&c->out, MASK);
	c->p += len;
	return true;
}

static void clean(struct cleaner *c)
{
	while (*c->p) {
		bool word = c->p == c->text || isspace((unsigned char)c->p[-1]);

		if (c->free_text && word && !isspace((unsigned char)*c->p) &&
		    mask_word(c))
			continue;
		if (!strncmp(c->p, "://", 3))
			add_authority(c);
		else if (path_starts(c))
			add_path(c);
		else
			buf_addc(&c->out, *c->p++);
	}
}

/* The length of the character at p and its code point; 0: not UTF-8. */
static size_t decode(const unsigned char *p, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = p[0] < 0x80		   ? 1
		   : (p[0] & 0xe0) == 0xc0 ? 2
		   : (p[0] & 0xf0) == 0xe0 ? 3
		   : (p[0] & 0xf8) == 0xf0 ? 4
					   : 0;
	uint32_t code = n == 1 ? p[0] : p[0] & (0x7fU >> n);

	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (!n || code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	*ret = code;
	return n;
}

/* Controls, line separators, and what reorders or hides text (Unicode Cc, Zl, Zp, Cf). */
static bool printable(uint32_t c)
{
	return c >= 0x20 && !(c >= 0x7f && c < 0xa0) && c != 0xad && c != 0x61c &&
	       !(c >= 0x200b && c <= 0x200f) && !(c >= 0x2028 && c <= 0x202e) &&
	       !(c >= 0x2060 && c <= 0x206f) && c != 0xfeff &&
	       !(c >= 0xfff0 && c <= 0xfffb) && !(c >= 0xe0000 && c <= 0xe0fff);
}

static size_t escape_one(const unsigned char *p, struct buf *out)
{
	uint32_t code = 0;
	size_t n = decode(p, &code);

	if (!n)
		buf_addf(out, "\\x%02x", p[0]);
	else if (code == '\n')
		buf_adds(out, "\\n");
	else if (code == '\t')
		buf_adds(out, "\\t");
	else if (code == '\\')
		buf_adds(out, "\\\\");
	else if (!printable(code))
		buf_addf(out, code < 0x100 ? "\\x%02x" : "\\u{%x}", code);
	else
		buf_add(out, p, n);
	return n ? n : 1;
}

static char *escape(const char *text, size_t len)
{
	CLEANUP(buf) struct buf b = {0};
	size_t fits = 0;

	for (size_t i = 0; i < len && b.len <= EVIDENCE_VALUE_MAX;) {
		i += escape_one((const unsigned char *)text + i, &b);
		if (b.len <= EVIDENCE_VALUE_MAX - strlen(ELLIPSIS))
			fits = b.len;
	}
	if (b.len > EVIDENCE_VALUE_MAX) {
		b.len = fits;
		buf_adds(&b, ELLIPSIS);
	}
	return buf_detach(&b);
}

char *evidence_value(const char *text, const char *repository, bool free_text)
{
	struct cleaner c = {.text = text ? text : "",
			    .repository = repository,
			    .free_text = free_text};
	const char *start;
	size_t len;
	char *value;

	c.p = c.text;
	clean(&c);
	start = buf_str(&c.out);
	start += strspn(start, " ");
	len = strlen(start);
	while (len && start[len - 1] == ' ')
		len--;
	value = len ? escape(start, len) : escape("none", 4);
	buf_release(&c.out);
	return value;
}
