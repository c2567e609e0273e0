/*
 * What is left when any of the processes dies at any moment. The test is a subreaper:
 * whatever outlives its parents becomes a child of the test's, and is waited for.
 */
#include "boxed.h"

#include "sandbox/message.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>

enum { ROUNDS = 60, PATIENCE = 3000 /* ms, on a loaded machine */ };

static void pause_us(long us)
{
	const struct timespec t = {.tv_nsec = us * 1000};

	nanosleep(&t, NULL);
}

/* Until no child is left; false: one stays. */
static bool all_gone(void)
{
	for (int ms = 0; ms < PATIENCE; ms++) {
		pid_t pid = waitpid(-1, NULL, WNOHANG | __WALL);

		if (pid < 0)
			return true;
		if (pid == 0)
			pause_us(1000);
	}
	return false;
}

static _Noreturn void supervise_for_ever(int ready)
{
	const struct sandbox nothing = {0};
	char *argv[] = {(char[]){"/bin/sleep"}, (char[]){"1000"}, NULL}, *env[] = {NULL};
	const struct box_request req = {
		.argv = argv, .env = env, .cwd = "/", .in = 0, .out = 1, .err = 2};
	struct zygote z;

	boxed_start(&nothing, &z);
	CHECK(write(ready, "r", 1) == 1);
	for (unsigned n = (unsigned)getpid();; n = n * 1103515245u + 12345u) {
		struct box b;
		uint64_t cpu, peak;

		CHECK(zygote_run(&z, &req, &b) == 0);
		pause_us((long)(n >> 8) % 700);
		box_kill(&b, &cpu, &peak);
	}
}

static void kills_supervisors(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
	for (int i = 0; i < ROUNDS; i++) {
		int ready[2];
		char c;
		pid_t pid;

		CHECK(pipe2(ready, O_CLOEXEC) == 0);
		pid = fork();
		if (pid == 0)
			supervise_for_ever(ready[1]);
		close(ready[1]);
		CHECK(read(ready[0], &c, 1) == 1);
		close(ready[0]);
		pause_us(i * 97 % 4000);
		kill(pid, SIGKILL);
		CHECK(all_gone());
	}
}

static void nothing_outlives_its_supervisor(void **state)
{
	(void)state;
	boxed_run(kills_supervisors);
}

/* While it is made. */
static void kills_early(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
	for (int i = 0; i < ROUNDS; i++) {
		int ready[2];
		pid_t pid;

		CHECK(pipe2(ready, O_CLOEXEC) == 0);
		pid = fork();
		if (pid == 0)
			supervise_for_ever(ready[1]);
		close(ready[0]);
		close(ready[1]);
		pause_us(i * 397 % 15000);
		kill(pid, SIGKILL);
		CHECK(all_gone());
	}
}

static void nothing_outlives_a_supervisor_that_begins(void **state)
{
	(void)state;
	boxed_run(kills_early);
}

/* zygote_run() either fails or gives a run that can be killed. */
static void kills_zygotes(void)
{
	const struct sandbox nothing = {0};
	char *argv[] = {(char[]){"/bin/sleep"}, (char[]){"1000"}, NULL}, *env[] = {NULL};
	const struct box_request req = {
		.argv = argv, .env = env, .cwd = "/", .in = 0, .out = 1, .err = 2};

	prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
	for (int i = 0; i < ROUNDS; i++) {
		struct zygote z;
		struct box b;
		uint64_t cpu, peak;
		pid_t killer;

		boxed_start(&nothing, &z);
		killer = fork();
		if (killer == 0) {
			pause_us(i * 41 % 2000);
			kill(z.pid, SIGKILL);
			_exit(0);
		}
		while (zygote_run(&z, &req, &b) == 0)
			box_kill(&b, &cpu, &peak);
		CHECK(errno == EPIPE || errno == ECONNRESET);
		zygote_stop(&z);
		CHECK(all_gone());
	}
}

static void a_zygote_may_die_at_any_moment(void **state)
{
	(void)state;
	boxed_run(kills_zygotes);
}

