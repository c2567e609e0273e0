#include "rev/repo.h"

#include "base/mem.h"
#include "proc/proc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* `git ls-files -s` says about 100 bytes for each file. */
#define OUTPUT_CAP ((size_t)1 << 30)

/* `git rev-parse --local-env-vars` of git 2.39, and what else would change a call. */
static const char *const local_vars[] = {
	"GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_COMMON_DIR",
	"GIT_CONFIG",
	"GIT_CONFIG_COUNT",
	"GIT_CONFIG_PARAMETERS",
	"GIT_DIR",
	"GIT_GLOB_PATHSPECS",
	"GIT_GRAFT_FILE",
	"GIT_ICASE_PATHSPECS",
	"GIT_IMPLICIT_WORK_TREE",
	"GIT_INDEX_FILE",
	"GIT_INDEX_VERSION",
	"GIT_INTERNAL_SUPER_PREFIX",
	"GIT_LITERAL_PATHSPECS",
	"GIT_NAMESPACE",
	"GIT_NOGLOB_PATHSPECS",
	"GIT_NO_REPLACE_OBJECTS",
	"GIT_OBJECT_DIRECTORY",
	"GIT_PREFIX",
	"GIT_QUARANTINE_PATH",
	"GIT_REPLACE_REF_BASE",
	"GIT_SHALLOW_FILE",
	"GIT_WORK_TREE",
};

static const char *const options[] = {
	"core.hooksPath=/dev/null", "core.fsmonitor=false",
	/* A split index would be written beside the user's. */
	"core.splitIndex=false", "core.safecrlf=false", "gc.auto=0",
	"maintenance.auto=false", "submodule.recurse=false", "advice.detachedHead=false",
	"advice.addEmbeddedRepo=false",
	"advice.updateSparsePath=true", /* freeze.c looks for it */
	"i18n.commitEncoding=UTF-8", "log.showSignature=false",
	"safe.directory=*", /* last: see git_call.discover */
};

void rev_clean_env(struct strv *env)
{
	strv_copy(env, environ);
	for (size_t i = 0; i < ARRAY_SIZE(local_vars); i++)
		env_set(env, local_vars[i], NULL);
}

void git_clean_env(struct strv *env)
{
	rev_clean_env(env);
	env_set(env, "LC_ALL", "C"); /* messages are quoted, and some recognised */
	env_set(env, "GIT_OPTIONAL_LOCKS", "0");
	env_set(env, "GIT_TERMINAL_PROMPT", "0");
	/* We write packed-refs and loose refs ourselves. */
	env_set(env, "GIT_DEFAULT_REF_FORMAT", "files");
	/* A replaced commit would have one tree for us and another in a checkout. */
	env_set(env, "GIT_NO_REPLACE_OBJECTS", "1");
}

void git_quote_path(struct buf *out, const char *path)
{
	if (!strpbrk(path, "\n:\"\\")) {
		buf_adds(out, path);
		return;
	}
	buf_addc(out, '"');
	for (; *path; path++) {
		if (*path == '\n') {
			buf_adds(out, "\\n");
			continue;
		}
		if (*path == '"' || *path == '\\')
			buf_addc(out, '\\');
		buf_addc(out, *path);
	}
	buf_addc(out, '"');
}

/* git says in its own words what failed; the next step is ours to add. */
static void explain(struct err *err)
{
	static const struct {
		const char *text, *hint;
	} known[] = {
		{"No space left on device",
		 "free disk space (`exitpath evidence gc`), or give another --store DIR"},
		{"Disk quota exceeded",
		 "free disk space (`exitpath evidence gc`), or give another --store DIR"},
		{"Read-only file system", "give a writable --store DIR"},
		{"dubious ownership",
		 "git config --global --add safe.directory DIRECTORY, when you trust it"},
		{"index file", "the index is damaged: `git reset` makes it anew"},
		{"corrupt", "git fsck shows what is damaged"},
		{"unable to read", "git fsck shows what is damaged; in a partial clone "
				   "`git fetch --refetch` without a filter"},
		{"missing blob", "git fsck shows what is damaged"},
		{"invalid object", "git fsck shows what is damaged; in a partial clone "
				   "`git fetch --refetch` without a filter"},
		{"bad object", "git fsck shows what is damaged"},
		{"inflate", "git fsck shows what is damaged"},
	};

	for (size_t i = 0; err && i < ARRAY_SIZE(known); i++) {
		if (!strstr(err->message, known[i].text))
			continue;
		err_hint(err, "%s", known[i].hint);
		return;
	}
}

static int git_runv(const struct git_call *call, struct buf *out, struct err *err,
		    va_list args)
{
	struct capture_opts opts = {
		.cwd = call->cwd, .input = call->input, .cap = OUTPUT_CAP};
	CLEANUP(strv) struct strv argv = {0};
	CLEANUP(buf) struct buf unused = {0};
	const char *arg;
	int rc;

	opts.env = call->env->v;
	strv_add(&argv, "git");
	for (size_t i = 0; i < ARRAY_SIZE(options) - call->discover; i++) {
		strv_add(&argv, "-c");
		strv_add(&argv, options[i]);
	}
	/* A checkout whose .git is damaged must not make git look further up: the store
	 * is below the user's .git. */
	if (call->git_dir) {
		strv_addf(&argv, "--git-dir=%s", call->git_dir);
		strv_addf(&argv, "--work-tree=%s", call->cwd);
	}
	while ((arg = va_arg(args, const char *)))
		strv_add(&argv, arg);
	rc = proc_capture(argv.v, &opts, out ? out : &unused, call->ret_status, err);
	if (proc_interrupted())
		return err_set(err, ERR_INTERRUPTED, "interrupted");
	if (rc < 0)
		explain(err);
	return rc;
}

int git_run(const struct git_call *call, struct buf *out, struct err *err, ...)
{
	va_list args;
	int rc;

	va_start(args, err);
	rc = git_runv(call, out, err, args);
	va_end(args);
	return rc;
}

char *git_line(const struct git_call *call, struct err *err, ...)
{
	CLEANUP(buf) struct buf out = {0};
	va_list args;
	int rc;

	va_start(args, err);
	rc = git_runv(call, &out, err, args);
	va_end(args);
	if (rc < 0)
		return NULL;
	if (out.len && out.data[out.len - 1] == '\n')
		out.data[--out.len] = '\0';
	return xstrdup(buf_str(&out));
}
