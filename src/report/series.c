#include "report/series.h"

#include <inttypes.h>

enum { SPELLED_OUT = 20, MAX_RUNS = 8 };

static uint64_t at(const uint64_t *units, size_t i)
{
	return units ? units[i] : 0;
}

static void add_runs(struct buf *out, const uint64_t *units, size_t n)
{
	size_t runs = 0;

	for (size_t i = 0, len; i < n; i += len) {
		if (runs++ == MAX_RUNS) {
			buf_adds(out, ", ...");
			return;
		}
		for (len = 1; i + len < n && at(units, i + len) == at(units, i);)
			len++;
		buf_addf(out, "%s%" PRIu64 " x%zu", i ? ", " : "", at(units, i), len);
	}
}

void series_plain(struct buf *out, const uint64_t *units, size_t n)
{
	if (n > SPELLED_OUT) {
		add_runs(out, units, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		buf_addf(out, "%s%" PRIu64, i ? " " : "", at(units, i));
}

/* 0 is the lowest bar, anything else is seen to differ from it. */
static unsigned level(uint64_t units, uint64_t max)
{
	if (!units || !max)
		return 0;
	return units >= max ? 7 : 1 + (unsigned)((double)units / (double)max * 6);
}

void series_bars(struct buf *out, const uint64_t *units, size_t n, uint64_t max)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	size_t columns = n < SERIES_COLUMNS ? n : SERIES_COLUMNS;

	for (size_t c = 0; c < columns; c++) {
		uint64_t most = 0;

		for (size_t i = c * n / columns; i < (c + 1) * n / columns; i++)
			if (at(units, i) > most)
				most = at(units, i);
		buf_adds(out, bars[level(most, max)]);
	}
}
