/*
 * node's handles, timers and descriptors, with the place where each was created.
 *
 * Every node of the run loads adapters/node/hook.cjs through NODE_OPTIONS; nothing is
 * installed into the project. It is one process for each cycle: test runners cannot be
 * made to pass twice over the same files in one process without changing what the files
 * see (module caches, registered tests, snapshots), and what is still held when all tests
 * are over, in every process and not on base, is a leak however often it was acquired.
 *
 *   node:test  each file has a process of its own, and a report of its own
 *   Jest       test files run in the process of the command (--runInBand is added)
 *   mocha      as it is; --parallel is refused
 *   vitest     each process of --pool=forks; --pool=threads is refused
 *   scripts    observed when they end by themselves
 */
#include "detect/detect.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/embed.h"
#include "detect/node_command.h"
#include "detect/node_run.h"
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { OLDEST = 18 }; /* async_hooks, WeakRef, getActiveResourcesInfo */

static int node_probe(char **ret_version, struct err *err)
{
	CLEANUP_FREE char *path = find_program("node");
	char *argv[] = {path, (char[]){"--version"}, NULL};
	CLEANUP(buf) struct buf out = {0};
	const char *text;

	if (!path)
		return err_set(err, ERR_ENVIRONMENT, "node is not installed");
	if (proc_capture(argv, &(struct capture_opts){.cap = 100}, &out, NULL, err) < 0)
		return -1;
	text = buf_str(&out);
	if (*text != 'v' || strtoul(text + 1, NULL, 10) < OLDEST)
		return err_set(err, ERR_ENVIRONMENT, "node is older than %d: %.*s",
			       OLDEST, (int)strcspn(text, "\n"), text);
	*ret_version = xstrndup(text, strcspn(text, "\n"));
	return 0;
}

static int write_adapter(const char *dir, struct err *err)
{
	for (size_t i = 0; embed_node[i].name; i++) {
		const struct embed_file *f = &embed_node[i];
		CLEANUP_FREE char *path = path_join(dir, f->name);
		CLEANUP_FD int fd =
			open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

		if (fd < 0 || write_all(fd, f->start, (size_t)(f->end - f->start)) < 0)
			return err_errno(err, ERR_ENVIRONMENT, errno, "cannot write %s",
					 path);
	}
	return 0;
}

/* As NODE_OPTIONS is read: quotes keep spaces together, a backslash quotes in them. */
static char *require_option(const char *dir)
{
	struct buf b = {0};

	buf_adds(&b, "--require=\"");
	for (const char *p = dir; *p; p++) {
		if (*p == '"' || *p == '\\')
			buf_addc(&b, '\\');
		buf_addc(&b, *p);
	}
	buf_adds(&b, "/hook.cjs\"");
	return buf_detach(&b);
}

/*
 * `NODE_OPTIONS=--experimental-vm-modules jest` in package.json drops ours. A `node` that
 * comes first on PATH puts it back; names of programs in node_modules/.bin lead to it,
 * through `env node`.
 */
static int write_program(const char *dir, struct strv *env, struct err *err)
{
	CLEANUP_FREE char *bin = path_join(dir, "bin"), *path = path_join(bin, "node");
	CLEANUP_FREE char *node = find_program("node"), *text = NULL, *quoted = NULL;
	const char *old = env_get(env, "PATH");
	CLEANUP_FREE char *all = xasprintf("%s:%s", bin, old ? old : "/usr/bin:/bin");
	CLEANUP_FD int fd = -1;

	if (!node)
		return err_set(err, ERR_ENVIRONMENT, "node is not installed");
	quoted = shell_quote((char *[]){node, NULL});
	text = xasprintf("#!/bin/sh\n"
			 "case \"$NODE_OPTIONS\" in\n"
			 "*\"$EXITPATH_NODE_OPTION\"*) ;;\n"
			 "*) export NODE_OPTIONS=\"${NODE_OPTIONS:+$NODE_OPTIONS }"
			 "$EXITPATH_NODE_OPTION\" ;;\n"
			 "esac\n"
			 "exec %s \"$@\"\n",
			 quoted);
	if (make_dirs(bin, 0777, err) < 0)
		return -1;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0 || write_all(fd, text, strlen(text)) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno, "cannot write %s", path);
	env_set(env, "PATH", all);
	return 0;
}

static int node_prepare(struct detect_run *run, struct run_spec *spec, struct err *err)
{
	CLEANUP_FREE char *dir = path_join(run->dir, "node");
	CLEANUP_FREE char *option = require_option(dir), *all = NULL;
	const char *old = env_get(&spec->env, "NODE_OPTIONS");
	struct node_run *state;

	if (make_dirs(dir, 0777, err) < 0 || write_adapter(dir, err) < 0 ||
	    write_program(dir, &spec->env, err) < 0)
		return -1;
	all = old && *old ? xasprintf("%s %s", old, option) : xstrdup(option);
	env_set(&spec->env, "NODE_OPTIONS", all);
	env_set(&spec->env, "EXITPATH_NODE_OPTION", option);
	env_set(&spec->env, "EXITPATH_NODE_DIR", dir);
	/* exitpath may itself run below a node that is observed. */
	env_set(&spec->env, "EXITPATH_NODE_BELOW", NULL);
	state = xcalloc(1, sizeof(*state));
	state->dir = TAKE_PTR(dir);
	state->expected = node_command(&spec->argv, spec->cwd);
	run->state = state;
	return 0;
}

static const char *node_canary(void)
{
	return "printf 'require(\"node:test\")(\"canary\", () => {});' >t.js && "
	       "node --test t.js";
}

extern const struct detector detector_node;
const struct detector detector_node = {
	.name = "node",
	.summary =
		"handles, timers, descriptors of node:test, Jest, mocha, vitest, scripts",
	.fits = node_command,
	.install = "node 18 or newer",
	.probe = node_probe,
	.prepare = node_prepare,
	.collect = node_collect,
	.canary_command = node_canary,
};
