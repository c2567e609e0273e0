/*
 * First all mutants in forks of one run, each where it is reached first; then a run of
 * its own for each that a fork could not decide: it was late, or not safe. Late again,
 * alone and with more time, it is undecided.
 */
#include "engine/mutate_c.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* NULL with err. */
static struct mutants_map *make_map(struct mutate_c *m, struct err *err)
{
	CLEANUP_FD int fd = open(m->map, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct mutants_map *p = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)mutants_size(m->n)) == 0)
		p = mmap(NULL, mutants_size(m->n), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 0);
	if (p == MAP_FAILED) {
		err_errno(err, ERR_ENVIRONMENT, errno, "cannot make %s", m->map);
		return NULL;
	}
	*p = (struct mutants_map){.n = m->n};
	return p;
}

/* The tests without a mutant: what the others are compared with. */
static int try_none(struct mutate_c *m, struct mutants_map *map, struct err *err)
{
	struct run_result run = {0};
	CLEANUP_FREE char *how = NULL;

	map->mode = MUTANTS_OFF;
	progress_tell(m->opts->progress, "mutate", "the tests without a mutant", NULL, 0,
		      0);
	if (mutate_c_run(m, m->opts->argv, false, m->opts->limit_ms, false, &run, NULL,
			 err) < 0)
		return -1;
	m->report->test_us = run.wall_us;
	if (run_result_passed(&run))
		return 0;
	how = run_result_describe(&run);
	err_set(err, ERR_USAGE, "the tests do not pass without a mutant: %s", how);
	err_hint(err, "run them in a clean checkout first; --setup must build all that "
		      "they need");
	return -1;
}

static void prepare(struct mutate_c *m, struct mutants_map *map, enum mutants_mode mode)
{
	map->mode = mode;
	map->root = 0;
	map->jobs = m->opts->jobs;
	map->limit_ms = 20 + (uint32_t)(m->report->test_us / 1000 * 3);
	for (uint32_t i = 0; i < m->n; i++) {
		mutants_wanted(map)[i] = m->used[i];
		mutants_reached(map)[i] = 0;
		mutants_ends(map)[i] = MUTANTS_NOT_TRIED;
	}
}

static int try_all(struct mutate_c *m, struct mutants_map *map, struct err *err)
{
	struct run_result run = {0};
	enum mutants_mode mode = m->opts->fork ? MUTANTS_FORK : MUTANTS_RECORD;
	uint64_t limit_ms = m->opts->limit_ms;

	uint64_t start = clock_us();

	prepare(m, map, mode);
	progress_tell(m->opts->progress, "mutate",
		      mode == MUTANTS_FORK ? "mutants, in forks" : "which are reached",
		      NULL, 0, 0);
	if (mode == MUTANTS_FORK)
		limit_ms += (uint64_t)m->n * map->limit_ms;
	if (mutate_c_run(m, m->opts->argv, false, limit_ms, mode == MUTANTS_FORK, &run,
			 NULL, err) < 0)
		return -1;
	m->report->fork_us = clock_us() - start;
	if (run_result_passed(&run) || mode == MUTANTS_RECORD)
		return 0;
	/* Forking has changed something: what it has said is not used. */
	strv_addf(
		&m->report->notes,
		"the tests do not pass where mutants are forked: each is run by itself");
	prepare(m, map, MUTANTS_RECORD);
	return mutate_c_run(m, m->opts->argv, false, limit_ms, false, &run, NULL, err);
}

static int try_alone(struct mutate_c *m, struct mutants_map *map, uint32_t id,
		     enum mutant_verdict *ret, struct err *err)
{
	uint64_t once = m->report->test_us / 1000, limit_ms = 100 + 8 * once;
	struct run_result run = {0};

	map->mode = MUTANTS_ONE;
	map->one = id;
	map->root = 0;
	for (int i = 0; i < 2; i++) {
		if (mutate_c_run(m, m->opts->argv, false, limit_ms, false, &run, NULL,
				 err) < 0)
			return -1;
		m->report->reruns++;
		if (!run_result_late(&run))
			break;
		if (mutants_ends(map)[id] == MUTANTS_LATE)
			break; /* that was the second time */
		limit_ms *= 2;
	}
	*ret = run_result_late(&run) || run_result_over_limit(&run) ? MUTANT_UNDECIDED
	       : run_result_passed(&run)			    ? MUTANT_SURVIVED
								    : MUTANT_KILLED;
	return 0;
}

static int decide(struct mutate_c *m, struct mutants_map *map,
		  enum mutant_verdict *verdicts, struct err *err)
{
	for (uint32_t i = 0; i < m->n; i++) {
		int32_t end = mutants_ends(map)[i];

		if (!m->used[i]) {
			verdicts[i] = MUTANT_INVALID;
		} else if (!mutants_reached(map)[i]) {
			verdicts[i] = MUTANT_UNREACHED;
		} else if (end >= 0) {
			verdicts[i] = end ? MUTANT_KILLED : MUTANT_SURVIVED;
			m->report->forked++;
		} else {
			progress_tell(m->opts->progress, "mutate", "runs", NULL, i, m->n);
			if (try_alone(m, map, i, &verdicts[i], err) < 0)
				return -1;
		}
	}
	return 0;
}

int mutate_c_try(struct mutate_c *m, enum mutant_verdict *verdicts, struct err *err)
{
	struct mutants_map *map = make_map(m, err);
	int rc = -1;

	if (!map)
		return -1;
	if (try_none(m, map, err) == 0 && try_all(m, map, err) == 0)
		rc = decide(m, map, verdicts, err);
	munmap(map, mutants_size(m->n));
	return rc;
}
