/* fork_bomb process|thread N: makes N of them, each idle; all end after 10 s. */
#include "hostile.h"
#include <pthread.h>
#include <signal.h>

static void *idle(void *arg)
{
	(void)arg;
	sleep(10);
	return NULL;
}

static int start_one(int threads)
{
	static pthread_attr_t attr;
	pthread_t thread;
	pid_t pid;

	if (threads) {
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, 65536);
		errno = pthread_create(&thread, &attr, idle, NULL);
		return errno ? -1 : 0;
	}
	pid = fork();
	if (pid == 0) {
		idle(NULL);
		_exit(0);
	}
	return pid < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 && strcmp(argv[1], "thread") == 0;
	int wanted = argc > 2 ? atoi(argv[2]) : 500, made = 0;

	alarm(10);
	while (made < wanted && start_one(threads) == 0)
		made++;
	report("as many processes as it liked", made < wanted);
	printf("made %d\n", made);
	fflush(stdout);
	/* Of the control's processes nothing stays. */
	signal(SIGTERM, SIG_IGN);
	if (!threads && made == wanted)
		kill(0, SIGTERM);
	_exit(made < wanted);
}
