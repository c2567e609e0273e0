#include "scan/names.h"

#include <ctype.h>
#include <string.h>

struct text text_last(struct text c)
{
	size_t at = c.len;

	while (at && (isalnum((unsigned char)c.at[at - 1]) || c.at[at - 1] == '_' ||
		      c.at[at - 1] == '$'))
		at--;
	return (struct text){c.at + at, c.len - at};
}

bool text_is(struct text t, const char *word)
{
	return strlen(word) == t.len && !memcmp(t.at, word, t.len);
}

bool text_same(struct text a, struct text b)
{
	return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

static bool matches(struct text t, const char *word, size_t len)
{
	if (len > 2 && word[0] == '*' && word[len - 1] == '*')
		return memmem(t.at, t.len, word + 1, len - 2) != NULL;
	if (len && word[0] == '*')
		return t.len >= len - 1 &&
		       !memcmp(t.at + t.len - (len - 1), word + 1, len - 1);
	if (len && word[len - 1] == '*')
		return t.len >= len - 1 && !memcmp(t.at, word, len - 1);
	return t.len == len && !memcmp(t.at, word, len);
}

/* Asked all the time with lists of up to a hundred words: most are passed over by their
 * first byte. */
bool text_among(struct text t, const char *words)
{
	char first = t.len ? t.at[0] : '\0';

	while (*words) {
		const char *end = words;

		while (*end && *end != ' ')
			end++;
		if ((*words == first || *words == '*' || !t.len) &&
		    matches(t, words, (size_t)(end - words)))
			return true;
		words = end;
		while (*words == ' ')
			words++;
	}
	return false;
}

/* Calls each() with every word of a name in lower case: "git_buf_free", "closeQuietly",
 * "SSLShutdown" give git buf free, close quietly, ssl shutdown. */
static bool any_word(struct text t, bool (*each)(const char *word, size_t at, size_t n),
		     bool *ret_first)
{
	char word[32];
	size_t n = 0, count = 0;

	for (size_t i = 0; i <= t.len; i++) {
		char c = i < t.len ? t.at[i] : '_';
		bool upper = isupper((unsigned char)c);
		bool starts = upper && i &&
			      (islower((unsigned char)t.at[i - 1]) ||
			       (i + 1 < t.len && islower((unsigned char)t.at[i + 1])));

		if (n && (starts || !isalnum((unsigned char)c))) {
			word[n < sizeof(word) ? n : sizeof(word) - 1] = '\0';
			if (each(word, count++, n)) {
				if (ret_first)
					*ret_first = count == 1;
				return true;
			}
			n = 0;
		}
		if (isalnum((unsigned char)c)) {
			if (n < sizeof(word) - 1)
				word[n] = (char)tolower((unsigned char)c);
			n++;
		}
	}
	return false;
}

/* By their first letter: the longest list, looked through for every call. */
static const char *const release_words[26] = {
	['a' - 'a'] = "aclose abort",
	['c' - 'a'] =
		"close closes cancel closedir cleanup clean commit closing closesocket",
	['d' - 'a'] = "destroy decref delete dispose deinit dealloc disconnect dump "
		      "discard drop detach drain",
	['e' - 'a'] = "efree",
	['f' - 'a'] = "fclose free finish fini freeaddrinfo freeifaddrs",
	['g' - 'a'] = "globfree gracefulclose",
	['h' - 'a'] = "hangup",
	['k' - 'a'] = "kfree kill",
	['m' - 'a'] = "munmap",
	['p' - 'a'] = "pclose put",
	['q' - 'a'] = "quit",
	['r' - 'a'] = "release runlock rollback reap regfree",
	['s' - 'a'] = "sclose sdsfree shutdown stop",
	['t' - 'a'] = "teardown terminate",
	['u' - 'a'] = "unref unlock unmap unload uninit",
	['x' - 'a'] = "xfree",
};

static bool is_release_word(const char *w, size_t at, size_t n)
{
	const char *words = *w >= 'a' && *w <= 'z' ? release_words[*w - 'a'] : NULL;

	(void)at;
	(void)n;
	return words && text_among((struct text){w, strlen(w)}, words);
}

static bool is_sure_release_word(const char *w, size_t at, size_t n)
{
	(void)at;
	(void)n;
	return text_among(
		(struct text){w, strlen(w)},
		"close fclose pclose closedir sclose aclose free xfree sdsfree "
		"destroy release unref dispose cleanup fini deinit dealloc rollback "
		"abort");
}

/* `get_free_sectors()`, `is_closed()`: they ask. */
static bool name_asks(struct text last)
{
	return text_among(last, "get_* is_* has_* find_* count_* num_* next_* can_*");
}

bool name_surely_releases(struct text last)
{
	return !name_asks(last) && any_word(last, is_sure_release_word, NULL);
}

bool name_is_basic_release(struct text last)
{
	return text_among(last,
			  "free *_free *xfree sdsfree zfree kfree g_free curlx_free "
			  "efree close fclose pclose closedir sclose CURLX_FREE "
			  "Close close");
}

/* The part of a name that says which library it is of; len 0: none. */
struct text name_prefix(struct text last)
{
	size_t n = 0;

	while (n < last.len && last.at[n] != '_')
		n++;
	return (struct text){last.at, n >= 3 && n < last.len ? n : 0};
}

static bool is_acquire_word(const char *w, size_t at, size_t n)
{
	(void)at;
	(void)n;
	return text_among(
		(struct text){w, strlen(w)},
		"open fopen new create acquire make alloc malloc calloc connect dial "
		"accept begin start load dup strdup init lock clone copy build fetch "
		"socket popen opendir allocate borrow checkout detach mkstemp");
}

static bool is_borrow_word(const char *w, size_t at, size_t n)
{
	(void)at;
	(void)n;
	return text_among((struct text){w, strlen(w)},
			  "get find lookup peek head tail first last next prev elem node "
			  "fetch parent current readdir val value key entry data of");
}

static bool is_make_word(const char *w, size_t at, size_t n)
{
	(void)at;
	(void)n;
	return text_among((struct text){w, strlen(w)},
			  "new create alloc malloc calloc dup strdup copy open make "
			  "acquire");
}

/* `dict_fetch_value(d, k)`, `list_head(l)`: what another owns and shows. */
bool name_borrows(struct text last)
{
	return any_word(last, is_borrow_word, NULL) &&
	       !any_word(last, is_make_word, NULL);
}

bool name_acquires(struct text last)
{
	return any_word(last, is_acquire_word, NULL);
}

bool name_releases(struct text last)
{
	return !name_asks(last) && any_word(last, is_release_word, NULL);
}

static bool is_keep_word(const char *w, size_t at, size_t n)
{
	(void)n;
	if (!at &&
	    text_among((struct text){w, strlen(w)},
		       "set init new create make open start spawn go run build from "
		       "with use"))
		return true;
	return text_among(
		(struct text){w, strlen(w)},
		"append add push insert register attach enqueue store save keep track "
		"adopt wrap wrapper take steal give own assign link fdopen xfdopen "
		"fdopendir bind "
		"move "
		"swap "
		"submit schedule callback addcleanup install put enter defer hold list "
		"thread async pipe cache transfer join return yield queue socketpair "
		"build class cls");
}

bool name_keeps(struct text last)
{
	return any_word(last, is_keep_word, NULL);
}

bool name_only_uses(struct text last)
{
	return text_among(
		last,
		"mem* str* *printf *scanf read write pread pwrite recv send sendto "
		"recvfrom fread fwrite fgets fputs fgetc fputc getc putc puts ungetc "
		"fseek fseeko ftell ftello rewind fflush fileno feof ferror clearerr "
		"getline getdelim fstat stat lstat lseek ftruncate fsync fdatasync fcntl "
		"ioctl flock isatty perror error warn warnx warning ERROR SYSERROR DEBUG "
		"INFO WARN TRACE log_* LOG_* debug* _ gettext snprintf qsort bsearch "
		"is* to* ato* sizeof assert getenv setenv access unlink rename mkdir "
		"chdir open fopen opendir stat readdir rewinddir dirfd connect listen "
		"getsockname setsockopt getsockopt poll select epoll_ctl htons bzero "
		"bcopy "
		"wcs* mbs* iconv dup2 dup3 *readdir Copy CopyN CopyBuffer ReadAll "
		"ReadFull Fprint* "
		"copyfileobj print *len *cmp *_get *_len *_size *_count *_eof *_error");
}
