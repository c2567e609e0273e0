#include "sandbox/sandbox.h"

#include "base/macros.h"

#include <ctype.h>
#include <string.h>

/* python3, python, python3.11: by any path. */
static bool is_python(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	if (strncmp(name, "python", 6) != 0)
		return false;
	for (name += 6; *name; name++)
		if (!isdigit((unsigned char)*name) && *name != '.')
			return false;
	return true;
}

/* Those that a server and its fork obey as one interpreter does. Not: -i, -v, -x, -X, -h
 * and long ones. */
static bool is_option(const char *word)
{
	if (word[0] != '-' || !word[1])
		return false;
	return word[1 + strspn(word + 1, "bBdEIOPqRsu")] == '\0';
}

/* Of the interpreter's own variables, those that are the same in a fork. */
static const char *const known[] = {
	"PYTHONPATH",	    "PYTHONHASHSEED",	"PYTHONDONTWRITEBYTECODE",
	"PYTHONHOME",	    "PYTHONIOENCODING", "PYTHONUNBUFFERED",
	"PYTHONUTF8",	    "PYTHONWARNINGS",	"PYTHONNOUSERSITE",
	"PYTHONOPTIMIZE",   "PYTHONSAFEPATH",	"PYTHONCOERCECLOCALE",
	"PYTHONUSERBASE",   "PYTHONPLATLIBDIR", "PYTHONPYCACHEPREFIX",
	"PYTHONBREAKPOINT",
};

/* What is done to the server would be done by it, and once. */
static const char *const disturbing[] = {
	"LD_PRELOAD=", "LD_AUDIT=", "LD_DEBUG=", "COVERAGE_PROCESS_START=", "COV_CORE_",
};

static bool disturbs(const char *variable)
{
	size_t len = strcspn(variable, "=");

	for (size_t i = 0; i < ARRAY_SIZE(disturbing); i++)
		if (!strncmp(variable, disturbing[i], strlen(disturbing[i])))
			return true;
	if (strncmp(variable, "PYTHON", 6) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i]) == len && !strncmp(variable, known[i], len))
			return false;
	return variable[len] == '=' && variable[len + 1]; /* empty: not set */
}

size_t warm_fits(char *const *argv, char *const *env)
{
	size_t n = 1;

	if (!argv[0] || !is_python(argv[0]))
		return 0;
	while (argv[n] && is_option(argv[n]))
		n++;
	if (!argv[n] || !*argv[n])
		return 0;
	if (*argv[n] == '-' &&
	    ((strcmp(argv[n], "-m") != 0 && strcmp(argv[n], "-c") != 0) || !argv[n + 1]))
		return 0;
	for (; *env; env++)
		if (disturbs(*env))
			return 0;
	return n;
}
