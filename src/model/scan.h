/* What `exitpath scan` found: places where a failure path goes wrong. Plain data. */
#ifndef EXITPATH_MODEL_SCAN_H
#define EXITPATH_MODEL_SCAN_H

#include "base/json.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

/* DESIGN §7: what kind of mistake a rule looks for. */
enum scan_shape {
#define SHAPE(id, letter, name) SHAPE_##id,
#include "model/scan_shape.def"
#undef SHAPE
	SCAN_SHAPES
};
char scan_shape_letter(enum scan_shape s);
const char *scan_shape_name(enum scan_shape s);

/* A note is not shown unless it is asked for. */
enum scan_severity { SCAN_NOTE, SCAN_WARNING, SCAN_ERROR };
const char *scan_severity_name(enum scan_severity s);

/* One step of a path of failure: "acquired here", "may raise here". */
struct scan_step {
	unsigned line; /* from 1 */
	char *text;    /* what happens there */
};

struct scan_finding {
	const char *rule; /* its id; static or of the rule set */
	enum scan_shape shape;
	enum scan_severity severity;
	bool inherited; /* of a diff: base has it, too; the patch touches its line */
	char *path;
	unsigned line, column, end_line, end_column; /* from 1; bytes */
	unsigned utf16_column, utf16_end_column;     /* the same, as SARIF counts */
	char *function;				     /* NULL: none around it */
	char *message;
	char *excerpt; /* the line, without indentation */
	struct scan_step *steps;
	size_t nsteps, steps_cap;
};
struct scan_step *scan_step_add(struct scan_finding *f, unsigned line, char *text);
void scan_finding_release(struct scan_finding *f);

struct scan_findings {
	struct scan_finding *v;
	size_t n, cap;
};
struct scan_finding *scan_findings_add(struct scan_findings *f); /* zeroed */
/* By path, line, column, rule; drops what is said twice of one place. */
void scan_findings_sort(struct scan_findings *f);
void scan_findings_release(struct scan_findings *f);
DEFINE_CLEANUP(scan_findings)

#endif
