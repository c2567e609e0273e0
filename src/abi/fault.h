/*
 * Records between the fault shim (shim/fault, inside the process under test) and
 * exitpath. One file per run, made by exitpath, mapped by every process of the tree that
 * has the shim: path in $EXITPATH_FAULT. Fixed width, no pointers, no functions but
 * inline ones.
 */
#ifndef EXITPATH_ABI_FAULT_H
#define EXITPATH_ABI_FAULT_H

#include <stdint.h>

#define FAULT_ENV "EXITPATH_FAULT"

enum {
	FAULT_MAGIC = 0x65706631, /* "epf1" */
	FAULT_FRAMES = 24,	  /* innermost first: the caller of the wrapped call */
	FAULT_POINTS = 16384,
	FAULT_MODULES = 512,
	FAULT_PATH = 232,
};

enum fault_mode {
	FAULT_OFF,
	FAULT_RECORD, /* note every distinct stack that makes a call of the classes */
	FAULT_ONCE,   /* fail the occurrence of the key, and nothing else */
	FAULT_FOREVER /* … and every later call of the classes, whatever its stack */
};

/* A mapped object: frames are offsets in it, the same in every run. */
struct fault_module {
	char path[FAULT_PATH]; /* as /proc/self/maps has it; cut: the tail is kept */
};

struct fault_frame {
	uint32_t module; /* index; UINT32_MAX: none */
	uint32_t pad;
	uint64_t offset;
};

struct fault_point {
	uint64_t key; /* of call, variant and frames (module file names, offsets); 0: free
		       */
	uint32_t call; /* row of calls.def */
	uint32_t nframes;
	uint64_t count;	   /* how often it was reached, by all processes */
	int32_t pid;	   /* that reached it first */
	uint32_t flags;	   /* enum fault_flags when first reached */
	char argument[64]; /* a path, a statement: for people; printable ASCII, cut */
	struct fault_frame frames[FAULT_FRAMES];
};

enum fault_flags {
	FAULT_THREADS = 1,  /* more than one thread */
	FAULT_SOCKETS = 2,  /* a connected socket is open */
	FAULT_DATABASE = 4, /* a database handle was made */
	FAULT_CHILDREN = 8, /* it has children */
	/* A call that must be reported (calls.def), on a file that is being written */
	FAULT_WRITTEN = 16,
};

/* Of calls.def; struct fault_map holds bits 1 << class. */
enum fault_class {
	FAULT_CLASS_MEMORY,
	FAULT_CLASS_FILE,
	FAULT_CLASS_NET,
	FAULT_CLASS_PROCESS,
	FAULT_CLASS_DATABASE, /* no rows yet */
	FAULT_CLASSES
};

struct fault_map {
	uint32_t magic, mode;
	uint32_t classes;    /* bits of enum fault_class */
	uint32_t call;	     /* only this row; UINT32_MAX: all of the classes */
	uint64_t key;	     /* FAULT_ONCE, FAULT_FOREVER */
	uint64_t occurrence; /* from 1, in the process that reaches it first */
	int32_t errnum;	     /* 0: the row's first */
	uint32_t variant;    /* enum fault_variant */
	/* written by the shim, with atomic operations */
	uint32_t loaded;		  /* processes that mapped it */
	uint32_t npoints, nmodules, lost; /* lost: points that found no room */
	uint64_t calls;			  /* wrapped calls of the classes, all */
	uint32_t fired;			  /* how often a call was made to fail */
	int32_t fired_pid;
	struct fault_module modules[FAULT_MODULES];
	struct fault_point points[FAULT_POINTS];
};

enum fault_variant {
	FAULT_FAIL,  /* the failure value, errno set, nothing done */
	FAULT_SHORT, /* read, write: one byte less than asked for, at least one */
	FAULT_EINTR,
};

#endif
