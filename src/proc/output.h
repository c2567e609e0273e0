/* One output stream of a run: pipe to file, with a cap. Internal to proc. */
#ifndef EXITPATH_PROC_OUTPUT_H
#define EXITPATH_PROC_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

struct output {
	int pipe; /* nonblocking read end; -1: at its end */
	int file; /* -1: nothing more is kept */
	uint64_t bytes, kept, cap;
	bool cut; /* kept < bytes */
};

/* Creates <dir>/<name> and a pipe, whose write end is for the program. 0, or -1 with
 * errno. */
int output_open(struct output *o, const char *dir, const char *name, uint64_t cap,
		int *ret_write);
/* As output_open(), with a file that the caller has: kept from its beginning. */
int output_open_file(struct output *o, int file, uint64_t cap, int *ret_write);
/* Takes what one read gives; false: nothing is there now, or never will be. */
bool output_read(struct output *o);
/* Takes what is there, at most as much as a pipe can hold, and closes. */
void output_finish(struct output *o);

#endif
