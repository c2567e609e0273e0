/* Inside of source/: where its files meet tree-sitter. */
#ifndef EXITPATH_SOURCE_INTERNAL_H
#define EXITPATH_SOURCE_INTERNAL_H

#include "source/source.h"

#include <tree_sitter/api.h>

const TSLanguage *source_grammar(enum source_lang lang);
/* Fills nodes, n and broken from ts; false when there are more than max_nodes. */
bool source_flatten(struct source_tree *t, const TSTree *ts, uint32_t max_nodes);

/* ignore.c: the rules of the .gitignore files on the way down to a directory. */
struct ignore;
/* parent NULL: the top. dir is absolute or relative; rel is its path below the top. */
struct ignore *ignore_enter(struct ignore *parent, const char *dir, const char *rel);
struct ignore *ignore_leave(struct ignore *i); /* gives the parent */
/* rel: the path of the entry below the top. */
bool ignore_match(const struct ignore *i, const char *rel, bool is_dir);

#endif
