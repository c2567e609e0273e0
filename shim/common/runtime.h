/* Which sanitizer is in the process. */
#ifndef SHIM_COMMON_RUNTIME_H
#define SHIM_COMMON_RUNTIME_H

/* "asan", "lsan" or "none". Allocates. */
const char *instrumented(void);

#endif
