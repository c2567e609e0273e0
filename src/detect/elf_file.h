/*
 * An ELF file, its functions and the file that holds its debugging information: itself,
 * or a separate one, found by build id or by .gnu_debuglink below /usr/lib/debug and
 * beside it. Nothing is asked of the network.
 */
#ifndef EXITPATH_DETECT_ELF_FILE_H
#define EXITPATH_DETECT_ELF_FILE_H

#include "detect/effort.h"

#include <elfutils/libdw.h>
#include <stddef.h>

struct elf_symbol {
	uint64_t start, size;
	const char *name;
	uint32_t order; /* in its table */
	bool global;	/* neither local nor weak */
};

struct elf_file {
	int fd, debug_fd;
	Elf *elf, *debug_elf;	    /* debug_elf NULL: no separate file */
	Dwarf *dwarf;		    /* NULL: none that may be read */
	struct elf_symbol *symbols; /* functions, by address */
	size_t nsymbols, symbols_cap;
};

/* false: it is no readable ELF file. Takes nothing; release it in both cases. */
bool elf_file_open(struct elf_file *f, const char *path, struct effort *effort);
/* The symbol whose range holds address, or NULL. */
const struct elf_symbol *elf_file_symbol(const struct elf_file *f, uint64_t address);
void elf_file_release(struct elf_file *f);

#endif
