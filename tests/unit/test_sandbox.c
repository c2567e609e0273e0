/* What a run sees and may change: views, descriptors, devices, umask, signals. */
#include "boxed.h"

#include "base/fs.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char dir[256]; /* of the test */

/* Below a directory of the user that runs the body, so that all is his. */
static const char *below(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%u/%s", dir, geteuid(), name);
	return path;
}

static void put(const char *name, const char *content)
{
	int fd = open(below(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	CHECK(fd >= 0 && write_all(fd, content, strlen(content)) == 0);
	close(fd);
}

static void stage(void)
{
	static const char *const dirs[] = {"", "d", "e", "e/sub"};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		CHECK(mkdir(below(dirs[i]), 0755) == 0 || errno == EEXIST);
	put("d/f", "host");
	put("e/g", "other");
	put("s", "file");
}

static void open_stage(void)
{
	snprintf(dir, sizeof(dir), "%s", harness_tmpdir());
	assert_int_equal(chmod(dir, 01777), 0);
}

static void content_of(const char *name, char *ret, size_t cap)
{
	int fd = open(below(name), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, cap - 1);

	ret[n < 0 ? 0 : n] = '\0';
	if (fd >= 0)
		close(fd);
}

#define ANY -1
/* Beforehand d/f holds "host", e/g "other", and s is a file with "file". */
static const struct view_case {
	const char *name;
	struct {
		const char *from, *at; /* from: below dir */
		enum view_mode mode;
	} views[3];
	bool discard;
	const char *script;
	int status;	     /* of the script; or: */
	const char *step;    /* of BOX_FAILED */
	const char *outside; /* what d/f holds then */
} view_cases[] = {
	{"read",
	 {{"d", "/v", VIEW_READ}},
	 false,
	 "cat /v/f && ! echo x > /v/f && ! rm /v/f && ! touch /v/new && ! chmod 600 /v/f",
	 0,
	 NULL,
	 "host"},
	{"write", {{"d", "/v", VIEW_WRITE}}, false, "echo -n in > /v/f", 0, NULL, "in"},
	{"discard",
	 {{"d", "/v", VIEW_DISCARD}},
	 false,
	 "echo -n in > /v/f && grep -q in /v/f && touch /v/new && rm /v/f",
	 0,
	 NULL,
	 "host"},
	{"writable, discarded for this run",
	 {{"d", "/v", VIEW_WRITE}},
	 true,
	 "echo -n in > /v/f && grep -q in /v/f",
	 0,
	 NULL,
	 "host"},
	{"read-only, when the run is to be discarded",
	 {{"d", "/v", VIEW_READ}},
	 true,
	 "! echo x > /v/f",
	 0,
	 NULL,
	 "host"},
	{"a later one covers an earlier",
	 {{"e", "/v", VIEW_READ}, {"d", "/v", VIEW_WRITE}},
	 false,
	 "test ! -e /v/g && echo -n in > /v/f",
	 0,
	 NULL,
	 "in"},
	{"read-only within writable",
	 {{"e", "/v", VIEW_WRITE}, {"d", "/v/in", VIEW_READ}},
	 false,
	 "test -e /v/g && touch /v/h && ! echo x > /v/in/f && rm /v/h",
	 0,
	 NULL,
	 "host"},
	{"writable within read-only, where there is a place",
	 {{"e", "/v", VIEW_READ}, {"d", "/v/sub", VIEW_WRITE}},
	 false,
	 "! touch /v/h && echo -n in > /v/sub/f",
	 0,
	 NULL,
	 "in"},
	{"within read-only, where there is no place",
	 {{"e", "/v", VIEW_READ}, {"d", "/v/none", VIEW_WRITE}},
	 false,
	 "true",
	 ANY,
	 "views",
	 "host"},
	{"discarded within writable",
	 {{"e", "/v", VIEW_WRITE}, {"d", "/v/sub", VIEW_DISCARD}},
	 false,
	 "echo -n in > /v/sub/f && touch /v/sub/new && touch /v/h && rm /v/h",
	 0,
	 NULL,
	 "host"},
	{"a file in a discarded directory",
	 {{"e", "/v", VIEW_DISCARD}, {"s", "/v/made/s", VIEW_READ}},
	 false,
	 "grep -q file /v/made/s && ! echo x > /v/made/s",
	 0,
	 NULL,
	 "host"},
	{"in /tmp",
	 {{"d", "/tmp/a/b", VIEW_WRITE}},
	 false,
	 "echo -n in > a/b/f",
	 0,
	 NULL,
	 "in"},
	{"in /dev/shm",
	 {{"d", "/dev/shm/a", VIEW_WRITE}},
	 false,
	 "echo -n in > /dev/shm/a/f",
	 0,
	 NULL,
	 "in"},
	{"below home",
	 {{"d", "/home/u/.cache", VIEW_DISCARD}},
	 false,
	 "echo x > ~/.cache/f && touch ~/y",
	 0,
	 NULL,
	 "host"},
	{"a file",
	 {{"s", "/v/some/file", VIEW_READ}},
	 false,
	 "grep -q file /v/some/file && ! echo x > /v/some/file && ! rm /v/some/file",
	 0,
	 NULL,
	 "host"},
	{"a file to write",
	 {{"d/f", "/opened", VIEW_WRITE}},
	 false,
	 "echo -n in > /opened && ! rm /opened",
	 0,
	 NULL,
	 "in"},
};

static const struct view_case *view_case;

static void sees_view(void)
{
	const struct view_case *c = view_case;
	CLEANUP(sandbox) struct sandbox sb = {.home = strdup("/home/u")};
	struct boxed r;
	struct zygote z;
	char left[64];
	char script[1024];

	stage();
	for (size_t i = 0; i < ARRAY_SIZE(c->views) && c->views[i].from; i++)
		sandbox_add_view(&sb, below(c->views[i].from), c->views[i].at,
				 c->views[i].mode);
	snprintf(script, sizeof(script), "HOME=/home/u; %s", c->script);
	boxed_start(&sb, &z);
	/* Twice: what was thrown away is not there for the next. */
	for (int i = 0; i < 2; i++) {
		boxed_script(&z, script, c->discard, &r);
		CHECK(!r.lost);
		if (c->step)
			CHECK(!strcmp(r.step, c->step));
		else
			CHECK(boxed_exited(&r, c->status));
	}
	content_of("d/f", left, sizeof(left));
	CHECK(!strcmp(left, c->outside));
	CHECK(access(below("d/new"), F_OK) < 0);
	zygote_stop(&z);
}

static void shows_views(void **state)
{
	(void)state;
	open_stage();
	for (size_t i = 0; i < ARRAY_SIZE(view_cases); i++) {
		view_case = &view_cases[i];
		print_message("%s\n", view_case->name);
		boxed_run(sees_view);
	}
}

/* A run before may have put anything where a view is to be. */
static const struct {
	const char *make; /* in /v, which is d */
	int status;	  /* of: grep -q file /v/at */
	bool may_fail;	  /* or the sandbox cannot be made */
} places[] = {
	{"mkfifo /v/at", 0, false},
	{"mkdir /v/at", 0, true},
	{"ln -s /etc/hostname /v/at", 0, true},
	{"ln -s /nowhere /v/at", 0, true},
	{"ln -s at /v/at", 0, true},
};

static void bears_any_place(void)
{
	stage();
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		CLEANUP(sandbox) struct sandbox first = {0}, second = {0};
		struct boxed r;
		struct zygote z;

		sandbox_add_view(&first, below("d"), "/v", VIEW_WRITE);
		sandbox_copy(&second, &first);
		sandbox_add_view(&second, below("s"), "/v/at", VIEW_READ);
		boxed_start(&first, &z);
		boxed_script(&z, places[i].make, false, &r);
		CHECK(boxed_exited(&r, 0));
		zygote_stop(&z);
		boxed_start(&second, &z);
		boxed_script(&z, "grep -q file /v/at && ! echo x > /v/at", false, &r);
		CHECK(!r.lost);
		CHECK((places[i].may_fail && r.step[0]) || boxed_exited(&r, 0));
		zygote_stop(&z);
		boxed_start(&first, &z);
		boxed_script(&z, "rm -rf /v/at", false, &r);
		CHECK(boxed_exited(&r, 0));
		zygote_stop(&z);
	}
}

static void mounts_on_whatever_is_there(void **state)
{
	(void)state;
	open_stage();
	boxed_run(bears_any_place);
}

static void has_three_descriptors(void)
{
	const struct sandbox nothing = {0};
	struct boxed r;
	struct zygote z;
	/* Neither of these may be seen. */
	int open_ones[] = {open("/etc/hostname", O_RDONLY), dup(2), open("/", O_RDONLY)};

	boxed_start(&nothing, &z);
	boxed_script(&z, "exec /bin/ls /proc/self/fd", false, &r);
	CHECK(boxed_exited(&r, 0));
	if (strcmp(r.out, "0\n1\n2\n3\n") != 0) /* 3: the directory itself */
		fprintf(stderr, "%s", r.out);
	CHECK(!strcmp(r.out, "0\n1\n2\n3\n"));
	zygote_stop(&z);
	for (size_t i = 0; i < ARRAY_SIZE(open_ones); i++)
		close(open_ones[i]);
}

static void nothing_stays_open(void **state)
{
	(void)state;
	boxed_run(has_three_descriptors);
}

static size_t count_lines(const char *path)
{
	FILE *f = fopen(path, "re");
	size_t n = 0;

	for (int c; f && (c = getc(f)) != EOF;)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

static size_t count_fds(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void runs_500(void)
{
	CLEANUP(sandbox) struct sandbox sb = {0};
	char *argv[] = {(char[]){"/bin/true"}, NULL}, *env[] = {NULL};
	char mounts[64], fd4[64];
	size_t n_fds, n_mounts;
	struct boxed r;
	struct zygote z;

	stage();
	sandbox_add_view(&sb, below("d"), "/v", VIEW_DISCARD);
	boxed_start(&sb, &z);
	snprintf(mounts, sizeof(mounts), "/proc/%d/mountinfo", (int)z.pid);
	snprintf(fd4, sizeof(fd4), "/proc/%d/fd/4", (int)z.pid);
	n_fds = count_fds();
	n_mounts = count_lines(mounts);
	for (int i = 0; i < 500; i++) {
		boxed_request(
			&z,
			(struct box_request){
				.argv = argv, .env = env, .cwd = "/", .limits.files = 64},
			&r);
		CHECK(boxed_exited(&r, 0));
	}
	CHECK(count_fds() == n_fds);
	CHECK(n_mounts > 0 && count_lines(mounts) == n_mounts);
	/* It has 0 to 3; that of another user cannot be looked into. */
	CHECK(access(fd4, F_OK) < 0);
	zygote_stop(&z);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void one_zygote_runs_many(void **state)
{
	(void)state;
	open_stage();
	boxed_run(runs_500);
}

/* The machine's devices belong to root, who needs no capability to change their mode. */
static void cannot_change_devices(void)
{
	static const char *const scripts[] = {
		"chmod 666 /dev/null",
		"chmod 666 /proc/self/fd/0",
		"touch -d 2001-01-01 /dev/full",
		"chmod 666 /dev/pts/ptmx",
		"chmod 755 /dev/pts",
		"chmod 755 /",
	};
	const struct sandbox nothing = {0};
	struct boxed r;
	struct zygote z;

	boxed_start(&nothing, &z);
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		boxed_script(&z, scripts[i], false, &r);
		CHECK(boxed_exited(&r, 1));
	}
	boxed_script(&z,
		     "echo x > /dev/null && test -c /dev/zero &&"
		     "head -c 9 /dev/urandom > /dev/null && ! echo x > /dev/full",
		     false, &r);
	CHECK(boxed_exited(&r, 0));
	zygote_stop(&z);
}

static void devices_stay_as_they_are(void **state)
{
	(void)state;
	boxed_run(cannot_change_devices);
}

static void keeps_umask(void)
{
	const struct sandbox nothing = {0};
	struct boxed r;
	struct zygote z;

	umask(0027);
	boxed_start(&nothing, &z);
	boxed_script(&z, "umask", false, &r);
	CHECK(boxed_exited(&r, 0));
	CHECK(!strcmp(r.out, "0027\n"));
	boxed_script(&z, "ls -ld /tmp /dev/shm | cut -c 1-10", false, &r);
	CHECK(!strcmp(r.out, "drwxrwxrwt\ndrwxrwxrwt\n"));
	zygote_stop(&z);
}

static void umask_is_the_callers(void **state)
{
	(void)state;
	boxed_run(keeps_umask);
}

static int handler_pipe[2];

static void on_signal(int sig)
{
	(void)sig;
	if (write(handler_pipe[1], "h", 1) < 0)
		return;
}

static void runs_no_handler(void)
{
	const struct sandbox nothing = {0};
	struct boxed r;
	struct zygote z;
	char c;

	CHECK(pipe2(handler_pipe, O_CLOEXEC | O_NONBLOCK) == 0);
	signal(SIGUSR1, on_signal);
	signal(SIGTERM, on_signal);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN); /* then nobody's status could be had */
	boxed_start(&nothing, &z);
	boxed_script(
		&z,
		"for s in HUP INT USR1 TERM CHLD PIPE QUIT STOP KILL; do kill -$s 1; "
		"done; sleep 0.1; exit 7",
		false, &r);
	CHECK(boxed_exited(&r, 7));
	boxed_script(&z, "grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -s '\\t0' ' '",
		     false, &r);
	CHECK(boxed_exited(&r, 0));
	CHECK(!strcmp(r.out, "SigBlk: \nSigIgn: \n"));
	CHECK(read(handler_pipe[0], &c, 1) < 0);
	kill(z.pid, SIGTERM);
	boxed_script(&z, "exit 7", false, &r);
	CHECK(boxed_exited(&r, 7));
	zygote_stop(&z);
}

static void signals_of_the_caller_stay_outside(void **state)
{
	(void)state;
	boxed_run(runs_no_handler);
}

static void refuses_a_directory(void)
{
	const struct sandbox nothing = {0};
	char *argv[] = {(char[]){"/bin/ls"}, (char[]){"/proc/self/fd/0/"}, NULL};
	char *env[] = {NULL};
	struct boxed r;
	struct zygote z;

	boxed_start(&nothing, &z);
	boxed_request(&z,
		      (struct box_request){.argv = argv,
					   .env = env,
					   .cwd = "/",
					   .in = open("/", O_RDONLY | O_CLOEXEC)},
		      &r);
	CHECK(!strcmp(r.step, "stdio") && r.errnum == EISDIR);
	zygote_stop(&z);
}

static void a_directory_is_no_input(void **state)
{
	(void)state;
	boxed_run(refuses_a_directory);
}

static void is_not_dumpable(void)
{
	const struct sandbox nothing = {0};
	struct boxed r;
	struct zygote z;

	/* As after exec of a program that its user may not read. */
	prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
	boxed_start(&nothing, &z);
	boxed_script(&z, "exit 3", false, &r);
	CHECK(boxed_exited(&r, 3));
	zygote_stop(&z);
}

static void need_not_be_readable(void **state)
{
	(void)state;
	boxed_run(is_not_dumpable);
}

static void sees_little(void)
{
	const struct sandbox nothing = {0};
	struct boxed r;
	struct zygote z;

	boxed_start(&nothing, &z);
	boxed_script(
		&z,
		"! readlink /proc/1/exe && ! ls /proc/1/root/ && ! ls /proc/1/cwd/ &&"
		"! cat /proc/1/environ && ! readlink /proc/1/fd/0 && ! cat /proc/1/maps "
		"&&"
		"test \"$(ls -A /.exitpath /run /home /root /tmp | grep -v :)\" = '' &&"
		"! touch /x && ! mkdir /run/x && ! touch /etc/x && ! touch /sys/x &&"
		"! touch /dev/x && test $(ls /proc | grep -c '^[0-9]') -lt 7 &&"
		"test ! -r /etc/shadow -o ! -s /etc/shadow",
		false, &r);
	CHECK(boxed_exited(&r, 0));
	zygote_stop(&z);
}

static void sees_neither_init_nor_the_machine(void **state)
{
	(void)state;
	boxed_run(sees_little);
}

/* As where debugfs is mounted, which only root may look into. */
static void looks_into_the_kernel(void)
{
	const struct sandbox nothing = {0};
	struct boxed r;
	struct zygote z;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0)
		return;
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("tmpfs", "/sys/kernel/debug", "tmpfs", 0, NULL) == 0);
	CHECK(mkdir("/sys/kernel/debug/sched", 0755) == 0);
	boxed_start(&nothing, &z);
	boxed_script(&z,
		     "ls -A /sys/kernel/debug | grep . && exit 1; test -d /sys/kernel/mm",
		     false, &r);
	CHECK(boxed_exited(&r, 0));
	zygote_stop(&z);
}

