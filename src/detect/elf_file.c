#include "detect/elf_file.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/report_file.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>

#define DEBUG_ROOT "/usr/lib/debug"
#define DEBUG_BYTES_MAX ((uint64_t)1 << 30) /* of a file, and of what it unpacks to */
enum {
	SYMBOLS_MAX = 1 << 22,
	BUILD_ID_MIN = 4, /* one directory and a name below .build-id */
	BUILD_ID_MAX = 64,
	ALIASES = 8, /* how far back a longer function is looked for */
};

struct build_id {
	const unsigned char *data; /* in the ELF file */
	size_t len;
};

static struct build_id build_id_of(Elf *elf)
{
	const void *data;
	ssize_t len = dwelf_elf_gnu_build_id(elf, &data);

	if (len < BUILD_ID_MIN || len > BUILD_ID_MAX)
		return (struct build_id){0};
	return (struct build_id){data, (size_t)len};
}

static Elf *open_elf(const char *path, int *ret_fd)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	*ret_fd = open_regular(path, 0);
	elf = *ret_fd < 0 ? NULL : elf_begin(*ret_fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	if (*ret_fd >= 0)
		close(*ret_fd);
	*ret_fd = -1;
	return NULL;
}

/* --- debugging information -------------------------------------------------------- */

/* What libdw finds in a file, and whether it is safe to have it read. */
struct debug_sections {
	bool info;  /* .debug_info */
	bool other; /* names a third file, which libdw would open by itself */
	uint64_t bytes;
};

static struct debug_sections look_at_sections(Elf *elf)
{
	struct debug_sections d = {0};
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return d;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		GElf_Chdr packed;
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name)
			continue;
		d.info |= !strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info");
		d.other |= !strcmp(name, ".gnu_debugaltlink");
		if ((header.sh_flags & SHF_COMPRESSED) && gelf_getchdr(section, &packed))
			d.bytes = d.bytes + packed.ch_size < d.bytes
					  ? UINT64_MAX
					  : d.bytes + packed.ch_size;
	}
	return d;
}

static Dwarf *open_dwarf(int fd, Elf *elf, bool trusted)
{
	const struct debug_sections d = look_at_sections(elf);
	struct stat st;

	if (!d.info || (d.other && !trusted) || d.bytes > DEBUG_BYTES_MAX ||
	    fstat(fd, &st) < 0 || (uint64_t)st.st_size > DEBUG_BYTES_MAX)
		return NULL;
	return dwarf_begin_elf(elf, DWARF_C_READ, NULL);
}

/* Opens path when it belongs to a file with this build id. */
static bool try_debug_file(struct elf_file *f, const char *path, struct build_id id)
{
	struct build_id own;

	f->debug_elf = open_elf(path, &f->debug_fd);
	if (!f->debug_elf)
		return false;
	own = build_id_of(f->debug_elf);
	if (own.len == id.len && !memcmp(own.data, id.data, id.len))
		f->dwarf = open_dwarf(f->debug_fd, f->debug_elf,
				      !strncmp(path, DEBUG_ROOT "/", 15));
	if (f->dwarf)
		return true;
	elf_end(TAKE_PTR(f->debug_elf));
	close(f->debug_fd);
	f->debug_fd = -1;
	return false;
}

static bool debug_by_id(struct elf_file *f, struct build_id id)
{
	CLEANUP(buf) struct buf path = {0};

	buf_addf(&path, DEBUG_ROOT "/.build-id/%02x/", id.data[0]);
	for (size_t i = 1; i < id.len; i++)
		buf_addf(&path, "%02x", id.data[i]);
	buf_adds(&path, ".debug");
	return try_debug_file(f, buf_str(&path), id);
}

