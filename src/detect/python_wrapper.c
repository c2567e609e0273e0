#include "detect/python_wrapper.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/python_command.h"
#include "detect/report_file.h"

#include <ctype.h>
#include <string.h>

enum { FILE_CAP = 1 << 20, MAX_TARGETS = 100 };

/* A line of a shell, or of a recipe. What installs a package does not run it. */
static bool line_runs_tests(const char *line)
{
	char sh[] = "sh", c[] = "-c";
	CLEANUP(strv) struct strv argv = {0};

	line += strspn(line, " \t@+-");
	if (*line == '#' || strstr(line, " install "))
		return false;
	strv_add(&argv, sh);
	strv_add(&argv, c);
	strv_add(&argv, line);
	return python_command_use(&argv) == PYTHON_TESTS;
}

static bool read_lines(const char *dir, const char *name, struct strv *ret)
{
	CLEANUP_FREE char *path = *name == '/' ? xstrdup(name) : path_join(dir, name);
	CLEANUP(buf) struct buf text = {0};
	const char *p;

	if (read_regular(path, FILE_CAP, &text) < 0)
		return false;
	if (strlen(buf_str(&text)) != text.len)
		return false; /* a program */
	for (p = buf_str(&text); *p;) {
		size_t n = strcspn(p, "\n");

		strv_take(ret, xstrndup(p, n));
		p += n + (p[n] == '\n');
	}
	return true;
}

/* ---- scripts ---- */

static bool is_shell(const char *word)
{
	static const char *const names[] = {"sh", "bash", "dash"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(path_base(word), names[i]))
			return true;
	return false;
}

/* #!/bin/sh, #!/usr/bin/env bash */
static bool starts_shell(const char *line)
{
	const char *env = strstr(line, "/env ");
	CLEANUP_FREE char *name = NULL;

	if (strncmp(line, "#!", 2) != 0)
		return false;
	line = env ? env + strlen("/env ") : line + 2;
	line += strspn(line, " ");
	name = xstrndup(line, strcspn(line, " \t\r"));
	return is_shell(name);
}

static bool script_runs_tests(const struct strv *argv, const char *dir)
{
	CLEANUP(strv) struct strv lines = {0};
	bool given = is_shell(argv->v[0]);
	size_t at = given;

	for (; given && at < argv->n && argv->v[at][0] == '-'; at++)
		if (strchr(argv->v[at], 'c'))
			return false;
	if (at >= argv->n || !strchr(given ? "/" : argv->v[0], '/') ||
	    !read_lines(dir, argv->v[at], &lines) || !lines.n)
		return false;
	if (!given && !starts_shell(lines.v[0]))
		return false;
	for (size_t i = 0; i < lines.n; i++)
		if (line_runs_tests(lines.v[i]))
			return true;
	return false;
}

/* ---- make ---- */

struct make {
	struct strv lines, targets; /* to be made, and what they need */
};

static bool has_word(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= len; i++)
		if (!strncmp(text + i, word, n) &&
		    (!i || isspace((unsigned char)text[i - 1])) &&
		    (i + n == len || isspace((unsigned char)text[i + n])))
			return true;
	return false;
}

/* "a b: c d", no "a := b"; the length of "a b", or 0. */
static size_t rule_head(const char *line)
{
	size_t n = strcspn(line, ":=#\t");

	return line[n] == ':' && line[n + 1] != '=' && strncmp(line + n, "::=", 3) != 0
		       ? n
		       : 0;
}

static void add_needed(struct make *m, const char *p)
{
	p += strspn(p, ":");
	for (size_t n; *(p += strspn(p, " \t|")) && *p != '#' && *p != ';'; p += n) {
		CLEANUP_FREE char *name = NULL;
		bool known = false;

		n = strcspn(p, " \t|;");
		name = xstrndup(p, n);
		for (size_t i = 0; i < m->targets.n; i++)
			known |= !strcmp(m->targets.v[i], name);
		if (!known && m->targets.n < MAX_TARGETS)
			strv_add(&m->targets, name);
	}
}

static bool recipes_run_tests(struct make *m, const char *target)
{
	bool within = false;

	for (size_t i = 0; i < m->lines.n; i++) {
		const char *line = m->lines.v[i];
		size_t head;

		if (*line == '\t') {
			if (within && line_runs_tests(line))
				return true;
			continue;
		}
		head = rule_head(line);
		if (head)
			within = has_word(line, head, target);
		if (head && within)
			add_needed(m, line + head);
	}
	return false;
}

static void add_first_target(struct make *m)
{
	for (size_t i = 0; i < m->lines.n && !m->targets.n; i++) {
		const char *line = m->lines.v[i];
		size_t head = *line != '.' && *line != '\t' ? rule_head(line) : 0;

		if (head)
			strv_take(&m->targets, xstrndup(line, strcspn(line, ": ")));
	}
}

/* make [-C DIR] [-f FILE] [TARGET…] */
static void read_makefile(struct make *m, const struct strv *argv, const char *dir)
{
	static const char *const names[] = {"GNUmakefile", "makefile", "Makefile"};
	CLEANUP_FREE char *at = xstrdup(dir);
	const char *file = NULL;

	for (size_t i = 1; i < argv->n; i++) {
		const char *word = argv->v[i];

		if (!strcmp(word, "-C") && i + 1 < argv->n) {
			free(at);
			at = argv->v[++i][0] == '/' ? xstrdup(argv->v[i])
						    : path_join(dir, argv->v[i]);
		} else if (!strcmp(word, "-f") && i + 1 < argv->n) {
			file = argv->v[++i];
		} else if (*word != '-' && !strchr(word, '=')) {
			strv_add(&m->targets, word);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(names) && !m->lines.n; i++)
		read_lines(at, file ? file : names[i], &m->lines);
	add_first_target(m);
}

static bool make_runs_tests(const struct strv *argv, const char *dir)
{
	struct make m = {0};
	bool found = false;

	read_makefile(&m, argv, dir);
	for (size_t i = 0; i < m.targets.n && !found; i++)
		found = recipes_run_tests(&m, m.targets.v[i]);
	strv_release(&m.lines);
	strv_release(&m.targets);
	return found;
}

bool python_wrapper_runs_tests(const struct strv *argv, const char *dir)
{
	const char *name = argv->n ? path_base(argv->v[0]) : "";

	if (!strcmp(name, "make") || !strcmp(name, "gmake"))
		return make_runs_tests(argv, dir);
	return argv->n && script_runs_tests(argv, dir);
}
