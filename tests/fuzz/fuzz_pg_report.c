/* Statements as a server shows them, and the record of a run's sessions. */
#include "base/mem.h"
#include "detect/pg_report.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void statement(const char *text)
{
	CLEANUP_FREE char *once = pg_statement(text);

	if (strlen(once) > PG_STATEMENT_MAX || strchr(once, '\n'))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(pg_report) struct pg_report r = {0};
	CLEANUP(pg_sample) struct pg_sample after = {0};
	CLEANUP(probe) struct probe p = {0};
	CLEANUP(buf) struct buf shown = {0};
	CLEANUP_FREE char *text = xcalloc(size + 1, 1);
	size_t cycles;

	memcpy(text, data, size);
	statement(text);
	pg_report_parse(text, size, 7, &r);
	cycles = pg_report_cycles(&r);
	pg_report_exits(&r, &after, &p);
	for (size_t k = 1; k <= cycles && k < 5; k++)
		pg_report_cycle(&r, k, cycles, &p);
	for (size_t i = 0; r.nsamples && i < r.samples[0].nsessions; i++)
		if (!r.samples[0].sessions[i].id || !r.samples[0].sessions[i].what)
			abort();
	if (r.nsamples)
		pg_report_orphans(&r.samples[0], &p);
	for (size_t i = 0; i < p.nleaks; i++)
		if (!p.leaks[i].signature || !p.leaks[i].what)
			abort();
	pg_report_text(&r, &after, &shown);
	return 0;
}
