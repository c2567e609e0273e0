#include "model/phrase.h"

#include "base/buf.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

size_t series_holding(const uint64_t *units, size_t n)
{
	size_t holding = 0;

	for (size_t i = 0; i < n; i++)
		holding += units[i] > 0;
	return holding;
}

uint64_t series_min(const uint64_t *units, size_t n)
{
	uint64_t min = n ? units[0] : 0;

	for (size_t i = 1; i < n; i++)
		if (units[i] < min)
			min = units[i];
	return min;
}

uint64_t series_max(const uint64_t *units, size_t n)
{
	uint64_t max = 0;

	for (size_t i = 0; i < n; i++)
		if (units[i] > max)
			max = units[i];
	return max;
}

/* "3" or "2 to 3"; cycles without any do not count. */
static void add_range(struct buf *out, const uint64_t *units, size_t n)
{
	uint64_t min = 0, max = series_max(units, n);

	for (size_t i = 0; i < n; i++)
		if (units[i] && (!min || units[i] < min))
			min = units[i];
	if (min == max)
		buf_addf(out, "%" PRIu64, max);
	else
		buf_addf(out, "%" PRIu64 " to %" PRIu64, min, max);
}

static const char *plural(const char *noun, uint64_t n)
{
	size_t len = strlen(noun);

	if (n == 1)
		return "";
	return len && noun[len - 1] == 's' ? "es" : "s";
}

char *phrase_units(const struct leak *l, size_t n)
{
	CLEANUP(buf) struct buf out = {0};
	const char *unit = resource_unit(l->resource);

	add_range(&out, l->units, n);
	buf_addf(&out, " %s%s", unit, plural(unit, series_max(l->units, n)));
	if (l->resource == RESOURCE_HEAP || l->resource == RESOURCE_REACHABLE) {
		uint64_t max = series_max(l->bytes, n);

		if (max) {
			buf_adds(&out, " (");
			add_range(&out, l->bytes, n);
			buf_addf(&out, " byte%s)", plural("byte", max));
		}
	} else if (l->what) {
		buf_addf(&out, " (%s)", l->what);
	}
	return buf_detach(&out);
}

char *phrase_place(const struct leak *l)
{
	const struct frame *f = leak_top_frame(l);
	CLEANUP(buf) struct buf out = {0};

	if (f) {
		buf_addf(&out, " in %s",
			 f->function ? f->function : "an unnamed function");
		if (f->file && f->line)
			buf_addf(&out, " (%s:%u)", f->file, f->line);
		else if (f->file || f->module)
			buf_addf(&out, " (%s)", f->file ? f->file : f->module);
	}
	return buf_detach(&out);
}

char *phrase_share(const uint64_t *units, size_t n)
{
	return xasprintf("%zu of %zu cycle%s", series_holding(units, n), n,
			 plural("cycle", n));
}
