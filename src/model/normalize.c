#include "model/normalize.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"

#include <ctype.h>
#include <string.h>

/* First port that Linux hands out by itself (net.ipv4.ip_local_port_range). */
enum { FIRST_EPHEMERAL_PORT = 32768 };
/* mkstemp() and its relatives replace six X; Python's tempfile takes eight. */
enum { MKSTEMP_LEN = 6, PYTHON_TEMP_LEN = 8, UUID_LEN = 36 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
	return isalnum((unsigned char)c) != 0;
}

static size_t span_digits(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && is_digit(s[n]))
		n++;
	return n;
}

static size_t span_alnum(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && is_alnum(s[n]))
		n++;
	return n;
}

/* Adds '*', but never two in a row. */
static void add_star(struct buf *out)
{
	if (!out->len || out->data[out->len - 1] != '*')
		buf_addc(out, '*');
}

/* Does mkstemp()'s alphabet show: a digit, or capitals that are not just the first? */
static bool looks_random(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_alnum(s[i]))
			return false;
	for (size_t i = 0; i < len; i++)
		if (is_digit(s[i]))
			return true;
	for (size_t i = 1; i < len; i++)
		if (isupper((unsigned char)s[i]) && islower((unsigned char)s[i - 1]))
			return true;
	return false;
}

static bool is_uuid(const char *s, size_t len)
{
	if (len < UUID_LEN)
		return false;
	for (size_t i = 0; i < UUID_LEN; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? s[i] != '-' : !isxdigit((unsigned char)s[i]))
			return false;
	}
	return true;
}

/* A digest, an address, a generated id: eight hexadecimal digits, one of them 0-9. */
static bool is_hex_id(const char *s, size_t len)
{
	bool digit = false;

	for (size_t i = 0; i < len; i++) {
		if (!isxdigit((unsigned char)s[i]))
			return false;
		digit |= is_digit(s[i]);
	}
	return len >= 8 && digit;
}

/* Copies an alphanumeric run; long runs of digits are pids, inodes or dates. */
static void add_run(struct buf *out, const char *s, size_t len, bool temp)
{
	for (size_t i = 0; i < len;) {
		size_t digits = span_digits(s + i, len - i);

		if (digits >= 4 || (digits && temp))
			add_star(out);
		else
			buf_add(out, s + i, digits ? digits : 1);
		i += digits ? digits : 1;
	}
}

/* In a temporary directory: the length of the name before its random end, or len. */
static size_t before_random_end(const char *s, size_t len)
{
	if (len == 3 + PYTHON_TEMP_LEN && !strncmp(s, "tmp", 3)) {
		size_t i = 3;

		while (i < len &&
		       (islower((unsigned char)s[i]) || is_digit(s[i]) || s[i] == '_'))
			i++;
		if (i == len)
			return 3;
	}
	if (len >= MKSTEMP_LEN && looks_random(s + len - MKSTEMP_LEN, MKSTEMP_LEN))
		return len - MKSTEMP_LEN;
	return len;
}

/* A number that is a whole word of the name, "worker-37", is an id however short. */
static bool is_number_word(const char *s, size_t at, size_t run, size_t len)
{
	return at > 0 && span_digits(s + at, run) == run &&
	       (at + run == len || strchr(".-_", s[at + run]));
}

/* One component of a path, or one word, without its slashes. */
static void add_component(struct buf *out, const char *s, size_t len, bool temp)
{
	const char *dot = memrchr(s, '.', len);
	size_t stem = dot && dot > s ? (size_t)(dot - s) : len, end;

	if (temp && (end = before_random_end(s, len)) < len) {
		add_component(out, s, end, false);
		add_star(out);
		return;
	}
	if (temp && (end = before_random_end(s, stem)) < stem) {
		add_component(out, s, end, false);
		add_star(out);
		add_component(out, s + stem, len - stem, false);
		return;
	}
	for (size_t i = 0; i < len;) {
		size_t run = span_alnum(s + i, len - i);

		if (is_uuid(s + i, len - i)) {
			add_star(out);
			i += UUID_LEN;
		} else if (run &&
			   (is_hex_id(s + i, run) || is_number_word(s, i, run, len))) {
			add_star(out);
			i += run;
		} else if (run) {
			add_run(out, s + i, run, temp);
			i += run;
		} else {
			buf_addc(out, s[i++]);
		}
	}
}

