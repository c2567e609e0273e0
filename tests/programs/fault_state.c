/*
 * A program that survives every failure, with something that a fork would share or lose:
 * KIND… names what. Memory calls stand before, between and after.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[4096];

/* Each line of its own is a point. */
static int allocate(int n)
{
	char *a = malloc(10), *b = malloc(20), *c = malloc(30);
	int got = !!a + !!b + !!c;

	__asm__ volatile("" : : "r"(a), "r"(b), "r"(c) : "memory");
	free(a);
	free(b);
	free(c);
	if (got < 3)
		printf("%d of 3 at %d\n", got, n);
	return got;
}

static void *nothing(void *p)
{
	return p;
}

static void thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, nothing, NULL) == 0)
		pthread_join(t, NULL);
}

static int sockets[2];
static void socket_begin(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
		exit(3);
}

static void socket_end(void)
{
	char c = 0;

	if (write(sockets[0], "x", 1) != 1 || read(sockets[1], &c, 1) != 1 || c != 'x')
		fprintf(stderr, "lost\n");
	close(sockets[0]);
	close(sockets[1]);
}

/* What it reads of its input is the same, whoever read before. */
static void input(void)
{
	char part[5] = "";

	for (int i = 0; i < 6; i++) {
		ssize_t n = read(0, part, 4);

		printf("%.*s\n", n > 0 ? (int)n : 0, part);
		allocate(i);
	}
}

static void child_begin(void)
{
	if (fork() == 0) {
		usleep(1000);
		_exit(0);
	}
}

static void child_end(void)
{
	while (wait(NULL) < 0 && errno == EINTR)
		;
}

static void put(const char *text)
{
	FILE *f = fopen(path, "a");

	if (!f || fputs(text, f) == EOF)
		fprintf(stderr, "cannot write\n");
	if (f && fclose(f) != 0)
		fprintf(stderr, "cannot close\n");
}

static void show(void)
{
	char text[100] = "";
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	printf("%zu %s\n", n, text);
	if (f)
		fclose(f);
}

/* Whoever comes second sees that somebody was there. */
static void project(void)
{
	int fd = open("state.txt", O_WRONLY | O_CREAT | O_EXCL, 0600);

	printf("%s\n", fd < 0 && errno == EEXIST ? "somebody else" : "first");
	if (fd >= 0 && close(fd) < 0)
		perror("state.txt");
	unlink("state.txt");
}

static void block(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
}

static void at_exit(void)
{
	allocate(100);
	unlink(path);
}

int main(int argc, char **argv)
{
	static char buffer[4096]; /* stdio would take one where it first prints */
	int has[128] = {0};
	const char *tmp = getenv("TMPDIR");

	for (int i = 1; i < argc; i++)
		has[(unsigned char)*argv[i]] = 1;
	snprintf(path, sizeof(path), "%s/state", tmp ? tmp : "/tmp");
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	atexit(at_exit);
	printf("begin");
	if (has['f'])
		put("one\n");
	allocate(0);
	if (has['t'])
		thread();
	if (has['s'])
		socket_begin();
	if (has['c'])
		child_begin();
	if (has['i'])
		input();
	if (has['b'])
		block();
	if (has['a'])
		alarm(60);
	allocate(1);
	if (has['f']) {
		put("two\n");
		show();
	}
	if (has['s'])
		socket_end();
	if (has['c'])
		child_end();
	allocate(2);
	if (has['p'])
		project();
	printf("end\n");
	return 0;
}