/* The places of gdb: beside the file, in .debug there, below the global directory. */
static bool debug_by_link(struct elf_file *f, const char *module, struct build_id id)
{
	GElf_Word crc;
	const char *name = dwelf_elf_gnu_debuglink(f->elf, &crc);
	CLEANUP_FREE char *real = realpath(module, NULL);
	const char *slash = real ? strrchr(real, '/') : NULL;

	if (!name || !*name || strchr(name, '/') || !slash)
		return false;
	for (int i = 0; i < 3; i++) {
		CLEANUP_FREE char *path = xasprintf(
			"%s%.*s/%s%s", i == 2 ? DEBUG_ROOT : "", (int)(slash - real),
			real, i == 1 ? ".debug/" : "", name);

		if (try_debug_file(f, path, id))
			return true;
	}
	return false;
}

static void find_dwarf(struct elf_file *f, const char *path)
{
	struct build_id id;

	f->dwarf = open_dwarf(f->fd, f->elf, false);
	if (f->dwarf)
		return;
	id = build_id_of(f->elf);
	if (id.len && !debug_by_id(f, id))
		debug_by_link(f, path, id);
}

/* --- symbols ---------------------------------------------------------------------- */

/* Without a size it is only the nearest symbol: often another function. */
static bool is_function(const GElf_Sym *s)
{
	unsigned char type = GELF_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_size &&
	       s->st_shndx != SHN_UNDEF && s->st_value + s->st_size > s->st_value;
}

static void read_table(struct elf_file *f, Elf *elf, Elf_Scn *section,
		       const GElf_Shdr *header, struct effort *effort)
{
	Elf_Data *data = elf_getdata(section, NULL);
	uint64_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	GElf_Sym s;

	for (uint64_t i = 0; data && i < n && i < SYMBOLS_MAX && effort_step(effort);
	     i++) {
		const char *name;

		if (!gelf_getsym(data, (int)i, &s))
			return;
		if (!is_function(&s))
			continue;
		name = elf_strptr(elf, header->sh_link, s.st_name);
		if (name && *name)
			*VEC_ADD(f->symbols, f->nsymbols, f->symbols_cap) =
				(struct elf_symbol){
					.start = s.st_value,
					.size = s.st_size,
					.name = name,
					.order = (uint32_t)i,
					.global = GELF_ST_BIND(s.st_info) == STB_GLOBAL,
				};
	}
}

static bool read_symbols(struct elf_file *f, Elf *elf, uint32_t type,
			 struct effort *effort)
{
	Elf_Scn *section = NULL;

	while (elf && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == type)
			read_table(f, elf, section, &header, effort);
	}
	return f->nsymbols > 0;
}

/* Of several names for an address llvm-symbolizer takes the last of the largest; which
 * one libbacktrace takes depends on its search. */
static int by_address(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

bool elf_file_open(struct elf_file *f, const char *path, struct effort *effort)
{
	*f = (struct elf_file){.fd = -1, .debug_fd = -1};
	f->elf = open_elf(path, &f->fd);
	if (!f->elf)
		return false;
	find_dwarf(f, path);
	if (read_symbols(f, f->debug_elf, SHT_SYMTAB, effort) ||
	    read_symbols(f, f->elf, SHT_SYMTAB, effort) ||
	    read_symbols(f, f->elf, SHT_DYNSYM, effort))
		qsort(f->symbols, f->nsymbols, sizeof(*f->symbols), by_address);
	return true;
}

const struct elf_symbol *elf_file_symbol(const struct elf_file *f, uint64_t address)
{
	size_t from = 0, to = f->nsymbols;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (f->symbols[mid].start <= address)
			from = mid + 1;
		else
			to = mid;
	}
	for (size_t i = 0; i < ALIASES && i < from; i++) {
		const struct elf_symbol *s = &f->symbols[from - 1 - i];

		if (address - s->start < s->size)
			return s;
	}
	return NULL;
}

void elf_file_release(struct elf_file *f)
{
	free(f->symbols);
	if (f->dwarf)
		dwarf_end(f->dwarf);
	elf_end(f->debug_elf);
	elf_end(f->elf);
	if (f->debug_fd >= 0)
		close(f->debug_fd);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct elf_file){.fd = -1, .debug_fd = -1};
}
