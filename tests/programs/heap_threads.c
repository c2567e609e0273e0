/* Four threads allocate and free all the time; one that still runs at exit holds its own
 * block on its stack. The candidate loses one block. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "trap.h"

enum { THREADS = 4, ROUNDS = 20000, SLOTS = 64 };

static void *churn(void *unused)
{
	void *slots[SLOTS] = {0};

	for (unsigned i = 0; i < ROUNDS; i++) {
		free(slots[i % SLOTS]);
		slots[i % SLOTS] = malloc(16 + i % 4000);
	}
	for (size_t i = 0; i < SLOTS; i++)
		free(slots[i]);
	return unused;
}

static void *wait_for_ever(void *unused)
{
	char *held = malloc(99);

	while (held)
		pause();
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS], waiting;

	if (pthread_create(&waiting, NULL, wait_for_ever, NULL))
		return 1;
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, churn, NULL))
			return 1;
	work();
	scrub();
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	usleep(20000);
	return 0;
}
