/*
 * The option strings of the sanitizer runtimes (*SAN_OPTIONS): ours, and what the user
 * has. Grammar and value types: compiler-rt's sanitizer_flag_parser.{h,cpp} and the
 * *_flags.inc tables. Pure but for lsan_options_fault(), which looks whether files exist.
 */
#ifndef EXITPATH_DETECT_LSAN_OPTIONS_H
#define EXITPATH_DETECT_LSAN_OPTIONS_H

#include <stdbool.h>

/*
 * All that a report needs, as options to append: the last value wins. log_path without
 * the ".PID" that the runtime adds; whole_stacks: unwind slowly and by tables.
 */
char *lsan_options_ours(const char *log_path, bool whole_stacks);

/* What would make the runtime end before main(): "exitcode=xx: not a number". NULL:
 * nothing. cwd is where relative files are looked for. The caller frees. */
char *lsan_options_fault(const char *value, const char *cwd);

/* value without every option that ours sets, or includes files. The caller frees. */
char *lsan_options_strip(const char *value);

#endif
