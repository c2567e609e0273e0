/* A request to the zygote: struct message_head, then as many strings as came. */
#include "sandbox/message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct message_request r = {0};
	size_t len;

	if (size < sizeof(r.head))
		return 0;
	memcpy(&r.head, data, sizeof(r.head));
	len = size - sizeof(r.head);
	/* The zygote reads what the head announces, or ends. */
	if (r.head.len > len)
		r.head.len = len;
	len = (size_t)r.head.len;
	r.strings = malloc(len ? len : 1);
	if (!r.strings)
		abort();
	memcpy(r.strings, data + sizeof(r.head), len);
	if (message_parse(&r) == 0) {
		size_t sum = strlen(r.cwd) + 1;

		for (uint32_t i = 0; i < r.head.argc; i++)
			sum += strlen(r.argv[i]) + 1;
		for (uint32_t i = 0; i < r.head.envc; i++)
			sum += strlen(r.env[i]) + 1;
		if (sum != len || r.argv[r.head.argc] || r.env[r.head.envc])
			abort();
	}
	message_request_release(&r);
	return 0;
}
