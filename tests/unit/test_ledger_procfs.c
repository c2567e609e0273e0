#include "harness.h"

#include "base/macros.h"
#include "ledger/procfs.h"

#include <string.h>

#define TCP_HEAD                                                                      \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt" \
	"   uid  timeout inode\n"

static void test_socket_inode(void **state)
{
	static const struct {
		const char *target;
		bool is;
		uint64_t inode;
	} cases[] = {
		{"socket:[12345]", true, 12345},
		{"socket:[18446744073709551615]", true, UINT64_MAX},
		{"socket:[]", false, 0},
		{"socket:[12", false, 0},
		{"socket:[12]x", false, 0},
		{"pipe:[12]", false, 0},
		{"/tmp/socket:[1]", false, 0},
		{"", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t inode = 0;

		assert_int_equal(procfs_socket_inode(cases[i].target, &inode),
				 cases[i].is);
		assert_int_equal(inode, cases[i].inode);
	}
}

static void test_protocols(void **state)
{
	(void)state;
	assert_int_equal(net_file_of("TCP"), NET_TCP);
	assert_int_equal(net_file_of("UDPv6"), NET_UDP6);
	assert_int_equal(net_file_of("UNIX-STREAM"), NET_UNIX);
	assert_int_equal(net_file_of("NETLINK"), -1);
	assert_int_equal(net_file_of(""), -1);
	assert_string_equal(net_file_name(NET_TCP6), "tcp6");
}

static void test_fdinfo(void **state)
{
	static const char locked[] = "pos:\t0\nflags:\t0100000\nmnt_id:\t9\n"
				     "lock:\t1: FLOCK  ADVISORY  WRITE 1 00:01:2 0 EOF\n"
				     "lock:\t2: POSIX  ADVISORY  READ 1 00:01:2 0 10";

	(void)state;
	assert_int_equal(procfs_fdinfo_locks(locked, sizeof(locked) - 1), 2);
	assert_int_equal(procfs_fdinfo_locks("pos:\t0\nx lock:\n", 15), 0);
	assert_int_equal(procfs_fdinfo_locks("lock:", 5), 0);
	assert_int_equal(procfs_fdinfo_locks("", 0), 0);
}

static void test_fdinfo_flags(void **state)
{
	(void)state;
	assert_int_equal(procfs_fdinfo_flags("pos:\t0\nflags:\t02100000\n", 24),
			 02100000);
	assert_int_equal(procfs_fdinfo_flags("pos:\t0\n", 7), 0);
	assert_int_equal(procfs_fdinfo_flags("", 0), 0);
}

static void test_cmdline(void **state)
{
	static const char sh[] = "/bin/sh\0-e\0./x/script\0data\0";
	static const char bare[] = "script";

	(void)state;
	assert_true(procfs_cmdline_names(sh, sizeof(sh) - 1, "script"));
	assert_true(procfs_cmdline_names(sh, sizeof(sh) - 1, "data"));
	assert_false(procfs_cmdline_names(sh, sizeof(sh) - 1, "sh"));
	assert_false(procfs_cmdline_names(sh, sizeof(sh) - 1, "scrip"));
	assert_false(procfs_cmdline_names(bare, sizeof(bare) - 1, "script"));
	assert_false(procfs_cmdline_names("", 0, ""));
}

static void test_syscall(void **state)
{
	(void)state;
	assert_int_equal(procfs_syscall("231 0x0 0x1", 11), 231);
	assert_int_equal(procfs_syscall("running\n", 8), -1);
	assert_int_equal(procfs_syscall("-1 0x7 0x8\n", 11), -1);
	assert_int_equal(procfs_syscall("", 0), -1);
}

/* Lines of a little-endian machine, as the tests of this project run on. */
static const struct {
	enum net_file file;
	const char *line;
	const char *text; /* NULL: not found */
} sockets[] = {
	{NET_TCP,
	 "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000"
	 "     0        0 4242 1 0000000000000000 100 0 0 10 0",
	 "tcp listening on 127.0.0.1:8080"},
	{NET_TCP,
	 "  12: 0100007F:9C40 0100007F:1538 01 00000000:00000000 00:00000000 00000000"
	 "     0        0 4242 1 0000000000000000 20 4 30 10 -1",
	 "tcp 127.0.0.1:40000 connected to 127.0.0.1:5432"},
	{NET_TCP,
	 "  12: 0100000A:9C40 01020304:01BB 08 00000000:00000000 00:00000000 00000000"
	 "     0        0 4242 1 0000000000000000 20 4 30 10 -1",
	 "tcp 10.0.0.1:40000 connected to *:443"},
	{NET_TCP6,
	 "   1: 00000000000000000000000001000000:0016 "
	 "00000000000000000000000000000000:0000"
	 " 0A 00000000:00000000 00:00000000 00000000  0  0 4242 1 0",
	 "tcp6 listening on [::1]:22"},
	{NET_TCP6,
	 "   1: 0000000000000000FFFF00000100007F:0016 "
	 "0000000000000000FFFF00000100007F:9C40"
	 " 01 00000000:00000000 00:00000000 00000000  0  0 4242 1 0",
	 "tcp6 127.0.0.1:22 connected to 127.0.0.1:40000"},
	{NET_UDP,
	 " 3066: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000"
	 "   0   0 4242 2 0000000000000000 0",
	 "udp bound to 127.0.0.1:53"},
	{NET_UNIX, "ffff8880: 00000002 00000000 00010000 0001 01 4242 /run/app.sock",
	 "unix listening on /run/app.sock"},
	{NET_UNIX, "0000000000000000: 00000003 00000000 00000000 0001 03 4242",
	 "unix connected"},
	{NET_UNIX, "0000000000000000: 00000002 00000000 00000000 0002 01 4242 @a b",
	 "unix on @a b"},
	/* The number is there, but it is no inode. */
	{NET_TCP,
	 "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000"
	 "  4242        0 17 1 0000000000000000 100 0 0 10 0",
	 NULL},
	{NET_UNIX, "0: 00000002 00000000 00010000 0001 01 17 /run/ 4242", NULL},
	{NET_TCP, "   0: 010007F:1F90 00000000:0000 0A 0:0 0:0 0 0 0 4242", NULL},
	{NET_TCP, "   0: ZZZZZZZZ:1F90 00000000:0000 0A 0:0 0:0 0 0 0 4242", NULL},
	{NET_TCP, "", NULL},
	{NET_TCP, " 4242", NULL},
};

static void test_sockets(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sockets); i++) {
		CLEANUP(buf) struct buf text = {0}, out = {0};
		bool found;

		buf_addf(&text, "%s%s\n", TCP_HEAD, sockets[i].line);
		found = procfs_socket(sockets[i].file, text.data, text.len, 4242, &out);
		assert_int_equal(found, sockets[i].text != NULL);
		assert_string_equal(buf_str(&out), found ? sockets[i].text : "");
	}
}

