/* Many points, and a fifth of a second to come to each. HELD: one is not survived. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STEP(name)                      \
	static int name(void)           \
	{                               \
		char *p = malloc(1000); \
                                        \
		if (!p)                 \
			return 1;       \
		p[999] = 1;             \
		free(p);                \
		return 0;               \
	}

STEP(one)
STEP(two)
STEP(three)
STEP(four)
STEP(five)
STEP(six)

static int last(void)
{
	int *p = malloc(sizeof(*p));

#ifdef HELD
	*p = 1;
#else
	if (!p)
		return 1;
#endif
	free(p);
	return 0;
}

int main(void)
{
	int (*const steps[])(void) = {last, one, two, three, four, five, six};

	usleep(200000);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (steps[i]()) {
			fprintf(stderr, "step %zu: no memory\n", i);
			return 2;
		}
	return 0;
}
