#include "walk.h"

#include <stddef.h>
#include <unwind.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
/* NOLINTEND(bugprone-reserved-identifier) */

/* ---- by libgcc ---- */

struct walk {
	uintptr_t *to;
	uint32_t n, max;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *arg)
{
	struct walk *w = arg;
	int before = 0;
	uintptr_t at = _Unwind_GetIPInfo(context, &before);

	if (!at)
		return _URC_END_OF_STACK;
	if (at >= (uintptr_t)__ehdr_start && at < (uintptr_t)_end)
		return _URC_NO_REASON;
	w->to[w->n++] = before ? at : at - 1;
	return w->n == w->max ? _URC_END_OF_STACK : _URC_NO_REASON;
}

uint32_t walk_slowly(uintptr_t *ret, uint32_t max)
{
	struct walk w = {.to = ret, .max = max};

	_Unwind_Backtrace(step, &w);
	return w.n;
}

#if defined(__x86_64__)

/* ---- by rules ---- */

enum { RBP = 6, RSP = 7, RETURN_ADDRESS = 16, COLUMNS = 18 };

/* libgcc's (unwind-dw2.c), for compilers before 3.0 and there ever since; whether this
 * is still its shape is tried out by walk_init(). */
struct frame_state {
	void *cfa, *eh_ptr;
	long cfa_offset, args_size, reg_or_offset[COLUMNS];
	unsigned short cfa_reg, retaddr_column;
	char saved[COLUMNS];
};
enum { UNSAVED = 0, SAVED_OFFSET = 1, UNDEFINED = 6 };

struct bases {
	void *text, *data, *function;
};

/* NOLINTBEGIN(bugprone-reserved-identifier): libgcc's. */
struct frame_state *__frame_state_for(void *pc, struct frame_state *state)
	__attribute__((weak));
const void *_Unwind_Find_FDE(void *pc, struct bases *bases) __attribute__((weak));
/* NOLINTEND(bugprone-reserved-identifier) */

/*
 * A rule in one word: the caller's stack pointer is a register plus cfa, its rbp is the
 * callee's or stands at that plus bp.
 */
enum {
	CFA_BITS = 32,
	BP_BITS = 24, /* above cfa; the flags follow */
	FLAGS = CFA_BITS + BP_BITS,
	OF_RBP = 1,   /* the register is rbp, not rsp */
	BP_SAVED = 2, /* … */
	OUTERMOST = 4,
	LOST = 8,     /* nothing is known of this code */
	COMPLEX = 16, /* libgcc must be asked for the whole stack */
	KNOWN = 32,
};

static struct walk_rule *rules;
static uint64_t generation;

static uint64_t pack(unsigned flags, long cfa, long bp)
{
	if (cfa < 0 || cfa > INT32_MAX || bp < -(1 << (BP_BITS - 1)) ||
	    bp >= 1 << (BP_BITS - 1))
		flags = COMPLEX, cfa = bp = 0;
	return (uint64_t)(flags | KNOWN) << FLAGS |
	       ((uint64_t)bp & ((1 << BP_BITS) - 1)) << CFA_BITS | (uint64_t)cfa;
}

static uint64_t ask(uintptr_t at)
{
	struct frame_state state;
	struct bases bases;
	unsigned flags = 0;
	void *pc = (void *)at; /* NOLINT(performance-no-int-to-ptr) */

	if (!_Unwind_Find_FDE(pc, &bases))
		return pack(LOST, 0, 0);
	if (!__frame_state_for(pc, &state) || state.retaddr_column != RETURN_ADDRESS)
		return pack(COMPLEX, 0, 0);
	if (state.saved[RETURN_ADDRESS] == UNDEFINED)
		return pack(OUTERMOST, 0, 0);
	if ((state.cfa_reg != RSP && state.cfa_reg != RBP) ||
	    (state.saved[RBP] != UNSAVED && state.saved[RBP] != SAVED_OFFSET) ||
	    state.saved[RSP] != UNSAVED || state.saved[RETURN_ADDRESS] != SAVED_OFFSET ||
	    state.reg_or_offset[RETURN_ADDRESS] != -(long)sizeof(uintptr_t))
		return pack(COMPLEX, 0, 0);
	flags |= state.cfa_reg == RBP ? OF_RBP : 0u;
	flags |= state.saved[RBP] == SAVED_OFFSET ? BP_SAVED : 0u;
	return pack(flags, state.cfa_offset, state.reg_or_offset[RBP]);
}

