#include "engine/fault_check.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/report_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_STATUS "check.status"
#define CHECK_OUTPUT "check.txt"
enum { LINE = 200, OUTPUT_CAP = 1 << 20 };

/* Adds what makes env(1) of old the environment new. */
static void env_difference(const struct strv *old, const struct strv *new,
			   struct strv *ret)
{
	for (size_t i = 0; i < old->n; i++) {
		CLEANUP_FREE char *name = xstrndup(old->v[i], strcspn(old->v[i], "="));

		if (env_get(new, name))
			continue;
		strv_add(ret, "-u");
		strv_take(ret, TAKE_PTR(name));
	}
	for (size_t i = 0; i < new->n; i++)
		if (!strv_contains(old, new->v[i]))
			strv_add(ret, new->v[i]);
}

/*
 * A shell stands around both, which has neither our library nor a detector's options in
 * its environment, and is silent about signals: it passes them on as a status.
 */
void fault_check_add(const char *check, const char *dir, const struct strv *clean,
		     struct run_spec *spec)
{
	static const char script[] =
		"c=$1 d=$2; shift 2; exec 3>&2 2>/dev/null; \"$@\" 2>&3 3>&-; s=$?; "
		"EXITPATH_STATUS=$s /bin/sh -c \"$c\" >\"$d/" CHECK_OUTPUT
		"\" 2>&1 3>&- </dev/null; echo $? >\"$d/" CHECK_STATUS "\"; exit $s";
	struct strv argv = {0};

	strv_add(&argv, "/bin/sh");
	strv_add(&argv, "-c");
	strv_add(&argv, script);
	strv_add(&argv, "sh");
	strv_add(&argv, check);
	strv_add(&argv, dir);
	strv_add(&argv, "/usr/bin/env");
	env_difference(clean, &spec->env, &argv);
	strv_copy(&argv, spec->argv.v);
	strv_release(&spec->argv);
	strv_release(&spec->env);
	spec->argv = argv;
	strv_copy(&spec->env, clean->v);
}

char *fault_last_line(const struct buf *b)
{
	const char *text = buf_str(b);
	size_t n = b->len, at;

	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	for (at = n; at && text[at - 1] != '\n'; at--)
		;
	return n ? xasprintf("%.*s", (int)(n - at < LINE ? n - at : LINE), text + at)
		 : NULL;
}

void fault_check_read(const char *dir, bool *ret_checked, int *ret_status,
		      char **ret_said)
{
	CLEANUP_FREE char *status = path_join(dir, CHECK_STATUS);
	CLEANUP_FREE char *output = path_join(dir, CHECK_OUTPUT);
	CLEANUP(buf) struct buf text = {0}, said = {0};

	if (read_regular(status, 16, &text) < 0 ||
	    !isdigit((unsigned char)*buf_str(&text)))
		return;
	*ret_checked = true;
	*ret_status = atoi(buf_str(&text));
	read_regular(output, OUTPUT_CAP, &said);
	*ret_said = fault_last_line(&said);
}
