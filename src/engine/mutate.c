/* What the languages of `exitpath mutate` have in common: which one it is, the report. */
#include "engine/mutate.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/python_command.h"
#include "source/source.h"

#include <string.h>

/* Tests are what judges; changing them would judge nothing. */
bool mutate_is_test(const char *path)
{
	static const char *const dirs[] = {"test/", "tests/", "testing/",
					   "t/",    "fuzz/",  "fuzzing/"};
	const char *base = path_base(path);
	size_t len = strlen(base);

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		const char *at = strstr(path, dirs[i]);

		if (at && (at == path || at[-1] == '/'))
			return true;
	}
	return !strncmp(base, "test", 4) || !strcmp(base, "conftest.py") ||
	       !strcmp(base, "setup.py") || !strcmp(base, "noxfile.py") ||
	       (len > 7 && !strcmp(base + len - 7, "_test.c")) ||
	       (len > 8 && (!strcmp(base + len - 8, "_tests.c") ||
			    !strcmp(base + len - 8, "_test.py")));
}

int engine_mutate(const struct mutate_opts *opts, struct mutate_report *ret,
		  struct err *err)
{
	CLEANUP(strv) struct strv argv = {0};

	strv_copy(&argv, opts->argv);
	return !opts->setup && python_command_use(&argv) == PYTHON_TESTS
		       ? mutate_python(opts, ret, err)
		       : mutate_c(opts, ret, err);
}

/* ---- the report ---- */

const char *mutant_verdict_name(enum mutant_verdict v)
{
	static const char *const names[MUTANT_VERDICTS] = {
		"killed", "survived", "unreached", "undecided", "invalid", "equivalent"};

	return names[v];
}

double mutate_score(const struct mutate_report *r)
{
	size_t all = r->count[MUTANT_KILLED] + r->count[MUTANT_SURVIVED] +
		     r->count[MUTANT_UNREACHED];

	return all ? (double)r->count[MUTANT_KILLED] / (double)all : -1;
}

void mutate_report_release(struct mutate_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].path);
		free(r->v[i].before);
		free(r->v[i].after);
		free(r->v[i].by);
		free(r->v[i].why);
		strv_release(&r->v[i].tests);
	}
	free(r->v);
	strv_release(&r->notes);
	*r = (struct mutate_report){0};
}

/* ---- mutation-testing-report-schema ---- */

static json_t *place_json(unsigned line, unsigned column)
{
	json_t *j = json_object();

	json_put_int(j, "line", line);
	json_put_int(j, "column", column);
	return j;
}

static json_t *mutant_json(const struct mutate_row *r, size_t id)
{
	static const char *const status[MUTANT_VERDICTS] = {
		"Killed", "Survived", "NoCoverage", "Timeout", "CompileError", "Ignored"};
	CLEANUP_FREE char *name = xasprintf("%zu", id);
	json_t *j = json_object(), *where = json_object();
	bool other = r->verdict == MUTANT_UNDECIDED && r->why;

	json_put(j, "id", name);
	json_put(j, "mutatorName", r->operator_);
	json_put(j, "replacement", r->after);
	/* What is late is no kill: a reader who counts timeouts as such is told. */
	json_put(j, "status", other ? "RuntimeError" : status[r->verdict]);
	json_put(j, "statusReason",
		 r->verdict == MUTANT_EQUIVALENT ? "compiles to the same code" : r->why);
	json_object_set_new(where, "start", place_json(r->line, r->column));
	json_object_set_new(where, "end", place_json(r->end_line, r->end_column));
	json_object_set_new(j, "location", where);
	if (r->tests.n) {
		json_t *tests = json_array();

		for (size_t i = 0; i < r->tests.n; i++)
			json_array_append_new(tests, json_text(r->tests.v[i]));
		json_object_set_new(j, "coveredBy", tests);
	}
	if (r->by) {
		json_t *by = json_array();

		json_array_append_new(by, json_text(r->by));
		json_object_set_new(j, "killedBy", by);
	}
	return j;
}

static json_t *file_json(const char *dir, const char *path)
{
	CLEANUP_FREE char *full = path_join(dir, path);
	CLEANUP(buf) struct buf text = {0};
	json_t *j = json_object();

	read_file(full, SOURCE_MAX_BYTES, &text, NULL);
	json_put(j, "language", source_lang_name(source_lang_of_path(path)));
	json_put(j, "source", buf_str(&text));
	json_object_set_new(j, "mutants", json_array());
	return j;
}

json_t *mutate_schema(const struct mutate_report *r, const char *dir)
{
	json_t *j = json_object(), *files = json_object(), *levels = json_object();

	json_put(j, "schemaVersion", "2");
	json_put_int(levels, "high", 80);
	json_put_int(levels, "low", 60);
	json_object_set_new(j, "thresholds", levels);
	for (size_t i = 0; i < r->n; i++) {
		json_t *file = json_object_get(files, r->v[i].path);

		if (!file) {
			file = file_json(dir, r->v[i].path);
			json_object_set_new(files, r->v[i].path, file);
		}
		json_array_append_new(json_object_get(file, "mutants"),
				      mutant_json(&r->v[i], i));
	}
	json_object_set_new(j, "files", files);
	return j;
}
