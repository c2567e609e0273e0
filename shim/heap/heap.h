/* Inside of the heap library. */
#ifndef SHIM_HEAP_H
#define SHIM_HEAP_H

#include "abi/heap.h"

#include <stddef.h>
#include <stdint.h>

/* ---- memory.c: pages of our own, in one range, which the scan leaves out ---- */

int memory_init(void);		/* 0, or -1: nothing can be recorded */
void *memory_take(size_t size); /* zeroed, of whole pages; NULL: none is left */
void memory_drop(void *at, size_t size);
void memory_range(uintptr_t *ret_from, uintptr_t *ret_to);

/* A lock that gives up: its holder may be a thread that a raw clone() did not copy. */
struct lock {
	uint32_t taken;
};
int lock_take(struct lock *l); /* 0: given up */
void lock_drop(struct lock *l);

/* ---- table.c: the live blocks ---- */

struct block {
	uint64_t address;
	uint64_t size : 40, stack : 24; /* larger ones are cut */
};
_Static_assert(sizeof(struct block) == 16, "a block is two words");

int table_add(uintptr_t address, size_t size, uint32_t stack); /* 0: no room */
int table_remove(uintptr_t address, struct block *ret);	       /* 0: not known */
/* All of them, unordered, at most max; the number of all. */
size_t table_list(struct block *to, size_t max);
void table_lock(void); /* around fork() */
void table_unlock(void);

/* ---- stacks.c ---- */

struct stack {
	uint64_t hash; /* of modules and offsets */
	uint64_t freed;
	uint32_t first, nframes, flags, pad;
};

int stacks_init(void);
/* The number of the stack above the function with this frame; 0: no room. */
uint32_t stack_here(const void *frame);
void stack_freed(uint32_t stack);
const struct stack *stack_at(uint32_t number); /* NULL: none */
uint32_t stacks_count(void);		       /* numbers run from 1 to this */
struct heap_frame stack_frame(const struct stack *s, uint32_t i);
const struct heap_module *stack_modules(uint32_t *ret_n);
void stacks_forget(void); /* after objects were unloaded */
void stacks_lock(void);
void stacks_unlock(void);

/* ---- scan.c ---- */

enum reach { REACH_LOST, REACH_INDIRECT, REACH_HELD };

struct scanned {
	uint64_t address, size;
	uint32_t stack;
	uint32_t reach; /* enum reach */
};

struct scan {
	struct scanned *blocks; /* by address */
	size_t n;
	uint64_t bytes; /* read */
	int unscanned;	/* what is pointed to is not known: all are REACH_HELD */
};
/* stack: below it nothing of this thread's stack is looked at. */
void scan_all(struct scan *s, const void *stack);

/* ---- report.c ---- */

/* Process pid, 0: this one, is about to become this program, HEAP_EXEC. keep: a record
 * that is there stays, for the program may have made it. */
void heap_becomes(int32_t pid, const char *file, int keep);
void heap_stays(void); /* it did not */

/* ---- wrap.c ---- */

enum { ARENAS = 256, ARENA_SIZE = 64 << 20 }; /* glibc's HEAP_MAX_SIZE on 64 bits */
extern uintptr_t heap_arenas[ARENAS];	      /* heaps of glibc's threads seen so far */
extern uint64_t heap_lost_blocks, heap_lost_stacks, heap_allocations;
size_t heap_usable(const void *block);
int heap_is_glibc(void);       /* the allocator behind */
void heap_off(void);	       /* from now on nothing is recorded */
extern __thread int heap_busy; /* this library is at work: nothing is recorded */

#endif
