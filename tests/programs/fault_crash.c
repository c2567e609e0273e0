/* malloc is trusted. FIXED: it is not. */
#include <stdio.h>
#include <stdlib.h>

static char *fill(size_t n)
{
	char *p = malloc(n);

#ifdef FIXED
	if (!p)
		return NULL;
#endif
	for (size_t i = 0; i < n; i++)
		p[i] = 'x';
	return p;
}

int main(void)
{
	char *p = fill(100);

	if (!p) {
		fputs("out of memory\n", stderr);
		return 1;
	}
	free(p);
	return 0;
}
