/* The second of two allocations fails: the first is lost. FIXED: it is freed. */
#include <stdio.h>
#include <stdlib.h>

struct pair {
	char *a, *b;
};

static int pair_init(struct pair *p)
{
	p->a = malloc(40);
	if (!p->a)
		return -1;
	p->b = malloc(50);
	if (p->b)
		return 0;
#ifdef FIXED
	free(p->a);
#endif
	p->a = NULL;
	return -1;
}

int main(void)
{
	struct pair p = {0};

	if (pair_init(&p) < 0) {
		fputs("out of memory\n", stderr);
		return 1;
	}
	free(p.a);
	free(p.b);
	return 0;
}
