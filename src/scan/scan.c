#include "scan/scan.h"

#include "scan/flow.h"
#include "scan/lang.h"
#include "scan/paths.h"

void scan_file(const struct source_tree *t, const char *path, struct scan_findings *out)
{
	const struct scan_lang *lang = scan_lang(t->lang);
	size_t npairs;
	const struct scan_pair *pairs = scan_pairs(t->lang, &npairs);

	if (!lang)
		return;
	for (uint32_t n = 0; n < t->n; n++) {
		CLEANUP(flow) struct flow flow = {0};
		struct scan_function fn;

		if (!source_has(&lang->functions, t->nodes[n].kind))
			continue;
		flow_build(lang, t, n, &flow);
		fn = (struct scan_function){
			.lang = lang, .t = t, .flow = &flow, .path = path};
		scan_paths(&fn, pairs, npairs, out);
		scan_cleanup(&fn, out);
	}
}
