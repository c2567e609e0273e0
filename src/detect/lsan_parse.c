#include "detect/lsan_parse.h"

#include "base/mem.h"
#include "detect/canary.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* Where the frames that come next belong. */
enum block {
	BLOCK_NONE,
	BLOCK_LEAK,
	BLOCK_ERROR,
	BLOCK_SUPPRESSIONS,
};

struct lsan_parser {
	struct lsan_log *log;
	struct buf line;
	enum block block;
	struct lsan_leak leak; /* of BLOCK_LEAK */
};

static bool starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* Moves *s past text, if it stands there. */
static bool skip(const char **s, const char *text)
{
	if (!starts(*s, text))
		return false;
	*s += strlen(text);
	return true;
}

/* Moves *s past a decimal number. */
static bool number(const char **s, uint64_t *ret)
{
	char *end;

	if (**s < '0' || **s > '9')
		return false;
	errno = 0;
	*ret = strtoull(*s, &end, 10);
	*s = end;
	return errno == 0;
}

/* "==123==": moves *s past it. */
static int skip_pid(const char **s)
{
	const char *p = *s;
	uint64_t pid;

	if (!skip(&p, "==") || !number(&p, &pid) || !skip(&p, "==") || pid > INT32_MAX)
		return 0;
	*s = p;
	return (int)pid;
}

bool lsan_is_fatal(const char *line)
{
	static const char *const texts[] = {
		"LeakSanitizer has encountered a fatal error",
		"Sanitizer: failed to read suppressions file",
		"Sanitizer: CHECK failed",
		"Sanitizer CHECK failed",
		"Sanitizer: ERROR: ",
		"Sanitizer failed to allocate",
		"Sanitizer: Out of memory",
		"ERROR: Can't open file: ",
		"External symbolizer path is set to",
		"runtime does not come first in initial library list",
		"Shadow memory range interleaves with an existing memory mapping",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strstr(line, texts[i]))
			return true;
	return false;
}

const char *lsan_headline(const char *line, int *ret_pid)
{
	const char *text = line;

	*ret_pid = skip_pid(&text);
	if (lsan_is_fatal(text))
		return text;
	if (*ret_pid && skip(&text, "ERROR: ") &&
	    (starts(text, "LeakSanitizer: ") || starts(text, "AddressSanitizer: ")))
		return text;
	return NULL;
}

static void leak_drop(struct lsan_leak *l)
{
	raw_stack_release(&l->stack);
	*l = (struct lsan_leak){0};
}

static bool is_canary(const struct lsan_leak *l)
{
	for (size_t i = 0; i < l->stack.n; i++)
		if (canary_matches(l->bytes, l->stack.frames[i].function,
				   l->stack.frames[i].module))
			return true;
	return false;
}

static void end_block(struct lsan_parser *p)
{
	struct lsan_log *log = p->log;

	if (p->block == BLOCK_LEAK) {
		if (is_canary(&p->leak)) {
			log->canary = true;
			leak_drop(&p->leak);
		} else if (log->nleaks == LSAN_LEAKS_MAX) {
			log->dropped++;
			leak_drop(&p->leak);
		} else {
			*VEC_ADD(log->leaks, log->nleaks, log->leaks_cap) = p->leak;
			p->leak = (struct lsan_leak){0};
		}
	}
	p->block = BLOCK_NONE;
}

/* "Direct leak of 40 byte(s) in 1 object(s) allocated from:" */
static bool leak_line(struct lsan_parser *p, const char *line)
{
	struct lsan_leak l = {.direct = starts(line, "Direct")};

	if (!skip(&line, "Direct leak of ") && !skip(&line, "Indirect leak of "))
		return false;
	if (!number(&line, &l.bytes) || !skip(&line, " byte(s) in ") ||
	    !number(&line, &l.objects) || !starts(line, " object(s)"))
		return false;
	end_block(p);
	p->leak = l;
	p->block = BLOCK_LEAK;
	return true;
}

static char *field(const char *s, size_t len)
{
	return !len || (len == 6 && !memcmp(s, "<null>", 6)) ? NULL : xstrndup(s, len);
}

