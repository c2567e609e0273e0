/*
 * One build with all mutants. What does not compile is found by what the compiler says:
 * the mutant in whose code it sees an error, or else all mutants of the line, which are
 * then tried again, of each line one at a time.
 */
#include "engine/mutate_c.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { BUILD_MS = 600000, MOST_BUILDS = 200 };

enum state { FINE, OUT, SUSPECT, TRIED };

static int write_files(struct mutate_c *m, struct err *err)
{
	for (size_t i = 0; i < m->nfiles; i++) {
		struct mutate_file *f = &m->files[i];
		CLEANUP_FREE char *path = path_join(m->checkout.dir, f->path);
		CLEANUP(buf) struct buf text = {0};
		bool same;

		free(f->places);
		f->places = xcalloc(f->mutants.n + 1, sizeof(*f->places));
		probes_c_mutants(m->map, m->n, (uint32_t)sizeof(struct mutants_map),
				 f->path, !m->loud, &text);
		f->head = text.len;
		mutants_c_rewrite(&f->tree, &f->mutants, m->used + f->first, f->first,
				  &text, f->places);
		/* make looks at times: what is the same is not written. */
		same = f->written.len == text.len &&
		       !memcmp(f->written.data, text.data, text.len);
		buf_release(&f->written);
		f->written = text;
		text = (struct buf){0};
		if (!same && write_file(path, f->written.data, f->written.len, err) < 0)
			return -1;
	}
	return 0;
}

static int build(struct mutate_c *m, bool *ret_built, struct buf *said, struct err *err)
{
	char shell[] = "/bin/sh", c[] = "-c";
	CLEANUP_FREE char *command = xstrdup(m->opts->setup ? m->opts->setup : "true");
	char *const argv[] = {shell, c, command, NULL};
	struct run_result run = {0};
	uint64_t start = clock_us();

	buf_clear(said);
	progress_tell(m->opts->progress, "mutate", "a build", NULL, m->report->builds, 0);
	if (write_files(m, err) < 0 ||
	    mutate_c_run(m, argv, true, BUILD_MS, false, &run, said, err) < 0)
		return -1;
	m->report->builds++;
	m->report->build_us = clock_us() - start;
	*ret_built = run_result_passed(&run);
	return 0;
}

/* "PATH:LINE:COLUMN: error: …" or "… fatal error: …"; false: it is no such line. */
static bool error_place(const char *line, size_t len, const char *path,
			unsigned *ret_line, unsigned *ret_column)
{
	size_t n = strlen(path);
	CLEANUP_FREE char *text = xstrndup(line, len);
	int read = 0;

	return !strncmp(text, path, n) && strstr(text, "error:") &&
	       sscanf(text + n, ":%9u:%9u%n", ret_line, ret_column, &read) == 2 && read;
}

/* The offset of a column, which gcc counts with tabs of 8 and clang in bytes. */
static size_t offset_of(const struct mutate_file *f, unsigned line, unsigned column,
			bool tabs)
{
	const char *p = f->written.data + f->head,
		   *end = f->written.data + f->written.len;
	unsigned at = 1;

	for (; line > 1 && p < end; p++)
		line -= *p == '\n';
	for (; p < end && *p != '\n' && at < column; p++)
		if (tabs && *p == '\t')
			at += 8 - (at - 1) % 8;
		else
			at += !tabs || (*p & 0xc0) != 0x80;
	return (size_t)(p - f->written.data);
}

/* The mutant whose own code the error is in: there is no other way to take it. */
static bool blame_one(struct mutate_c *m, const struct mutate_file *f, unsigned line,
		      unsigned column, uint8_t *states)
{
	size_t found = f->mutants.n;

	for (int tabs = 0; tabs < 2; tabs++) {
		size_t at = offset_of(f, line, column, tabs);

		for (size_t k = 0; k < f->mutants.n; k++) {
			if (at < f->places[k].start || at >= f->places[k].end)
				continue;
			if (found < f->mutants.n && found != k)
				return false;
			found = k;
		}
	}
	if (found == f->mutants.n)
		return false;
	m->used[f->first + found] = 0;
	states[f->first + found] = OUT;
	return true;
}

