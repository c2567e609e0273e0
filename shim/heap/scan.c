/*
 * Which blocks are pointed to, at the exit of the process. As LeakSanitizer does it: a
 * word that is an address within a block keeps it, wherever the word stands in what the
 * program can write to: data of the objects, the stack above the exit handler, memory
 * that it mapped itself, and blocks that are kept. Left out is what glibc's allocator
 * manages ([heap], and the heaps of its threads), where pointers of freed memory stay
 * behind, and this library's own memory.
 *
 * Other threads may still run, and unmap what is being read: the kernel copies it, and
 * says where it cannot. All is bounded: by bytes, by time, by the number of blocks.
 */
#include "heap.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SCAN_BYTES (UINT64_C(8) << 30)
enum {
	PIECE = 1 << 16,   /* bytes copied at a time */
	SCAN_SECONDS = 20, /* of this thread's processor time */
	PAGE = 4096,
	SPARSE_FROM = 1 << 20, /* mappings from this on are asked which pages they have */
	MAP_PAGES = 512,       /* asked at a time */
	SMALL = PAGE,	       /* no page of smaller blocks can be taken away */
};
#define PAGE_THERE (UINT64_C(3) << 62) /* in memory or in swap: pagemap(5) */

struct work {
	struct scan *scan;
	uint32_t *todo; /* blocks to be read */
	size_t ntodo;
	uintptr_t low, high; /* of all blocks */
	uintptr_t piece[PIECE / sizeof(uintptr_t)];
	char maps[PIECE];
	uint64_t pages[MAP_PAGES];
	uintptr_t stack; /* where this thread's begins */
	int pagemap, alone;
	long memory;	/* /proc/self/mem; -1: it cannot be opened */
	uint32_t reach; /* what is found is marked so */
};

/* ---- blocks ---- */

static void sift(struct scanned *v, size_t at, size_t n)
{
	struct scanned moved = v[at];

	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && v[child + 1].address > v[child].address)
			child++;
		if (v[child].address <= moved.address)
			break;
		v[at] = v[child];
	}
	v[at] = moved;
}

static void sort(struct scanned *v, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(v, i, n);
	for (size_t i = n; i-- > 1;) {
		struct scanned largest = v[0];

		v[0] = v[i];
		v[i] = largest;
		sift(v, 0, i);
	}
}

/* The first block that ends above the address, or n. */
static size_t block_from(const struct scan *s, uintptr_t address)
{
	size_t from = 0, to = s->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (s->blocks[mid].address + s->blocks[mid].size <= address)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/*
 * glibc's bins hold the addresses of free chunks, 16 bytes below what malloc() returns:
 * that is the last word of the block before, when it uses all of its room.
 */
static int is_chunk_behind(const struct scanned *b, uintptr_t word)
{
	if (word == b->address || word - b->address + sizeof(word) < b->size)
		return 0;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	return word == b->address + heap_usable((const void *)b->address) - sizeof(word);
}

static void look(struct work *w, uintptr_t word)
{
	struct scanned *b;
	size_t i;

	if (word < w->low || word >= w->high)
		return;
	i = block_from(w->scan, word);
	b = &w->scan->blocks[i];
	if (i == w->scan->n || word < b->address || b->reach >= w->reach ||
	    is_chunk_behind(b, word))
		return;
	b->reach = w->reach;
	w->todo[w->ntodo++] = (uint32_t)i;
}

/* ---- memory ---- */

static int over(struct work *w)
{
	struct timespec now;

	if (w->scan->bytes > SCAN_BYTES)
		return 1;
	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec > SCAN_SECONDS;
}

static void look_at_words(struct work *w, const uintptr_t *words, size_t bytes)
{
	w->scan->bytes += bytes;
	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		look(w, words[i]);
}

/* The kernel copies: what is not there, or may not be read, is -1. A process that is not
 * dumpable has no /proc/self/mem, and sandboxes like to refuse process_vm_readv(). */
static long copy(struct work *w, uintptr_t from, size_t n)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	struct iovec there = {(void *)from, n}, here = {w->piece, n};

	if (w->memory >= 0)
		return syscall(SYS_pread64, w->memory, w->piece, n, from);
	return syscall(SYS_process_vm_readv, syscall(SYS_getpid), &here, 1L, &there, 1L,
		       0L);
}

