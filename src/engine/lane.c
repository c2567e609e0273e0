#include "engine/lane.h"

#include "proc/proc.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

enum { MAX_LANES = 8 };

static int lane_start(struct lane *l, struct err *err)
{
	int rc;

	l->spec = (struct run_spec){0};
	rc = l->next(l->ctx, &l->spec, err);
	if (rc == 0)
		l->finished = true;
	if (rc <= 0) {
		run_spec_release(&l->spec);
		return rc;
	}
	l->proc = proc_start(&l->spec, err);
	if (!l->proc) {
		const struct run_result lost = {.end = RUN_LOST};

		l->done(l->ctx, &lost, NULL);
		run_spec_release(&l->spec);
		return -1;
	}
	return 0;
}

static int lane_reap(struct lane *l, struct err *err)
{
	struct run_result r;
	int rc;

	proc_finish(l->proc, &r);
	l->proc = NULL;
	rc = l->done(l->ctx, &r, err);
	run_spec_release(&l->spec);
	return rc;
}

static void cancel_all(struct lane *lanes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (lanes[i].proc)
			proc_cancel(lanes[i].proc);
	for (size_t i = 0; i < n; i++)
		if (lanes[i].proc)
			lane_reap(&lanes[i], NULL);
}

/* Waits until a run has ended or a signal came; reaps those that ended. */
static int wait_some(struct lane *lanes, size_t n, struct err *err)
{
	struct pollfd fds[MAX_LANES + 1];
	struct lane *of[MAX_LANES];
	nfds_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (!lanes[i].proc)
			continue;
		of[k] = &lanes[i];
		fds[k++] =
			(struct pollfd){.fd = proc_fd(lanes[i].proc), .events = POLLIN};
	}
	fds[k] = (struct pollfd){.fd = proc_interrupt_fd(), .events = POLLIN};
	if (poll(fds, k + 1, -1) < 0 && errno != EINTR)
		return err_errno(err, ERR_INTERNAL, errno, "poll");
	for (nfds_t i = 0; i < k; i++)
		if (fds[i].revents && lane_reap(of[i], err) < 0)
			return -1;
	return 0;
}

/* Starts the next run of idle lanes, as many as there are jobs for. */
static int start_some(struct lane *lanes, size_t n, unsigned jobs, unsigned *ret_running,
		      struct err *err)
{
	unsigned running = 0;

	if (proc_interrupted())
		return err_set(err, ERR_INTERRUPTED, "stopped by signal %d (%s)",
			       proc_interrupted(), strsignal(proc_interrupted()));
	for (size_t i = 0; i < n; i++)
		running += lanes[i].proc != NULL;
	for (size_t i = 0; i < n && running < jobs; i++) {
		if (lanes[i].proc || lanes[i].finished)
			continue;
		if (lane_start(&lanes[i], err) < 0)
			return -1;
		running += lanes[i].proc != NULL;
	}
	*ret_running = running;
	return 0;
}

int lanes_run(struct lane *lanes, size_t n, unsigned jobs, struct err *err)
{
	unsigned running;

	if (n > MAX_LANES)
		return err_set(err, ERR_INTERNAL, "%zu lanes are too many", n);
	do {
		if (start_some(lanes, n, jobs, &running, err) < 0 ||
		    (running && wait_some(lanes, n, err) < 0)) {
			cancel_all(lanes, n);
			return -1;
		}
	} while (running);
	return 0;
}
