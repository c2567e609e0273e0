/* Tests from lines of JSON, or from files that are read when it is their turn. */
#include "base/fs.h"
#include "base/mem.h"
#include "engine/sources.h"
#include "engine/vet_parts.h"

#include <errno.h>
#include <string.h>

enum { SOURCE_MAX = 1 << 20, CHUNK = 65536 };

static bool is_test_file(const char *path)
{
	const char *name = path_base(path);
	size_t len = strlen(name);

	return !strncmp(name, "test_", 5) || !strcmp(name, "tests.py") ||
	       (len > 8 && !strcmp(name + len - 8, "_test.py"));
}

/* What is named is a test, whatever it is called; of a directory, what looks like one. */
static int find_files(struct vet_input *in, const struct strv *paths, struct err *err)
{
	for (size_t i = 0; i < paths->n; i++) {
		CLEANUP(source_files) struct source_files found = {0};
		struct strv one = {.v = paths->v + i, .n = 1};
		size_t before = in->files.n;

		if (engine_sources(&one, &found, err) < 0)
			return -1;
		for (size_t k = 0; k < found.n; k++)
			if (!strcmp(found.v[k].path, paths->v[i]) ||
			    (source_lang_of_path(found.v[k].path) == LANG_PYTHON &&
			     is_test_file(found.v[k].path)))
				strv_add(&in->files, found.v[k].path);
		if (in->files.n > before)
			continue;
		err_set(err, ERR_USAGE, "%s: there is no test of Python", paths->v[i]);
		err_hint(err, "name a file, or a directory that has test_*.py");
		return -1;
	}
	return 0;
}

int vet_input_open(struct vet_input *in, const struct vet_opts *opts, struct err *err)
{
	in->opts = opts;
	in->from_files = opts->paths->n > 0;
	return in->from_files ? find_files(in, opts->paths, err) : 0;
}

void vet_input_close(struct vet_input *in)
{
	strv_release(&in->files);
	lines_release(&in->lines);
}

bool vet_input_over(const struct vet_input *in)
{
	if (in->from_files)
		return in->next == in->files.n;
	return in->read_done && in->lines.at == in->lines.text.len;
}

bool vet_input_waits(const struct vet_input *in)
{
	return !in->from_files && !in->read_done;
}

int vet_input_read(struct vet_input *in, struct err *err)
{
	char chunk[CHUNK];
	ssize_t n = read(in->opts->in, chunk, sizeof(chunk));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot read the tests");
	if (n == 0) {
		in->read_done = true;
		lines_end(&in->lines);
	} else {
		lines_add(&in->lines, chunk, (size_t)n);
	}
	return 0;
}

static enum vet_next next_file(struct vet_input *in, struct vet_test *ret, char **ret_why)
{
	CLEANUP(buf) struct buf text = {0};
	struct err err = {0};
	const char *path;

	if (in->next == in->files.n)
		return VET_NEXT_NONE;
	path = in->files.v[in->next++];
	ret->name = xstrdup(path);
	ret->path = xstrdup(path);
	if (read_file(path, SOURCE_MAX, &text, &err) < 0) {
		*ret_why = xstrdup(err.message);
		return VET_NEXT_BAD;
	}
	if (text.len >= SOURCE_MAX || memchr(buf_str(&text), '\0', text.len)) {
		*ret_why = xasprintf("%s: too large, or no text", path);
		return VET_NEXT_BAD;
	}
	ret->source = buf_detach(&text);
	return VET_NEXT_TEST;
}

static enum vet_next next_line(struct vet_input *in, struct vet_test *ret, char **ret_why)
{
	const char *text;
	size_t len;
	CLEANUP_JSON json_t *j = NULL;
	struct err err = {0};
	enum line_kind kind = lines_next(&in->lines, &text, &len);

	if (kind == LINE_NONE)
		return VET_NEXT_NONE;
	ret->name = xasprintf("line %llu", (unsigned long long)in->lines.number);
	if (kind == LINE_TOO_LONG) {
		*ret_why = xasprintf("longer than %zu bytes", RUN_LINE_MAX);
		return VET_NEXT_BAD;
	}
	j = json_parse(text, len, ret->name, &err);
	if (!json_is_object(j) || !json_get(j, "test", NULL) ||
	    !json_get(j, "source", NULL)) {
		*ret_why = xstrdup(j ? "not {\"test\": \"name\", \"source\": \"text\"}"
				     : err.message);
		return VET_NEXT_BAD;
	}
	free(ret->name);
	ret->name = xstrdup(json_get(j, "test", ""));
	ret->source = xstrdup(json_get(j, "source", ""));
	return VET_NEXT_TEST;
}

enum vet_next vet_input_next(struct vet_input *in, struct vet_test *ret, char **ret_why)
{
	return in->from_files ? next_file(in, ret, ret_why) : next_line(in, ret, ret_why);
}
