#include "detect/lsan_options.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "detect/lsan_parse.h"

#include <string.h>

struct option {
	const char *name, *value; /* not NUL-terminated; without the quotes */
	size_t name_len, value_len;
	const char *end; /* after the option */
};

/* FlagParser::is_space(): a comma and a colon separate as well. */
static const char separators[] = " ,:\n\t\r";

static bool is_separator(char c)
{
	return c && strchr(separators, c);
}

/* Reads the option at s, which is no separator. Returns why it cannot, or NULL. */
static const char *option_read(const char *s, struct option *ret)
{
	const char *p = s;

	while (*p && *p != '=' && !is_separator(*p))
		p++;
	*ret = (struct option){.name = s, .name_len = (size_t)(p - s), .end = p};
	if (*p != '=')
		return "`=` is missing";
	ret->value = ++p;
	if (*p == '\'' || *p == '"') {
		const char *quote = strchr(p + 1, *p);

		if (!quote) {
			ret->end = p + strlen(p);
			return "the quote is not closed";
		}
		ret->value = p + 1;
		ret->value_len = (size_t)(quote - ret->value);
		ret->end = quote + 1;
		return NULL;
	}
	while (*p && !is_separator(*p))
		p++;
	ret->value_len = (size_t)(p - ret->value);
	ret->end = p;
	return NULL;
}

static bool in_list(const char *name, size_t len, const char *const *list)
{
	for (size_t i = 0; list[i]; i++)
		if (strlen(list[i]) == len && !memcmp(list[i], name, len))
			return true;
	return false;
}

static const char *const numbers[] = {
	"exitcode",
	"verbosity",
	"malloc_context_size",
	"max_leaks",
	"resolution",
	"print_module_map",
	"dedup_token_length",
	"quarantine_size",
	"quarantine_size_mb",
	"thread_local_quarantine_size_kb",
	"redzone",
	"max_redzone",
	"report_globals",
	"max_malloc_fill_size",
	"max_free_fill_size",
	"malloc_fill_byte",
	"free_fill_byte",
	"sleep_before_dying",
	"sleep_after_init",
	"detect_invalid_pointer_pairs",
	"detect_odr_violation",
	"mmap_limit_mb",
	"hard_rss_limit_mb",
	"soft_rss_limit_mb",
	"max_allocation_size_mb",
	"clear_shadow_mmap_threshold",
	"allocator_release_to_os_interval_ms",
	NULL,
};

static const char *const booleans[] = {
	"detect_leaks",
	"leak_check_at_exit",
	"symbolize",
	"abort_on_error",
	"log_exe_name",
	"log_to_syslog",
	"help",
	"report_objects",
	"print_suppressions",
	"print_summary",
	"print_cmdline",
	"fast_unwind_on_malloc",
	"fast_unwind_on_check",
	"fast_unwind_on_fatal",
	"allow_addr2line",
	"allocator_may_return_null",
	"check_printf",
	"use_sigaltstack",
	"detect_deadlocks",
	"coverage",
	"disable_coredump",
	"use_madv_dontdump",
	"strip_env",
	"symbolize_inline_frames",
	"demangle",
	"use_globals",
	"use_stacks",
	"use_registers",
	"use_tls",
	"use_root_regions",
	"use_ld_allocations",
	"use_unaligned",
	"use_poisoned",
	"log_pointers",
	"log_threads",
	"debug",
	"check_initialization_order",
	"replace_str",
	"replace_intrin",
	"detect_stack_use_after_return",
	"allow_user_poisoning",
	"print_stats",
	"print_legend",
	"atexit",
	"poison_heap",
	"poison_partial",
	"poison_array_cookie",
	"alloc_dealloc_mismatch",
	"new_delete_type_mismatch",
	"strict_init_order",
	"strict_string_checks",
	"detect_container_overflow",
	"halt_on_error",
	"verify_asan_link_order",
	"print_stacktrace",
	NULL,
};

static bool is_number(const char *s, size_t len)
{
	if (len && (*s == '-' || *s == '+')) {
		s++;
		len--;
	}
	for (size_t i = 0; i < len; i++)
		if (s[i] < '0' || s[i] > '9')
			return false;
	return true; /* the runtime takes an empty one */
}

