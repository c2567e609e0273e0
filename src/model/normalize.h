/*
 * Names that stay the same over runs and builds: what signatures are made of. All of
 * them would rather merge two names than split one: merged names still count units, a
 * split name looks like a new leak.
 */
#ifndef EXITPATH_MODEL_NORMALIZE_H
#define EXITPATH_MODEL_NORMALIZE_H

#include <stdbool.h>

/*
 * What a descriptor, file, socket or thread is called, without what changes from run to
 * run: pids, inode numbers, ephemeral ports, mkstemp() suffixes, dates, UUIDs become
 * `*`. "/tmp/foo.Ab3xYz" gives "/tmp/foo.*". NULL gives NULL. The caller frees.
 */
char *normalize_target(const char *target);

/*
 * A function without the suffixes that compilers and symbol versioning add: .isra.0,
 * .constprop.1, .part.2, .cold, .lto_priv.3, .llvm.123, [clone …], @GLIBC_2.2.5,
 * +0x1f, Rust's ::h0123456789abcdef. At most FUNCTION_MAX bytes: longer ones are cut
 * and end in a digest. NULL and "" give "?". The caller frees.
 */
#define FUNCTION_MAX 160
char *normalize_function(const char *function);

/* A module's file name, without directory and "(BuildId: …)". NULL and "" give "?". */
char *normalize_module(const char *module);

/* Allocators, interceptors, the start of a process or a thread: in every stack alike. */
bool function_is_runtime(const char *function);
/* A sanitizer's, valgrind's or exitpath's own library. */
bool module_is_detector(const char *module);
/* The C or C++ library and the loader: theirs is the allocation, not the leak. */
bool module_is_libc(const char *module);

#endif
