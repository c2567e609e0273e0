/* Which languages there are, and how a file's is found. */
#include "source/internal.h"

#include <strings.h>

#define LANGUAGE(id, name, function, extensions) const TSLanguage *function(void);
#include "source/language.def"
#undef LANGUAGE

static const struct language {
	const char *name, *extensions;
	const TSLanguage *(*grammar)(void);
} languages[LANG_END] = {
#define LANGUAGE(id, name, function, extensions) \
	[LANG_##id] = {name, extensions, function},
#include "source/language.def"
#undef LANGUAGE
};

const TSLanguage *source_grammar(enum source_lang lang)
{
	return lang > LANG_NONE && lang < LANG_END ? languages[lang].grammar() : NULL;
}

const char *source_lang_name(enum source_lang lang)
{
	return lang > LANG_NONE && lang < LANG_END ? languages[lang].name : "";
}

enum source_lang source_lang_parse(const char *name)
{
	for (enum source_lang l = LANG_NONE + 1; l < LANG_END; l++)
		if (strcmp(languages[l].name, name) == 0)
			return l;
	return LANG_NONE;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

enum source_lang source_lang_of_path(const char *path)
{
	const char *dot = strrchr(base_name(path), '.');
	char word[16] = " ";
	size_t len = dot ? strlen(dot + 1) : 0;

	if (len == 0 || len > sizeof(word) - 3)
		return LANG_NONE;
	memcpy(word + 1, dot + 1, len);
	word[len + 1] = ' ';
	for (enum source_lang l = LANG_NONE + 1; l < LANG_END; l++)
		if (strcasestr(languages[l].extensions, word))
			return l;
	return LANG_NONE;
}

/* The interpreter's name may have a version: python3.11. */
static enum source_lang interpreter(const char *name, size_t len)
{
	static const struct {
		const char *name;
		enum source_lang lang;
	} known[] = {
		{"python", LANG_PYTHON},      {"pypy", LANG_PYTHON},
		{"node", LANG_JAVASCRIPT},    {"nodejs", LANG_JAVASCRIPT},
		{"ts-node", LANG_TYPESCRIPT}, {"tsx", LANG_TYPESCRIPT},
		{"deno", LANG_TYPESCRIPT},    {"bun", LANG_TYPESCRIPT},
	};

	while (len > 0 &&
	       (name[len - 1] == '.' || (name[len - 1] >= '0' && name[len - 1] <= '9')))
		len--;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i].name) == len &&
		    strncmp(known[i].name, name, len) == 0)
			return known[i].lang;
	return LANG_NONE;
}

/* "#!/usr/bin/python3 -E", "#!/usr/bin/env -S node --flag": the first word that names
 * an interpreter. */
static enum source_lang shebang(const char *text, size_t len)
{
	const char *end = memchr(text, '\n', len), *word = text + 2;

	if (len < 3 || text[0] != '#' || text[1] != '!')
		return LANG_NONE;
	end = end ? end : text + len;
	while (word < end) {
		const char *stop = word, *name;
		enum source_lang lang;

		while (stop < end && *stop != ' ' && *stop != '\t' && *stop != '\r')
			stop++;
		name = memrchr(word, '/', (size_t)(stop - word));
		name = name ? name + 1 : word;
		lang = interpreter(name, (size_t)(stop - name));
		if (lang != LANG_NONE)
			return lang;
		word = stop + 1;
	}
	return LANG_NONE;
}

/* A header of C++: a line that begins with a word which C does not have. */
static bool looks_like_cpp(const char *text, size_t len)
{
	static const char *const words[] = {"class ",
					    "namespace ",
					    "template<",
					    "template <",
					    "using ",
					    "public:",
					    "private:",
					    "protected:",
					    "#include <string>",
					    "#include <vector>",
					    "#include <memory>"};
	const char *end = text + len;

	for (const char *line = text; line && line < end;) {
		const char *p = line;

		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
			size_t n = strlen(words[i]);

			if ((size_t)(end - p) > n && memcmp(p, words[i], n) == 0)
				return true;
		}
		line = memchr(line, '\n', (size_t)(end - line));
		line = line ? line + 1 : NULL;
	}
	return false;
}

enum source_lang source_lang_of(const char *path, const char *text, size_t len)
{
	enum source_lang lang = source_lang_of_path(path);
	const char *name = base_name(path), *dot = strrchr(name, '.');

	if (lang == LANG_NONE && (!dot || dot == name))
		return shebang(text, len);
	if (lang == LANG_C && dot && strcasecmp(dot, ".h") == 0 &&
	    looks_like_cpp(text, len))
		return LANG_CPP;
	return lang;
}

static uint16_t symbol(enum source_lang lang, const char *name, size_t len, bool named)
{
	const TSLanguage *grammar = source_grammar(lang);

	return grammar ? ts_language_symbol_for_name(grammar, name, (uint32_t)len, named)
		       : 0;
}

uint16_t source_kind(enum source_lang lang, const char *name)
{
	return symbol(lang, name, strlen(name), true);
}

uint16_t source_token(enum source_lang lang, const char *text)
{
	return symbol(lang, text, strlen(text), false);
}

uint8_t source_field(enum source_lang lang, const char *name)
{
	const TSLanguage *grammar = source_grammar(lang);

	if (!grammar)
		return 0;
	return (uint8_t)ts_language_field_id_for_name(grammar, name,
						      (uint32_t)strlen(name));
}

const char *source_kind_name(enum source_lang lang, uint16_t kind)
{
	const TSLanguage *grammar = source_grammar(lang);
	const char *name = grammar ? ts_language_symbol_name(grammar, kind) : NULL;

	return name ? name : "";
}

const char *source_field_name(enum source_lang lang, uint8_t field)
{
	const TSLanguage *grammar = source_grammar(lang);
	const char *name = grammar ? ts_language_field_name_for_id(grammar, field) : NULL;

	return name ? name : "";
}

struct source_kinds source_kinds(enum source_lang lang, const char *names)
{
	struct source_kinds set = {0};

	for (const char *word = names; *word;) {
		size_t len = strcspn(word, " ");
		uint16_t kind = len ? symbol(lang, word, len, true) : 0;

		if (kind != 0 && kind < 1024)
			set.bits[kind / 64] |= (uint64_t)1 << (kind % 64);
		word += len;
		word += strspn(word, " ");
	}
	return set;
}