static uint64_t rule_of(uintptr_t at)
{
	uint64_t h = (at + generation) * UINT64_C(0x9E3779B97F4A7C15);
	struct walk_rule *known = &rules[h >> 32 & (WALK_RULES - 1)];
	uint64_t rule = __atomic_load_n(&known->rule, __ATOMIC_RELAXED);

	if (rule && __atomic_load_n(&known->check, __ATOMIC_RELAXED) == (h ^ rule))
		return rule;
	rule = ask(at);
	__atomic_store_n(&known->check, h ^ rule, __ATOMIC_RELAXED);
	__atomic_store_n(&known->rule, rule, __ATOMIC_RELAXED);
	return rule;
}

/* The number of frames, or -1: libgcc must walk. */
static int by_rules(const void *frame, uintptr_t *ret, uint32_t max, int *ret_whole)
{
	const uintptr_t *fp = frame;
	uintptr_t bp = fp[0], at = fp[1], sp = (uintptr_t)(fp + 2);
	uint32_t n = 0;

	while (at && n < max) {
		uint64_t rule = rule_of(at - 1);
		unsigned flags = (unsigned)(rule >> FLAGS);
		uintptr_t cfa;

		if (flags & COMPLEX)
			return -1;
		ret[n++] = at - 1;
		*ret_whole = (flags & OUTERMOST) != 0;
		if (flags & (LOST | OUTERMOST))
			break;
		cfa = (flags & OF_RBP ? bp : sp) + (uint32_t)rule;
		/* Frames grow; a frame of more than that is a lost way. */
		if (cfa <= sp || cfa - sp > UINT64_C(64) << 20 || cfa % sizeof(uintptr_t))
			break;
		if (flags & BP_SAVED) {
			long off = (long)(rule << (64 - FLAGS)) >> (64 - BP_BITS);

			bp = *(const uintptr_t *)(cfa + (uintptr_t)off);
		}
		at = ((const uintptr_t *)cfa)[-1];
		sp = cfa;
	}
	return (int)n;
}

__attribute__((noinline)) static int agrees(void)
{
	uintptr_t fast[32], slow[32];
	int whole = 0, n = by_rules(__builtin_frame_address(0), fast, 32, &whole);
	uint32_t m = walk_slowly(slow, 32), skip = 0;

	/* Those of this library are not in slow. */
	while (n > 0 && skip < (uint32_t)n && fast[skip] >= (uintptr_t)__ehdr_start &&
	       fast[skip] < (uintptr_t)_end)
		skip++;
	if (n <= 0 || (uint32_t)n - skip > m)
		return 0;
	for (uint32_t i = 0; skip + i < (uint32_t)n; i++)
		if (fast[skip + i] != slow[i])
			return 0;
	return (uint32_t)n > skip;
}

void walk_init(struct walk_rule *memory)
{
	if (!__frame_state_for || !_Unwind_Find_FDE)
		return;
	rules = memory;
	if (!agrees())
		rules = NULL;
}

void walk_forget(void)
{
	__atomic_fetch_add(&generation, UINT64_C(0x10001), __ATOMIC_RELAXED);
}

static int is_outermost(uintptr_t at)
{
	return rules && (rule_of(at) >> FLAGS & OUTERMOST) != 0;
}

#else

static void *const rules;

static int by_rules(const void *frame, uintptr_t *ret, uint32_t max, int *ret_whole)
{
	(void)frame, (void)ret, (void)max, (void)ret_whole;
	return -1;
}

void walk_init(struct walk_rule *memory)
{
	(void)memory;
}

void walk_forget(void)
{
}

/* Not known: taken for one that was cut only where it was. */
static int is_outermost(uintptr_t at)
{
	(void)at;
	return 1;
}

#endif

uint32_t walk_stack(const void *frame, uintptr_t *ret, uint32_t max, int *ret_whole)
{
	int n = -1;

	*ret_whole = 0;
	if (rules)
		n = by_rules(frame, ret, max, ret_whole);
	if (n < 0) {
		n = (int)walk_slowly(ret, max);
		*ret_whole = n && (uint32_t)n < max && is_outermost(ret[n - 1]);
	}
	return (uint32_t)n;
}