static struct raw_stack *open_stack(struct lsan_parser *p)
{
	switch (p->block) {
	case BLOCK_LEAK:
		return &p->leak.stack;
	case BLOCK_ERROR:
		return &p->log->error_stack;
	case BLOCK_NONE:
	case BLOCK_SUPPRESSIONS:
		return NULL;
	}
	abort();
}

static bool is_frame(const char *line)
{
	return starts(line, "    #") && strchr(line, '\t');
}

bool lsan_frame_parse(const char *line, struct raw_frame *ret,
		      char ret_number[LSAN_FRAME_NUMBER])
{
	enum { NUMBER, PC, FUNCTION, MODULE, OFFSET, FILE_NAME, LINE, FIELDS };
	const char *at[FIELDS + 1];
	size_t len[FIELDS];

	if (!is_frame(line))
		return false;
	at[0] = line + 5;
	for (int i = 0; i < FIELDS; i++) {
		size_t n = strcspn(at[i], "\t");

		if (!at[i][n] != (i == FIELDS - 1))
			return false; /* cut, or not ours */
		len[i] = n;
		at[i + 1] = at[i] + n + 1;
	}
	ret->function = field(at[FUNCTION], len[FUNCTION]);
	ret->module = field(at[MODULE], len[MODULE]);
	ret->offset = strtoull(at[OFFSET], NULL, 16);
	ret->file = field(at[FILE_NAME], len[FILE_NAME]);
	ret->line = (unsigned)strtoul(at[LINE], NULL, 10);
	snprintf(ret_number, LSAN_FRAME_NUMBER, "%.*s", (int)len[NUMBER], at[NUMBER]);
	return true;
}

static bool frame_line(struct lsan_parser *p, const char *line)
{
	struct raw_stack *stack = open_stack(p);
	struct raw_frame parsed = {0}, *f = NULL;
	char number[LSAN_FRAME_NUMBER];

	if (!is_frame(line))
		return false;
	if (!stack || !lsan_frame_parse(line, &parsed, number))
		return true;
	/* The fast unwinder may take data for return addresses: the stack ends there. */
	if (!parsed.module ||
	    (!starts(parsed.module, "[stack]") && !starts(parsed.module, "[heap]")))
		f = raw_stack_add(stack);
	if (f)
		*f = parsed;
	else
		raw_frame_release(&parsed);
	return true;
}

/* "      2       4319 *": count, bytes, template. */
static bool suppression_line(struct lsan_parser *p, const char *line)
{
	struct lsan_suppression s = {0}, *added;
	struct lsan_log *log = p->log;

	if (p->block != BLOCK_SUPPRESSIONS)
		return false;
	line += strspn(line, " ");
	if (!number(&line, &s.count))
		return false;
	line += strspn(line, " ");
	if (!number(&line, &s.bytes) || *line != ' ' ||
	    log->nsuppressions == LSAN_SUPPRESSIONS_MAX)
		return true;
	added = VEC_ADD(log->suppressions, log->nsuppressions, log->suppressions_cap);
	*added = s;
	added->pattern = xstrdup(line + 1);
	return true;
}

/* "heap-use-after-free on address 0x…" gives the kind alone. */
static char *error_kind(const char *text)
{
	static const char *const ends[] = {" on ", " (", ": "};
	size_t len = strlen(text);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		const char *end = strstr(text, ends[i]);

		if (end && end > text && (size_t)(end - text) < len)
			len = (size_t)(end - text);
	}
	return xstrndup(text, len < 100 ? len : 100);
}

static void set_error(struct lsan_parser *p, char *kind)
{
	end_block(p);
	if (p->log->error) { /* the first is the cause */
		free(kind);
		return;
	}
	p->log->error = kind;
	p->block = BLOCK_ERROR;
}

/* "==123==ERROR: LeakSanitizer: detected memory leaks", "…AddressSanitizer: SEGV on …" */
static bool error_line(struct lsan_parser *p, const char *line)
{
	const char *text = line;

	if (!skip_pid(&text) || !skip(&text, "ERROR: "))
		return false;
	if (!skip(&text, "LeakSanitizer: ") && !skip(&text, "AddressSanitizer: "))
		return false;
	if (starts(text, "detected memory leaks")) {
		end_block(p);
		p->log->leaks_reported = true;
	} else {
		set_error(p, error_kind(text));
	}
	return true;
}

