#include "detect/node_report.h"

#include "base/json.h"
#include "base/mem.h"

#include <string.h>

static const char *const role_names[NODE_ROLES] = {
	[NODE_PLAIN] = "plain",
	[NODE_TEST] = "node:test",
	[NODE_TEST_PARENT] = "node --test",
	[NODE_JEST] = "jest",
	[NODE_MOCHA] = "mocha",
	[NODE_VITEST] = "vitest",
	[NODE_VITEST_PARENT] = "vitest run",
};

const char *node_role_name(enum node_role r)
{
	return role_names[r];
}

static bool parse_role(const json_t *j, enum node_role *ret)
{
	const char *name = json_get(j, "role", "");

	for (size_t i = 0; i < NODE_ROLES; i++) {
		if (!strcmp(role_names[i], name)) {
			*ret = (enum node_role)i;
			return true;
		}
	}
	return false;
}

static bool parse_exit(const char *name, enum node_exit *ret)
{
	static const char *const names[] = {
		[NODE_EXIT_NATURAL] = "natural",
		[NODE_EXIT_ASKED] = "asked",
		[NODE_EXIT_ENDED] = "ended",
		[NODE_EXIT_OTHER] = "other",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], name)) {
			*ret = (enum node_exit)i;
			return true;
		}
	}
	return false;
}

static bool parse_kind(const char *name, enum resource *ret)
{
	if (!strcmp(name, "worker")) {
		*ret = RESOURCE_THREAD;
		return true;
	}
	return resource_parse(name, ret) && *ret != RESOURCE_HEAP;
}

static void parse_frames(const json_t *list, struct raw_stack *s)
{
	size_t i;
	json_t *j;

	json_array_foreach (list, i, j) {
		const char *function = json_get(j, "function", ""),
			   *file = json_get(j, "file", "");
		int64_t line = json_get_int(j, "line", 0);
		struct raw_frame *f = *file ? raw_stack_add(s) : NULL;

		if (!f)
			continue;
		f->function = xstrdup(*function ? function : "<anonymous>");
		f->file = xstrdup(file);
		f->line = line > 0 && line < INT32_MAX ? (unsigned)line : 0;
	}
}

static bool parse_held(const json_t *list, struct node_process *p)
{
	size_t i;
	json_t *j;

	json_array_foreach (list, i, j) {
		int64_t units = json_get_int(j, "units", 0);
		enum resource resource;
		struct node_held *h;

		if (!parse_kind(json_get(j, "kind", ""), &resource) || units < 1)
			return false;
		if (p->nheld == NODE_HELD_MAX)
			break;
		h = VEC_ADD(p->held, p->nheld, p->held_cap);
		h->resource = resource;
		h->units = (uint64_t)units;
		h->what = xstrdup(json_get(j, "what", ""));
		parse_frames(json_object_get(j, "frames"), &h->stack);
	}
	return true;
}

static void parse_notes(const json_t *list, struct strv *ret)
{
	size_t i;
	json_t *j;

	json_array_foreach (list, i, j) {
		if (json_is_string(j) && ret->n < NODE_NOTES_MAX)
			strv_add(ret, json_string_value(j));
	}
}

static bool parse_start(const json_t *j, struct node_process *p)
{
	int64_t pid = json_get_int(j, "pid", 0), ppid = json_get_int(j, "ppid", 0);

	if (p->script || pid < 1 || pid > INT32_MAX || ppid < 0 || ppid > INT32_MAX ||
	    !parse_role(j, &p->role))
		return false;
	p->pid = (pid_t)pid;
	p->ppid = (pid_t)ppid;
	p->script = xstrdup(json_get(j, "script", ""));
	p->version = xstrdup(json_get(j, "node", ""));
	return true;
}

static bool parse_end(const json_t *j, struct node_process *p)
{
	int64_t tests = json_get_int(j, "tests", -1), code = json_get_int(j, "code", 0);

	if (!p->script || p->ended || tests < 0 || !parse_role(j, &p->role) ||
	    !parse_exit(json_get(j, "exit", ""), &p->exit) ||
	    !json_is_array(json_object_get(j, "held")))
		return false;
	if (*json_get(j, "refused", ""))
		p->refused = xstrdup(json_get(j, "refused", ""));
	p->over = json_get_bool(j, "over", false);
	p->canary = json_get_bool(j, "canary", false);
	p->tests = (uint64_t)tests;
	p->code = code >= 0 && code < 256 ? (int)code : -1;
	parse_frames(json_object_get(j, "asked"), &p->asked);
	parse_notes(json_object_get(j, "notes"), &p->notes);
	p->ended = parse_held(json_object_get(j, "held"), p);
	return p->ended;
}

static bool parse_line(const char *line, size_t len, struct node_process *p)
{
	CLEANUP_JSON json_t *j = json_parse(line, len, "node", NULL);
	const char *type = json_get(j, "type", "");

	if (!strcmp(type, "start"))
		return parse_start(j, p);
	return !strcmp(type, "end") && parse_end(j, p);
}

bool node_report_parse(const char *text, size_t len, struct node_process *ret)
{
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - text) - at : 0;

		if (!end)
			break;
		if (!parse_line(text + at, n, ret))
			return false;
		at += n + 1;
	}
	return true;
}

void node_process_release(struct node_process *p)
{
	for (size_t i = 0; i < p->nheld; i++) {
		raw_stack_release(&p->held[i].stack);
		free(p->held[i].what);
	}
	free(p->held);
	free(p->script);
	free(p->version);
	free(p->refused);
	raw_stack_release(&p->asked);
	strv_release(&p->notes);
	*p = (struct node_process){0};
}
