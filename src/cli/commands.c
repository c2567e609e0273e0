#include "cli/cmd.h"

#include "engine/interrupt.h"
#include "model/outcome.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

extern const struct command command_gate, command_leak, command_report, command_evidence,
	command_init, command_doctor, command_completion, command_run, command_fault,
	command_scan, command_review, command_vet, command_mutate;

const struct command *const commands[] = {
	&command_gate,	     &command_leak,
	&command_fault,	     &command_run,
	&command_scan,	     &command_review,
	&command_vet,	     &command_mutate,
	&command_report,     &command_evidence,
	&command_init,	     &command_doctor,
	&command_completion, NULL,
};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

int command_fail(const struct err *err)
{
	fprintf(stderr, "exitpath: %s\n", err->message);
	if (*err->hint)
		fprintf(stderr, "  next: %s\n", err->hint);
	switch (err->kind) {
	case ERR_USAGE:
		return EXIT_USAGE;
	case ERR_ENVIRONMENT:
		return outcome_exit_code(OUTCOME_HARNESS_ERROR);
	case ERR_INTERRUPTED:
		return 128 + interrupt_signal();
	case ERR_NONE:
	case ERR_INTERNAL:
		break;
	}
	return EXIT_INTERNAL;
}

bool command_start(struct options *o, char **argv, struct strv *ret_operands,
		   char ***ret_rest, int *ret_status)
{
	struct err err = {0};

	if (options_parse(o, argv, ret_operands, ret_rest, &err) < 0) {
		*ret_status = command_fail(&err);
		return false;
	}
	if (o->help) {
		options_help(o);
		*ret_status = command_print("");
		return false;
	}
	return true;
}

int command_print(const char *text)
{
	struct err err = {0};

	if (fputs(text, stdout) != EOF && fflush(stdout) == 0)
		return 0;
	if (errno == EPIPE) /* `exitpath … | head -1`: as if SIGPIPE had ended us */
		return 128 + SIGPIPE;
	err_errno(&err, ERR_ENVIRONMENT, errno, "cannot write to standard output");
	return command_fail(&err);
}
