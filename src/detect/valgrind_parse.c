#include "detect/valgrind_parse.h"

#include "base/buf.h"
#include "base/mem.h"
#include "detect/canary.h"

#include <expat.h>
#include <string.h>

enum { DEPTH_MAX = 16 /* valgrind's own is 5 */ };

/* The elements that are looked at. */
enum element {
	OTHER,
	VALGRINDOUTPUT,
	PID,
	PPID,
	ARGS,
	ARGV,
	EXE,
	STATUS,
	STATE,
	ERROR,
	KIND,
	XWHAT,
	LEAKEDBYTES,
	LEAKEDBLOCKS,
	STACK,
	FRAME,
	OBJ,
	FN,
	DIR_NAME,
	FILE_NAME,
	LINE,
	SUPPCOUNTS,
	PAIR,
	NAME,
};

static const char *const element_names[] = {
	[VALGRINDOUTPUT] = "valgrindoutput",
	[PID] = "pid",
	[PPID] = "ppid",
	[ARGS] = "args",
	[ARGV] = "argv",
	[EXE] = "exe",
	[STATUS] = "status",
	[STATE] = "state",
	[ERROR] = "error",
	[KIND] = "kind",
	[XWHAT] = "xwhat",
	[LEAKEDBYTES] = "leakedbytes",
	[LEAKEDBLOCKS] = "leakedblocks",
	[STACK] = "stack",
	[FRAME] = "frame",
	[OBJ] = "obj",
	[FN] = "fn",
	[DIR_NAME] = "dir",
	[FILE_NAME] = "file",
	[LINE] = "line",
	[SUPPCOUNTS] = "suppcounts",
	[PAIR] = "pair",
	[NAME] = "name",
};

struct valgrind_parser {
	XML_Parser xml;
	struct valgrind_report *report;
	enum element path[DEPTH_MAX];
	size_t depth;
	struct buf text;
	/* The <error> or bare <stack> that is being read. */
	char *kind;
	uint64_t bytes, blocks;
	struct raw_stack stack;
	size_t nstacks;		 /* of the error: the first is where it happened */
	struct raw_frame *frame; /* NULL: not kept */
	char *dir;
};

static enum element element_of(const char *name)
{
	for (size_t i = 1; i < ARRAY_SIZE(element_names); i++)
		if (!strcmp(element_names[i], name))
			return (enum element)i;
	return OTHER;
}

/* Is the path from below the document element: a, b, c? OTHER: it ends there. */
static bool within(const struct valgrind_parser *p, enum element a, enum element b,
		   enum element c)
{
	const enum element want[] = {a, b, c};
	size_t i = 0;

	while (i < ARRAY_SIZE(want) && want[i] != OTHER) {
		if (i + 1 >= p->depth || p->path[i + 1] != want[i])
			return false;
		i++;
	}
	return i + 1 == p->depth;
}

static void stop(struct valgrind_parser *p, const char *why)
{
	if (!p->report->malformed)
		p->report->malformed = xstrdup(why);
	XML_StopParser(p->xml, XML_FALSE);
}

static void start_event(struct valgrind_parser *p)
{
	if (within(p, ERROR, OTHER, OTHER) || within(p, STACK, OTHER, OTHER)) {
		free(TAKE_PTR(p->kind));
		raw_stack_release(&p->stack);
		p->bytes = p->blocks = 0;
		p->nstacks = 0;
	}
	if (within(p, ERROR, STACK, OTHER) || within(p, STACK, OTHER, OTHER))
		p->nstacks++;
	if (within(p, ERROR, STACK, FRAME) || within(p, STACK, FRAME, OTHER))
		p->frame = p->nstacks == 1 ? raw_stack_add(&p->stack) : NULL;
}

