/*
 * Functions and source lines of addresses in ELF files, through libdw, as the sanitizer
 * runtimes name them (gcc's by libbacktrace, clang's by llvm-symbolizer), at a small part
 * of their cost: each file is opened once, and only when a leak is to be shown.
 */
#ifndef EXITPATH_DETECT_SYMBOLIZE_H
#define EXITPATH_DETECT_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols; /* the files opened so far */

/* cwd: where the program was started, as it saw that; libraries may have been linked by
 * relative names. sandbox: what it saw; NULL: the machine. Copied. */
struct sandbox;
struct symbols *symbols_new(const char *cwd, const struct sandbox *sandbox);
void symbols_free(struct symbols *s); /* NULL is fine */

struct symbol_place {
	char *function; /* demangled */
	char *file;	/* as the compiler recorded it, mostly absolute; NULL: unknown */
	unsigned line;	/* 0: unknown */
};

/*
 * address: as the file's own headers count (what sanitizers print as offset). Innermost
 * first: functions that were inlined there, then the one that holds the address. Returns
 * how many; 0: not known, as in a stripped file. They live until symbols_free().
 */
size_t symbols_find(struct symbols *s, const char *path, uint64_t address,
		    const struct symbol_place **ret);

/* Was a file that is gone or unreadable asked for, or given up because of its size? Then
 * a runtime within the process could have named more. */
bool symbols_incomplete(const struct symbols *s);

/* Does the file define such a function itself, and not as a default (weak)? */
bool symbols_defines(struct symbols *s, const char *path, const char *name);

static inline void symbols_cleanup(struct symbols **s)
{
	symbols_free(*s);
}

#endif