/* A request whose sender goes away, or never says that he knows of init. */
static void abandons(void)
{
	const struct sandbox nothing = {0};
	static const char strings[] = "/\0/bin/sh\0-c\0echo ran; sleep 1000\0";
	struct message_reply reply;
	struct zygote z;
	int events[2], out[2], fds[MESSAGE_FDS];
	char text[16];
	const struct message_head head = {
		.magic = MESSAGE_MAGIC,
		.argc = 3,
		.len = sizeof(strings) - 1,
	};

	boxed_start(&nothing, &z);
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, events) == 0);
	CHECK(pipe2(out, O_CLOEXEC) == 0);
	fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fds[1] = fds[2] = out[1];
	fds[3] = events[1];
	CHECK(message_send(z.socket, &head, sizeof(head), fds, MESSAGE_FDS) == 0);
	CHECK(send(z.socket, strings, head.len, 0) == (ssize_t)head.len);
	CHECK(recv(z.socket, &reply, sizeof(reply), MSG_WAITALL) == sizeof(reply));
	CHECK(reply.pid > 0);
	close(out[1]);
	close(events[1]);
	close(fds[0]);
	close(events[0]);
	/* EOF: it is gone, and has run nothing. */
	CHECK(read(out[0], text, sizeof(text)) == 0);
	close(out[0]);
	CHECK(waitpid(reply.pid, NULL, __WALL) == reply.pid);
	zygote_stop(&z);
}

static void nothing_runs_that_nobody_knows_of(void **state)
{
	(void)state;
	boxed_run(abandons);
}

/* Of a request without all descriptors nothing may become. */
static void sends_too_few(void)
{
	const struct sandbox nothing = {0};
	const struct message_head head = {.magic = MESSAGE_MAGIC, .len = 2};
	const int fds[] = {0, 1, 2};

	for (int n = 0; n <= 3; n++) {
		struct message_reply reply;
		struct zygote z;

		boxed_start(&nothing, &z);
		CHECK(message_send(z.socket, &head, sizeof(head), fds, n) == 0);
		send(z.socket, "/", 2, MSG_NOSIGNAL);
		CHECK(recv(z.socket, &reply, sizeof(reply), MSG_WAITALL) <= 0);
		zygote_stop(&z);
	}
}

static void a_request_has_all_descriptors(void **state)
{
	(void)state;
	boxed_run(sends_too_few);
}

/* init killed from outside, before and while the command runs. */
static void kills_inits(void)
{
	const struct sandbox nothing = {0};
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"},
			(char[]){"trap '' TERM HUP; sleep 1000 & sleep 1000"}, NULL};
	char *env[] = {NULL};
	const struct box_request req = {
		.argv = argv, .env = env, .cwd = "/", .in = 0, .out = 1, .err = 2};
	struct zygote z;

	prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
	boxed_start(&nothing, &z);
	for (int i = 0; i < ROUNDS; i++) {
		struct box_event e;
		struct box b;
		uint64_t cpu, peak;
		int rc;

		CHECK(zygote_run(&z, &req, &b) == 0);
		pause_us(i * 131 % 6000);
		kill(b.init, SIGKILL);
		while ((rc = box_receive(&b, &e)) >= 0) {
			struct pollfd p = {.fd = b.events, .events = POLLIN};

			if (rc == 0) {
				CHECK(poll(&p, 1, PATIENCE) == 1);
				continue;
			}
			CHECK(e.kind != BOX_ENDED && e.kind != BOX_EMPTY);
			for (int k = 0; k < 3; k++)
				if (e.fds[k] >= 0)
					close(e.fds[k]);
		}
		box_kill(&b, &cpu, &peak);
	}
	zygote_stop(&z);
	CHECK(all_gone());
}

static void init_may_be_killed(void **state)
{
	(void)state;
	boxed_run(kills_inits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(nothing_outlives_its_supervisor),
		HARNESS_TEST(nothing_outlives_a_supervisor_that_begins),
		HARNESS_TEST(a_zygote_may_die_at_any_moment),
		HARNESS_TEST(nothing_runs_that_nobody_knows_of),
		HARNESS_TEST(a_request_has_all_descriptors),
		HARNESS_TEST(init_may_be_killed),
	};

	return HARNESS_RUN(tests);
}