static void the_kernel_is_hidden(void **state)
{
	(void)state;
	if (access("/sys/kernel/debug", F_OK) < 0)
		skip();
	boxed_run(looks_into_the_kernel);
}

static void runs_out_of_descriptors(void)
{
	const struct sandbox nothing = {0};
	char *argv[] = {(char[]){"/bin/true"}, NULL}, *env[] = {NULL};
	const struct box_request req = {
		.argv = argv, .env = env, .cwd = "/", .in = 0, .out = 1, .err = 2};
	struct zygote z;
	struct box b;
	uint64_t cpu, peak;

	boxed_start(&nothing, &z);
	for (int room = 0; room < 4; room++) {
		struct rlimit all, few;
		size_t before = count_fds();
		int rc;

		CHECK(getrlimit(RLIMIT_NOFILE, &all) == 0);
		few = all;
		few.rlim_cur = (rlim_t)before + (rlim_t)room;
		CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
		rc = zygote_run(&z, &req, &b);
		if (rc < 0)
			CHECK(errno == EMFILE);
		else
			box_kill(&b, &cpu, &peak);
		CHECK(setrlimit(RLIMIT_NOFILE, &all) == 0);
		CHECK(count_fds() == before);
	}
	zygote_stop(&z);
}

static void bears_a_lack_of_descriptors(void **state)
{
	(void)state;
	boxed_run(runs_out_of_descriptors);
}

