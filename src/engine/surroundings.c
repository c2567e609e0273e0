#include "engine/surroundings.h"

#include "base/macros.h"
#include "base/mem.h"
#include "base/version.h"

#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

static void add_variables(struct sha256 *h, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sha256_add_field(h, getenv(names[i]));
}

void surroundings_add_build(struct sha256 *h)
{
	/* What make, meson, CMake and cargo read: another compiler is another build. */
	static const char *const names[] = {"CC",	 "CXX",	     "CFLAGS",
					    "CXXFLAGS",	 "CPPFLAGS", "LDFLAGS",
					    "RUSTFLAGS", "GOFLAGS",  "CGO_CFLAGS"};

	add_variables(h, names, ARRAY_SIZE(names));
}

void surroundings_add(struct sha256 *h)
{
	static const char *const steering[] = {
		"PATH",		  "HOME",	    "LD_PRELOAD",    "LD_LIBRARY_PATH",
		"ASAN_OPTIONS",	  "LSAN_OPTIONS",   "UBSAN_OPTIONS", "VALGRIND_OPTS",
		"GOFLAGS",	  "GOTOOLCHAIN",    "GOEXPERIMENT",  "GODEBUG",
		"NODE_OPTIONS",	  "NODE_PATH",	    "PYTHONPATH",    "PYTHONHASHSEED",
		"PYTHONWARNINGS", "PYTEST_ADDOPTS", "VIRTUAL_ENV",   "PYTHONHOME"};
	CLEANUP_FREE char *user = xasprintf("%lu", (unsigned long)geteuid());
	struct utsname u = {0};

	uname(&u);
	surroundings_add_build(h);
	add_variables(h, steering, ARRAY_SIZE(steering));
	sha256_add_field(h, user);
	sha256_add_field(h, EXITPATH_VERSION);
	sha256_add_field(h, u.nodename);
	sha256_add_field(h, u.release);
	sha256_add_field(h, u.machine);
}
