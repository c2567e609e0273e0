/* The supervisor's protocol with the zygote: what is no request, and descriptors. */
#include "harness.h"

#include "base/macros.h"
#include "sandbox/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define S(text) text, sizeof(text) - 1 /* with the NULs that are written out */

static void parses_requests(void **state)
{
	static const struct {
		const char *name, *strings;
		size_t len;
		uint32_t argc, envc, flags, magic;
		int rc;
	} cases[] = {
		{"cwd alone", S("/\0"), 0, 0, 0, MESSAGE_MAGIC, 0},
		{"all", S("/w\0a\0b\0X=1\0"), 2, 1, MESSAGE_ALL_FLAGS, MESSAGE_MAGIC, 0},
		{"empty strings", S("\0\0\0"), 1, 1, 0, MESSAGE_MAGIC, 0},
		{"no strings", S(""), 0, 0, 0, MESSAGE_MAGIC, -1},
		{"no end", S("/"), 0, 0, 0, MESSAGE_MAGIC, -1},
		{"too few arguments", S("/\0a\0"), 2, 0, 0, MESSAGE_MAGIC, -1},
		{"too few variables", S("/\0a\0"), 1, 1, 0, MESSAGE_MAGIC, -1},
		{"more than said", S("/\0a\0b\0"), 1, 0, 0, MESSAGE_MAGIC, -1},
		{"last one without end", S("/\0a\0b"), 2, 0, 0, MESSAGE_MAGIC, -1},
		{"an absurd number", S("/\0a\0"), UINT32_MAX, 0, 0, MESSAGE_MAGIC, -1},
		{"absurd variables", S("/\0a\0"), 1, UINT32_MAX, 0, MESSAGE_MAGIC, -1},
		{"unknown flag", S("/\0"), 0, 0, MESSAGE_ALL_FLAGS + 1, MESSAGE_MAGIC,
		 -1},
		{"another magic", S("/\0"), 0, 0, 0, MESSAGE_MAGIC + 1, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct message_request r = {.head = {.magic = cases[i].magic,
						     .flags = cases[i].flags,
						     .argc = cases[i].argc,
						     .envc = cases[i].envc,
						     .len = cases[i].len}};

		/* No byte more than there is: a sanitizer sees who reads on. */
		r.strings = malloc(cases[i].len ? cases[i].len : 1);
		assert_non_null(r.strings);
		memcpy(r.strings, cases[i].strings, cases[i].len);
		if (message_parse(&r) != cases[i].rc)
			fail_msg("%s", cases[i].name);
		if (cases[i].rc < 0)
			assert_int_equal(errno, EPROTO);
		else
			assert_null(r.argv[cases[i].argc]);
		message_request_release(&r);
		message_request_release(&r); /* harmless */
	}
}

static void gives_the_strings(void **state)
{
	struct message_request r = {
		.head = {.magic = MESSAGE_MAGIC, .argc = 2, .envc = 1, .len = 11}};

	(void)state;
	r.strings = malloc(11);
	assert_non_null(r.strings);
	memcpy(r.strings, "/w\0a\0b\0X=1", 11);
	assert_int_equal(message_parse(&r), 0);
	assert_string_equal(r.cwd, "/w");
	assert_string_equal(r.argv[0], "a");
	assert_string_equal(r.argv[1], "b");
	assert_string_equal(r.env[0], "X=1");
	assert_null(r.env[1]);
	message_request_release(&r);
}

static void length_is_bounded(void **state)
{
	struct message_request r = {
		.head = {.magic = MESSAGE_MAGIC, .len = MESSAGE_MAX_STRINGS + 1}};

	(void)state;
	assert_int_equal(message_parse(&r), -1);
	message_request_release(&r);
}

static void passes_descriptors(void **state)
{
	static const struct {
		int sent, expected; /* a bit for each of three descriptors */
		int room;
	} cases[] = {
		{0, 0, 3}, {1, 1, 3}, {3, 3, 3},
		{7, 7, 3}, {7, 1, 1}, /* the others are closed: see the harness */
		{7, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const int on = 1;
		int pair[2], fds[3], got[3] = {-1, -1, -1}, pid = -1;
		char data[4] = "";

		assert_int_equal(
			socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
		setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
		for (int k = 0; k < 3; k++)
			fds[k] = cases[i].sent & 1 << k ? pair[0] : -1;
		assert_int_equal(message_send(pair[0], "abc", 4, fds, 3), 0);
		assert_int_equal(message_receive(pair[1], data, 4, got, cases[i].room,
						 &pid, MSG_DONTWAIT),
				 4);
		assert_string_equal(data, "abc");
		assert_int_equal(pid, getpid());
		for (int k = 0; k < 3; k++) {
			assert_int_equal(got[k] >= 0, (cases[i].expected >> k) & 1);
			if (got[k] < 0)
				continue;
			assert_true(fcntl(got[k], F_GETFD) & FD_CLOEXEC);
			close(got[k]);
		}
		assert_int_equal(
			message_receive(pair[1], data, 4, got, 3, &pid, MSG_DONTWAIT),
			-1);
		assert_int_equal(errno, EAGAIN);
		close(pair[0]);
		assert_int_equal(message_receive(pair[1], data, 4, got, 3, &pid, 0), 0);
		close(pair[1]);
	}
}

static void sends_fail(void **state)
{
	const int bad[] = {1000};
	const int many[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(message_send(pair[0], "x", 1, bad, 1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(message_send(pair[0], "x", 1, many, 10), -1);
	assert_int_equal(errno, EINVAL);
	close(pair[1]);
	assert_int_equal(message_send(pair[0], "x", 1, NULL, 0), -1); /* no SIGPIPE */
	close(pair[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(parses_requests),	 HARNESS_TEST(gives_the_strings),
		HARNESS_TEST(length_is_bounded), HARNESS_TEST(passes_descriptors),
		HARNESS_TEST(sends_fail),
	};

	return HARNESS_RUN(tests);
}
