#include "proc/children.h"

#include "base/fs.h"
#include "base/macros.h"
#include "proc/tree.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define ORPHAN_ROUNDS 100 /* whoever was forked meanwhile comes in the next */

static struct child *children;

void children_adopt(void)
{
	struct sigaction chld;

	prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
	if (sigaction(SIGCHLD, NULL, &chld) == 0 && chld.sa_handler == SIG_IGN)
		signal(SIGCHLD, SIG_DFL); /* inherited, it would hide exit states */
}

void child_add(struct child *c)
{
	struct proc_stat st = {0};

	proc_stat_read(c->pid, &st);
	c->started = st.start;
	c->next = children;
	children = c;
}

void child_remove(struct child *c)
{
	for (struct child **at = &children; *at; at = &(*at)->next) {
		if (*at == c) {
			*at = c->next;
			return;
		}
	}
}

void children_close(void)
{
	for (const struct child *c = children; c; c = c->next)
		for (size_t i = 0; i < CHILD_FDS; i++)
			if (c->fds[i] >= 0)
				close(c->fds[i]);
	children = NULL;
}

static bool is_child(pid_t pid)
{
	for (const struct child *c = children; c; c = c->next)
		if (c->pid == pid)
			return true;
	return false;
}

/* What a lost supervisor had below it is now our child, next to other supervisors, and
 * to whatever was there before that supervisor. */
static bool kill_orphans(unsigned long long started)
{
	pid_t pids[256], self = getpid();
	size_t n = proc_descendants(self, pids, ARRAY_SIZE(pids));
	bool found = false;

	for (size_t i = 0; i < n && i < ARRAY_SIZE(pids); i++) {
		struct proc_stat st;

		if (proc_stat_read(pids[i], &st) < 0 || st.ppid != self ||
		    st.start < started || is_child(pids[i]))
			continue;
		kill(pids[i], SIGSTOP);
		proc_kill_descendants(pids[i]);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, __WALL);
		found = true;
	}
	return found || n > ARRAY_SIZE(pids);
}

void child_kill_orphans(const struct child *c)
{
	for (int i = 0; i < ORPHAN_ROUNDS && kill_orphans(c->started); i++)
		;
}
