/*
 * Prints the ratio of a shell that runs 100 × /bin/true under the ledger to the same
 * without it, both through proc/: the median over pairs measured in turns.
 */
#include "base/fs.h"
#include "base/mem.h"
#include "ledger/ledger.h"
#include "proc/proc.h"

#include <stdio.h>
#include <stdlib.h>

extern char **environ;

static double measure(const char *dir, bool watched)
{
	CLEANUP(run_spec) struct run_spec spec = {0};
	CLEANUP_FREE char *tmp = path_join(dir, "tmp");
	struct run_result r;
	struct ledger *ledger = NULL;
	struct err err = {0};

	if (make_dirs(tmp, 0700, &err) < 0)
		exit(1);
	strv_add(&spec.argv, "/bin/sh");
	strv_add(&spec.argv, "-c");
	strv_add(&spec.argv, "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done");
	strv_copy(&spec.env, environ);
	spec.cwd = xstrdup("/");
	spec.dir = xstrdup(dir);
	if (watched) {
		const struct ledger_opts opts = {dir, tmp, dir};

		ledger = ledger_new(&opts, &err);
		if (!ledger)
			exit(1);
		spec.watch = ledger_watch(ledger);
	}
	if (proc_run(&spec, &r, &err) < 0 || r.end != RUN_EXITED || r.status) {
		fprintf(stderr, "ledger_bench: %s\n", err.message);
		exit(1);
	}
	if (ledger)
		ledger_free(ledger);
	if (remove_tree(tmp, &err) < 0)
		exit(1);
	return (double)r.wall_us;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int pairs = argc > 1 ? 4 * atoi(argv[1]) + 1 : 13;
	double *ratio = xcalloc((size_t)pairs, sizeof(*ratio));
	struct err err = {0};
	CLEANUP_FREE char *dir = make_temp_dir("/tmp", "exitpath-bench", &err);

	if (!dir)
		return 1;
	for (int i = 0; i < pairs; i++) {
		double plain = measure(dir, false);

		ratio[i] = measure(dir, true) / plain;
	}
	qsort(ratio, (size_t)pairs, sizeof(*ratio), ascending);
	printf("%.2f\n", ratio[pairs / 2]);
	free(ratio);
	return remove_tree(dir, &err) < 0;
}