/* How the command itself begins, and fails to. */
static void starts_commands(void)
{
	static const struct {
		const char *argv[4];
		const char *cwd;
		const char *step;
		int errnum, status;
	} cases[] = {
		{{"/bin/sh", "-c", "exit 5"}, "/", "", 0, 5 << 8},
		{{"sh", "-c", "exit 5"}, "/", "", 0, 5 << 8},
		{{"bin/sh", "-c", "exit 5"}, "/", "", 0, 5 << 8},
		{{"/bin/sh", "-c", "exit 5"}, "/none", "chdir", ENOENT, 0},
		{{"/bin/sh", "-c", "exit 5"}, "/etc/passwd", "chdir", ENOTDIR, 0},
		{{"none"}, "/", "exec", ENOENT, 0},
		{{""}, "/", "exec", ENOENT, 0},
		{{"/none"}, "/", "exec", ENOENT, 0},
		{{"/etc/passwd"}, "/", "exec", EACCES, 0},
		{{"/v/script", "4"}, "/", "", 0, 4 << 8},
		{{"script", "4"}, "/", "", 0, 4 << 8},
		{{"./script", "4"}, "/v", "", 0, 4 << 8},
		{{"/bin/sh", "-c", "kill -9 $$"}, "/", "", 0, SIGKILL},
		{{"/bin/sh", "-c", "kill -ABRT $$"}, "/", "", 0, SIGABRT},
	};
	CLEANUP(sandbox) struct sandbox sb = {0};
	char *env[] = {(char[]){"PATH=/none:/etc::/v:/bin:/usr/bin"}, NULL};
	struct zygote z;

	stage();
	put("d/script", "exit $1\n"); /* without "#!" */
	CHECK(chmod(below("d/script"), 0755) == 0);
	sandbox_add_view(&sb, below("d"), "/v", VIEW_READ);
	boxed_start(&sb, &z);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct box_request req = {
			.argv = (char *const *)(uintptr_t)cases[i].argv,
			.env = env,
			.cwd = cases[i].cwd};
		struct boxed r;

		boxed_request(&z, req, &r);
		if (strcmp(r.step, cases[i].step) != 0 || r.errnum != cases[i].errnum ||
		    (!r.step[0] && (r.status & 0xff7f) != cases[i].status))
			fprintf(stderr, "# %zu: '%s' %s, %x\n", i, r.step,
				strerror(r.errnum), (unsigned)r.status);
		CHECK(!strcmp(r.step, cases[i].step) && r.errnum == cases[i].errnum);
		CHECK(box_step_is_command(r.step) == (cases[i].step[0] != 0));
		CHECK(r.step[0] || (r.status & 0xff7f) == cases[i].status);
	}
	zygote_stop(&z);
}

