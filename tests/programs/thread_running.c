/* A thread that still waits when the process exits. */
#include <pthread.h>
#include <semaphore.h>

#include "trap.h"

static sem_t stop;

static void *wait_for_stop(void *unused)
{
	sem_wait(&stop);
	return unused;
}

int main(void)
{
	pthread_t thread;

	if (sem_init(&stop, 0, 0) || pthread_create(&thread, NULL, wait_for_stop, NULL))
		return 2;
	if (!LEAKS) {
		sem_post(&stop);
		pthread_join(thread, NULL);
	}
	return 0;
}
