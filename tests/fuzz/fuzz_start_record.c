/* What the preloaded library leaves in proc.PID; the program under test may write there.
 */
#include "detect/canary.h"
#include "detect/report_file.h"

#include "base/mem.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct start_record r = {.pid = 7};
	CLEANUP_FREE char *name = xcalloc(size + 1, 1);

	memcpy(name, data, size);
	if (pid_in_name(name, "proc.", "") < 0)
		abort();
	if (start_record_parse((const char *)data, size, &r) && !r.exe)
		abort();
	start_record_release(&r);
	return 0;
}
