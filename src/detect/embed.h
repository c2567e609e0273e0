/* Files carried inside the binary (embed.S): the bytes from start up to, not including,
 * end. */
#ifndef DETECT_EMBED_H
#define DETECT_EMBED_H

extern const unsigned char embed_lsan_canary_start[];
extern const unsigned char embed_lsan_canary_end[];
extern const unsigned char embed_fault_start[]; /* shim/fault */
extern const unsigned char embed_fault_end[];
extern const unsigned char embed_mutants_start[]; /* shim/mutants.c */
extern const unsigned char embed_mutants_end[];
extern const unsigned char embed_heap_start[]; /* shim/heap */
extern const unsigned char embed_heap_end[];
extern const unsigned char embed_go_cycles_start[]; /* adapters/go/cycles.go */
extern const unsigned char embed_go_cycles_end[];
extern const unsigned char embed_go_tickers_start[];
extern const unsigned char embed_go_tickers_end[];
extern const unsigned char embed_go_time_start[];
extern const unsigned char embed_go_time_end[];
extern const unsigned char embed_python_start[]; /* adapters/python, a zip file */
extern const unsigned char embed_python_end[];

struct embed_file {
	const char *name;
	const unsigned char *start, *end;
};

extern const struct embed_file embed_node[]; /* adapters/node; NULL name at the end */

#endif
