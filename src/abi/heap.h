/*
 * What a process leaves in DIR/heap.PID (shim/heap writes it, detect/heap_report.c reads
 * it): the header alone from its start, in state HEAP_RUNNING; at its exit the header
 * once more, then modules, stacks, frames and the end mark, in this order and without
 * gaps. Fixed width, no pointers, no functions. The file is foreign: the program under
 * test may write to it.
 */
#ifndef EXITPATH_ABI_HEAP_H
#define EXITPATH_ABI_HEAP_H

#include <stdint.h>

#define HEAP_ENV "EXITPATH_HEAP" /* the directory */

/* Of shim/fault, where that is preloaded too; at exit the heap library tells it what it
 * counted. Not 0: the process is a child that was forked at a point, and writes no
 * record. */
#define HEAP_TELL exitpath_fault_heap
/* Of shim/heap, called by shim/fault in such a child: from now on blocks have no stack,
 * since nobody asks for it. A walk costs several times what the allocation does. */
#define HEAP_ONLY_COUNT exitpath_heap_only_count

enum {
	HEAP_MAGIC = 0x65706831, /* "eph1" */
	HEAP_END = 0x656e6431,	 /* "end1" */
	HEAP_FRAMES = 40,	 /* innermost first: the caller of malloc */
	HEAP_STACKS = 1 << 16,	 /* distinct ones */
	HEAP_MODULES = 512,
	HEAP_PATH = 512,
	HEAP_CANARY_SIZE = 4243, /* bytes; unlike any other's canary */
};

enum heap_state {
	HEAP_RUNNING = 1,
	HEAP_ENDED, /* the report is whole */
	HEAP_EXEC,  /* it was about to become another program */
};

enum heap_flags {
	HEAP_FORKED = 1,     /* by fork(), and no exec since: it inherited blocks */
	HEAP_SANITIZED = 2,  /* ASan or LSan is in the process: nothing is recorded */
	HEAP_OWN_MALLOC = 4, /* the program defines malloc: nothing is seen */
	HEAP_UNSCANNED = 8,  /* its memory could not be read, or was too much to read:
				what is pointed to is not known */
	HEAP_FORCED = 16,    /* it left through _exit(): its exit handlers did not run */
	HEAP_FOREIGN = 32,   /* the allocator is not glibc's */
};

struct heap_header {
	uint32_t magic, state;
	int32_t pid, ppid;
	uint32_t flags;
	uint32_t nmodules, nstacks, nframes;
	/* What found no room: blocks, stacks. Not 0: the report is not complete. */
	uint64_t lost_blocks, lost_stacks;
	uint64_t allocations;		  /* since the start of the process */
	uint64_t held_blocks, held_bytes; /* at its exit, but for the canaries */
	uint64_t scanned_bytes;
	uint64_t canary_lost, canary_held; /* 1 each: the planted blocks were judged as
					      they are */
	char exe[HEAP_PATH * 2];	   /* /proc/self/exe; cut: the tail is kept */
};

struct heap_module {
	char path[HEAP_PATH]; /* as the loader has it; cut: the tail is kept */
};

enum heap_stack_flags {
	HEAP_WHOLE = 1, /* it goes back to the start of the program or thread */
};

/* The blocks that one stack allocated. */
struct heap_stack {
	uint32_t first_frame, nframes; /* in the frames of the file */
	uint32_t flags, pad;
	uint64_t lost_blocks, lost_bytes; /* that nothing points to … */
	/* … but other such blocks: they are released with those. */
	uint64_t indirect_blocks, indirect_bytes;
	uint64_t reachable_blocks, reachable_bytes;
	uint64_t freed; /* blocks that the program gave back; realloc() is none */
};

struct heap_frame {
	uint32_t module; /* index; UINT32_MAX: none */
	uint32_t pad;
	uint64_t offset; /* as the module's own headers count */
};

#endif