static void commands_start(void **state)
{
	(void)state;
	open_stage();
	boxed_run(starts_commands);
}

static void has_its_network(void)
{
	static const struct {
		enum network network;
		const char *script;
	} cases[] = {
		{NETWORK_NONE, "! grep -q 127.0.0.1 /proc/net/fib_trie"},
		{NETWORK_LOOPBACK, "grep -q 127.0.0.1 /proc/net/fib_trie &&"
				   "test $(grep -c : /proc/net/dev) -ge 1"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct sandbox sb = {.network = cases[i].network};
		struct boxed r;
		struct zygote z;

		boxed_start(&sb, &z);
		for (int k = 0; k < 2; k++) {
			boxed_script(&z, cases[i].script, false, &r);
			CHECK(boxed_exited(&r, 0));
		}
		zygote_stop(&z);
	}
}

static void network_is_as_asked(void **state)
{
	(void)state;
	boxed_run(has_its_network);
}

/* As with systemd-resolved: the machine's network is of no use without. */
static void resolves_names(void)
{
	struct boxed r;
	struct zygote z;
	int fd;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0)
		return;
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("tmpfs", "/run", "tmpfs", 0, "mode=755") == 0);
	CHECK(mount("tmpfs", "/etc", "tmpfs", 0, "mode=755") == 0);
	CHECK(mkdir("/run/resolve", 0755) == 0);
	CHECK(symlink("../run/resolve/stub.conf", "/etc/resolv.conf") == 0);
	fd = open("/run/resolve/stub.conf", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	CHECK(write_all(fd, "found\n", 6) == 0);
	close(fd);
	for (int i = 0; i < 2; i++) {
		const struct sandbox sb = {.network = i ? NETWORK_HOST : NETWORK_NONE};

		boxed_start(&sb, &z);
		boxed_script(&z, "cat /etc/resolv.conf && ! echo x > /etc/resolv.conf",
			     false, &r);
		CHECK(boxed_exited(&r, i ? 0 : 1));
		zygote_stop(&z);
	}
}

