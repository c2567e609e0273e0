/*
 * What the name of a call says: whether it lets go of something, keeps it, or cannot
 * fail. A name is taken apart into its words (closeQuietly, git_buf_free), so that
 * releases of projects that nobody has listed are known.
 */
#ifndef EXITPATH_SCAN_NAMES_H
#define EXITPATH_SCAN_NAMES_H

#include "source/source.h"

#include <stdbool.h>

/* The last part of a callee: "close" of `self.pool.close`. */
struct text {
	const char *at;
	size_t len;
};
struct text text_last(struct text callee);
bool text_is(struct text t, const char *word);
bool text_same(struct text a, struct text b);
/* Is it one of the words, separated by spaces? `*` at an end of one, or at both,
 * matches anything. */
bool text_among(struct text t, const char *words);

bool name_releases(struct text last); /* close, free, git_buf_dispose, Unlock … */
/* The same, of names that mean nothing else: enough to know a resource by. */
bool name_surely_releases(struct text last);
/* free(), close(): of whatever it was that gave it. */
bool name_is_basic_release(struct text last);
struct text name_prefix(struct text last); /* `strbuf` of strbuf_init */
bool name_acquires(struct text last);
/* Does it show what another owns? */
bool name_borrows(struct text last); /* open, NewReader, git_repository_init … */
/* May it keep what it is given: append, NewReader, set_callback, Wrapper()? */
bool name_keeps(struct text last);
/* Of a C function: it reads or fills what it is given, and that is all. */
bool name_only_uses(struct text last);

#endif
