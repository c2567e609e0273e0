/* What added and removed lines say: patterns, thresholds, lists, test commands. */
#include "review/internal.h"

#include "base/mem.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILE_ANY = ~0, MAX_LINE = 2000 };

struct pattern {
	enum review_rule rule;
	unsigned classes;
	const char *expression, *message;
};

#define ANY (unsigned)FILE_ANY
#define TEST FILE_TEST
#define CI FILE_CI
#define CONFIG FILE_CONFIG
#define SOURCE FILE_SOURCE
static const struct pattern patterns[] = {
#define PATTERN(rule, classes, expression, message) \
	{REVIEW_##rule, classes, expression, message},
#include "review/pattern.def"
#undef PATTERN
};
#undef ANY
#undef TEST
#undef CI
#undef CONFIG
#undef SOURCE

struct expressions {
	regex_t patterns[ARRAY_SIZE(patterns)];
	regex_t threshold, command, aside, judge;
};

/* ---- patterns ---- */

static bool matches(const regex_t *r, const struct line *l)
{
	regmatch_t range = {.rm_so = 0,
			    .rm_eo = (regoff_t)(l->len < MAX_LINE ? l->len : MAX_LINE)};

	return regexec(r, l->text, 1, &range, REG_STARTEND) == 0;
}

static bool justifiable(enum review_rule rule)
{
	return rule == REVIEW_SUPPRESSION_ADDED || rule == REVIEW_SUPPRESSION_INLINE ||
	       rule == REVIEW_DETECTOR_OFF;
}

static struct review_item *add_line_item(const struct review_file *f,
					 enum review_rule rule, const struct line *l,
					 const char *message, struct review_items *out)
{
	struct review_item *i = review_add(out, rule, f->path, l->number, "%s", message);

	i->excerpt = dup_line(l->text, l->len);
	if (justifiable(rule))
		i->justification = justification_at(f->text, f->len, l->number);
	return i;
}

/* Whether the line only talks: a comment whose mark is no part of the pattern. */
static bool only_talks(const struct pattern *p, const struct line *l)
{
	return is_comment(l->text, l->len) && p->rule != REVIEW_TEST_DISABLED &&
	       p->rule != REVIEW_SUPPRESSION_ADDED &&
	       p->rule != REVIEW_SUPPRESSION_INLINE;
}

/* What may well fail beside a test: showing logs, cleaning up. */
static const char aside_expression[] =
	"(^|[;&|({\"']|run:|-|then|else|do)[ \t]*(sudo )?"
	"(cat|echo|rm|rmdir|kill|pkill|killall|mkdir|ls|tail|head|grep|"
	"(docker|podman)( compose)? (rm|stop|logs|kill|network|volume|pull|down)|"
	"journalctl|umount|mount|printf|command|which|dmesg|read|wait|unset|ccache|du|df|"
	"find|"
	"mv|cp|ln|chmod|chown|touch|source|deactivate|sed|git|apt|apt-get|brew|systemctl|"
	"service|sysctl|curl|wget|tar|ps|stat|tee|true|dropdb|createdb|sleep|trap|gh|aws)"
	"([ \t][^;&|]*)?(\\|\\||;)";
/* What judges, or builds what is judged. */
static const char judge_expression[] = "(test|check|lint|build|make|ninja|cargo|(^|[ "
				       ";&|:])go |npm|yarn|pnpm|mvn|gradle|tox|"
				       "jest|vitest|mocha|meson|mypy|ruff|semgrep|"
				       "gitleaks|exitpath|valgrind|verify|audit|"
				       "scan|scripts/|[.]/|cover)";

/* The line, and the one before it where that goes on: "pytest \\" and "|| true". */
static bool judges(const struct review_file *f, const struct expressions *x,
		   const struct line *l)
{
	const char *end = l->text, *start;
	struct line before = {0};

	if (matches(&x->judge, l) || l->len < 2 || strncmp(l->text, "||", 2) != 0)
		return matches(&x->judge, l);
	while (end > f->text && isspace((unsigned char)end[-1]))
		end--;
	start = memrchr(f->text, '\n', (size_t)(end - f->text));
	before.text = start ? start + 1 : f->text;
	before.len = (size_t)(end - before.text);
	return matches(&x->judge, &before);
}

/* "A command may fail": one whose failure matters, and in a new file a test. */
static bool matters(const struct review_file *f, const struct expressions *x,
		    const struct pattern *p, const struct line *l)
{
	if (p->rule == REVIEW_TEST_DISABLED || p->rule == REVIEW_TEST_SKIPPED)
		return f->old_path != NULL; /* a new file takes nothing away */
	if (p->rule != REVIEW_CI_LOOSENED)
		return true;
	if (!f->old_path && !matches(&x->command, l))
		return false;
	return strcmp(p->message, "a command may fail") != 0 ||
	       (judges(f, x, l) && !matches(&x->aside, l));
}

/* How many removed lines said the same: a line that was edited is none that was added. */
static unsigned said_before(const struct expressions *x, size_t p,
			    const struct line_diff *d)
{
	unsigned n = 0;

	if (patterns[p].rule == REVIEW_SUPPRESSION_ADDED)
		return 0; /* a list is longer, though its line was there */
	for (size_t i = 0; i < d->removed.n; i++)
		n += matches(&x->patterns[p], &d->removed.v[i]) &&
		     !only_talks(&patterns[p], &d->removed.v[i]);
	return n;
}

static void match_patterns(const struct review_file *f, unsigned class,
			   const struct expressions *x, const struct line_diff *d,
			   struct review_items *out)
{
	unsigned before[ARRAY_SIZE(patterns)];

	for (size_t p = 0; p < ARRAY_SIZE(patterns); p++)
		before[p] = said_before(x, p, d);
	for (size_t i = 0; i < d->added.n; i++)
		for (size_t p = 0; p < ARRAY_SIZE(patterns); p++) {
			const struct line *l = &d->added.v[i];

			if (!(patterns[p].classes & (class | 0x8000)) ||
			    only_talks(&patterns[p], l) || !matches(&x->patterns[p], l) ||
			    !matters(f, x, &patterns[p], l))
				continue;
			if (before[p] > 0)
				before[p]--;
			else
				add_line_item(f, patterns[p].rule, l, patterns[p].message,
					      out);
			break;
		}
}

/* ---- lists of what is ignored: whatever is added is ignored ---- */

static void match_suppressions(const struct review_file *f, const struct line_diff *d,
			       struct review_items *out)
{
	unsigned last = 0;

	for (size_t i = 0; i < d->added.n; i++) {
		const struct line *l = &d->added.v[i];

		if (is_comment(l->text, l->len) ||
		    (l->len == 1 && strchr("{}[](),", *l->text)))
			continue;
		if (last && l->number == last + 1 && *l->text != '[') {
			last = l->number; /* the rest of one entry, or its neighbour */
			continue;
		}
		last = l->number;
		add_line_item(f, REVIEW_SUPPRESSION_ADDED, l, "more is not reported",
			      out);
	}
}

/* ---- numbers that are asked for ---- */

static const char threshold_key[] =
	"(fail[_-]under|cov-fail-under|threshold|minimum|target|branches|functions|lines|"
	"statements|min[_-]?coverage|minimum_coverage|--min-coverage|max-warnings|max_"
	"warnings)";

/* The number behind the key, and the text in front of it. */
static bool threshold_of(const regex_t *key, const struct line *l, double *ret,
			 regmatch_t *ret_at)
{
	char text[300], *end, *p;

	if (l->len >= sizeof(text))
		return false;
	memcpy(text, l->text, l->len);
	text[l->len] = '\0';
	if (regexec(key, text, 1, ret_at, 0) != 0)
		return false;
	p = text + ret_at->rm_eo;
	p += strcspn(p, "0123456789\n");
	if (!*p || p - (text + ret_at->rm_eo) > 8)
		return false;
	*ret = strtod(p, &end);
	return end != p;
}

static void match_thresholds(const struct review_file *f, const regex_t *key,
			     const struct line_diff *d, struct review_items *out)
{
	for (size_t i = 0; i < d->removed.n; i++) {
		const struct line *was = &d->removed.v[i], *is = NULL;
		double old, now = 0;
		regmatch_t at, other;
		bool worse;

		if (is_comment(was->text, was->len) || !threshold_of(key, was, &old, &at))
			continue;
		for (size_t k = 0; k < d->added.n && !is; k++)
			if (threshold_of(key, &d->added.v[k], &now, &other) &&
			    other.rm_eo - other.rm_so == at.rm_eo - at.rm_so &&
			    strncasecmp(was->text + at.rm_so,
					d->added.v[k].text + other.rm_so,
					(size_t)(at.rm_eo - at.rm_so)) == 0)
				is = &d->added.v[k];
		worse = strncasecmp(was->text + at.rm_so, "max", 3) == 0 ? now > old
									 : now < old;
		if (is && worse)
			add_line_item(f, REVIEW_THRESHOLD_LOWERED, is,
				      "it was stricter before", out);
		else if (!is && f->path) {
			struct line gone = {was->text, was->len, was->number};
			struct review_item *item =
				add_line_item(f, REVIEW_THRESHOLD_LOWERED, &gone,
					      "nothing is asked for now", out);

			item->on_base = true;
		}
	}
}

/* ---- commands that test ---- */

static const char test_command[] =
	"(^|[ \"'`&;|:@(/])(pytest|py\\.test|tox|nox|go test|go vet|npm (run "
	")?(test|lint)|npm t|"
	"yarn (run )?(test|lint)|pnpm (run )?(test|lint)|jest|vitest|mocha|cargo "
	"(test|clippy)|"
	"mvn [^|]*(test|verify)|gradlew? [^|]*(test|check)|ctest|make "
	"[^|;&]*(test|check)|"
	"meson test|bats|exitpath (gate|leak|review|scan|fault|prove)|ruff "
	"check|mypy|eslint|"
	"golangci-lint|semgrep|gitleaks|python3? -m (pytest|unittest)|node "
	"--test|valgrind)"
	"($|[ \"'`;&|)])";

static const char *const strict_flags[] = {"-race",
					   "--strict",
					   "-Werror",
					   "-fsanitize",
					   "--cov-fail-under",
					   "--coverage",
					   "--error-exitcode",
					   "--detectOpenHandles",
					   "-W error",
					   "--leak-check=full",
					   "-D warnings",
					   "-count=1",
					   "--ci",
					   "--max-warnings",
					   "--frozen-lockfile",
					   "--fail-under",
					   "./...",
					   "--all",
					   "--workspace"};

static bool line_has(const struct line *l, const char *word)
{
	return memmem(l->text, l->len, word, strlen(word)) != NULL;
}

static unsigned lost_flags(const struct line *was, const struct line *is,
			   const char **ret_first)
{
	unsigned lost = 0;

	for (size_t i = 0; i < ARRAY_SIZE(strict_flags); i++)
		if (line_has(was, strict_flags[i]) && !line_has(is, strict_flags[i])) {
			*ret_first = lost++ ? *ret_first : strict_flags[i];
		}
	return lost;
}

struct commands {
	const regex_t *key;
	const struct review_patch *patch;
	struct line_diff *diffs;
};

/* Is there as much elsewhere: the same command on any added line of what runs checks? */
static bool runs_elsewhere(const struct commands *c, const struct line *was)
{
	regmatch_t at[1];
	char text[MAX_LINE];
	size_t len = was->len < sizeof(text) - 1 ? was->len : sizeof(text) - 1;
	const char *word;

	memcpy(text, was->text, len);
	text[len] = '\0';
	if (regexec(c->key, text, 1, at, 0) != 0)
		return true;
	text[at->rm_eo] = '\0';
	word = text + at->rm_so;
	word += strspn(word, " \"'`&;|:@(/");
	text[at->rm_so + (regoff_t)strcspn(text + at->rm_so, "\"'`)")] = '\0';
	for (size_t i = 0; i < c->patch->n; i++)
		for (size_t k = 0; k < c->diffs[i].added.n; k++)
			if (c->patch->files[i].path &&
			    file_class(c->patch->files[i].path) & FILE_CI &&
			    line_has(&c->diffs[i].added.v[k], word) &&
			    !is_comment(c->diffs[i].added.v[k].text,
					c->diffs[i].added.v[k].len))
				return true;
	return false;
}

/* The workflow does not look at proposed changes any more. */
static void match_triggers(const struct review_file *f, const struct line_diff *d,
			   struct review_items *out)
{
	static const char *const triggers[] = {"pull_request", "merge_request_event",
					       "merge_group"};

	for (size_t i = 0; f->path && i < d->removed.n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(triggers); k++) {
			const struct line *was = &d->removed.v[i];
			struct review_item *item;

			if (!line_has(was, triggers[k]) ||
			    is_comment(was->text, was->len) ||
			    line_has(was, "github.event") ||
			    memmem(f->text, f->len, triggers[k], strlen(triggers[k])))
				continue;
			item = review_add(out, REVIEW_CI_LOOSENED, f->path, was->number,
					  "proposed changes are not checked any more");
			item->on_base = true;
			item->excerpt = dup_line(was->text, was->len);
			break;
		}
}

static void match_commands(const struct commands *c, size_t file,
			   struct review_items *out)
{
	const struct review_file *f = &c->patch->files[file];
	const struct line_diff *d = &c->diffs[file];
	const char *path = f->path ? f->path : f->old_path;
	size_t next = 0;

	for (size_t i = 0; i < d->removed.n; i++) {
		const struct line *was = &d->removed.v[i], *is = NULL;
		const char *flag = "";
		struct review_item *item;

		if (line_has(was, "pipefail") || line_has(was, "set -e")) {
			bool kept = false;

			for (size_t k = 0; k < d->added.n; k++)
				kept |= line_has(&d->added.v[k], "pipefail") ||
					(line_has(&d->added.v[k], "set -e") &&
					 !line_has(was, "pipefail"));
			if (!kept && f->path && !is_comment(was->text, was->len)) {
				item = review_add(
					out, REVIEW_CI_LOOSENED, path, was->number,
					"a failed command does not end the script now");
				item->on_base = true;
				item->excerpt = dup_line(was->text, was->len);
			}
		}
		if (is_comment(was->text, was->len) || !matches(c->key, was))
			continue;
		for (; next < d->added.n && !is; next++)
			if (matches(c->key, &d->added.v[next]) &&
			    !is_comment(d->added.v[next].text, d->added.v[next].len))
				is = &d->added.v[next];
		if (is && lost_flags(was, is, &flag)) {
			item = review_add(out, REVIEW_CI_LOOSENED, path, is->number,
					  "the command is run without %s now", flag);
			item->excerpt = dup_line(is->text, is->len);
		} else if (!is && !runs_elsewhere(c, was)) {
			item = review_add(out, REVIEW_CI_LOOSENED, path, was->number,
					  "a check is not run any more");
			item->on_base = true;
			item->excerpt = dup_line(was->text, was->len);
		}
	}
}

/* ---- all files ---- */

static void snapshot(const struct review_file *f, struct review_items *out)
{
	if (f->path && f->old_path && strcmp(f->old_text, f->text) != 0)
		review_add(out, REVIEW_SNAPSHOT_CHANGED, f->path, 0,
			   "a recorded output follows the code: nobody but the new code "
			   "says "
			   "that it is right");
}

static void one_file(const struct commands *c, size_t i, const struct expressions *x,
		     struct review_items *out)
{
	const struct review_file *f = &c->patch->files[i];
	const char *path = f->path ? f->path : f->old_path;
	unsigned class = file_class(path);

	if (class & FILE_SNAPSHOT)
		snapshot(f, out);
	if (f->path && (class & FILE_SUPPRESSION))
		match_suppressions(f, &c->diffs[i], out);
	else if (f->path)
		match_patterns(f, class, x, &c->diffs[i], out);
	if (class & (FILE_CONFIG | FILE_CI))
		match_thresholds(f, &x->threshold, &c->diffs[i], out);
	if (class & FILE_CI)
		match_commands(c, i, out);
	if (class & FILE_CI)
		match_triggers(f, &c->diffs[i], out);
}

static void compile(regex_t *r, const char *expression, int flags)
{
	if (regcomp(r, expression, REG_EXTENDED | flags) != 0)
		abort(); /* they are ours, and tested */
}

static void expressions_compile(struct expressions *x)
{
	for (size_t p = 0; p < ARRAY_SIZE(patterns); p++)
		compile(&x->patterns[p], patterns[p].expression, REG_NOSUB | REG_ICASE);
	compile(&x->threshold, threshold_key, REG_ICASE);
	compile(&x->command, test_command, 0);
	compile(&x->aside, aside_expression, REG_NOSUB);
	compile(&x->judge, judge_expression, REG_NOSUB);
}

static void expressions_free(struct expressions *x)
{
	for (size_t p = 0; p < ARRAY_SIZE(patterns); p++)
		regfree(&x->patterns[p]);
	regfree(&x->threshold);
	regfree(&x->command);
	regfree(&x->aside);
	regfree(&x->judge);
}

void review_lines(const struct review_patch *patch, struct review_items *out)
{
	struct expressions x;
	struct commands c = {&x.command, patch, xcalloc(patch->n + 1, sizeof(*c.diffs))};

	expressions_compile(&x);
	for (size_t i = 0; i < patch->n; i++)
		line_diff(&patch->files[i], &c.diffs[i]);
	for (size_t i = 0; i < patch->n; i++)
		one_file(&c, i, &x, out);
	for (size_t i = 0; i < patch->n; i++)
		line_diff_release(&c.diffs[i]);
	expressions_free(&x);
	free(c.diffs);
}