static void XMLCALL on_start(void *ctx, const XML_Char *name, const XML_Char **attributes)
{
	struct valgrind_parser *p = ctx;

	(void)attributes;
	if (p->depth == DEPTH_MAX) {
		stop(p, "elements are nested too deeply");
		return;
	}
	p->path[p->depth++] = element_of(name);
	if (p->path[0] != VALGRINDOUTPUT) {
		stop(p, "it is not valgrind's");
		return;
	}
	buf_clear(&p->text);
	start_event(p);
}

static bool is_canary(const struct valgrind_parser *p)
{
	for (size_t i = 0; i < p->stack.n; i++)
		if (canary_matches(p->bytes, p->stack.frames[i].function,
				   p->stack.frames[i].module))
			return true;
	return false;
}

static void add_leak(struct valgrind_parser *p, enum valgrind_kind kind)
{
	struct valgrind_report *r = p->report;
	struct valgrind_leak *l;

	if (r->nleaks == VALGRIND_LEAKS_MAX) {
		r->dropped++;
		return;
	}
	l = VEC_ADD(r->leaks, r->nleaks, r->leaks_cap);
	*l = (struct valgrind_leak){kind, p->bytes, p->blocks, p->stack};
	p->stack = (struct raw_stack){0};
}

static void end_error(struct valgrind_parser *p)
{
	struct valgrind_report *r = p->report;
	struct valgrind_error *e;
	const char *kind = p->kind ? p->kind : "?";

	if (!strcmp(kind, "Leak_DefinitelyLost")) {
		if (is_canary(p))
			r->canary = true;
		else
			add_leak(p, VALGRIND_DEFINITE);
	} else if (!strcmp(kind, "Leak_IndirectlyLost")) {
		add_leak(p, VALGRIND_INDIRECT);
	} else if (!strcmp(kind, "Leak_PossiblyLost")) {
		add_leak(p, VALGRIND_POSSIBLE);
	} else if (strncmp(kind, "Leak_", 5) != 0 && r->nerrors < VALGRIND_ERRORS_MAX) {
		e = VEC_ADD(r->errors, r->nerrors, r->errors_cap);
		*e = (struct valgrind_error){xstrdup(kind), p->stack};
		p->stack = (struct raw_stack){0};
	}
}

static void replace(char **field, const struct buf *text)
{
	free(*field);
	*field = xstrdup(buf_str(text));
}

static void end_field(struct valgrind_parser *p)
{
	struct valgrind_report *r = p->report;
	const char *text = buf_str(&p->text);

	if (within(p, PID, OTHER, OTHER))
		r->pid = (pid_t)strtol(text, NULL, 10);
	else if (within(p, PPID, OTHER, OTHER))
		r->ppid = (pid_t)strtol(text, NULL, 10);
	else if (within(p, ARGS, ARGV, EXE))
		replace(&r->exe, &p->text);
	else if (within(p, SUPPCOUNTS, PAIR, NAME))
		replace(&r->suppressed, &p->text);
	else if (within(p, ERROR, KIND, OTHER))
		replace(&p->kind, &p->text);
	else if (within(p, ERROR, XWHAT, LEAKEDBYTES))
		p->bytes = strtoull(text, NULL, 10);
	else if (within(p, ERROR, XWHAT, LEAKEDBLOCKS))
		p->blocks = strtoull(text, NULL, 10);
	if (within(p, STATUS, STATE, OTHER)) {
		r->running |= !strcmp(text, "RUNNING");
		r->finished |= !strcmp(text, "FINISHED");
	}
}

/* An element in a frame, which is the innermost but one of the path. */
static void end_frame_field(struct valgrind_parser *p)
{
	enum element e = p->path[p->depth - 1];

	if (!p->frame || p->depth < 2 || p->path[p->depth - 2] != FRAME)
		return;
	if (e == OBJ)
		replace(&p->frame->module, &p->text);
	else if (e == FN)
		replace(&p->frame->function, &p->text);
	else if (e == DIR_NAME)
		replace(&p->dir, &p->text);
	else if (e == FILE_NAME)
		replace(&p->frame->file, &p->text);
	else if (e == LINE)
		p->frame->line = (unsigned)strtoul(buf_str(&p->text), NULL, 10);
}

