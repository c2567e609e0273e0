/*
 * The allocation calls. Each asks the next allocator, libc's or one that is preloaded or
 * linked behind this library, and keeps the books. libc's own calls (strdup, getline,
 * C++'s operator new) come this way too. Wrappers have names of their own and the symbol
 * of the call, and frame pointers: where the walk begins.
 */
#include "heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define SYMBOL(name) __asm__(#name) __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wpedantic" /* data pointers that are functions */

enum { FIRST_ROOM = 16384 }; /* bytes, for dlsym() itself */

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*usable)(const void *);
	int (*dlclose)(void *);
} next;

enum { NEW, RECORDING, OFF };

uintptr_t heap_arenas[ARENAS];
uint64_t heap_lost_blocks, heap_lost_stacks, heap_allocations;
__thread int heap_busy;
static int state;
static int glibc; /* the next allocator is libc's: chunks have its header */
static struct lock starting;
static _Alignas(16) char first[FIRST_ROOM];
static size_t first_used;

/* NOLINTNEXTLINE(bugprone-reserved-identifier): glibc's. */
void *__libc_malloc(size_t n) __attribute__((weak));

/* ---- the next allocator ---- */

/* dlsym() may allocate before there is anything to ask. */
static void *first_malloc(size_t n)
{
	size_t size = (n + 15) & ~(size_t)15;
	size_t at = __atomic_fetch_add(&first_used, size, __ATOMIC_RELAXED);

	return at + size <= FIRST_ROOM ? first + at : NULL;
}

static int is_first(const void *p)
{
	return (const char *)p >= first && (const char *)p < first + FIRST_ROOM;
}

static void resolve(void)
{
	int saved = errno;

	heap_busy++;
	next.calloc = dlsym(RTLD_NEXT, "calloc");
	next.realloc = dlsym(RTLD_NEXT, "realloc");
	next.free = dlsym(RTLD_NEXT, "free");
	next.memalign = dlsym(RTLD_NEXT, "memalign");
	next.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	next.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	next.valloc = dlsym(RTLD_NEXT, "valloc");
	next.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
	next.usable = dlsym(RTLD_NEXT, "malloc_usable_size");
	next.dlclose = dlsym(RTLD_NEXT, "dlclose");
	next.malloc = dlsym(RTLD_NEXT, "malloc");
	glibc = __libc_malloc && next.malloc == __libc_malloc;
	heap_busy--;
	errno = saved;
}

/* The first allocation of the process comes before any constructor; what is not seen
 * from then on would hide what it points to. */
static void start(void)
{
	if (!lock_take(&starting))
		return;
	heap_busy++;
	if (!next.malloc)
		resolve();
	if (state == NEW)
		state = memory_init() < 0 || stacks_init() < 0 ? OFF : RECORDING;
	heap_busy--;
	lock_drop(&starting);
}

void heap_off(void)
{
	state = OFF;
}

int heap_is_glibc(void)
{
	return glibc;
}

size_t heap_usable(const void *block)
{
	return next.usable ? next.usable(block) : 0;
}

/* ---- the books ---- */

