#include "detect/canary.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/report_file.h"

#include <gelf.h>
#include <string.h>

static bool is_static_elf(int fd)
{
	bool loader = false;
	size_t n;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &n) < 0) {
		elf_end(elf);
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_INTERP)
			loader = true;
	}
	elf_end(elf);
	return !loader;
}

static bool path_is_static(const struct run_spec *spec, const char *dir, size_t len,
			   const char *name, bool *ret_found)
{
	CLEANUP_FREE char *path = len && dir[0] == '/'
					  ? xasprintf("%.*s/%s", (int)len, dir, name)
					  : xasprintf("%s/%.*s%s%s", spec->cwd, (int)len,
						      dir, len ? "/" : "", name);
	CLEANUP_FREE char *outside = sandbox_outside(spec->sandbox, path);
	CLEANUP_FD int fd = access(outside, X_OK) == 0 ? open_regular(outside, 0) : -1;

	*ret_found = fd >= 0;
	return fd >= 0 && is_static_elf(fd);
}

bool program_is_static(const struct run_spec *spec)
{
	const char *name = spec->argv.n ? spec->argv.v[0] : "";
	const char *path = env_get(&spec->env, "PATH");
	bool found = false, is = false;

	if (name[0] == '/')
		return path_is_static(spec, "/", 1, name + 1, &found);
	if (strchr(name, '/'))
		return path_is_static(spec, "", 0, name, &found);
	for (const char *p = path ? path : "", *end; *p && !found;
	     p = end + (*end == ':')) {
		end = strchrnul(p, ':');
		is = path_is_static(spec, p, (size_t)(end - p), name, &found);
	}
	return is;
}
