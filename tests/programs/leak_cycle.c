/* Two blocks that point at each other and that nothing else points at. */
#include "trap.h"

struct node {
	struct node *next;
	char payload[40];
};

__attribute__((noinline)) static void leak_cycle(void)
{
	struct node *a = malloc(sizeof(*a));
	struct node *b = malloc(sizeof(*b));

	if (!a || !b)
		abort();
	a->next = b;
	b->next = a;
	OPAQUE(a);
	OPAQUE(b);
	if (!LEAKS) {
		free(a);
		free(b);
	}
}

__attribute__((noinline)) static void work_cycle(void)
{
	volatile char gap[1024];

	gap[0] = 0;
	leak_cycle();
	gap[sizeof(gap) - 1] = 0;
}

int main(void)
{
	work_cycle();
	scrub();
	return 0;
}
