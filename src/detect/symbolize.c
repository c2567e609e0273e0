#include "detect/symbolize.h"

#include "base/mem.h"
#include "detect/report_file.h"

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { MODULES_MAX = 64 }; /* a stack names a few; a forged report as many as it likes */

struct symbols_module {
	char *path;
	Dwfl *dwfl;	     /* NULL: not readable */
	Dwfl_Module *module; /* owned by dwfl */
	GElf_Addr bias;
};

struct symbols {
	struct symbols_module *modules;
	size_t n, cap;
};

struct symbols *symbols_new(void)
{
	return xcalloc(1, sizeof(struct symbols));
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (s->modules[i].dwfl)
			dwfl_end(s->modules[i].dwfl);
		free(s->modules[i].path);
	}
	free(s->modules);
	free(s);
}

/* The standard callback may ask a debuginfod server: nothing here goes to the network. */
static int no_debuginfo(Dwfl_Module *module, void **data, const char *name,
			Dwarf_Addr base, const char *file, const char *link,
			GElf_Word crc, char **ret_name)
{
	(void)module;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)ret_name;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = no_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static void module_open(struct symbols_module *m)
{
	Elf *elf;
	int fd = open_regular(m->path);

	if (fd < 0)
		return;
	m->dwfl = dwfl_begin(&callbacks);
	if (!m->dwfl) {
		close(fd);
		return;
	}
	dwfl_report_begin(m->dwfl);
	m->module = dwfl_report_offline(m->dwfl, m->path, m->path, fd);
	if (!m->module)
		close(fd);
	dwfl_report_end(m->dwfl, NULL, NULL);
	elf = m->module ? dwfl_module_getelf(m->module, &m->bias) : NULL;
	if (!elf)
		m->module = NULL;
}

static struct symbols_module *module_find(struct symbols *s, const char *path)
{
	struct symbols_module *m;

	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->modules[i].path, path))
			return &s->modules[i];
	if (s->n == MODULES_MAX)
		return NULL;
	m = VEC_ADD(s->modules, s->n, s->cap);
	m->path = xstrdup(path);
	module_open(m);
	return m;
}

int symbols_find(struct symbols *s, const char *path, uint64_t address,
		 char **ret_function, char **ret_file, unsigned *ret_line)
{
	struct symbols_module *m = path[0] == '/' ? module_find(s, path) : NULL;
	const char *name, *file;
	GElf_Off offset;
	GElf_Sym symbol;
	Dwfl_Line *line;
	int number;

	if (!m || !m->module)
		return false;
	name = dwfl_module_addrinfo(m->module, address + m->bias, &offset, &symbol, NULL,
				    NULL, NULL);
	/* Without a size it is only the nearest symbol: often another function. */
	if (!name || offset >= symbol.st_size)
		return false;
	line = dwfl_module_getsrc(m->module, address + m->bias);
	file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	*ret_function = xstrdup(name);
	if (file) {
		*ret_file = xstrdup(file);
		*ret_line = number > 0 ? (unsigned)number : 0;
	}
	return true;
}
