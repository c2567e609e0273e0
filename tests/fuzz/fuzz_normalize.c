/* Names of functions, modules and targets come from the programs under test. */
#include "base/macros.h"
#include "base/mem.h"
#include "model/normalize.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *in = xstrndup((const char *)data, size);
	CLEANUP_FREE char *target = normalize_target(in),
			  *function = normalize_function(in),
			  *module = normalize_module(in);
	CLEANUP_FREE char *again = normalize_function(function);

	/* A name that was normalised is its own normal form, unless it was cut. */
	if (strlen(function) > FUNCTION_MAX ||
	    (strlen(function) < FUNCTION_MAX && strcmp(function, again)))
		__builtin_trap();
	if (strlen(target) > strlen(in) || strchr(module, '/'))
		__builtin_trap();
	return 0;
}
