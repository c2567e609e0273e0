/* The OS ledger: descriptors, sockets, threads, processes, files, of any language. */
#include "detect/detect.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/version.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>

static int ledger_probe(char **ret_version, struct err *err)
{
	uint32_t action = SECCOMP_RET_USER_NOTIF;

	if (!path_exists("/proc/self/fd"))
		return err_set(err, ERR_ENVIRONMENT, "ledger: /proc is not mounted");
	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0)
		return err_errno(err, ERR_ENVIRONMENT, errno,
				 "ledger: the kernel has no seccomp user notification");
	*ret_version = xstrdup(EXITPATH_VERSION);
	return 0;
}

static int ledger_prepare(struct detect_run *run, struct run_spec *spec, struct err *err)
{
	const struct ledger_opts opts = {
		.dir = run->dir,
		.tmpdir = run->tmpdir,
		.checkout = detect_seen(run),
		.sandbox = run->sandbox,
	};
	struct ledger *l;

	if (spec->watch)
		return err_set(err, ERR_INTERNAL, "ledger: the run is watched already");
	l = ledger_new(&opts, err);
	if (!l)
		return -1;
	spec->watch = ledger_watch(l);
	run->state = l;
	return 0;
}

/* Why the ledger of a run that did not end by itself says less. */
static bool interrupted(const struct run_result *result)
{
	switch (result->end) {
	case RUN_SIGNALED:
	case RUN_TIMED_OUT:
	case RUN_NOT_STARTED:
	case RUN_CANCELLED:
	case RUN_OVER_CPU:
	case RUN_OVER_MEMORY:
	case RUN_OVER_PIDS:
	case RUN_OVER_OUTPUT:
	case RUN_OVER_DISK:
	case RUN_SANDBOX_FAILED:
		return true;
	case RUN_EXITED:
	case RUN_LOST:
		return false;
	case RUN_ENDS:
		break;
	}
	abort();
}

static void set_detail(struct probe *p, enum probe_state state, char *detail)
{
	p->state = state;
	free(p->detail);
	p->detail = detail;
}

static void judge(const struct run_result *result, struct probe *p)
{
	if (p->state == PROBE_UNPARSED)
		return;
	if (result->watch_failed)
		set_detail(p, PROBE_SILENT,
			   xstrdup("exits could not be watched: is seccomp user "
				   "notification allowed here?"));
	else if (p->state != PROBE_COMPLETE && interrupted(result))
		set_detail(p, PROBE_INTERRUPTED, run_result_describe(result));
}

static int ledger_collect(struct detect_run *run, const struct run_result *result,
			  struct probe *ret, struct err *err)
{
	struct ledger *l = run->state;
	CLEANUP(buf) struct buf text = {0};
	int rc = ledger_read(l, &text, err);

	ledger_free(l);
	run->state = NULL;
	if (rc < 0 || ledger_parse(buf_str(&text), text.len, ret, err) < 0)
		return -1;
	judge(result, ret);
	if (text.len)
		strv_take(&ret->files, path_join(run->dir, LEDGER_FILE));
	return 0;
}

static const char *ledger_canary(void)
{
	return "exec 9</dev/null";
}

extern const struct detector detector_ledger;
const struct detector detector_ledger = {
	.name = "ledger",
	.summary = "descriptors, sockets, threads, processes, files: any language",
	.install = "a kernel since 5.0 with seccomp user notification, and /proc",
	.probe = ledger_probe,
	.prepare = ledger_prepare,
	.collect = ledger_collect,
	.canary_command = ledger_canary,
};
