/*
 * SARIF 2.1.0 (OASIS), with what GitHub's code scanning asks for beyond the schema:
 * whole regions, help texts, fingerprints, automationDetails. The way of the failure is
 * a codeFlow.
 */
#include "base/mem.h"
#include "base/version.h"
#include "report/scan.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RESULTS = 25000 }; /* GitHub refuses files with more */

#define SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"

static json_t *text_of(const char *text)
{
	json_t *j = json_object();

	json_put(j, "text", text);
	return j;
}

static const char *level_of(enum scan_severity s)
{
	return scan_severity_name(s); /* SARIF has the same words */
}

static json_t *rule_json(const struct scan_rule *r, bool of_review)
{
	json_t *j = json_object(), *configuration = json_object();
	CLEANUP_FREE char *help = xasprintf("%s\n\nRepair: %s", r->explain, r->fix);

	json_put(j, "id", r->id);
	json_object_set_new(j, "shortDescription",
			    text_of(of_review ? r->explain : scan_shape_name(r->shape)));
	json_object_set_new(j, "fullDescription", text_of(r->explain));
	json_object_set_new(j, "help", text_of(help));
	if (r->references.n)
		json_put(j, "helpUri", r->references.v[0]);
	json_put(configuration, "level", level_of(r->severity));
	json_object_set_new(j, "defaultConfiguration", configuration);
	return j;
}

/* A path as a relative URI: what is not unreserved is escaped (RFC 3986). */
static char *uri_of(const char *path)
{
	struct buf b = {0};

	while (!strncmp(path, "./", 2))
		path += 2;
	if (*path == '/')
		buf_adds(&b, "file://");
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') || strchr("-._~/@+", c))
			buf_addc(&b, (char)c);
		else
			buf_addf(&b, "%%%02X", c);
	}
	return buf_detach(&b);
}

static json_t *location_json(const char *path, unsigned line, unsigned column,
			     unsigned end_line, unsigned end_column)
{
	json_t *j = json_object(), *physical = json_object(), *artifact = json_object();
	json_t *region = json_object();
	CLEANUP_FREE char *uri = uri_of(path);

	json_put(artifact, "uri", uri);
	json_put_int(region, "startLine", line);
	json_put_int(region, "startColumn", column);
	json_put_int(region, "endLine", end_line < line ? line : end_line);
	json_put_int(region, "endColumn",
		     end_line <= line && end_column <= column ? column + 1 : end_column);
	json_object_set_new(physical, "artifactLocation", artifact);
	json_object_set_new(physical, "region", region);
	json_object_set_new(j, "physicalLocation", physical);
	return j;
}

static json_t *flow_json(const struct scan_finding *f)
{
	json_t *flows = json_array(), *flow = json_object(), *threads = json_array();
	json_t *thread = json_object(), *locations = json_array();

	for (size_t i = 0; i < f->nsteps; i++) {
		json_t *at = json_object();
		json_t *location =
			location_json(f->path, f->steps[i].line, 1, f->steps[i].line, 2);

		json_object_set_new(location, "message", text_of(f->steps[i].text));
		json_object_set_new(at, "location", location);
		json_array_append_new(locations, at);
	}
	json_object_set_new(thread, "locations", locations);
	json_array_append_new(threads, thread);
	json_object_set_new(flow, "threadFlows", threads);
	json_array_append_new(flows, flow);
	return flows;
}

static json_t *result_json(const struct scan_findings *all, size_t i,
			   const struct scan_rules *rules)
{
	const struct scan_finding *f = &all->v[i];
	json_t *j = json_object(), *locations = json_array(), *prints = json_object();
	const struct scan_rule *rule = scan_rule_find(rules, f->rule);
	char print[17];

	json_put(j, "ruleId", f->rule);
	if (rule)
		json_put_int(j, "ruleIndex", rule - rules->v);
	json_put(j, "level", level_of(f->severity));
	json_object_set_new(j, "message", text_of(f->message));
	json_array_append_new(locations, location_json(f->path, f->line, f->utf16_column,
						       f->end_line, f->utf16_end_column));
	json_object_set_new(j, "locations", locations);
	report_scan_fingerprint(f, report_scan_nth(all, i), print);
	json_put(prints, "primaryLocationLineHash", print);
	json_object_set_new(j, "partialFingerprints", prints);
	if (f->nsteps)
		json_object_set_new(j, "codeFlows", flow_json(f));
	return j;
}

static void write_sarif(const struct scan_findings *f, const struct scan_rules *rules,
			struct buf *out)
{
	CLEANUP_JSON json_t *j = json_object();
	json_t *runs = json_array(), *run = json_object(), *tool = json_object();
	json_t *driver = json_object(), *list = json_array(), *results = json_array();
	json_t *automation = json_object();
	CLEANUP_FREE char *text = NULL;

	for (size_t i = 0; i < rules->n; i++)
		json_array_append_new(list, rule_json(&rules->v[i], rules->of_review));
	for (size_t i = 0; i < f->n && i < MAX_RESULTS; i++)
		json_array_append_new(results, result_json(f, i, rules));
	json_put(driver, "name", "exitpath");
	json_put(driver, "semanticVersion", EXITPATH_VERSION);
	json_object_set_new(driver, "rules", list);
	json_object_set_new(tool, "driver", driver);
	json_object_set_new(run, "tool", tool);
	json_put(automation, "id",
		 rules->of_review ? "exitpath/review/" : "exitpath/scan/");
	json_object_set_new(run, "automationDetails", automation);
	json_put(run, "columnKind", "utf16CodeUnits");
	json_object_set_new(run, "results", results);
	json_array_append_new(runs, run);
	json_put(j, "$schema", SCHEMA);
	json_put(j, "version", "2.1.0");
	json_object_set_new(j, "runs", runs);
	text = json_pretty(j);
	buf_adds(out, text);
}

const struct scan_format scan_sarif = {"sarif", "SARIF 2.1.0, as GitHub takes it",
				       write_sarif};
