#include "scan/lang.h"

#include <pthread.h>

extern struct scan_lang scan_python, scan_c, scan_cpp, scan_go, scan_js, scan_ts,
	scan_tsx, scan_java;

static struct scan_lang *const langs[] = {&scan_python, &scan_c,  &scan_cpp, &scan_go,
					  &scan_js,	&scan_ts, &scan_tsx, &scan_java};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void resolve(struct scan_lang *l)
{
	l->functions = source_kinds(l->id, l->function_kinds);
	l->opaque = source_kinds(l->id, l->opaque_kinds);
	l->calls = source_kinds(l->id, l->call_kinds);
	l->identifiers = source_kinds(l->id, l->identifier_kinds);
	l->members = source_kinds(l->id, l->member_kinds);
	l->assigns = source_kinds(l->id, l->assign_kinds);
	l->binaries = source_kinds(l->id, l->binary_kinds);
	l->nots = source_kinds(l->id, l->not_kinds);
	l->parens = source_kinds(l->id, l->paren_kinds);
	l->transparent = source_kinds(l->id, l->transparent_kinds);
	l->containers = source_kinds(l->id, l->container_kinds);
	l->returns = source_kinds(l->id, l->return_kinds);
	l->withs = source_kinds(l->id, l->with_kinds);
	l->addresses = source_kinds(l->id, l->address_kinds);
	l->argument_lists = source_kinds(l->id, l->argument_list_kinds);
	l->keywords = source_kinds(l->id, l->keyword_kinds);
	l->raising = source_kinds(l->id, l->raising_kinds);
	l->ifs = source_kinds(l->id, l->if_kinds);
	l->jumps = source_kinds(l->id, l->jump_kinds);
	l->blocks = source_kinds(l->id, l->block_kinds);
	l->finallys = source_kinds(l->id, l->finally_kinds);
	l->handlers = source_kinds(l->id, l->handler_kinds);
	l->tries = source_kinds(l->id, l->try_kinds);
	l->declarations = source_kinds(l->id, l->declaration_kinds);
	l->gotos = source_kinds(l->id, l->goto_kinds);
	if (l->config_kinds)
		l->configs = source_kinds(l->id, l->config_kinds);
	l->f_body = source_field(l->id, "body");
	l->f_name = source_field(l->id, "name");
	l->f_left = source_field(l->id, "left");
	l->f_right = source_field(l->id, "right");
	l->f_operator = source_field(l->id, "operator");
	if (l->constructor_field)
		l->f_constructor = source_field(l->id, l->constructor_field);
	l->f_type = source_field(l->id, "type");
	l->f_condition = source_field(l->id, "condition");
	l->f_alternative = source_field(l->id, "alternative");
	l->f_callee = source_field(l->id, l->callee_field);
	l->f_arguments = source_field(l->id, l->arguments_field);
	l->f_object = source_field(l->id, l->object_field);
	l->f_member = source_field(l->id, l->member_field);
	l->f_operand = source_field(l->id, l->operand_field);
	l->prepare();
}

static void resolve_all(void)
{
	for (size_t i = 0; i < sizeof(langs) / sizeof(*langs); i++)
		resolve(langs[i]);
}

const struct scan_lang *scan_lang(enum source_lang id)
{
	pthread_once(&once, resolve_all);
	for (size_t i = 0; i < sizeof(langs) / sizeof(*langs); i++)
		if (langs[i]->id == id)
			return langs[i];
	return NULL;
}

uint32_t scan_child_of_kind(const struct source_tree *t, uint32_t n, uint16_t kind)
{
	uint32_t child;

	for (SOURCE_CHILDREN(t, n, child))
		if (t->nodes[child].kind == kind)
			return child;
	return SOURCE_NONE;
}
