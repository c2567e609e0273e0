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
	FAULT_LATE_MAX = 2, /* children that may be late before no more are made */
};

enum fault_mode {
	FAULT_OFF,
	FAULT_RECORD,  /* note every distinct stack that makes a call of the classes */
	FAULT_ONCE,    /* fail the occurrence of the key, and nothing else */
	FAULT_FOREVER, /* … and every later call of the classes, whatever its stack */
	FAULT_EXPLORE  /* fork at the keys of `trials`, fail in the child, and go on */
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

/* Ways to fail, each a point of its own with a key of its own. */
enum fault_variant {
	FAULT_FAIL, /* the failure value, errno set, nothing done */
	FAULT_EINTR,
	FAULT_SHORT, /* it is done for one byte less than asked for */
	FAULT_VARIANTS
};

struct fault_point {
	uint64_t key; /* of call, variant and frames (module file names, offsets); 0: free
		       */
	uint32_t call;		   /* row of calls.def */
	uint16_t nframes, variant; /* enum fault_variant */
	uint64_t count;		   /* how often it was reached, by all processes */
	int32_t pid;		   /* that reached it first */
	uint32_t flags;		   /* enum fault_flags when first reached */
	char argument[128]; /* a path, a statement: for people; printable ASCII, cut */
	struct fault_frame frames[FAULT_FRAMES];
};

enum fault_flags {
	FAULT_THREADS = 1,  /* more than one thread */
	FAULT_SOCKETS = 2,  /* a socket is open */
	FAULT_DATABASE = 4, /* a database handle was made */
	FAULT_CHILDREN = 8, /* it has children */
	/* A call that must be reported (calls.def), on a file that is being written */
	FAULT_WRITTEN = 16,
	FAULT_FILES = 32,	/* a file is open for writing, or memory is shared */
	FAULT_DEVICES = 64,	/* a pipe, terminal, epoll, timer … is open */
	FAULT_TIMERS = 128,	/* an interval timer runs */
	FAULT_SANITIZED = 256,	/* a sanitizer's runtime is loaded */
	FAULT_DESCENDANT = 512, /* not the process that the run has started */
	FAULT_SCRATCH = 1024,	/* TMPDIR holds too much to be copied */
	/* Any of these: the process must not be forked there (shim/fault/fork.c). */
	FAULT_UNSAFE = 2047 & ~FAULT_WRITTEN,
};

/* What became of a key of FAULT_EXPLORE. */
enum fault_trial_state {
	TRIAL_NOT_REACHED,
	TRIAL_UNSAFE, /* why: enum fault_flags */
	TRIAL_BEGUN,
	TRIAL_LEFT, /* the child would have changed what is not its own: why is the number
		       of the system call */
	TRIAL_LATE, /* it was killed at its deadline */
	TRIAL_ENDED,
};

struct fault_trial {
	uint64_t key;	/* of exitpath; 0: free. At key % FAULT_POINTS or after it */
	uint32_t state; /* enum fault_trial_state */
	uint32_t why;
	/* of TRIAL_ENDED: */
	int32_t status; /* as waitpid() has it */
	uint32_t fired;
	uint64_t reached;    /* the key, in parent and child */
	uint64_t written[2]; /* bytes on stdout and stderr before the fork */
	uint32_t held;	     /* descriptors above 2 at exit; UINT32_MAX: not counted */
	uint32_t left;	     /* entries of TMPDIR at exit */
	uint64_t names;	     /* of what is held: a sum of hashes */
	/* Blocks at exit that nothing points to, and all, as the heap library counts
	 * them; UINT64_MAX: it did not. */
	uint64_t lost_blocks, held_blocks;
};

/* Of calls.def; struct fault_map holds bits 1 << class. */
enum fault_class {
	FAULT_CLASS_MEMORY,
	FAULT_CLASS_FILE,
	FAULT_CLASS_NET,
	FAULT_CLASS_PROCESS,
	FAULT_CLASS_DATABASE,
	FAULT_CLASSES
};

struct fault_map {
	uint32_t magic, mode;
	uint32_t classes;    /* bits of enum fault_class */
	uint32_t call;	     /* only this row; UINT32_MAX: all of the classes */
	uint64_t key;	     /* FAULT_ONCE, FAULT_FOREVER */
	uint64_t occurrence; /* from 1, in the process that reaches it first */
	int32_t errnum;	     /* 0: the row's first */
	uint32_t spare;
	/* written by the shim, with atomic operations */
	uint32_t loaded;		  /* processes that mapped it */
	uint32_t npoints, nmodules, lost; /* lost: points that found no room */
	uint64_t calls;			  /* wrapped calls of the classes, all */
	uint32_t fired;			  /* how often a call was made to fail */
	int32_t fired_pid;
	/* FAULT_EXPLORE, by exitpath. The directory `fork` beside the map takes outputs:
	 * out and err of the run, KEY.out and KEY.err of a child. */
	uint32_t forever;	  /* children fail as with FAULT_FOREVER */
	uint32_t deadline_ms;	  /* of each child */
	char scratch[FAULT_PATH]; /* TMPDIR */
	/* by the shim: */
	int32_t root;	/* the process that the run has started; 0: none yet */
	uint32_t held;	/* as in fault_trial, of the run itself */
	uint64_t names; /* … */
	uint32_t late;	/* children that were */
	uint32_t pad;
	uint64_t lost_blocks, held_blocks; /* as in fault_trial, of the run itself */
	struct fault_module modules[FAULT_MODULES];
	struct fault_point points[FAULT_POINTS];
	struct fault_trial trials[FAULT_POINTS];
};

#endif