static void end_frame(struct valgrind_parser *p)
{
	if (p->frame && p->dir && p->frame->file) {
		char *file = p->frame->file;

		p->frame->file =
			file[0] == '/' ? xstrdup(file) : xasprintf("%s/%s", p->dir, file);
		free(file);
	}
	free(TAKE_PTR(p->dir));
	p->frame = NULL;
}

static void XMLCALL on_end(void *ctx, const XML_Char *name)
{
	struct valgrind_parser *p = ctx;

	(void)name;
	if (p->path[p->depth - 1] == FRAME)
		end_frame(p);
	end_frame_field(p);
	end_field(p);
	if (within(p, ERROR, OTHER, OTHER)) {
		end_error(p);
	} else if (within(p, STACK, OTHER, OTHER) && p->stack.n) {
		p->blocks = 1;
		add_leak(p, VALGRIND_FD);
	}
	p->report->closed |= p->depth == 1;
	p->depth--;
	buf_clear(&p->text);
}

static void XMLCALL on_text(void *ctx, const XML_Char *text, int len)
{
	struct valgrind_parser *p = ctx;
	size_t room = VALGRIND_TEXT_MAX - p->text.len, n = (size_t)len;

	buf_add(&p->text, text, n < room ? n : room);
}

static void XMLCALL on_doctype(void *ctx, const XML_Char *name, const XML_Char *system_id,
			       const XML_Char *public_id, int internal)
{
	(void)name;
	(void)system_id;
	(void)public_id;
	(void)internal;
	stop(ctx, "it has a document type");
}

struct valgrind_parser *valgrind_parser_new(struct valgrind_report *ret)
{
	struct valgrind_parser *p = xcalloc(1, sizeof(*p));

	p->report = ret;
	p->xml = XML_ParserCreate(NULL);
	if (!p->xml)
		abort(); /* out of memory, as in base/mem */
	XML_SetUserData(p->xml, p);
	XML_SetElementHandler(p->xml, on_start, on_end);
	XML_SetCharacterDataHandler(p->xml, on_text);
	XML_SetStartDoctypeDeclHandler(p->xml, on_doctype);
	return p;
}

static void parse(struct valgrind_parser *p, const char *data, size_t len, int final)
{
	enum XML_Error code;

	if (p->report->malformed)
		return;
	if (XML_Parse(p->xml, data, (int)len, final) == XML_STATUS_OK)
		return;
	code = XML_GetErrorCode(p->xml);
	/* A document that stops early is not malformed: see `closed`. */
	if (!p->report->malformed && !final)
		p->report->malformed = xasprintf(
			"line %lu: %s", (unsigned long)XML_GetCurrentLineNumber(p->xml),
			XML_ErrorString(code));
}

void valgrind_parser_feed(void *parser, const char *data, size_t len)
{
	enum { PIECE = 1 << 20 };

	while (len) {
		size_t n = len < PIECE ? len : PIECE;

		parse(parser, data, n, 0);
		data += n;
		len -= n;
	}
}

void valgrind_parser_finish(struct valgrind_parser *p)
{
	parse(p, "", 0, 1);
	XML_ParserFree(p->xml);
	raw_stack_release(&p->stack);
	buf_release(&p->text);
	free(p->kind);
	free(p->dir);
	free(p);
}

void valgrind_report_release(struct valgrind_report *r)
{
	for (size_t i = 0; i < r->nleaks; i++)
		raw_stack_release(&r->leaks[i].stack);
	for (size_t i = 0; i < r->nerrors; i++) {
		raw_stack_release(&r->errors[i].stack);
		free(r->errors[i].kind);
	}
	free(r->leaks);
	free(r->errors);
	free(r->exe);
	free(r->suppressed);
	free(r->malformed);
	*r = (struct valgrind_report){0};
}
