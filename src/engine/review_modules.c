/*
 * Is there such a module? In doubt there is: an import may be named unlike its package,
 * and a path may be an alias of a bundler. Unknown is what neither the language, nor a
 * file of the repository, nor the text of any manifest has a trace of.
 */
#include "engine/review_parts.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/strv.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

enum { MAX_MANIFESTS = 64 };

struct review_modules {
	struct buf files;     /* paths, each between two newlines */
	struct buf manifests; /* texts in lower case, '-' and '.' as '_' */
	size_t nmanifests;
	struct repo *repo;
	const char *base;
};

static const char *const manifest_names[] = {
	"package.json",	   "pyproject.toml", "requirements*.txt", "*requirements.txt",
	"setup.py",	   "setup.cfg",	     "Pipfile",		  "environment.y*ml",
	"poetry.lock",	   "uv.lock",	     "tox.ini",		  "deno.json*",
	"requirements*.in"};

static const char python_modules[] =
	" abc argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 "
	"calendar"
	" cmath cmd code codecs codeop collections colorsys concurrent configparser "
	"contextlib"
	" contextvars copy copyreg cProfile csv ctypes curses dataclasses datetime dbm "
	"decimal"
	" difflib dis doctest email encodings enum errno faulthandler fcntl filecmp "
	"fileinput"
	" fnmatch fractions ftplib functools gc getopt getpass gettext glob graphlib grp "
	"gzip"
	" hashlib heapq hmac html http imaplib importlib inspect io ipaddress itertools "
	"json"
	" keyword linecache locale logging lzma mailbox marshal math mimetypes mmap"
	" multiprocessing netrc numbers operator optparse os pathlib pdb pickle pkgutil "
	"platform"
	" plistlib poplib posix pprint profile pstats pty pwd queue quopri random re "
	"readline"
	" reprlib resource runpy sched secrets select selectors shelve shlex shutil "
	"signal site"
	" smtplib socket socketserver sqlite3 ssl stat statistics string struct "
	"subprocess"
	" symtable sys sysconfig syslog tarfile tempfile termios test textwrap threading "
	"time"
	" timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle "
	"types"
	" typing unicodedata unittest urllib uuid venv warnings wave weakref webbrowser "
	"winreg"
	" wsgiref xml xmlrpc zipapp zipfile zipimport zlib zoneinfo __main__ ";
static const char node_modules[] =
	" assert async_hooks buffer child_process cluster console constants crypto dgram"
	" diagnostics_channel dns domain events fs http http2 https inspector module net "
	"os"
	" path perf_hooks process punycode querystring readline repl stream "
	"string_decoder"
	" timers tls trace_events tty url util v8 vm wasi worker_threads zlib test ";
/* Where the name of the package has none of the module's. */
static const char *const renamed[][2] = {
	{"pil", "pillow"},	  {"cv2", "opencv"},
	{"bs4", "beautifulsoup"}, {"sklearn", "scikit"},
	{"skimage", "scikit"},	  {"mysqldb", "mysqlclient"},
	{"google", "google"},	  {"pkg_resources", "setuptools"},
	{"win32api", "pywin32"},  {"zmq", "pyzmq"},
	{"usb", "pyusb"},
};

static void add_simple(struct buf *to, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf_addc(to, text[i] == '-' || text[i] == '.'
				     ? '_'
				     : (char)tolower((unsigned char)text[i]));
}

static bool is_manifest(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(manifest_names); i++)
		if (!fnmatch(manifest_names[i], path_base(path), 0))
			return true;
	return false;
}

int review_modules_read(struct repo *r, const char *base, const char *candidate,
			struct review_modules **ret, struct err *err)
{
	struct review_modules *m = xcalloc(1, sizeof(*m));
	CLEANUP(buf) struct buf list = {0};

	m->repo = r;
	m->base = base;
	if (rev_tree_files(r, candidate, &list, err) < 0) {
		review_modules_free(m);
		return -1;
	}
	buf_addc(&m->files, '\n');
	for (const char *p = buf_str(&list), *end = p + list.len; p < end;
	     p += strlen(p) + 1) {
		CLEANUP(buf) struct buf text = {0};
		bool found = false;

		buf_addf(&m->files, "%s\n", p);
		if (!is_manifest(p) || m->nmanifests == MAX_MANIFESTS ||
		    rev_read_file(r, candidate, p, &text, &found, NULL) < 0 || !found)
			continue;
		add_simple(&m->manifests, buf_str(&text), text.len);
		m->nmanifests++;
	}
	*ret = m;
	return 0;
}

