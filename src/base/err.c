#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void begin(struct err *err, enum err_kind kind, const char *fmt, va_list ap)
	PRINTF(3, 0);

static void begin(struct err *err, enum err_kind kind, const char *fmt, va_list ap)
{
	err->kind = kind;
	err->hint[0] = '\0';
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
}

int err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	begin(err, kind, fmt, ap);
	va_end(ap);
	return -1;
}

int err_errno(struct err *err, enum err_kind kind, int errnum, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	if (!err)
		return -1;
	va_start(ap, fmt);
	begin(err, kind, fmt, ap);
	va_end(ap);
	len = strlen(err->message);
	snprintf(err->message + len, sizeof(err->message) - len, ": %s",
		 strerror(errnum));
	return -1;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
	char old[sizeof(err->message)];
	va_list ap;
	size_t len;

	if (!err)
		return -1;
	memcpy(old, err->message, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	len = strlen(err->message);
	snprintf(err->message + len, sizeof(err->message) - len, ": %s", old);
	return -1;
}

void err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return;
	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
}
