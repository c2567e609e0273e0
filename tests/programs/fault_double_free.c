/* realloc fails: what it could not move is freed, twice. FIXED: once. */
#include <stdio.h>
#include <stdlib.h>

static int grow(char **p)
{
	char *more = realloc(*p, 1000);

	if (!more) {
#ifndef FIXED
		free(*p);
#endif
		return -1;
	}
	*p = more;
	return 0;
}

int main(void)
{
	char *p = malloc(10);
	int rc = p ? grow(&p) : -1;

	free(p);
	if (rc < 0)
		fputs("out of memory\n", stderr);
	return rc < 0;
}
