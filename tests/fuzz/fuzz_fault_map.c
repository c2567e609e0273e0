/* The map that processes under the fault shim share with us, and may write what they like
 * to: 8 bytes say where in it the rest goes. */
#include "fault/calls.h"
#include "fault/map.h"
#include "fault/plan.h"

#include "base/fs.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *path_of_map(void)
{
	static char path[64];

	if (!*path)
		snprintf(path, sizeof(path), "/tmp/exitpath-fuzz-map.%d", (int)getpid());
	return path;
}

static void write_map(const uint8_t *data, size_t size)
{
	/* The head and the first rows, or anywhere. */
	static const size_t places[] = {0, offsetof(struct fault_map, modules),
					offsetof(struct fault_map, points),
					offsetof(struct fault_map, trials)};
	CLEANUP_FD int fd =
		open(path_of_map(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint64_t place = 0;

	memcpy(&place, data, PLACE);
	place = places[place % 4] + (place >> 2) % 4096 * 8;
	if (fd < 0 || ftruncate(fd, sizeof(struct fault_map)) < 0 ||
	    pwrite(fd, data + PLACE, size - PLACE, (off_t)place) < 0)
		abort();
}

static void use_points(const struct fault_record *r)
{
	const struct fault_choice choice = {.project = "/p", .most = 3};
	CLEANUP(fault_plan) struct fault_plan plan = {0};

	fault_plan_make(r, &choice, &plan);
	for (size_t i = 0; i < plan.n; i++) {
		const struct fault_point *p = plan.points[i];

		if (p->call >= fault_ncalls || !fault_error_name(p, 0) ||
		    strlen(p->argument) >= sizeof(p->argument) ||
		    !fault_record_find(r, p->key))
			abort();
		for (uint32_t k = 0; k < p->nframes; k++) {
			const char *module = fault_record_module(r, &p->frames[k]);

			if (module && strlen(module) >= FAULT_PATH)
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(fault_record) struct fault_record r = {0};
	CLEANUP(fault_trials) struct fault_trials t = {0};

	if (size < PLACE)
		return 0;
	write_map(data, size);
	if (fault_map_read(path_of_map(), &r, NULL) < 0 ||
	    fault_trials_read(path_of_map(), &t, NULL) < 0)
		abort();
	use_points(&r);
	for (size_t i = 0; i < t.n; i++)
		if (!fault_trials_find(&t, t.trials[i].key))
			abort();
	unlink(path_of_map());
	return 0;
}