static void names_resolve_with_the_network(void **state)
{
	(void)state;
	boxed_run(resolves_names);
}

/* The zygote is not bothered with what it could not take. */
static void is_asked_too_much(void)
{
	const struct sandbox nothing = {0};
	char *env[] = {NULL}, *argv[] = {(char[]){"/bin/true"}, malloc(17 << 20), NULL};
	const struct box_request req = {
		.argv = argv, .env = env, .cwd = "/", .in = 0, .out = 1, .err = 2};
	struct boxed r;
	struct zygote z;
	struct box b;

	CHECK(argv[1]);
	memset(argv[1], 'x', 17 << 20);
	argv[1][(17 << 20) - 1] = '\0';
	boxed_start(&nothing, &z);
	CHECK(zygote_run(&z, &req, &b) < 0 && errno == E2BIG);
	argv[1][15 << 20] = '\0'; /* more than the kernel takes: its exec says so */
	boxed_request(&z, (struct box_request){.argv = argv, .env = env, .cwd = "/"}, &r);
	CHECK(!strcmp(r.step, "exec") && r.errnum == E2BIG);
	boxed_script(&z, "exit 6", false, &r);
	CHECK(boxed_exited(&r, 6));
	zygote_stop(&z);
	free(argv[1]);
}

static void strings_are_bounded(void **state)
{
	(void)state;
	boxed_run(is_asked_too_much);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(shows_views),
		HARNESS_TEST(mounts_on_whatever_is_there),
		HARNESS_TEST(nothing_stays_open),
		HARNESS_TEST(one_zygote_runs_many),
		HARNESS_TEST(devices_stay_as_they_are),
		HARNESS_TEST(umask_is_the_callers),
		HARNESS_TEST(signals_of_the_caller_stay_outside),
		HARNESS_TEST(a_directory_is_no_input),
		HARNESS_TEST(need_not_be_readable),
		HARNESS_TEST(sees_neither_init_nor_the_machine),
		HARNESS_TEST(the_kernel_is_hidden),
		HARNESS_TEST(commands_start),
		HARNESS_TEST(network_is_as_asked),
		HARNESS_TEST(names_resolve_with_the_network),
		HARNESS_TEST(strings_are_bounded),
		HARNESS_TEST(bears_a_lack_of_descriptors),
	};

	return HARNESS_RUN(tests);
}
