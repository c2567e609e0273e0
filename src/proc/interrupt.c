#include "proc/proc.h"

#include "proc/spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static int event = -1;

static void note(int sig)
{
	const uint64_t one = 1;
	int saved = errno;

	if (!caught) /* the first one decides the exit status */
		caught = sig;
	if (write(event, &one, sizeof(one)) < 0) {
		/* the counter is full: it is readable, which is all we want */
	}
	errno = saved;
}

void proc_catch_interrupts(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction old, sa = {.sa_handler = note, .sa_flags = SA_RESTART};

	if (event < 0)
		event = spawn_raise(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		/* nohup and background jobs of a shell without job control ignore some */
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
	}
}

int proc_interrupted(void)
{
	return caught;
}

int proc_interrupt_fd(void)
{
	return event;
}
