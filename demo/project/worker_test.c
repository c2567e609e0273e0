/* Walks the worker's life: connect, three jobs of which the server refuses one, stop. */
#define _GNU_SOURCE
#include "worker.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Answers each line: "busy" to the job named heavy, "done" to the others. */
static void serve(int client)
{
	FILE *in = fdopen(client, "r+");
	char line[256];

	while (in && fgets(line, sizeof(line), in)) {
		const char *answer = strstr(line, "heavy") ? "busy\n" : "done\n";

		if (write(client, answer, strlen(answer)) < 0)
			break;
	}
	if (in)
		fclose(in);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	char journal[256], answer[64];
	struct worker *w;
	int pair[2], status;
	pid_t server;

	snprintf(journal, sizeof(journal), "%s/worker-journal", tmp ? tmp : "/tmp");
	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	server = fork();
	assert(server >= 0);
	if (server == 0) {
		close(pair[0]);
		serve(pair[1]);
		exit(0);
	}
	close(pair[1]);
	w = worker_connect(pair[0], journal);
	assert(w);
	assert(worker_do(w, "light", answer, sizeof(answer)) == 0);
	assert(strcmp(answer, "done") == 0);
	assert(worker_do(w, "heavy", answer, sizeof(answer)) == 0 ||
	       strcmp(answer, "busy") == 0);
	assert(worker_do(w, "light", answer, sizeof(answer)) == 0);
	worker_stop(w);
	assert(waitpid(server, &status, 0) == server && status == 0);
	unlink(journal);
	puts("worker: 3 jobs, stopped");
	return 0;
}
