/*
 * What the files of adapters/node write about a process of a run: a line when it starts
 * and a line at its end, each a JSON object.
 */
#ifndef EXITPATH_DETECT_NODE_REPORT_H
#define EXITPATH_DETECT_NODE_REPORT_H

#include "base/macros.h"
#include "base/strv.h"
#include "detect/frames.h"
#include "model/resource.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { NODE_HELD_MAX = 4096, NODE_NOTES_MAX = 64 };

enum node_role {
	NODE_PLAIN,	  /* a script; its end is that its event loop is empty */
	NODE_TEST,	  /* node:test */
	NODE_TEST_PARENT, /* `node --test`, which starts a process for each file */
	NODE_JEST,
	NODE_MOCHA,
	NODE_VITEST,	    /* a process that runs test files */
	NODE_VITEST_PARENT, /* the command, which starts those */
	NODE_ROLES,
};
const char *node_role_name(enum node_role r); /* "jest" */

enum node_exit {
	NODE_EXIT_NATURAL, /* nothing was left to do */
	NODE_EXIT_ASKED,   /* process.exit() */
	NODE_EXIT_ENDED,   /* by the adapter: the tests were over and it went on */
	NODE_EXIT_OTHER,   /* an exception that nobody caught */
};

struct node_held {
	enum resource resource;
	char *what;
	uint64_t units;
	struct raw_stack stack; /* where it was created; may be empty */
};

struct node_process {
	pid_t pid, ppid;
	enum node_role role; /* the last that it said */
	char *script, *version;
	/* All below: of the line at its end. */
	bool ended;    /* there is one */
	char *refused; /* why its runner cannot be observed; NULL: it can */
	bool over;     /* all tests that were started have finished */
	bool canary;
	enum node_exit exit;
	int code;
	uint64_t tests;		/* executed */
	struct raw_stack asked; /* where process.exit() was called */
	struct node_held *held;
	size_t nheld, held_cap;
	struct strv notes;
};

/* Pure, for fuzzing. false: a whole line that is not as it should be; what was read
 * before stays. A last line that was cut is left out. */
bool node_report_parse(const char *text, size_t len, struct node_process *ret);
void node_process_release(struct node_process *p);
DEFINE_CLEANUP(node_process)

#endif
