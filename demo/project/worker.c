#define _GNU_SOURCE
#include "worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct worker {
	int server;
	char *journal; /* every answer is appended to this file */
};

struct worker *worker_connect(int server, const char *journal)
{
	struct worker *w = malloc(sizeof(*w));

	if (!w)
		return NULL;
	w->server = server;
	w->journal = strdup(journal);
	if (!w->journal) {
		free(w);
		return NULL;
	}
	return w;
}

/* Reads one line, without its newline. */
static int read_line(int fd, char *line, size_t size)
{
	size_t n = 0;
	char c;

	while (read(fd, &c, 1) == 1) {
		if (c == '\n') {
			line[n] = '\0';
			return 0;
		}
		if (n + 1 < size)
			line[n++] = c;
	}
	return -1;
}

int worker_do(struct worker *w, const char *job, char *answer, size_t size)
{
	char *request = NULL;
	int journal, rc = -1;

	journal = open(w->journal, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (journal < 0)
		return -1;
	if (asprintf(&request, "do %s\n", job) < 0)
		goto close_journal;
	if (write(w->server, request, strlen(request)) < 0)
		goto free_request;
	if (read_line(w->server, answer, size) < 0)
		goto free_request;
	if (dprintf(journal, "%s: %s\n", job, answer) < 0)
		goto free_request;
	rc = 0;
free_request:
	free(request);
close_journal:
	close(journal);
	return rc;
}

void worker_stop(struct worker *w)
{
	close(w->server);
	free(w->journal);
	free(w);
}
