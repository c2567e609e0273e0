/* The loaded objects of the process. For libraries that are preloaded: nothing here
 * allocates. */
#ifndef SHIM_COMMON_OBJECT_H
#define SHIM_COMMON_OBJECT_H

#include <stddef.h>
#include <stdint.h>

/* The object that holds the address, and the offset in it, as its own headers count;
 * ret_path is cut to size: the tail is kept. 0: none does. */
int object_of(uintptr_t address, char *ret_path, size_t size, uint64_t *ret_offset);

#endif
