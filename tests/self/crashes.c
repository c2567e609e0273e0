/* A fuzz target that crashes at once; `scripts/fuzz --self-test` expects it to be seen.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	(void)data;
	if (size < 1000)
		abort();
	return 0;
}
