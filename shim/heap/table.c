/* The live blocks by address: open addressing with linear probing, in shards. */
#include "heap.h"

#include <string.h>

enum {
	SHARD_BITS = 6,
	SHARDS = 1 << SHARD_BITS,
	FIRST_BITS = 8,
	MOST_BITS = 19, /* of a shard: 8 MiB, 32 million blocks in all */
};

struct shard {
	struct lock lock;
	uint32_t bits; /* 2^bits slots */
	uint32_t used;
	struct block *slots;
} __attribute__((aligned(64)));

static struct shard shards[SHARDS];

static uint64_t hash(uint64_t address)
{
	return (address >> 4) * UINT64_C(0x9E3779B97F4A7C15);
}

static struct shard *shard_of(uint64_t address)
{
	return &shards[hash(address) >> (64 - SHARD_BITS)];
}

static uint32_t slot_of(const struct shard *s, uint64_t address)
{
	return (uint32_t)(hash(address) >> (64 - SHARD_BITS - MOST_BITS)) &
	       ((1u << s->bits) - 1);
}

static void put(struct shard *s, const struct block *b)
{
	uint32_t mask = (1u << s->bits) - 1, at = slot_of(s, b->address);

	while (s->slots[at].address && s->slots[at].address != b->address)
		at = (at + 1) & mask;
	s->used += !s->slots[at].address;
	s->slots[at] = *b;
}

static int grow(struct shard *s)
{
	struct shard wider = {.bits = s->slots ? s->bits + 1 : FIRST_BITS};

	if (wider.bits > MOST_BITS)
		return 0;
	wider.slots = memory_take(sizeof(struct block) << wider.bits);
	if (!wider.slots)
		return 0;
	for (uint32_t i = 0; s->slots && i < 1u << s->bits; i++)
		if (s->slots[i].address)
			put(&wider, &s->slots[i]);
	if (s->slots)
		memory_drop(s->slots, sizeof(struct block) << s->bits);
	s->slots = wider.slots;
	s->bits = wider.bits;
	return 1;
}

int table_add(uintptr_t address, size_t size, uint32_t stack)
{
	const size_t most = (UINT64_C(1) << 40) - 1;
	const struct block b = {
		.address = address,
		.size = (size < most ? size : most) & most,
		.stack = stack & 0xffffff,
	};
	struct shard *s = shard_of(address);
	int room;

	if (!lock_take(&s->lock))
		return 0;
	room = s->slots && s->used < (1u << s->bits) / 4 * 3;
	if (!room)
		room = grow(s);
	if (room)
		put(s, &b);
	lock_drop(&s->lock);
	return room;
}

/* Moves the blocks behind it up, so that no search ends at the hole. */
static void close_gap(struct shard *s, uint32_t hole)
{
	uint32_t mask = (1u << s->bits) - 1;

	for (uint32_t at = (hole + 1) & mask; s->slots[at].address;
	     at = (at + 1) & mask) {
		uint32_t home = slot_of(s, s->slots[at].address);

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		s->slots[hole] = s->slots[at];
		hole = at;
	}
	s->slots[hole] = (struct block){0};
	s->used--;
}

int table_remove(uintptr_t address, struct block *ret)
{
	struct shard *s = shard_of(address);
	uint32_t at, mask;
	int found = 0;

	if (!__atomic_load_n(&s->slots, __ATOMIC_RELAXED) || !lock_take(&s->lock))
		return 0;
	mask = (1u << s->bits) - 1;
	at = slot_of(s, address);
	while (s->slots[at].address && s->slots[at].address != address)
		at = (at + 1) & mask;
	if (s->slots[at].address) {
		*ret = s->slots[at];
		close_gap(s, at);
		found = 1;
	}
	lock_drop(&s->lock);
	return found;
}

size_t table_list(struct block *to, size_t max)
{
	size_t n = 0;

	for (size_t k = 0; k < SHARDS; k++) {
		struct shard *s = &shards[k];
		int locked = lock_take(&s->lock);

		for (uint32_t i = 0; s->slots && i < 1u << s->bits; i++) {
			if (!s->slots[i].address)
				continue;
			if (n < max)
				to[n] = s->slots[i];
			n++;
		}
		if (locked)
			lock_drop(&s->lock);
	}
	return n;
}

void table_lock(void)
{
	for (size_t k = 0; k < SHARDS; k++)
		lock_take(&shards[k].lock);
}

void table_unlock(void)
{
	for (size_t k = 0; k < SHARDS; k++)
		lock_drop(&shards[k].lock);
}