/* "socket:[123]", "127.0.0.1:54321", "[::1]:80": only inodes and ephemeral ports. */
static void add_address(struct buf *out, const char *s, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t digits = span_digits(s + i, len - i);
		bool inode = digits && i > 1 && s[i - 1] == '[' && s[i - 2] == ':' &&
			     i + digits < len && s[i + digits] == ']';
		bool port = digits && digits <= 5 && i > 0 && s[i - 1] == ':' &&
			    (i + digits == len || !is_alnum(s[i + digits])) &&
			    strtoul(s + i, NULL, 10) >= FIRST_EPHEMERAL_PORT;

		if (inode || port)
			add_star(out);
		else
			buf_add(out, s + i, digits ? digits : 1);
		i += digits ? digits : 1;
	}
}

static bool names_temp_dir(const char *s, size_t len)
{
	static const char *const names[] = {"tmp", "temp", "shm", "$TMPDIR", "TMPDIR"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && !strncmp(names[i], s, len))
			return true;
	return false;
}

/* A word with slashes. `temp`: it goes on a path below a temporary directory. */
static bool add_path(struct buf *out, const char *s, size_t len, bool temp)
{
	bool ids = len > 6 && (!strncmp(s, "/proc/", 6) || !strncmp(s, "/dev/pts/", 9));
	bool memfd = len > 7 && !strncmp(s, "/memfd:", 7);

	for (size_t i = 0; i < len;) {
		const char *slash = memchr(s + i, '/', len - i);
		size_t n = slash ? (size_t)(slash - s) - i : len - i;

		if (n && ids && span_digits(s + i, n) == n)
			add_star(out);
		else if (n)
			add_component(out, s + i, n, temp || memfd);
		temp |= slash && names_temp_dir(s + i, n);
		if (slash)
			buf_addc(out, '/');
		i += n + (slash != NULL);
	}
	return temp;
}

char *normalize_target(const char *target)
{
	CLEANUP(buf) struct buf out = {0};
	bool temp = false;

	if (!target)
		return NULL;
	for (const char *s = target; *s;) {
		size_t len = strcspn(s, " ");

		if (*s == '/' || !strncmp(s, "->", 2))
			temp = false;
		if (memchr(s, '/', len))
			temp = add_path(&out, s, len, temp);
		else if (len && span_digits(s, len) == len)
			add_star(&out);
		else if (memchr(s, ':', len))
			add_address(&out, s, len);
		else
			add_component(&out, s, len, temp);
		s += len;
		if (*s)
			buf_addc(&out, *s++);
	}
	return buf_detach(&out);
}

/* ".isra" with an optional number after it: what compilers add to a symbol. */
static const char *const suffixes[] = {
	".isra",     ".constprop", ".part",    ".cold",	   ".localalias",
	".lto_priv", ".llvm",	   ".__uniq",  ".ipa_ra",  ".warm",
	".hot",	     ".resume",	   ".destroy", ".cleanup", ".specialized"};

/* The length of s without its last suffix, or len when there is none. */
static size_t without_suffix(const char *s, size_t len)
{
	size_t end = len;
	const char *dot;

	while (end && is_digit(s[end - 1]))
		end--;
	if (end < len && end && s[end - 1] == '.')
		end--;
	else
		end = len;
	dot = memrchr(s, '.', end);
	if (!dot || dot == s)
		return len;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (strlen(suffixes[i]) == end - (size_t)(dot - s) &&
		    !strncmp(dot, suffixes[i], strlen(suffixes[i])))
			return (size_t)(dot - s);
	return len;
}

/* Rust's "::h" and 16 hexadecimal digits: a hash over the build. */
static size_t without_rust_hash(const char *s, size_t len)
{
	if (len <= 19 || strncmp(s + len - 19, "::h", 3))
		return len;
	for (size_t i = len - 16; i < len; i++)
		if (!isxdigit((unsigned char)s[i]))
			return len;
	return len - 19;
}

