/*
 * All files on all processors. The threads take the next index from one counter; each
 * has a parser and a buffer of its own, and nothing else is shared. The caller's thread
 * works, too, so that it goes on with one where no thread can be started.
 */
#include "source/internal.h"

#include "base/fs.h"
#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MAX_JOBS = 16 };

struct crew {
	struct source_files *files;
	const struct source_limits *limits;
	void (*each)(void *ctx, unsigned worker, size_t index,
		     const struct source_tree *t);
	void *ctx;
	atomic_size_t next;
	atomic_uint generated;
};

struct member {
	struct crew *crew;
	unsigned worker;
	pthread_t thread;
	bool started;
};

unsigned source_jobs(unsigned jobs)
{
	cpu_set_t set;

	if (jobs == 0 && sched_getaffinity(0, sizeof(set), &set) == 0)
		jobs = (unsigned)CPU_COUNT(&set);
	if (jobs == 0)
		jobs = 1;
	return jobs < MAX_JOBS ? jobs : MAX_JOBS;
}

static void one_file(struct crew *c, struct source_parser *parser, struct buf *text,
		     unsigned worker, size_t index)
{
	const struct source_file *file = &c->files->v[index];
	size_t max = c->limits && c->limits->bytes ? c->limits->bytes : SOURCE_MAX_BYTES;
	struct source_tree t CLEANUP(source_tree) = {.lang = file->lang, .text = ""};

	buf_clear(text);
	if (read_file(file->path, max + 1, text, NULL) < 0) {
		t.skipped = "it cannot be read";
	} else if (source_is_generated(file->path, buf_str(text), text->len)) {
		atomic_fetch_add(&c->generated, 1);
		return;
	} else {
		enum source_lang lang =
			source_lang_of(file->path, buf_str(text), text->len);

		source_parse(parser, lang != LANG_NONE ? lang : file->lang, buf_str(text),
			     text->len, c->limits, &t);
	}
	c->each(c->ctx, worker, index, &t);
	source_tree_recycle(&t, parser);
}

static void *work(void *arg)
{
	struct member *m = arg;
	struct crew *c = m->crew;
	struct source_parser *parser = source_parser_new();
	struct buf text CLEANUP(buf) = {0};

	for (;;) {
		size_t index = atomic_fetch_add(&c->next, 1);

		if (index >= c->files->n)
			break;
		one_file(c, parser, &text, m->worker, index);
	}
	source_parser_free(parser);
	return NULL;
}

void source_each(struct source_files *files, unsigned jobs,
		 const struct source_limits *limits,
		 void (*each)(void *ctx, unsigned worker, size_t index,
			      const struct source_tree *t),
		 void *ctx)
{
	struct crew crew = {.files = files, .limits = limits, .each = each, .ctx = ctx};
	struct member members[MAX_JOBS];

	jobs = source_jobs(jobs);
	if (jobs > files->n)
		jobs = files->n ? (unsigned)files->n : 1;
	for (unsigned i = 0; i < jobs; i++)
		members[i] = (struct member){.crew = &crew, .worker = i};
	for (unsigned i = 1; i < jobs; i++)
		members[i].started =
			pthread_create(&members[i].thread, NULL, work, &members[i]) == 0;
	work(&members[0]);
	for (unsigned i = 1; i < jobs; i++)
		if (members[i].started)
			pthread_join(members[i].thread, NULL);
	files->generated += atomic_load(&crew.generated);
}