static void note_arena(uintptr_t block)
{
	uintptr_t heap = block & ~(uintptr_t)(ARENA_SIZE - 1);

	for (size_t i = 0; i < ARENAS; i++) {
		uintptr_t was = 0;

		if (__atomic_load_n(&heap_arenas[i], __ATOMIC_RELAXED) == heap ||
		    __atomic_compare_exchange_n(&heap_arenas[i], &was, heap, 0,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    was == heap)
			return;
	}
}

/* NON_MAIN_ARENA and IS_MMAPPED of the chunk's size. */
static int of_arena(const void *block)
{
	return glibc && (((const size_t *)block)[-1] & 6) == 4;
}

static int only_counts;

__attribute__((visibility("default"))) void HEAP_ONLY_COUNT(void);
void HEAP_ONLY_COUNT(void)
{
	only_counts = 1;
}

static void enter(void *block, size_t size, const void *frame)
{
	int saved = errno;
	uint32_t stack;

	heap_busy = 1;
	__atomic_fetch_add(&heap_allocations, 1, __ATOMIC_RELAXED);
	if (of_arena(block))
		note_arena((uintptr_t)block);
	stack = only_counts ? 0 : stack_here(frame);
	if (!stack && !only_counts)
		__atomic_fetch_add(&heap_lost_stacks, 1, __ATOMIC_RELAXED);
	if (!table_add((uintptr_t)block, size, stack))
		__atomic_fetch_add(&heap_lost_blocks, 1, __ATOMIC_RELAXED);
	heap_busy = 0;
	errno = saved;
}

static inline int recording(void)
{
	return state == RECORDING && !heap_busy;
}

static inline void *entered(void *block, size_t size, const void *frame)
{
	if (block && recording())
		enter(block, size, frame);
	return block;
}

/* Before the block is given back: another thread may get its address at once. */
static int leave(void *block, struct block *ret)
{
	int found;

	heap_busy = 1;
	found = table_remove((uintptr_t)block, ret);
	heap_busy = 0;
	return found;
}

/* ---- the calls ---- */

static inline int ready(void)
{
	if (__builtin_expect(!next.malloc || state == NEW, 0) && !heap_busy)
		start();
	return next.malloc != NULL;
}

void *wrap_malloc(size_t n) SYMBOL(malloc);
void *wrap_malloc(size_t n)
{
	if (!ready())
		return first_malloc(n);
	return entered(next.malloc(n), n, __builtin_frame_address(0));
}

void *wrap_calloc(size_t n, size_t size) SYMBOL(calloc);
void *wrap_calloc(size_t n, size_t size)
{
	if (!ready())
		return first_malloc(n * size);
	return entered(next.calloc(n, size), n * size, __builtin_frame_address(0));
}

void wrap_free(void *p) SYMBOL(free);
void wrap_free(void *p)
{
	struct block b;

	if (!p || is_first(p) || !ready())
		return;
	if (recording() && leave(p, &b))
		stack_freed(b.stack);
	next.free(p);
}

static void *resize(void *p, size_t n, const void *frame)
{
	struct block b = {0};
	int known = p && recording() && leave(p, &b);
	void *moved = next.realloc(p, n);

	if (moved)
		return entered(moved, n, frame);
	/* It is still there, unless it was given back: realloc(p, 0). */
	if (known && n) {
		heap_busy = 1;
		if (!table_add(b.address, b.size, b.stack))
			__atomic_fetch_add(&heap_lost_blocks, 1, __ATOMIC_RELAXED);
		heap_busy = 0;
	} else if (known) {
		stack_freed(b.stack);
	}
	return NULL;
}

void *wrap_realloc(void *p, size_t n) SYMBOL(realloc);
void *wrap_realloc(void *p, size_t n)
{
	if (!ready() || is_first(p)) {
		size_t room = is_first(p) ? (size_t)(first + FIRST_ROOM - (char *)p) : 0;
		void *to = next.malloc ? next.malloc(n) : first_malloc(n);

		return to && p ? memcpy(to, p, n < room ? n : room) : to;
	}
	return resize(p, n, __builtin_frame_address(0));
}

void *wrap_reallocarray(void *p, size_t n, size_t size) SYMBOL(reallocarray);
void *wrap_reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (!ready() || is_first(p))
		return wrap_realloc(p, bytes);
	return resize(p, bytes, __builtin_frame_address(0));
}

int wrap_posix_memalign(void **ret, size_t align, size_t n) SYMBOL(posix_memalign);
int wrap_posix_memalign(void **ret, size_t align, size_t n)
{
	int rc = ready() ? next.posix_memalign(ret, align, n) : ENOMEM;

	if (rc == 0)
		entered(*ret, n, __builtin_frame_address(0));
	return rc;
}

#define ALIGNED(name)                                                               \
	void *wrap_##name(size_t align, size_t n) SYMBOL(name);                     \
	void *wrap_##name(size_t align, size_t n)                                   \
	{                                                                           \
		if (!ready())                                                       \
			return NULL;                                                \
		return entered(next.name(align, n), n, __builtin_frame_address(0)); \
	}
ALIGNED(memalign)
ALIGNED(aligned_alloc)

#define PAGES(name)                                                          \
	void *wrap_##name(size_t n) SYMBOL(name);                            \
	void *wrap_##name(size_t n)                                          \
	{                                                                    \
		if (!ready())                                                \
			return NULL;                                         \
		return entered(next.name(n), n, __builtin_frame_address(0)); \
	}
PAGES(valloc)
PAGES(pvalloc)

/* Other code may come to the addresses of what goes. */
int wrap_dlclose(void *handle) SYMBOL(dlclose);
int wrap_dlclose(void *handle)
{
	int rc;

	if (!ready())
		return -1;
	rc = next.dlclose(handle);
	if (state == RECORDING)
		stacks_forget();
	return rc;
}