/* "+0x1f" or "@GLIBC_2.2.5", "@@GLIBC_2.34", "@plt" at the end. */
static size_t without_version(const char *s, size_t len)
{
	const char *at = memchr(s, '@', len), *plus = memrchr(s, '+', len);

	if (at && at > s && !memchr(s, ' ', len) && !memchr(s, '(', len))
		return (size_t)(at - s);
	if (plus && plus > s && !strncmp(plus, "+0x", 3) &&
	    strspn(plus + 3, "0123456789abcdef") >= len - (size_t)(plus - s) - 3)
		return (size_t)(plus - s);
	return len;
}

static void add_printable(struct buf *out, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		buf_addc(out, c < 0x20 || c == 0x7f ? '?' : s[i]);
	}
}

char *normalize_function(const char *function)
{
	CLEANUP(buf) struct buf out = {0};
	const char *clone;
	size_t len, shorter;

	if (!function || !*function)
		return xstrdup("?");
	clone = strstr(function, " [clone ");
	len = clone && clone > function ? (size_t)(clone - function) : strlen(function);
	for (;;) {
		shorter = without_rust_hash(function, len);
		shorter = without_version(function, shorter);
		shorter = without_suffix(function, shorter);
		if (shorter == len)
			break;
		len = shorter;
	}
	if (len > FUNCTION_MAX) {
		char hex[SHA256_HEX];

		sha256_hex(function, len, hex);
		add_printable(&out, function, FUNCTION_MAX - 9);
		buf_addf(&out, "~%.8s", hex);
	} else {
		add_printable(&out, function, len);
	}
	return buf_detach(&out);
}

char *normalize_module(const char *module)
{
	CLEANUP(buf) struct buf out = {0};
	const char *name, *id;
	size_t len;

	if (!module)
		return xstrdup("?");
	id = strstr(module, " (BuildId:");
	len = id ? (size_t)(id - module) : strlen(module);
	name = memrchr(module, '/', len);
	name = name ? name + 1 : module;
	len -= (size_t)(name - module);
	if (!len)
		return xstrdup("?");
	add_printable(&out, name, len);
	return buf_detach(&out);
}

static bool starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool function_is_runtime(const char *function)
{
	static const char *const names[] = {
		"malloc",
		"calloc",
		"realloc",
		"reallocarray",
		"memalign",
		"aligned_alloc",
		"posix_memalign",
		"valloc",
		"pvalloc",
		"strdup",
		"strndup",
		"__strdup",
		"__strndup",
		"wcsdup",
		"asprintf",
		"vasprintf",
		"__libc_start_main",
		"__libc_start_call_main",
		"__libc_start_main_impl",
		"_start",
		"start_thread",
		"clone",
		"clone3",
		"__clone",
		"__clone3",
		"_init",
	};
	static const char *const prefixes[] = {
		"operator new",	   "_Znwm",
		"_Znam",	   "__interceptor_",
		"___interceptor_", "__asan_",
		"__lsan_",	   "__ubsan_",
		"__sanitizer_",	   "__asan::",
		"__lsan::",	   "__ubsan::",
		"__sanitizer::",   "asan_thread_start",
	};

	if (!function)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(function, names[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (starts(function, prefixes[i]))
			return true;
	return false;
}

bool module_is_detector(const char *module)
{
	return module && (starts(module, "libasan.") || starts(module, "liblsan.") ||
			  starts(module, "libubsan.") || starts(module, "libtsan.") ||
			  starts(module, "libclang_rt.") ||
			  starts(module, "vgpreload_") || starts(module, "exitpath-"));
}

bool module_is_libc(const char *module)
{
	return module && (starts(module, "libc.so") || starts(module, "libc-2.") ||
			  starts(module, "libpthread") ||
			  starts(module, "libstdc++.so") || starts(module, "libc++.so") ||
			  starts(module, "libc++abi.so") || starts(module, "ld-linux") ||
			  starts(module, "ld-musl") || starts(module, "ld-2."));
}
