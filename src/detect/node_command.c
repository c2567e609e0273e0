#include "detect/node_command.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "detect/report_file.h"

#include <string.h>

enum { DEPTH_MAX = 5, PACKAGE_CAP = 1 << 20 };

static bool among(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(*list, word))
			return true;
	return false;
}

static bool runs_node(const char *name)
{
	static const char *const names[] = {"node",    "nodejs", "jest", "mocha",
					    "_mocha",  "vitest", "npx",	 "tsx",
					    "ts-node", "c8",	 "nyc",	 NULL};
	CLEANUP_FREE char *stem = xstrdup(name);
	char *dot = strrchr(stem, '.');

	if (dot && (!strcmp(dot, ".js") || !strcmp(dot, ".mjs") || !strcmp(dot, ".cjs")))
		*dot = '\0';
	return among(stem, names);
}

/* Words of a shell's command line, roughly: operators stand alone, quotes are dropped. */
static void split_words(const char *text, struct strv *ret)
{
	static const char ends[] = " \t\n;&|()";

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ends);
		struct buf word = {0};

		for (size_t i = 0; i < n; i++)
			if (!strchr("'\"", p[i]))
				buf_addc(&word, p[i]);
		if (word.len)
			strv_add(ret, word.data);
		buf_release(&word);
		p += n;
		if (*p && strchr(";&|()\n", *p))
			strv_add(ret, ";");
		p += *p != '\0';
	}
}

static bool text_runs_node(const char *text, const char *dir, unsigned depth);

static bool script_runs_node(const char *dir, const char *script, unsigned depth)
{
	CLEANUP_FREE char *path = path_join(dir, "package.json");
	CLEANUP(buf) struct buf text = {0};
	CLEANUP_JSON json_t *package = NULL;
	const char *command;

	if (read_regular(path, PACKAGE_CAP, &text) < 0)
		return false;
	package = json_parse(buf_str(&text), text.len, "package.json", NULL);
	command = json_get(json_object_get(package, "scripts"), script, NULL);
	return command && text_runs_node(command, dir, depth + 1);
}

/* The script that `npm …` runs; words[0] is what follows npm. */
static const char *npm_script(char *const *words)
{
	static const char *const verbs[] = {"run", "run-script", "rum", "urn", NULL};
	static const char *const tests[] = {"t", "tst", NULL};

	while (*words && **words == '-')
		words++;
	if (*words && among(*words, verbs))
		for (words++; *words && **words == '-';)
			words++;
	else if (*words && among(*words, tests))
		return "test";
	return *words;
}

static bool words_run_node(const struct strv *words, const char *start, unsigned depth)
{
	static const char *const managers[] = {"npm", "yarn", "pnpm", "bun", NULL};
	CLEANUP_FREE char *dir = xstrdup(start);

	for (size_t i = 0; i < words->n; i++) {
		const char *name = path_base(words->v[i]);

		if (runs_node(name))
			return true;
		if (!strcmp(name, "cd") && i + 1 < words->n) {
			char *next = words->v[i + 1][0] == '/'
					     ? xstrdup(words->v[i + 1])
					     : path_join(dir, words->v[i + 1]);

			free(dir);
			dir = next;
		} else if (among(name, managers)) {
			const char *script = npm_script(words->v + i + 1);

			if (script && (!strcmp(script, "exec") || runs_node(script) ||
				       script_runs_node(dir, script, depth)))
				return true;
		}
	}
	return false;
}

static bool text_runs_node(const char *text, const char *dir, unsigned depth)
{
	CLEANUP(strv) struct strv words = {0};

	if (depth > DEPTH_MAX)
		return false;
	split_words(text, &words);
	return words_run_node(&words, dir, depth);
}

bool node_command(const struct strv *argv, const char *dir)
{
	static const char *const shells[] = {"sh", "bash", "dash", "zsh", NULL};

	if (argv->n >= 3 && among(path_base(argv->v[0]), shells) &&
	    !strcmp(argv->v[1], "-c"))
		return text_runs_node(argv->v[2], dir, 0);
	return words_run_node(argv, dir, 0);
}
