/* A worker asks a server to do jobs, over a connected stream socket. */
#ifndef WORKER_H
#define WORKER_H

#include <stddef.h>

struct worker;

struct worker *worker_connect(int server, const char *journal); /* owns server */
/* 0: done, answer holds the server's line. -1: the connection failed. */
int worker_do(struct worker *w, const char *job, char *answer, size_t size);
void worker_stop(struct worker *w);

#endif
