/* A result on stdout in the format that was asked for. */
#ifndef EXITPATH_CLI_PRINT_RESULT_H
#define EXITPATH_CLI_PRINT_RESULT_H

#include "base/buf.h"
#include "base/err.h"
#include "model/result.h"

/* Refuses an unknown --format before anything is run. */
int check_format(struct err *err);
int format_result(const struct result *r, const char *format, struct buf *ret,
		  struct err *err);
/* 0, or the exit status of a failed write. */
int print_result(const struct result *r);
/* packet.md and packet.json into a directory that exists. */
int write_packet(const struct result *r, const char *dir, struct err *err);

#endif
