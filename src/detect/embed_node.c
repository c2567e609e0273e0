/* The files of adapters/node, and the names under which they are written out. */
#include "detect/embed.h"

#include <stddef.h>

#define SYMBOLS(name)                                           \
	extern const unsigned char embed_node_##name##_start[]; \
	extern const unsigned char embed_node_##name##_end[];
SYMBOLS(hook)
SYMBOLS(held)
SYMBOLS(runners)
SYMBOLS(stack)
SYMBOLS(track)
SYMBOLS(vitest)
#undef SYMBOLS

#define FILE_OF(name)                                                            \
	{                                                                        \
#name ".cjs", embed_node_##name##_start, embed_node_##name##_end \
	}
const struct embed_file embed_node[] = {
	FILE_OF(hook),	FILE_OF(held),	 FILE_OF(runners),   FILE_OF(stack),
	FILE_OF(track), FILE_OF(vitest), {NULL, NULL, NULL},
};
