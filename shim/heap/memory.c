#include "heap.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Address space, not memory: pages are made when they are first written to. */
static const size_t sizes[] = {(size_t)2 << 30, (size_t)512 << 20, (size_t)96 << 20};
enum { PAGE = 4096, SPINS = 20000 };

static uintptr_t from, to, next;

/* What the program may map (ulimit -v) is for the program. */
static int is_limited(void)
{
	struct rlimit limit;

	return syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) == 0 &&
	       limit.rlim_cur != RLIM_INFINITY;
}

int memory_init(void)
{
	size_t first = is_limited() ? sizeof(sizes) / sizeof(*sizes) - 1 : 0;

	for (size_t i = first; i < sizeof(sizes) / sizeof(*sizes) && !from; i++) {
		long at = syscall(SYS_mmap, NULL, sizes[i], PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);

		if (at == -1)
			continue;
		from = next = (uintptr_t)at;
		to = from + sizes[i];
		syscall(SYS_madvise, at, sizes[i], MADV_DONTDUMP);
	}
	return from ? 0 : -1;
}

void *memory_take(size_t size)
{
	size_t whole = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
	uintptr_t at = __atomic_fetch_add(&next, whole, __ATOMIC_RELAXED);

	if (at + whole > to) {
		__atomic_fetch_sub(&next, whole, __ATOMIC_RELAXED);
		return NULL;
	}
	return (void *)at; /* NOLINT(performance-no-int-to-ptr) */
}

/* The addresses are not used again. */
void memory_drop(void *at, size_t size)
{
	syscall(SYS_madvise, at, size, MADV_DONTNEED);
}

void memory_range(uintptr_t *ret_from, uintptr_t *ret_to)
{
	*ret_from = from;
	*ret_to = to;
}

int lock_take(struct lock *l)
{
	for (int i = 0; i < SPINS; i++) {
		if (!__atomic_exchange_n(&l->taken, 1, __ATOMIC_ACQUIRE))
			return 1;
		if (i > 100)
			sched_yield();
	}
	return 0;
}

void lock_drop(struct lock *l)
{
	__atomic_store_n(&l->taken, 0, __ATOMIC_RELEASE);
}
