/* One block, leaked by a thread that has ended. */
#include <pthread.h>

#include "trap.h"

static void *leak_in_thread(void *unused)
{
	work();
	scrub();
	return unused;
}

int main(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, leak_in_thread, NULL) ||
	       pthread_join(thread, NULL);
}
