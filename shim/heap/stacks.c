/*
 * Distinct stacks. Nearly every allocation comes from one that was seen before: those
 * are found by the hash of their addresses in `recent`, without a lock. Others get a
 * number by modules and offsets, which stay true when an object is unloaded.
 */
#include "heap.h"
#include "object.h"
#include "walk.h"

#include <string.h>

enum { RECENT = 1 << 16, INDEX = 2 * HEAP_STACKS, OFFSET_BITS = 48 };

/* Halves of different writers make no hit: check is hash and number mixed. */
struct recent {
	uint64_t check;
	uint64_t number;
};

static struct recent *recent;
static struct stack *stacks; /* from 1 */
static uint32_t *numbers;    /* a hash table of them */
static uint64_t *frames;     /* module << OFFSET_BITS | offset */
static struct heap_module *modules;
static uint32_t nstacks, nframes, nmodules;
static uint64_t generation;
static struct lock lock;

int stacks_init(void)
{
	struct walk_rule *rules = memory_take(WALK_RULES * sizeof(*rules));

	recent = memory_take(RECENT * sizeof(*recent));
	stacks = memory_take((HEAP_STACKS + 1) * sizeof(*stacks));
	numbers = memory_take(INDEX * sizeof(*numbers));
	frames = memory_take((size_t)HEAP_STACKS * HEAP_FRAMES * sizeof(*frames));
	modules = memory_take(HEAP_MODULES * sizeof(*modules));
	if (!rules || !recent || !stacks || !numbers || !frames || !modules)
		return -1;
	walk_init(rules);
	return 0;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
	return h ^ (h >> 29);
}

static uint64_t module_of(const char *path)
{
	uint32_t i;

	if (!lock_take(&lock))
		return UINT16_MAX;
	for (i = 0; i < nmodules; i++)
		if (!strcmp(modules[i].path, path))
			break;
	if (i == nmodules && i < HEAP_MODULES) {
		memcpy(modules[i].path, path, strlen(path) + 1);
		nmodules++;
	}
	lock_drop(&lock);
	return i < HEAP_MODULES ? i : UINT16_MAX;
}

static uint64_t frame_of(uintptr_t address)
{
	char path[HEAP_PATH];
	uint64_t offset, module = UINT16_MAX;

	if (!object_of(address, path, sizeof(path), &offset))
		return (uint64_t)UINT16_MAX << OFFSET_BITS;
	module = module_of(path);
	return module << OFFSET_BITS | (offset & ((UINT64_C(1) << OFFSET_BITS) - 1));
}

static int is_same(const struct stack *s, uint64_t hash, const uint64_t *f, uint32_t n)
{
	return s->hash == hash && s->nframes == n &&
	       !memcmp(frames + s->first, f, n * sizeof(*f));
}

static uint32_t find_or_add(uint64_t hash, const uint64_t *f, uint32_t n, uint32_t flags)
{
	uint32_t at = (uint32_t)hash & (INDEX - 1);

	for (; numbers[at]; at = (at + 1) & (INDEX - 1))
		if (is_same(&stacks[numbers[at]], hash, f, n))
			return numbers[at];
	if (nstacks == HEAP_STACKS)
		return 0;
	memcpy(frames + nframes, f, n * sizeof(*f));
	stacks[nstacks + 1] = (struct stack){
		.hash = hash, .first = nframes, .nframes = n, .flags = flags};
	nframes += n;
	numbers[at] = ++nstacks;
	return nstacks;
}

__attribute__((noinline)) static uint32_t intern(const uintptr_t *at, uint32_t n,
						 int whole)
{
	uint64_t f[HEAP_FRAMES], h = 1;
	uint32_t number;

	for (uint32_t i = 0; i < n; i++) {
		f[i] = frame_of(at[i]);
		h = mix(h, f[i]);
	}
	if (!lock_take(&lock))
		return 0;
	number = find_or_add(h, f, n, whole ? HEAP_WHOLE : 0u);
	lock_drop(&lock);
	return number;
}

uint32_t stack_here(const void *frame)
{
	uintptr_t at[HEAP_FRAMES];
	int whole;
	uint32_t n = walk_stack(frame, at, HEAP_FRAMES, &whole);
	uint64_t h = mix(1, __atomic_load_n(&generation, __ATOMIC_RELAXED)), number;
	struct recent *r;

	for (uint32_t i = 0; i < n; i++)
		h = mix(h, at[i]);
	r = &recent[h >> 40 & (RECENT - 1)];
	number = __atomic_load_n(&r->number, __ATOMIC_RELAXED);
	if (number && __atomic_load_n(&r->check, __ATOMIC_RELAXED) ==
			      (h ^ number * UINT64_C(0x9E3779B97F4A7C15)))
		return (uint32_t)number;
	number = intern(at, n, whole);
	if (number) {
		__atomic_store_n(&r->check, h ^ number * UINT64_C(0x9E3779B97F4A7C15),
				 __ATOMIC_RELAXED);
		__atomic_store_n(&r->number, number, __ATOMIC_RELAXED);
	}
	return (uint32_t)number;
}

void stack_freed(uint32_t stack)
{
	if (stack)
		__atomic_fetch_add(&stacks[stack].freed, 1, __ATOMIC_RELAXED);
}

const struct stack *stack_at(uint32_t number)
{
	return number && number <= nstacks ? &stacks[number] : NULL;
}

uint32_t stacks_count(void)
{
	return nstacks;
}

struct heap_frame stack_frame(const struct stack *s, uint32_t i)
{
	uint64_t f = frames[s->first + i];
	uint32_t module = (uint32_t)(f >> OFFSET_BITS);

	return (struct heap_frame){
		.module = module == UINT16_MAX ? UINT32_MAX : module,
		.offset = f & ((UINT64_C(1) << OFFSET_BITS) - 1),
	};
}

const struct heap_module *stack_modules(uint32_t *ret_n)
{
	*ret_n = nmodules;
	return modules;
}

void stacks_forget(void)
{
	walk_forget();
	__atomic_fetch_add(&generation, 1, __ATOMIC_RELAXED);
}

void stacks_lock(void)
{
	lock_take(&lock);
}

void stacks_unlock(void)
{
	lock_drop(&lock);
}