/* UBSan: "src/a.c:3:12: runtime error: signed integer overflow: …". The place stands in
 * the line: a stack follows only when it is asked for. */
static bool undefined_line(struct lsan_parser *p, const char *line)
{
	static const char mark[] = ": runtime error: ";
	const char *at = strstr(line, mark), *colon;
	struct raw_frame *f;

	if (!at || at == line || line[0] == ' ')
		return false;
	if (p->log->error) {
		end_block(p);
		return true;
	}
	set_error(p, xasprintf("undefined behaviour: %.200s", at + strlen(mark)));
	f = raw_stack_add(&p->log->error_stack);
	colon = memchr(line, ':', (size_t)(at - line));
	if (f && colon && colon > line) {
		f->file = xstrndup(line, (size_t)(colon - line));
		f->line = (unsigned)strtoul(colon + 1, NULL, 10);
	}
	p->block = BLOCK_NONE;
	return true;
}

static void take_line(struct lsan_parser *p, const char *line)
{
	struct lsan_log *log = p->log;

	if (!*line) {
		end_block(p);
		return;
	}
	log->text = true;
	if (frame_line(p, line) || leak_line(p, line) || suppression_line(p, line) ||
	    error_line(p, line) || undefined_line(p, line))
		return;
	if (starts(line, "SUMMARY: ")) {
		end_block(p);
		log->summary |= strstr(line, " byte(s) leaked in ") != NULL;
	} else if (starts(line, "Suppressions used:")) {
		end_block(p);
		p->block = BLOCK_SUPPRESSIONS;
	} else if (starts(line, "-----") && p->block == BLOCK_SUPPRESSIONS) {
		end_block(p);
	} else if (!log->fatal && lsan_is_fatal(line)) {
		int pid;

		log->fatal = xasprintf("%.300s", lsan_headline(line, &pid));
	}
}

bool lsan_template_matches(const char *template, const char *text)
{
	size_t len = strlen(template);
	bool start = *template == '^', end = len > start && template[len - 1] == '$';
	CLEANUP_FREE char *pattern =
		xasprintf("%s%.*s%s", start ? "" : "*", (int)(len - start - end),
			  template + start, end ? "" : "*");

	return fnmatch(pattern, text, 0) == 0;
}

struct lsan_parser *lsan_parser_new(struct lsan_log *ret)
{
	struct lsan_parser *p = xcalloc(1, sizeof(*p));

	p->log = ret;
	return p;
}

static void add_part(struct lsan_parser *p, const char *data, size_t len)
{
	size_t room = LSAN_LINE_MAX - p->line.len;

	buf_add(&p->line, data, len < room ? len : room);
}

static void end_line(struct lsan_parser *p)
{
	/* A NUL would end the line early, which is as good as any reading of it. */
	take_line(p, buf_str(&p->line));
	buf_clear(&p->line);
}

void lsan_parser_feed(void *parser, const char *data, size_t len)
{
	struct lsan_parser *p = parser;

	while (len) {
		const char *end = memchr(data, '\n', len);
		size_t n = end ? (size_t)(end - data) : len;

		add_part(p, data, n);
		if (end)
			end_line(p);
		n += end != NULL;
		data += n;
		len -= n;
	}
}

void lsan_parser_finish(struct lsan_parser *p)
{
	if (p->line.len)
		end_line(p);
	end_block(p);
	leak_drop(&p->leak);
	buf_release(&p->line);
	free(p);
}

void lsan_log_release(struct lsan_log *l)
{
	for (size_t i = 0; i < l->nleaks; i++)
		raw_stack_release(&l->leaks[i].stack);
	for (size_t i = 0; i < l->nsuppressions; i++)
		free(l->suppressions[i].pattern);
	raw_stack_release(&l->error_stack);
	free(l->leaks);
	free(l->suppressions);
	free(l->error);
	free(l->fatal);
	*l = (struct lsan_log){0};
}
