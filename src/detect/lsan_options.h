/*
 * The option strings of the sanitizer runtimes (*SAN_OPTIONS): ours, and what the user
 * has. Grammar and value types: compiler-rt's sanitizer_flag_parser.{h,cpp} and the
 * *_flags.inc tables. Pure but for lsan_options_fault(), which looks whether files exist.
 */
#ifndef EXITPATH_DETECT_LSAN_OPTIONS_H
#define EXITPATH_DETECT_LSAN_OPTIONS_H

#include <stdbool.h>

/* What a report holds, and what it costs each process that ends (measured: gcc 12). */
enum lsan_detail {
	LSAN_ADDRESSES, /* modules and offsets: 1 ms */
	LSAN_NAMES,	/* functions and lines, by the runtime: 80 ms */
	LSAN_WHOLE,	/* and unwound slowly, by tables, at each allocation */
};

/*
 * All that a report needs, as options to append: the last value wins. log_path without
 * the ".PID" that the runtime adds.
 */
char *lsan_options_ours(const char *log_path, enum lsan_detail detail);

/* Does value name suppressions, or a file that may? They match functions by name. */
bool lsan_options_need_names(const char *value);

/* What would make the runtime end before main(): "exitcode=xx: not a number". NULL:
 * nothing. cwd is where relative files are looked for. The caller frees. */
char *lsan_options_fault(const char *value, const char *cwd);

/* value without every option that ours sets, or includes files. The caller frees. */
char *lsan_options_strip(const char *value);

#endif
