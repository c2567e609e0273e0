/* Exits that leave nothing to look at, where base had fewer of them. */
#include "review/internal.h"

#include "base/mem.h"

#include <stdio.h>

enum exit_kind {
	EXIT_NOT,
	EXIT_ORDERLY, /* os.Exit, process.exit, sys.exit: right in main, wrong in a test
		       */
	EXIT_HARD,    /* os._exit, _exit, halt, kill -9 of oneself: never right but in a
			 child */
};

static enum exit_kind exit_kind(const char *callee, const char *call)
{
	static const char *const hard[] = {
		"os . _exit",		"_exit",	"_Exit",	 "quick_exit",
		"process . reallyExit", "std :: _Exit", "libc :: _exit", "syscall . Exit",
		"std :: quick_exit"};
	static const char *const orderly[] = {"process . exit",	 "os . Exit",
					      "sys . exit",	 "exit",
					      "System . exit",	 "std :: process :: exit",
					      "process :: exit", "std :: exit",
					      "process . abort", "abort"};

	for (size_t i = 0; i < ARRAY_SIZE(hard); i++)
		if (!strcmp(hard[i], callee))
			return EXIT_HARD;
	if (strstr(callee, "getRuntime ( ) . halt") ||
	    (strstr(call, "SIGKILL") &&
	     (strstr(call, "getpid (") || strstr(call, "process . pid"))))
		return EXIT_HARD;
	for (size_t i = 0; i < ARRAY_SIZE(orderly); i++)
		if (!strcmp(orderly[i], callee))
			return EXIT_ORDERLY;
	return EXIT_NOT;
}

static bool is_call(const struct source_tree *t, uint32_t n)
{
	const char *kind = source_kind_name(t->lang, t->nodes[n].kind);

	return !strcmp(kind, "call") || !strcmp(kind, "call_expression") ||
	       !strcmp(kind, "method_invocation");
}

static char *callee_of(const struct source_tree *t, uint32_t n, const char *call)
{
	const char *paren = strrchr(call, '(');
	uint32_t f = source_child(t, n, source_field(t->lang, "function"));

	if (f != SOURCE_NONE)
		return tokens_of(t, f);
	while (paren && paren > call && paren[-1] == ' ')
		paren--;
	return paren ? xstrndup(call, (size_t)(paren - call)) : xstrdup(call);
}

/* The text of the functions and calls around n, from the inside: hooks are known by it.
 */
static bool around(const struct source_tree *t, uint32_t n, const char *const *words)
{
	for (n = t->nodes[n].parent; n != SOURCE_NONE; n = t->nodes[n].parent) {
		size_t len;
		const char *text = source_text(t, n, &len);
		const char *kind = source_kind_name(t->lang, t->nodes[n].kind);
		const char *brace = memchr(text, '{', len);

		if (!strstr(kind, "function") && !strstr(kind, "method") &&
		    !strstr(kind, "call") && !strstr(kind, "defer"))
			continue;
		if (t->lang == LANG_PYTHON)
			brace = memchr(text, ':', len);
		len = brace ? (size_t)(brace - text) : len;
		for (size_t i = 0; words[i]; i++)
			if (memmem(text, len < 120 ? len : 120, words[i],
				   strlen(words[i])))
				return true;
	}
	return false;
}

static bool forks(const struct source_tree *t, uint32_t n)
{
	for (n = t->nodes[n].parent; n != SOURCE_NONE; n = t->nodes[n].parent) {
		size_t len;
		const char *text = source_text(t, n, &len);

		if (strstr(source_kind_name(t->lang, t->nodes[n].kind),
			   "function_definition"))
			return memmem(text, len, "fork(", 5) ||
			       memmem(text, len, "clone", 5);
	}
	return false;
}

static const char *const hooks[] = {"afterAll",
				    "afterEach",
				    "after(",
				    "tearDown",
				    "teardown",
				    "cleanup",
				    "Cleanup",
				    "atexit",
				    "defer",
				    "globalTeardown",
				    "AfterAll",
				    "AfterEach",
				    "pytest_sessionfinish",
				    "pytest_unconfigure",
				    "on('exit'",
				    "on(\"exit\"",
				    "beforeExit",
				    "addShutdownHook",
				    "shutdown",
				    "Shutdown",
				    "dispose",
				    "close(",
				    "Close(",
				    NULL};

/* Ends a test, a hook or a process that somebody wanted to look at. */
static bool wrong_here(const struct source_tree *t, uint32_t n, unsigned class)
{
	char *call CLEANUP_FREE = tokens_of(t, n);
	char *callee CLEANUP_FREE = callee_of(t, n, call);
	static const char *const child[] = {"fork", "child", "Child", "__main__", NULL};

	switch (exit_kind(callee, call)) {
	case EXIT_HARD:
		return !forks(t, n) && !around(t, n, child);
	case EXIT_ORDERLY:
		if (strstr(call, "m . Run ("))
			return false; /* os.Exit(m.Run()) is how TestMain ends */
		if (t->lang == LANG_PYTHON || t->lang == LANG_C || t->lang == LANG_CPP)
			return around(t, n, hooks) && class & FILE_TEST && !forks(t, n);
		return class & FILE_TEST ? !around(t, n, child) : around(t, n, hooks);
	case EXIT_NOT:
		break;
	}
	return false;
}

static void collect(const struct source_tree *t, unsigned class, struct strv *texts)
{
	for (uint32_t n = 0; t && n < t->n; n++)
		if (is_call(t, n) && t->nodes[n].end - t->nodes[n].start < 300 &&
		    wrong_here(t, n, class))
			strv_take(texts, tokens_of(t, n));
}

static bool take(struct strv *texts, const char *text)
{
	for (size_t i = 0; i < texts->n; i++)
		if (texts->v[i] && !strcmp(texts->v[i], text)) {
			texts->v[i][0] = '\0';
			return true;
		}
	return false;
}

void review_exits(const struct source_tree *old, const struct source_tree *now,
		  const char *path, unsigned class, struct review_items *out)
{
	struct strv known CLEANUP(strv) = {0};

	collect(old, class, &known);
	for (uint32_t n = 0; n < now->n; n++) {
		char *text CLEANUP_FREE = NULL;

		if (!is_call(now, n) || now->nodes[n].end - now->nodes[n].start >= 300 ||
		    !wrong_here(now, n, class))
			continue;
		text = tokens_of(now, n);
		if (take(&known, text))
			continue;
		set_excerpt(
			review_add(
				out, REVIEW_FORCED_EXIT, path, source_line(now, n),
				"the process ends here: what is open, and every detector "
				"that looks at the exit, is lost"),
			now, n);
	}
}
