/*
 * A suppression hides every later leak that it matches, so it has to name one place. One
 * that covers a module (a library, all functions with its prefix, a whole temporary
 * directory) would hide leaks that nobody has seen yet.
 */
#include "contract/suppression.h"

#include "base/mem.h"
#include "base/strv.h"
#include "contract/load.h"
#include "model/fault.h"
#include "model/resource.h"
#include "model/review.h"

#include <ctype.h>
#include <string.h>

enum { MIN_LITERALS = 3 };

/* Characters that match only themselves: not *, not ?, not [a bracket expression]. */
static size_t literals(const char *pattern)
{
	size_t n = 0;

	for (const char *p = pattern; *p; p++) {
		const char *close = *p == '[' && p[1] ? strchr(p + 2, ']') : NULL;

		if (close) {
			p = close;
			continue;
		}
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '*' || *p == '?')
			continue;
		n++;
	}
	return n;
}

/* "libfoo.so", "libfoo.so.1", "libfoo.so*", but not "app.sock". */
static bool names_shared_object(const char *pattern)
{
	for (const char *p = pattern; (p = strstr(p, ".so")); p += 3)
		if (!p[3] || strchr(".*?![0123456789", p[3]))
			return true;
	return false;
}

/* "libfoo*", "libfoo_*", "libfoo!*", "app!*", "app!": one module and nothing in it. */
static bool covers_module(const char *pattern)
{
	size_t word = strcspn(pattern, "!_*?[");
	const char *rest = pattern + word;
	bool library = !strncmp(pattern, "lib", 3);

	if (!*rest)
		return false;
	if (*rest == '!' || (*rest == '_' && library))
		rest++;
	else if (!library)
		return false;
	return !rest[strspn(rest, "*?")];
}

/* The pattern behind a directory in which everybody's temporary things lie. */
static const char *skip_common_directory(const char *pattern)
{
	static const char *const directories[] = {"/tmp/", "/var/tmp/", "/dev/shm/",
						  "/dev/", "/proc/",	"/run/"};

	for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
		if (!strncmp(pattern, directories[i], strlen(directories[i])))
			return pattern + strlen(directories[i]);
	return pattern;
}

static const char *pattern_refused(const char *pattern)
{
	for (const char *p = pattern; *p; p++)
		if (iscntrl((unsigned char)*p))
			return "has a control character";
	if (names_shared_object(pattern))
		return "covers a whole module: it names a shared object, not a function";
	if (covers_module(pattern))
		return "covers a whole module";
	if (literals(skip_common_directory(pattern)) < MIN_LITERALS)
		return "is too wide: fewer than 3 characters are literal";
	return NULL;
}

const char *suppression_refused(const char *match)
{
	const char *colon = strchr(match, ':');
	CLEANUP_FREE char *kind = NULL;
	enum resource ignored;

	if (!colon)
		return "is not KIND:PATTERN";
	kind = xstrndup(match, (size_t)(colon - match));
	if (strcmp(kind, "leak") != 0 && !resource_parse(kind, &ignored))
		return "has a kind that is neither leak nor a resource";
	return pattern_refused(colon + 1);
}

const char *ignore_refused(const char *match)
{
	const char *call = strchr(match, ':');
	const char *function = call ? strchr(call + 1, ':') : NULL;
	CLEANUP_FREE char *defect = NULL, *name = NULL;
	enum fault_defect ignored;

	if (!function)
		return "is not DEFECT:CALL:FUNCTION";
	defect = xstrndup(match, (size_t)(call - match));
	if (!fault_defect_parse(defect, &ignored))
		return "has no defect that is known";
	name = xstrndup(call + 1, (size_t)(function - call - 1));
	if (strcmp(name, "*") != 0 && (!*name || name[strcspn(name, "*?[\\")]))
		return "has a call that is neither a name nor *";
	return pattern_refused(function + 1);
}

const char *allow_refused(const char *match)
{
	const char *path = strchr(match, ':');
	enum review_rule rule;

	if (!path || !review_rule_parse(match, (size_t)(path - match), &rule))
		return "must begin with a rule of `exitpath review` and a colon";
	if (rule == REVIEW_CONTRACT_WEAKENED || rule == REVIEW_SUPPRESSION_ADDED)
		return "would let the contract allow its own weakening";
	path++;
	if (!*path || *path == '/' || strpbrk(path, "*?[") || !strncmp(path, "./", 2) ||
	    strstr(path, ".."))
		return "must name one file, relative to the repository, without "
		       "wildcards";
	return NULL;
}

bool date_valid(const char *text)
{
	static const unsigned days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	unsigned v[3] = {0};
	bool leap;

	if (strlen(text) != 10 || text[4] != '-' || text[7] != '-')
		return false;
	for (size_t i = 0, field = 0; i < 10; i++) {
		if (i == 4 || i == 7) {
			field++;
			continue;
		}
		if (text[i] < '0' || text[i] > '9')
			return false;
		v[field] = v[field] * 10 + (unsigned)(text[i] - '0');
	}
	leap = v[0] % 4 == 0 && (v[0] % 100 != 0 || v[0] % 400 == 0);
	if (v[1] < 1 || v[1] > 12 || v[2] < 1 || v[2] > days[v[1] - 1])
		return false;
	return v[1] != 2 || v[2] < 29 || leap;
}

json_t *suppression_json(const struct suppression *s)
{
	json_t *j = json_object();

	json_put(j, "match", s->match);
	json_put(j, "reason", s->reason);
	json_put(j, "owner", s->owner);
	json_put(j, "expires", s->expires);
	return j;
}

static const struct suppression *find(const struct suppression *list, size_t n,
				      const char *match)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].match, match))
			return &list[i];
	return NULL;
}

/* what: "suppression", "ignored fault". */
static void add_widened(const char *what, const struct suppression *old_list, size_t nold,
			const struct suppression *new_list, size_t nnew,
			struct strv *lines)
{
	for (size_t i = 0; i < nnew; i++) {
		const struct suppression *new = &new_list[i];
		const struct suppression *old = find(old_list, nold, new->match);
		const char *until = new->expires ? new->expires : "never";

		if (!old)
			strv_addf(lines, "%s added: %s (owner %s, expires %s): %s", what,
				  new->match, new->owner, until, new->reason);
		/* ISO dates sort as text. */
		else if (old->expires &&
			 (!new->expires || strcmp(new->expires, old->expires) > 0))
			strv_addf(lines, "%s prolonged: %s (owner %s) expires %s, was %s",
				  what, new->match, new->owner, until, old->expires);
	}
}

void contract_widened(const struct contract *base, const struct contract *candidate,
		      struct strv *ret_lines)
{
	add_widened("suppression", base->suppressions, base->nsuppressions,
		    candidate->suppressions, candidate->nsuppressions, ret_lines);
	add_widened("ignored fault", base->faults.ignore, base->faults.nignore,
		    candidate->faults.ignore, candidate->faults.nignore, ret_lines);
	add_widened("allowed by review", base->review.allow, base->review.nallow,
		    candidate->review.allow, candidate->review.nallow, ret_lines);
}
