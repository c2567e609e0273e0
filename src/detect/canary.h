/*
 * The planted leak (shim/lsan_canary.c) on the host's side: the library is written out
 * and preloaded, and the start records that it leaves behind are read back.
 */
#ifndef EXITPATH_DETECT_CANARY_H
#define EXITPATH_DETECT_CANARY_H

#include "base/err.h"
#include "base/strv.h"
#include "model/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CANARY_LIBRARY "exitpath-canary.so"
#define CANARY_FUNCTION "exitpath_canary"
enum { CANARY_SIZE = 4242 }; /* as in shim/lsan_canary.c */

enum instrumented { INSTRUMENTED_NONE, INSTRUMENTED_ASAN, INSTRUMENTED_LSAN };

/* What a process left in DIR/proc.PID: a block for each exec; the last one counts. */
struct start_record {
	pid_t pid, ppid;
	char *exe; /* absolute path as /proc/PID/exe gave it */
	enum instrumented instrumented;
	bool by_name; /* it has leak suppressions, which match functions by name */
	bool forked;  /* it has not called exec since, or to a program without a record */
	bool exited;  /* it ran its exit handlers: it did not leave through _exit() */
};

struct start_records {
	struct start_record *v; /* by pid */
	size_t n, cap;
};

/* Writes the library into dir and puts it first into LD_PRELOAD of env, with dir for
 * its records. dir is absolute, and exists. */
int canary_preload(const char *dir, struct strv *env, struct err *err);

/* text is a record's content; pure, for fuzzing. false: no whole block in it. */
bool start_record_parse(const char *text, size_t len, struct start_record *ret);
/* All of dir; unreadable ones are left out. */
int start_records_read(const char *dir, struct start_records *ret, struct err *err);
const struct start_record *start_record_find(const struct start_records *r, pid_t pid);
/* Does this block of memory come from the canary? */
bool canary_matches(uint64_t bytes, const char *function, const char *module);

/* Is the program that spec starts an ELF file without a dynamic loader? Nothing can be
 * preloaded into it. */
bool program_is_static(const struct run_spec *spec);

void start_record_release(struct start_record *r);
void start_records_release(struct start_records *r);
DEFINE_CLEANUP(start_records)

#endif
