/* comm is chosen by the program that is watched. */
#include "proc/tree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc_stat st = {0};

	if (proc_stat_parse((const char *)data, size, &st) < 0) {
		if (st.pid) /* touched although it failed */
			abort();
		return 0;
	}
	if (st.pid <= 0 || st.ppid < 0 || strnlen(st.comm, sizeof(st.comm)) >= 64)
		abort();
	return 0;
}
