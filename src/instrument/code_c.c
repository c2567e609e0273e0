#include "instrument/code_c.h"

#include "base/mem.h"

#include <ctype.h>

struct marker {
	const struct source_tree *t;
	const struct strv *macros;
	struct source_kinds never, preproc, functions;
	uint16_t call, declaration, storage, array, case_label, identifier;
	uint8_t f_function, f_arguments, f_size, f_value, f_body, f_condition, f_name;
};

void code_c_macros(const struct source_tree *t, struct strv *macros)
{
	struct source_kinds defines = source_kinds(t->lang, "preproc_function_def");
	uint8_t name = source_field(t->lang, "name");

	for (uint32_t n = 0; n < t->n; n++) {
		uint32_t id = source_has(&defines, t->nodes[n].kind)
				      ? source_child(t, n, name)
				      : SOURCE_NONE;

		if (id != SOURCE_NONE)
			strv_take(macros, source_text_dup(t, id));
	}
}

static bool is_macro(const struct marker *m, uint32_t function)
{
	static const char *const known[] = {"assert",
					    "static_assert",
					    "offsetof",
					    "va_arg",
					    "setjmp",
					    "sigsetjmp",
					    "__builtin_constant_p",
					    "va_start",
					    "typeof",
					    "__builtin_va_arg",
					    "_Static_assert"};
	size_t len;
	const char *name = source_text(m->t, function, &len);
	bool lower = false, upper = false;

	if (m->t->nodes[function].kind != m->identifier)
		return false;
	for (size_t i = 0; i < len; i++) {
		lower |= islower((unsigned char)name[i]) != 0;
		upper |= isupper((unsigned char)name[i]) != 0;
	}
	if (upper && !lower)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (source_text_is(m->t, function, known[i]))
			return true;
	for (size_t i = 0; m->macros && i < m->macros->n; i++)
		if (source_text_is(m->t, function, m->macros->v[i]))
			return true;
	return false;
}

static bool is_static(const struct marker *m, uint32_t declaration)
{
	uint32_t c;

	for (SOURCE_CHILDREN(m->t, declaration, c))
		if (m->t->nodes[c].kind == m->storage &&
		    !source_text_is(m->t, c, "register") &&
		    !source_text_is(m->t, c, "auto"))
			return true;
	return false;
}

/* The node, and all below it. */
static bool is_left(const struct marker *m, uint32_t n)
{
	const struct source_node *node = &m->t->nodes[n];
	uint16_t above = m->t->nodes[node->parent].kind;
	uint32_t function;

	if (node->flags & (SOURCE_ERROR | SOURCE_MISSING) ||
	    source_has(&m->never, node->kind))
		return true;
	if (node->kind == m->declaration)
		return is_static(m, n);
	if (node->field == SOURCE_NO_FIELD)
		return false;
	if (node->field == m->f_size && above == m->array)
		return true;
	if (node->field == m->f_value && above == m->case_label)
		return true;
	if (source_has(&m->preproc, above))
		return node->field == m->f_condition || node->field == m->f_name;
	if (node->field != m->f_arguments || above != m->call)
		return false;
	function = source_child(m->t, node->parent, m->f_function);
	return function == SOURCE_NONE || is_macro(m, function);
}

static void mark_body(const struct marker *m, uint32_t body, uint8_t *code)
{
	uint32_t n = body, end = m->t->nodes[body].after;

	while (n < end) {
		if (is_left(m, n)) {
			n = m->t->nodes[n].after;
		} else {
			code[n] = 1;
			n++;
		}
	}
}

uint8_t *code_c_mark(const struct source_tree *t, const struct strv *macros)
{
	enum source_lang c = t->lang;
	uint8_t *code = xcalloc(t->n ? t->n : 1, 1);
	struct marker m = {
		.t = t,
		.macros = macros,
		.never = source_kinds(
			c,
			"preproc_def preproc_function_def preproc_call preproc_include "
			"sizeof_expression alignof_expression offsetof_expression "
			"attribute_specifier attribute_declaration gnu_asm_expression "
			"generic_expression bitfield_clause enumerator_list "
			"type_descriptor field_declaration_list subscript_designator "
			"subscript_range_designator string_literal static_assert"),
		.preproc = source_kinds(c, "preproc_if preproc_ifdef preproc_elif "
					   "preproc_elifdef"),
		.functions = source_kinds(c, "function_definition"),
		.call = source_kind(c, "call_expression"),
		.declaration = source_kind(c, "declaration"),
		.storage = source_kind(c, "storage_class_specifier"),
		.array = source_kind(c, "array_declarator"),
		.case_label = source_kind(c, "case_statement"),
		.identifier = source_kind(c, "identifier"),
		.f_function = source_field(c, "function"),
		.f_arguments = source_field(c, "arguments"),
		.f_size = source_field(c, "size"),
		.f_value = source_field(c, "value"),
		.f_body = source_field(c, "body"),
		.f_condition = source_field(c, "condition"),
		.f_name = source_field(c, "name"),
	};

	for (uint32_t n = 0; n < t->n; n++) {
		uint32_t body = source_has(&m.functions, t->nodes[n].kind)
					? source_child(t, n, m.f_body)
					: SOURCE_NONE;

		if (body != SOURCE_NONE)
			mark_body(&m, body, code);
	}
	return code;
}
