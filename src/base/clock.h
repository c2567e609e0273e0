#ifndef EXITPATH_BASE_CLOCK_H
#define EXITPATH_BASE_CLOCK_H

#include <stdint.h>

struct rusage;

uint64_t clock_us(void); /* monotonic, microseconds */
/* UTC now as 2026-11-30T20:11:00Z. */
void clock_iso(char ret_text[21]);
/* CPU time, user and system, in microseconds. */
uint64_t clock_cpu_us(const struct rusage *u);

#endif
