/* Threads that allocate; what one of them cannot have, it says. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3 };

static void *work(void *arg)
{
	char *p = malloc(100);

	(void)arg;
	if (!p)
		return (void *)1;
	free(p);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	int begun = 0, bad = 0;

	for (; begun < THREADS; begun++)
		if (pthread_create(&threads[begun], NULL, work, NULL) != 0) {
			bad = 1;
			break;
		}
	for (int i = 0; i < begun; i++) {
		void *ret = NULL;

		pthread_join(threads[i], &ret);
		bad |= ret != NULL;
	}
	if (bad)
		fputs("out of something\n", stderr);
	return bad;
}
