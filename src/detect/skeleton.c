/*
 * A worked example, compiled and tested but in no table: copy it to start a detector of
 * your own (docs/HOWTO-detector.md).
 *
 * Its make-believe runtime writes to the file that $EXITPATH_SKELETON names: "start"
 * first, "leak NAME" for all that it still holds, and "done" last.
 */
#include "detect/detect.h"

#include "base/fs.h"
#include "base/mem.h"

#include <string.h>

enum { REPORT_CAP = 1 << 20 }; /* bytes; a report is foreign text, as long as it likes */

static char *report_path(const struct detect_run *run)
{
	return path_join(run->dir, "skeleton.log");
}

static int skeleton_probe(char **ret_version, struct err *err)
{
	/* A detector with a program of its own: find_program(), proc_capture(). */
	(void)err;
	*ret_version = xstrdup("1");
	return 0;
}

static int skeleton_prepare(struct detect_run *run, struct run_spec *spec,
			    struct err *err)
{
	CLEANUP_FREE char *path = report_path(run);

	(void)err;
	env_set(&spec->env, "EXITPATH_SKELETON", path);
	return 0;
}

static void add_leak(struct probe *p, const char *name, size_t len)
{
	struct leak *l = probe_leak(p, RESOURCE_FD, 1, 0);

	l->what = xstrndup(name, len);
	leak_sign(l);
}

/* Pure, so that it can be fuzzed. */
static void parse_report(const char *text, struct probe *p)
{
	bool started = false, done = false;

	for (const char *line = text, *end; *line; line = end + (*end == '\n')) {
		size_t len;

		end = strchrnul(line, '\n');
		len = (size_t)(end - line);
		if (len == 5 && !memcmp(line, "start", 5)) {
			started = true;
		} else if (len == 4 && !memcmp(line, "done", 4)) {
			done = true;
		} else if (len > 5 && !memcmp(line, "leak ", 5)) {
			add_leak(p, line + 5, len - 5);
		} else {
			p->state = PROBE_UNPARSED;
			p->detail = xasprintf("skeleton.log: unknown line: %.*s",
					      len > 80 ? 80 : (int)len, line);
			return;
		}
	}
	/* Nothing found is clean only when the runtime said that it looked. */
	p->state = !started ? PROBE_SILENT : done ? PROBE_COMPLETE : PROBE_FORCED_EXIT;
	if (p->state != PROBE_COMPLETE)
		p->detail = xstrdup(started ? "the program left before the report"
					    : "the runtime was never loaded");
}

static int skeleton_collect(struct detect_run *run, const struct run_result *result,
			    struct probe *ret, struct err *err)
{
	CLEANUP_FREE char *path = report_path(run);
	CLEANUP(buf) struct buf text = {0};

	if (path_exists(path)) {
		if (read_file(path, REPORT_CAP, &text, err) < 0)
			return -1;
		strv_add(&ret->files, path);
	}
	parse_report(buf_str(&text), ret);
	if (ret->state != PROBE_COMPLETE && result->end != RUN_EXITED) {
		ret->state = PROBE_INTERRUPTED;
		free(ret->detail);
		ret->detail = run_result_describe(result);
	}
	probe_merge(ret);
	return 0;
}

static const char *skeleton_canary(void)
{
	return "printf 'start\\nleak planted\\ndone\\n' >\"$EXITPATH_SKELETON\"";
}

extern const struct detector detector_skeleton;
const struct detector detector_skeleton = {
	.name = "skeleton",
	.summary = "an example, not in the table",
	.install = "nothing",
	.probe = skeleton_probe,
	.prepare = skeleton_prepare,
	.collect = skeleton_collect,
	.canary_command = skeleton_canary,
};
