#include "detect/symbolize.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/demangle.h"
#include "detect/dwarf_scopes.h"
#include "detect/elf_file.h"
#include "model/sandbox.h"

#include <search.h>
#include <string.h>

enum { MODULES_MAX = 64 }; /* a stack names a few; a forged report as many as it likes */

struct answer {
	uint64_t address;
	struct symbol_place *places;
	size_t n;
};

struct module {
	char *path;
	bool readable;
	struct elf_file elf;
	struct dwarf_scopes *scopes; /* NULL: no DWARF */
	void *answers;		     /* tsearch(3)'s tree of struct answer */
};

struct symbols {
	char *cwd;
	struct sandbox sandbox;
	struct module *modules;
	size_t n, cap;
	struct demangler *demangler;
	struct effort effort;
	bool incomplete;
};

struct symbols *symbols_new(const char *cwd, const struct sandbox *sandbox)
{
	struct symbols *s = xcalloc(1, sizeof(*s));

	s->cwd = xstrdup(cwd);
	if (sandbox)
		sandbox_copy(&s->sandbox, sandbox);
	s->demangler = demangler_new();
	return s;
}

static void answer_free(void *p)
{
	struct answer *a = p;

	for (size_t i = 0; i < a->n; i++) {
		free(a->places[i].function);
		free(a->places[i].file);
	}
	free(a->places);
	free(a);
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		struct module *m = &s->modules[i];

		tdestroy(m->answers, answer_free);
		dwarf_scopes_free(m->scopes);
		elf_file_release(&m->elf);
		free(m->path);
	}
	free(s->modules);
	demangler_free(s->demangler);
	free(s->cwd);
	sandbox_release(&s->sandbox);
	free(s);
}

bool symbols_incomplete(const struct symbols *s)
{
	return s->incomplete || s->effort.spent;
}

/* No "[vdso]", "linux-vdso.so.1", "<unknown module>". */
static bool is_file_name(const char *path)
{
	return *path && !strchr("[<", *path) && strncmp(path, "linux-", 6) != 0;
}

static struct module *module_find(struct symbols *s, const char *path)
{
	CLEANUP_FREE char *full = NULL, *outside = NULL;
	struct module *m;

	if (!is_file_name(path))
		return NULL;
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->modules[i].path, path))
			return &s->modules[i];
	if (s->n == MODULES_MAX) {
		s->incomplete = true;
		return NULL;
	}
	m = VEC_ADD(s->modules, s->n, s->cap);
	m->path = xstrdup(path);
	full = path[0] == '/' ? xstrdup(path) : path_join(s->cwd, path);
	outside = sandbox_outside(&s->sandbox, full);
	m->readable = elf_file_open(&m->elf, outside, &s->effort);
	s->incomplete |= !m->readable;
	if (m->elf.dwarf)
		m->scopes = dwarf_scopes_new(m->elf.dwarf, &s->effort);
	return m;
}

static void add_place(struct symbols *s, struct answer *a, const char *name,
		      const struct dwarf_scope *scope)
{
	a->places = xrealloc(a->places, a->n + 1, sizeof(*a->places));
	a->places[a->n++] = (struct symbol_place){
		.function = demangle(s->demangler, name),
		.file = scope && scope->file ? xstrdup(scope->file) : NULL,
		.line = scope && scope->file ? scope->line : 0,
	};
}

static void look_up(struct symbols *s, struct module *m, struct answer *a)
{
	struct dwarf_scope scopes[DWARF_SCOPES_MAX];
	size_t n = m->scopes
			   ? dwarf_scopes_find(m->scopes, a->address, &s->effort, scopes)
			   : 0;
	const struct elf_symbol *symbol;

	for (size_t i = 0; i < n; i++)
		if (scopes[i].name)
			add_place(s, a, scopes[i].name, &scopes[i]);
	if (a->n)
		return;
	symbol = elf_file_symbol(&m->elf, a->address);
	if (symbol)
		add_place(s, a, symbol->name, n ? &scopes[0] : NULL);
}

static int by_address(const void *a, const void *b)
{
	const struct answer *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static const struct answer *answer_find(struct symbols *s, struct module *m,
					uint64_t address)
{
	const struct answer key = {.address = address};
	struct answer **node = tfind(&key, &m->answers, by_address), *a;

	if (node)
		return *node;
	a = xcalloc(1, sizeof(*a));
	a->address = address;
	look_up(s, m, a);
	node = tsearch(a, &m->answers, by_address);
	if (!node)
		abort(); /* out of memory, as in base/mem */
	return a;
}

size_t symbols_find(struct symbols *s, const char *path, uint64_t address,
		    const struct symbol_place **ret)
{
	const struct answer *a = NULL;
	struct module *m;

	effort_begin(&s->effort);
	m = module_find(s, path);
	if (m && m->readable)
		a = answer_find(s, m, address);
	effort_end(&s->effort);
	if (!a || !a->n)
		return 0;
	*ret = a->places;
	return a->n;
}

bool symbols_defines(struct symbols *s, const char *path, const char *name)
{
	const struct module *m;

	effort_begin(&s->effort);
	m = module_find(s, path);
	effort_end(&s->effort);
	for (size_t i = 0; m && i < m->elf.nsymbols; i++)
		if (m->elf.symbols[i].global && !strcmp(m->elf.symbols[i].name, name))
			return true;
	return false;
}