void review_modules_free(struct review_modules *m)
{
	if (!m)
		return;
	buf_release(&m->files);
	buf_release(&m->manifests);
	free(m);
}

static bool has(const struct buf *b, const char *word)
{
	return strstr(buf_str(b), word) != NULL;
}

/* A file or directory of that name, anywhere. */
static bool is_file(const struct review_modules *m, const char *name)
{
	static const char *const shapes[] = {"\n%s/", "\n%s.", "/%s/", "/%s."};
	const struct buf *files = &m->files;

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		CLEANUP(buf) struct buf word = {0};
		const char *at = strstr(shapes[i], "%s");

		buf_add(&word, shapes[i], (size_t)(at - shapes[i]));
		buf_adds(&word, name);
		buf_adds(&word, at + 2);
		if (has(files, word.data))
			return true;
	}
	return false;
}

static bool in_manifest(const struct review_modules *m, const char *name)
{
	CLEANUP(buf) struct buf simple = {0};

	add_simple(&simple, name, strlen(name));
	if (has(&m->manifests, buf_str(&simple)))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(renamed); i++)
		if (!strcmp(buf_str(&simple), renamed[i][0]) &&
		    has(&m->manifests, renamed[i][1]))
			return true;
	return false;
}

static bool listed(const char *list, const char *name)
{
	CLEANUP_FREE char *word = xasprintf(" %s ", name);

	return strstr(list, word) != NULL;
}

/* "../db/pool.js" of src/__tests__/a.test.js: a file src/db/pool, with any ending. */
static bool relative_is_there(const struct review_modules *m, const char *module,
			      const char *from)
{
	CLEANUP_FREE char *dir = xstrndup(from, (size_t)(path_base(from) - from));
	CLEANUP(buf) struct buf word = {0};
	size_t len = strlen(dir), end;

	while (len > 0 && dir[len - 1] == '/')
		dir[--len] = '\0';
	for (;;) {
		if (!strncmp(module, "./", 2)) {
			module += 2;
		} else if (!strncmp(module, "../", 3)) {
			char *slash = strrchr(dir, '/');

			*(slash ? slash : dir) = '\0';
			module += 3;
		} else {
			break;
		}
	}
	end = strlen(module);
	for (const char *dot = strrchr(module, '.'); dot && !strchr(dot, '/'); dot = NULL)
		end = (size_t)(dot - module);
	buf_addf(&word, "\n%s%s%.*s", dir, *dir ? "/" : "", (int)end, module);
	return has(&m->files, word.data);
}

/* Base uses it: a dependency of a dependency. */
static bool imported(const struct review_modules *m, const char *expression)
{
	bool found = false;

	return rev_grep(m->repo, m->base, expression, &found, NULL) < 0 || found;
}

static bool knows_node(const struct review_modules *m, const char *module,
		       const char *from)
{
	CLEANUP_FREE char *package = NULL, *expression = NULL;
	size_t len = strcspn(module, "/");

	if (*module == '.')
		return relative_is_there(m, module, from);
	if (!strncmp(module, "node:", 5) || !strncmp(module, "@/", 2) || *module == '~' ||
	    *module == '#' || *module == '/' || *module == '$')
		return true;
	if (*module == '@' && module[len])
		len += 1 + strcspn(module + len + 1, "/");
	package = xstrndup(module, len);
	if (listed(node_modules, package) || in_manifest(m, package) ||
	    is_file(m, package))
		return true;
	expression = xasprintf("(from|require\\(|import) *['\"]%s['\"/]", package);
	return imported(m, expression);
}

bool review_modules_know(void *ctx, const char *module, const char *from)
{
	const struct review_modules *m = ctx;
	CLEANUP_FREE char *top = NULL, *expression = NULL;
	const char *dot = strrchr(from, '.');

	if (!m->nmanifests)
		return true; /* nobody can tell */
	if (!dot || strcmp(dot, ".py") != 0)
		return knows_node(m, module, from);
	top = xstrndup(module, strcspn(module, "."));
	if (listed(python_modules, top) || is_file(m, top) || in_manifest(m, top))
		return true;
	expression = xasprintf("^ *(from|import) +%s([. ,]|$)", top);
	return imported(m, expression);
}