/* Of the mutants of that line, or else around it, those that are in the build. */
static bool blame_line(struct mutate_c *m, const struct mutate_file *f, unsigned line,
		       uint8_t *states)
{
	bool any = false;

	for (int wide = 0; wide < 2 && !any; wide++)
		for (uint32_t k = 0; k < f->mutants.n; k++) {
			const struct mutant *x = &f->mutants.v[k];
			uint32_t id = f->first + k;

			if (!m->used[id] || x->line > line ||
			    (wide ? x->end_line : x->line) < line)
				continue;
			states[id] = states[id] == TRIED ? OUT : SUSPECT;
			m->used[id] = 0;
			any = true;
		}
	return any;
}

static bool blame(struct mutate_c *m, const struct mutate_file *f, unsigned line,
		  unsigned column, uint8_t *states)
{
	return blame_one(m, f, line, column, states) || blame_line(m, f, line, states);
}

static bool blame_all(struct mutate_c *m, const struct buf *said, uint8_t *states)
{
	bool any = false;

	for (const char *p = buf_str(said), *end; *p; p = *end ? end + 1 : end) {
		end = strchrnul(p, '\n');
		for (size_t i = 0; i < m->nfiles; i++) {
			unsigned line = 0, column = 0;

			if (error_place(p, (size_t)(end - p), m->files[i].path, &line,
					&column))
				any |= blame(m, &m->files[i], line, column, states);
		}
	}
	return any;
}

/* Of each line one suspect goes back into the build. */
static bool try_again(struct mutate_c *m, uint8_t *states)
{
	bool any = false;

	for (size_t i = 0; i < m->nfiles; i++) {
		const struct mutate_file *f = &m->files[i];
		CLEANUP_FREE uint8_t *taken = NULL;
		unsigned lines = 0;

		for (uint32_t k = 0; k < f->mutants.n; k++)
			if (f->mutants.v[k].line > lines)
				lines = f->mutants.v[k].line;
		taken = xcalloc(lines + 1, 1);
		for (uint32_t k = 0; k < f->mutants.n; k++) {
			uint32_t id = f->first + k;

			if (states[id] != SUSPECT || taken[f->mutants.v[k].line])
				continue;
			taken[f->mutants.v[k].line] = 1;
			states[id] = TRIED;
			m->used[id] = 1;
			any = true;
		}
	}
	return any;
}

static int no_build(const struct mutate_c *m, const struct buf *said, struct err *err)
{
	const char *error = strstr(buf_str(said), "error");
	const char *start = error, *end;

	while (start && start > said->data && start[-1] != '\n')
		start--;
	end = start ? strchrnul(start, '\n') : NULL;
	err_set(err, ERR_USAGE, "--setup: the build fails: %.*s",
		start ? (int)(end - start) : 0, start ? start : "");
	err_hint(err, "try it in a clean checkout: %s",
		 m->opts->setup ? m->opts->setup : "--setup says how to build");
	return -1;
}

int mutate_c_build(struct mutate_c *m, struct err *err)
{
	CLEANUP_FREE uint8_t *states = xcalloc(m->n, 1);
	CLEANUP(buf) struct buf said = {0};
	bool built = false;

	while (m->report->builds < MOST_BUILDS) {
		if (build(m, &built, &said, err) < 0)
			return -1;
		if (!built && !m->loud &&
		    strstr(buf_str(&said), "style of line directive"))
			m->loud = true;
		else if (!built && !blame_all(m, &said, states))
			return no_build(m, &said, err);
		if (!built)
			continue;
		for (uint32_t i = 0; i < m->n; i++)
			if (states[i] == TRIED)
				states[i] = FINE;
		if (!try_again(m, states))
			return 0;
	}
	return no_build(m, &said, err);
}
