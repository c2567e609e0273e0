/* A list that grows, reachable at exit: argv[1] rounds (or 10) of 77 bytes each. */
#include "trap.h"

struct entry {
	struct entry *next;
	char payload[69];
};

static struct entry *entries;

__attribute__((noinline)) static void grow(void)
{
	struct entry *entry = malloc(sizeof(*entry));

	if (!entry)
		abort();
	OPAQUE(entry);
	entry->next = entries;
	entries = entry;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 10;

	while (rounds-- > 0)
		grow();
	__asm__ volatile("" : "+m"(entries));
	while (!LEAKS && entries) {
		struct entry *next = entries->next;

		free(entries);
		entries = next;
	}
	return 0;
}
