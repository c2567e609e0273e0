/* The report of adapters/python, and command lines. */
#include "base/mem.h"
#include "detect/python_command.h"
#include "detect/python_report.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void command(const char *text)
{
	CLEANUP(strv) struct strv argv = {0};
	size_t before;

	strv_add(&argv, "sh");
	strv_add(&argv, "-c");
	strv_add(&argv, text);
	python_command_use(&argv);
	python_command_isolated(&argv);
	before = strlen(argv.v[2]);
	python_command_lead(&argv, "/a b/adapter.zip");
	if (strlen(argv.v[2]) < before)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(python_report) struct python_report r = {0};
	CLEANUP_FREE char *text = xcalloc(size + 1, 1);

	memcpy(text, data, size);
	python_report_parse(text, size, "T0", &r);
	if (r.nleaks > PYTHON_LEAKS_MAX)
		abort();
	for (size_t i = 0; i < r.nleaks; i++)
		if (!r.leaks[i].leak.signature || !r.leaks[i].leak.what)
			abort();
	command(text);
	return 0;
}