/* What can be read of it. Pieces shrink to pages where one cannot. */
static void read_range(struct work *w, uintptr_t from, uintptr_t to)
{
	size_t most = PIECE;

	from = (from + sizeof(uintptr_t) - 1) & ~(sizeof(uintptr_t) - 1);
	while (from + sizeof(uintptr_t) <= to && !w->scan->unscanned) {
		size_t n = to - from < most ? to - from : most;
		long got = copy(w, from, n);

		if (got > 0)
			look_at_words(w, w->piece, (size_t)got);
		else if (most == PIECE)
			got = 0;
		else
			got = (long)(PAGE - (from & (PAGE - 1)));
		most = got ? PIECE : PAGE;
		from += (size_t)got;
		if (most == PIECE && over(w))
			w->scan->unscanned = 1;
	}
}

/* A mapping without the blocks that lie in it: those count when they are kept. */
static void read_between_blocks(struct work *w, uintptr_t from, uintptr_t to)
{
	const struct scan *s = w->scan;

	for (size_t i = block_from(s, from); from < to; i++) {
		uintptr_t stop =
			i < s->n && s->blocks[i].address < to ? s->blocks[i].address : to;

		if (stop > from)
			read_range(w, from, stop);
		if (stop == to)
			break;
		if (s->blocks[i].address + s->blocks[i].size > from)
			from = s->blocks[i].address + s->blocks[i].size;
	}
}

/* Runs of pages that are there: a reserved range may be larger than all memory. */
static void read_pages(struct work *w, uintptr_t from, uintptr_t to)
{
	while (from < to) {
		size_t n = (to - from + PAGE - 1) / PAGE;
		size_t bytes = (n < MAP_PAGES ? n : MAP_PAGES) * sizeof(uint64_t);
		long got = syscall(SYS_pread64, w->pagemap, w->pages, bytes,
				   (long)(from / PAGE * sizeof(uint64_t)));

		if (got <= 0) {
			read_between_blocks(w, from, to);
			return;
		}
		n = (size_t)got / sizeof(uint64_t);
		for (size_t i = 0; i < n;) {
			size_t end = i;

			while (end < n && w->pages[end] & PAGE_THERE)
				end++;
			if (end > i)
				read_between_blocks(w, from + i * PAGE,
						    from + end * PAGE);
			i = end + 1;
		}
		from += n * PAGE;
	}
}

/* Without [from, to) of others. */
static int cut(uintptr_t *from, uintptr_t *to, uintptr_t other, uintptr_t other_to,
	       void (*rest)(struct work *, uintptr_t, uintptr_t), struct work *w)
{
	if (other >= *to || other_to <= *from)
		return *from < *to;
	if (other > *from)
		rest(w, *from, other);
	*from = other_to;
	return *from < *to;
}

/* A mapping may be several that lie side by side. */
static void read_mapping(struct work *w, uintptr_t from, uintptr_t to)
{
	uintptr_t own, own_to;

	memory_range(&own, &own_to);
	if (!cut(&from, &to, own, own_to, read_mapping, w))
		return;
	for (size_t i = 0; i < ARENAS && heap_arenas[i]; i++)
		if (!cut(&from, &to, heap_arenas[i], heap_arenas[i] + ARENA_SIZE,
			 read_mapping, w))
			return;
	if (w->stack >= from && w->stack < to)
		from = w->stack;
	if (to - from >= SPARSE_FROM && w->pagemap >= 0)
		read_pages(w, from, to);
	else
		read_between_blocks(w, from, to);
}

/* ---- /proc/self/maps ---- */

