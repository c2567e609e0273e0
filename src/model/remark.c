#include "model/remark.h"

#include "base/mem.h"
#include "model/codec.h"

#include <string.h>

void remark_release(struct remark *r)
{
	free(r->rule);
	free(r->path);
	free(r->function);
	free(r->message);
	free(r->excerpt);
	strv_release(&r->steps);
	free(r->justification);
	*r = (struct remark){0};
}

json_t *remark_to_json(const struct remark *r)
{
	json_t *j = json_object();

	json_put_bool(j, "blocks", r->blocks);
	json_put(j, "rule", r->rule);
	json_put(j, "path", r->path);
	if (r->line)
		json_put_int(j, "line", r->line);
	json_put(j, "revision", r->on_base ? "base" : "candidate");
	json_put(j, "function", r->function);
	json_put(j, "message", r->message);
	json_put(j, "excerpt", r->excerpt);
	if (r->steps.n)
		json_object_set_new(j, "steps", strv_to_json(&r->steps));
	json_put(j, "justification", r->justification);
	return j;
}

bool remark_from_json(const json_t *j, struct remark *ret)
{
	ret->blocks = json_get_bool(j, "blocks", false);
	ret->rule = json_get_dup(j, "rule");
	ret->path = json_get_dup(j, "path");
	ret->line = json_get_unsigned(j, "line");
	ret->on_base = !strcmp(json_get(j, "revision", "candidate"), "base");
	ret->function = json_get_dup(j, "function");
	ret->message = json_get_dup(j, "message");
	ret->excerpt = json_get_dup(j, "excerpt");
	ret->justification = json_get_dup(j, "justification");
	return ret->rule && ret->path && ret->message &&
	       strv_from_json(j, "steps", &ret->steps);
}
