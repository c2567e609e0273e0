/* One block; to be linked with -s, so that reports hold addresses only. */
#include "leak_heap.c" // NOLINT(bugprone-suspicious-include)
