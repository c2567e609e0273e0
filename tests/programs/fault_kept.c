/* A table that is given back at the end. When a line of it cannot be copied the program
 * goes on without, and forgets to give the table back, which a global still points to.
 * FIXED: it is given back. */
#include <stdlib.h>
#include <string.h>

struct row {
	struct row *next;
	char *text;
};

static struct row *rows;
static int complete = 1;

__attribute__((noinline)) static void add(const char *text)
{
	struct row *r = calloc(1, sizeof(*r));

	if (!r)
		exit(1);
	r->next = rows;
	rows = r;
	r->text = strdup(text);
	if (!r->text)
		complete = 0;
}

int main(void)
{
	add("one");
	add("two");
#ifdef FIXED
	complete = 1;
#endif
	while (complete && rows) {
		struct row *next = rows->next;

		free(rows->text);
		free(rows);
		rows = next;
	}
	return 0;
}