static void test_sysv(void **state)
{
	static const char line[] =
		"         0         33   600                4096 20412 20412      0     0"
		"     0     0     0          0          0 1790000000     4096     0";
	static const char removed[] =
		"         0         34  1600 4096 20412 20412 1 0 0 0 0 0 0 0 4096 0";
	static const char head[] =
		"       key      shmid perms                  size  cpid  lpid nattch";
	struct sysv_segment s = {0};

	(void)state;
	assert_false(procfs_sysv_line(head, sizeof(head) - 1, &s));
	assert_false(procfs_sysv_line("", 0, &s));
	assert_int_equal(s.id, 0);
	assert_true(procfs_sysv_line(line, sizeof(line) - 1, &s));
	assert_int_equal(s.id, 33);
	assert_int_equal(s.size, 4096);
	assert_int_equal(s.creator, 20412);
	assert_false(s.removed);
	assert_true(procfs_sysv_line(removed, sizeof(removed) - 1, &s));
	assert_true(s.removed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_socket_inode), HARNESS_TEST(test_protocols),
		HARNESS_TEST(test_fdinfo),	 HARNESS_TEST(test_fdinfo_flags),
		HARNESS_TEST(test_cmdline),	 HARNESS_TEST(test_syscall),
		HARNESS_TEST(test_sockets),	 HARNESS_TEST(test_sysv),
	};

	return HARNESS_RUN(tests);
}