static uintptr_t hex(const char **s)
{
	uintptr_t v = 0;

	for (;; (*s)++) {
		char c = **s;

		if (c >= '0' && c <= '9')
			v = v * 16 + (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (uintptr_t)(c - 'a' + 10);
		else
			return v;
	}
}

static const char *field(const char *s)
{
	while (*s && *s != ' ')
		s++;
	while (*s == ' ')
		s++;
	return s;
}

static int starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* "7f00-7f01 rw-p 00000000 00:00 0    /path" */
static void take_mapping(struct work *w, const char *line)
{
	uintptr_t from, to;
	const char *access, *name;
	int anonymous;

	from = hex(&line);
	if (*line++ != '-')
		return;
	to = hex(&line);
	access = field(line);
	name = field(field(field(field(access))));
	anonymous = !*name || starts(name, "[anon:");
	if (from >= to || access[0] != 'r' || (access[1] != 'w' && !anonymous))
		return;
	if (starts(name, "[heap]") || starts(name, "[v") ||
	    (starts(name, "/dev/") && !starts(name, "/dev/zero") &&
	     !starts(name, "/dev/shm/")))
		return;
	read_mapping(w, from, to);
}

/* Mappings that come while they are listed are our own. */
static void read_roots(struct work *w)
{
	long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t kept = 0;
	long got;

	if (fd < 0) {
		w->scan->unscanned = 1;
		return;
	}
	while (!w->scan->unscanned &&
	       (got = syscall(SYS_read, fd, w->maps + kept, PIECE - 1 - kept)) > 0) {
		char *line = w->maps, *end;

		w->maps[kept + (size_t)got] = '\0';
		while ((end = strchr(line, '\n'))) {
			*end = '\0';
			take_mapping(w, line);
			line = end + 1;
		}
		kept = strlen(line);
		memmove(w->maps, line, kept);
	}
	syscall(SYS_close, fd);
}

/* ---- from block to block ---- */

static void read_block(struct work *w, const struct scanned *b)
{
	if (w->alone && b->size < SMALL)
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		look_at_words(w, (const uintptr_t *)b->address, b->size);
	else
		read_range(w, b->address, b->address + b->size);
}

static void follow(struct work *w)
{
	while (w->ntodo && !w->scan->unscanned) {
		read_block(w, &w->scan->blocks[w->todo[--w->ntodo]]);
		if (w->alone && !(w->ntodo & 1023) && over(w))
			w->scan->unscanned = 1;
	}
}

/*
 * What a lost block points to is lost with it. Of blocks that point to each other in a
 * circle the first one stands for all.
 */
static void find_indirect(struct work *w)
{
	struct scan *s = w->scan;

	w->reach = REACH_INDIRECT;
	for (size_t i = 0; i < s->n && !s->unscanned; i++) {
		if (s->blocks[i].reach != REACH_LOST)
			continue;
		/* Not found by its own words. */
		s->blocks[i].reach = REACH_INDIRECT;
		read_block(w, &s->blocks[i]);
		follow(w);
		s->blocks[i].reach = REACH_LOST;
	}
}

static int one_task(void)
{
	static char text[512];
	long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
	long got = fd < 0 ? -1 : syscall(SYS_read, fd, text, sizeof(text) - 1);
	const char *s;

	if (fd >= 0)
		syscall(SYS_close, fd);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	s = strrchr(text, ')');
	/* num_threads is the 20th field, and the name before is the 2nd. */
	for (int i = 2; s && i < 20; i++)
		s = field(s);
	return s && *s == '1' && s[1] == ' ';
}

static int list_blocks(struct scan *s)
{
	size_t room = table_list(NULL, 0) + 1024, n;
	struct block *list = memory_take(room * sizeof(*list));

	s->blocks = memory_take(room * sizeof(*s->blocks));
	if (!list || !s->blocks)
		return -1;
	n = table_list(list, room);
	s->n = n < room ? n : room;
	for (size_t i = 0; i < s->n; i++)
		s->blocks[i] = (struct scanned){
			.address = list[i].address,
			.size = list[i].size ? list[i].size : 1,
			.stack = list[i].stack,
			.reach = REACH_LOST,
		};
	sort(s->blocks, s->n);
	return 0;
}

static void give_up(struct scan *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->blocks[i].reach = REACH_HELD;
}

void scan_all(struct scan *s, const void *stack)
{
	struct work *w = memory_take(sizeof(*w));

	*s = (struct scan){0};
	if (list_blocks(s) < 0 || !w || !(w->todo = memory_take(s->n * 4 + 4))) {
		s->unscanned = 1;
		give_up(s);
		return;
	}
	w->scan = s;
	w->stack = (uintptr_t)stack;
	w->reach = REACH_HELD;
	w->alone = one_task();
	w->memory = syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC);
	if (s->n) {
		w->low = s->blocks[0].address;
		w->high = s->blocks[s->n - 1].address + s->blocks[s->n - 1].size;
	}
	w->pagemap = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap",
				  O_RDONLY | O_CLOEXEC);
	read_roots(w);
	follow(w);
	find_indirect(w);
	if (w->pagemap >= 0)
		syscall(SYS_close, w->pagemap);
	if (w->memory >= 0)
		syscall(SYS_close, w->memory);
	if (s->unscanned)
		give_up(s);
}
