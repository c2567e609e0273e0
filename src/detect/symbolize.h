/*
 * Functions and source lines of addresses in ELF files, through libdw: for frames that
 * a runtime without a symboliser left bare. Separate debug files are not looked for.
 */
#ifndef EXITPATH_DETECT_SYMBOLIZE_H
#define EXITPATH_DETECT_SYMBOLIZE_H

#include <stdint.h>

struct symbols; /* the files opened so far */

struct symbols *symbols_new(void);
void symbols_free(struct symbols *s); /* NULL is fine */

/*
 * address: as the file's own headers count (what sanitizers print as offset). What is
 * known is stored, the rest is left alone: a stripped file gives nothing. The caller
 * frees the strings. Returns whether the function is known.
 */
int symbols_find(struct symbols *s, const char *path, uint64_t address,
		 char **ret_function, char **ret_file, unsigned *ret_line);

static inline void symbols_cleanup(struct symbols **s)
{
	symbols_free(*s);
}

#endif
