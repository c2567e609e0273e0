/* exitpath.yaml, and the text forms that flags share with it. */
#include "base/mem.h"
#include "contract/load.h"
#include "contract/suppression.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* 0.7.12 loses a buffer when a long quoted scalar is malformed. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libfyaml.so\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = xcalloc(size + 1, 1);
	CLEANUP(contract) struct contract c = {0};
	CLEANUP(strv) struct strv lines = {0};
	struct contract none = {0};
	struct err err = {0};
	char digest[sizeof(c.digest)];
	uint64_t n;

	memcpy(text, data, size);
	parse_duration(text, "x", &n, &err);
	parse_size(text, "x", &n, &err);
	suppression_refused(text);
	ignore_refused(text);
	date_valid(text);
	if (contract_parse((const char *)data, size, "f", &c, &err) < 0) {
		if (err.kind != ERR_USAGE || strncmp(err.message, "f:", 2) != 0)
			abort();
		return 0;
	}
	/* What was accepted has something to run, and a stable digest. */
	if (!c.nlifecycles || !c.lifecycles[0].command || !c.lifecycles[0].cycles)
		abort();
	memcpy(digest, c.digest, sizeof(digest));
	contract_digest(&c);
	if (strcmp(digest, c.digest) != 0)
		abort();
	contract_widened(&none, &c, &lines);
	if (lines.n != c.nsuppressions + c.faults.nignore)
		abort();
	return 0;
}