static bool is_boolean(const char *s, size_t len)
{
	static const char *const words[] = {"0", "no", "false", "1", "yes", "true", NULL};

	return in_list(s, len, words);
}

static bool names(const struct option *o, const char *name)
{
	return strlen(name) == o->name_len && !memcmp(o->name, name, o->name_len);
}

/* %b and %p stand for the program's name and the pid: not known here. */
static bool file_missing(const struct option *o, const char *cwd)
{
	CLEANUP_FREE char *name = xstrndup(o->value, o->value_len);
	CLEANUP_FREE char *path = name[0] == '/' ? xstrdup(name) : path_join(cwd, name);

	return *name && !strchr(name, '%') && !path_exists(path);
}

static const char *option_fault(const struct option *o, const char *cwd)
{
	if (in_list(o->name, o->name_len, numbers) && !is_number(o->value, o->value_len))
		return "not a number";
	if (in_list(o->name, o->name_len, booleans) &&
	    !is_boolean(o->value, o->value_len))
		return "neither 0 nor 1";
	/* A relative suppression file may also lie beside the program. */
	if ((names(o, "include") || names(o, "external_symbolizer_path") ||
	     (names(o, "suppressions") && o->value_len && o->value[0] == '/')) &&
	    file_missing(o, cwd))
		return "there is no such file";
	return NULL;
}

char *lsan_options_fault(const char *value, const char *cwd)
{
	while (*(value += strspn(value, separators))) {
		struct option o;
		const char *why = option_read(value, &o);

		if (!why)
			why = option_fault(&o, cwd);
		if (why) {
			size_t len = (size_t)(o.end - value);

			return xasprintf("%.*s: %s", len > 200 ? 200 : (int)len, value,
					 why);
		}
		value = o.end;
	}
	return NULL;
}

static const char ours[] =
	"exitcode=0:abort_on_error=1:log_exe_name=0:log_to_syslog=0:detect_leaks=1:"
	"leak_check_at_exit=1:color=never:verbosity=0:help=0:max_leaks=0:"
	"report_objects=0:print_suppressions=1:strip_path_prefix=\"\":"
	"malloc_context_size=30:print_summary=1:print_module_map=0:sleep_before_dying=0:"
	"print_cmdline=0:stack_trace_format=\"" LSAN_FRAME_FORMAT "\"";

char *lsan_options_ours(const char *log_path, enum lsan_detail detail)
{
	const char *quote = strchr(log_path, '"') ? "'" : "\"";

	return xasprintf("%s:symbolize=%d:fast_unwind_on_malloc=%d:log_path=%s%s%s", ours,
			 detail != LSAN_ADDRESSES, detail != LSAN_WHOLE, quote, log_path,
			 quote);
}

bool lsan_options_need_names(const char *value)
{
	static const char *const with_names[] = {"suppressions", "include",
						 "include_if_exists", NULL};

	while (*(value += strspn(value, separators))) {
		struct option o;

		if (option_read(value, &o))
			return false;
		if (o.value_len && in_list(o.name, o.name_len, with_names))
			return true;
		value = o.end;
	}
	return false;
}

static bool is_ours(const struct option *o)
{
	static const char *const more[] = {
		"log_path", "symbolize",	 "fast_unwind_on_malloc",
		"include",  "include_if_exists", NULL};
	const char *p = ours;
	struct option own;

	if (in_list(o->name, o->name_len, more))
		return true;
	while (*(p += strspn(p, separators))) {
		if (option_read(p, &own))
			break;
		if (own.name_len == o->name_len &&
		    !memcmp(own.name, o->name, o->name_len))
			return true;
		p = own.end;
	}
	return false;
}

char *lsan_options_strip(const char *value)
{
	struct buf b = {0};

	while (*(value += strspn(value, separators))) {
		struct option o;

		if (option_read(value, &o)) {
			buf_addf(&b, "%s%s", b.len ? ":" : "", value);
			break;
		}
		if (!is_ours(&o)) {
			buf_adds(&b, b.len ? ":" : "");
			buf_add(&b, value, (size_t)(o.end - value));
		}
		value = o.end;
	}
	return buf_detach(&b);
}
