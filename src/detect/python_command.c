#include "detect/python_command.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"

#include <string.h>

static const char between[] = " \t\n;&|(){}'\"`";
static const char VARIABLE[] = "PYTHONPATH=";

static bool is_shell(const char *program)
{
	static const char *const names[] = {"sh", "bash", "dash"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(path_base(program), names[i]))
			return true;
	return false;
}

/* The script of `sh -c SCRIPT`: where it stands in argv, or 0. */
static size_t shell_script(const struct strv *argv)
{
	if (argv->n < 3 || !is_shell(argv->v[0]) || strcmp(argv->v[1], "-c") != 0)
		return 0;
	return 2;
}

/* All words; those of a shell command as they lie between spaces and operators. */
static void split(const struct strv *argv, struct strv *ret)
{
	size_t script = shell_script(argv);

	for (size_t i = 0; i < argv->n; i++) {
		const char *p = argv->v[i];

		if (i != script || !script) {
			strv_add(ret, p);
			continue;
		}
		for (size_t n; *(p += strspn(p, between)); p += n) {
			n = strcspn(p, between);
			strv_take(ret, xstrndup(p, n));
		}
	}
}

static bool is_python(const char *word)
{
	const char *name = path_base(word);

	return !strncmp(name, "python", 6) &&
	       name[6 + strspn(name + 6, "0123456789.")] == '\0';
}

static bool runs_tests(const char *word)
{
	const char *name = path_base(word);

	return !strcmp(name, "pytest") || !strcmp(name, "py.test") ||
	       !strcmp(name, "unittest") || !strncmp(name, "pytest-3", 8);
}

/* The interpreter's own options, before -c, -m or a script: does one of them turn the
 * environment or site off? Those with a value end a word: -W error, -Xdev. */
static bool isolates(const struct strv *words, size_t i)
{
	for (; i < words->n && words->v[i][0] == '-' && words->v[i][1]; i++) {
		const char *p = words->v[i] + 1;

		if (*p == '-')
			continue;
		for (; *p && !strchr("cmWX", *p); p++)
			if (strchr("IES", *p))
				return true;
		if (*p == 'c' || *p == 'm')
			return false;
		i += *p && !p[1];
	}
	return false;
}

bool python_command_isolated(const struct strv *argv)
{
	CLEANUP(strv) struct strv words = {0};

	split(argv, &words);
	for (size_t i = 0; i < words.n; i++)
		if (is_python(words.v[i]) && isolates(&words, i + 1))
			return true;
	return false;
}

enum python_use python_command_use(const struct strv *argv)
{
	CLEANUP(strv) struct strv words = {0};
	enum python_use use = PYTHON_NONE;

	split(argv, &words);
	for (size_t i = 0; i < words.n; i++) {
		if (runs_tests(words.v[i]))
			return PYTHON_TESTS;
		if (use != PYTHON_NONE || !is_python(words.v[i]))
			continue;
		while (i + 1 < words.n && words.v[i + 1][0] == '-' &&
		       strchr("uBbsOqdEISPvx", words.v[i + 1][1]))
			i++;
		use = i + 1 < words.n && !strcmp(words.v[i + 1], "-c") ? PYTHON_CODE
								       : PYTHON_PROGRAM;
	}
	return use;
}

static void lead_script(char **script, const char *path)
{
	CLEANUP_FREE char *copy = xstrdup(path);
	char *const one[] = {copy, NULL};
	CLEANUP_FREE char *quoted = shell_quote(one);
	struct buf b = {0};
	const char *p = *script, *at;

	while ((at = strstr(p, VARIABLE))) {
		bool word = at == *script || strchr(between, at[-1]);

		at += strlen(VARIABLE);
		buf_add(&b, p, (size_t)(at - p));
		if (word)
			buf_addf(&b, "%s:", quoted);
		p = at;
	}
	buf_adds(&b, p);
	free(*script);
	*script = buf_detach(&b);
}

void python_command_lead(struct strv *argv, const char *path)
{
	size_t script = shell_script(argv), n = strlen(VARIABLE);

	if (script) {
		lead_script(&argv->v[script], path);
		return;
	}
	for (size_t i = 0; i < argv->n; i++) {
		char *word = argv->v[i];

		if (strncmp(word, VARIABLE, n) != 0)
			continue;
		argv->v[i] = xasprintf("%s%s:%s", VARIABLE, path, word + n);
		free(word);
	}
}
