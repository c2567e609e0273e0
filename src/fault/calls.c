#include "fault/calls.h"

#include "base/macros.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BRACED_E(...)       \
	{                   \
		__VA_ARGS__ \
	}
const struct fault_call fault_calls[] = {
#define CALL(name, class, type, parameters, arguments, failure, errnos, reported, ...) \
	{#name, FAULT_CLASS_##class, BRACED_##errnos, reported},
#include "abi/calls.def"
#undef CALL
};
const size_t fault_ncalls = ARRAY_SIZE(fault_calls);

static const char *const class_names[FAULT_CLASSES] = {"memory", "file", "net", "process",
						       "db"};

const char *fault_class_name(enum fault_class c)
{
	return c < FAULT_CLASSES ? class_names[c] : "?";
}

bool fault_class_parse(const char *name, enum fault_class *ret)
{
	for (int i = 0; i < FAULT_CLASSES; i++) {
		if (strcmp(class_names[i], name) != 0)
			continue;
		*ret = (enum fault_class)i;
		return true;
	}
	return false;
}

bool fault_call_is(const struct fault_call *call, const char *name)
{
	const char *own = call->name;
	size_t n = strlen(name);

	if (!strcmp(own, name))
		return true;
	own += strncmp(own, "__", 2) ? 0 : 2;
	if (strncmp(own, name, n) != 0)
		return false;
	own += n;
	own += strncmp(own, "64", 2) ? 0 : 2;
	return !*own || !strcmp(own, "_2") || !strcmp(own, "_chk") ||
	       !strcmp(own, "_unlocked");
}

bool fault_call_removes(const struct fault_call *call)
{
	static const char *const names[] = {"unlink", "unlinkat", "rmdir", "remove"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(call->name, names[i]))
			return true;
	return false;
}

bool fault_call_known(const char *name)
{
	for (size_t i = 0; i < fault_ncalls; i++)
		if (fault_call_is(&fault_calls[i], name))
			return true;
	return false;
}

const char *fault_errno_name(int errnum)
{
	static char text[2][16];
	static unsigned turn;
	const char *name = strerrorname_np(errnum);

	if (name)
		return name;
	turn = !turn;
	snprintf(text[turn], sizeof(text[turn]), "%d", errnum);
	return text[turn];
}

static const char *database_error(const struct fault_call *call, int code)
{
	static const struct {
		int code;
		const char *name;
	} codes[] = {{5, "SQLITE_BUSY"}, {10, "SQLITE_IOERR"}, {13, "SQLITE_FULL"}};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].code == code && strncmp(call->name, "PQ", 2) != 0)
			return codes[i].name;
	return strncmp(call->name, "PQsend", 6) ? "NULL" : "0";
}

const char *fault_error_name(const struct fault_point *p, int errnum)
{
	const struct fault_call *call = &fault_calls[p->call];

	if (p->variant == FAULT_EINTR)
		return "EINTR";
	if (p->variant == FAULT_SHORT)
		return "one byte less";
	errnum = errnum ? errnum : call->errnos[0];
	return call->class == FAULT_CLASS_DATABASE ? database_error(call, errnum)
						   : fault_errno_name(errnum);
}
