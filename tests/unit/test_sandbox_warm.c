/* Interpreters that are zygotes. What commands see of that: tests/cli/warm.bats. */
#include "boxed.h"

#include "base/fs.h"

#include <sys/stat.h>
#include <sys/syscall.h>

static const struct {
	const char *words; /* separated by blanks */
	size_t first;	   /* 0: none is served */
	const char *variable;
} commands[] = {
	{"python3 a.py", 1, NULL},
	{"python a.py -x", 1, NULL},
	{"/usr/bin/python3.11 -m pytest -q", 1, NULL},
	{"./venv/bin/python3 -c pass", 1, NULL},
	{"python3 -B -Es a.py", 3, NULL},
	{"python3 -u -m unittest", 2, NULL},
	{"python3 ./-c", 1, NULL},
	{"python3", 0, NULL},
	{"python3 -", 0, NULL},
	{"python3 -m", 0, NULL},
	{"python3 -c", 0, NULL},
	{"python3 -i a.py", 0, NULL},
	{"python3 -v a.py", 0, NULL},
	{"python3 -Bv a.py", 0, NULL},
	{"python3 -X dev a.py", 0, NULL},
	{"python3 -W error a.py", 0, NULL},
	{"python3 -mpytest", 0, NULL},
	{"python3 -cpass", 0, NULL},
	{"python3 -V", 0, NULL},
	{"python3 --version", 0, NULL},
	{"python3 -B", 0, NULL},
	{"python3 -- a.py", 0, NULL},
	{"python3-config --libs", 0, NULL},
	{"pythonic a.py", 0, NULL},
	{"/python3/sh a.py", 0, NULL},
	{"pypy3 a.py", 0, NULL},
	{"sh -c python3", 0, NULL},
	{"python3 a.py", 1, "PYTHONPATH=/x"},
	{"python3 a.py", 1, "PYTHONINSPECT="},
	{"python3 a.py", 0, "PYTHONINSPECT=1"},
	{"python3 a.py", 0, "PYTHONDEVMODE=1"},
	{"python3 a.py", 0, "PYTHONNEW=1"},
	{"python3 a.py", 0, "LD_PRELOAD=/x.so"},
	{"python3 a.py", 0, "COVERAGE_PROCESS_START=rc"},
	{"python3 a.py", 1, "XPYTHONINSPECT=1"},
};

static void knows_what_it_serves(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		CLEANUP_FREE char *text = strdup(commands[i].words);
		char *argv[8] = {NULL}, *at = NULL;
		char *env[] = {(char[]){"A=b"}, NULL, NULL};
		CLEANUP_FREE char *variable =
			commands[i].variable ? strdup(commands[i].variable) : NULL;

		env[1] = variable;
		for (size_t n = 0; n < 7; n++) {
			argv[n] = strtok_r(n ? NULL : text, " ", &at);
			if (!argv[n])
				break;
		}
		print_message("%s\n", commands[i].words);
		assert_int_equal(warm_fits(argv, env), commands[i].first);
	}
}

/* ---- starting ---- */

static char dir[256]; /* in which every user has a directory */

static void open_stage(void)
{
	snprintf(dir, sizeof(dir), "%s", harness_tmpdir());
	assert_int_equal(chmod(dir, 01777), 0);
}

static void put(const char *name, const char *content, mode_t mode)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%u", dir, geteuid());
	CHECK(mkdir(path, 0755) == 0 || errno == EEXIST);
	snprintf(path, sizeof(path), "%s/%u/%s", dir, geteuid(), name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	CHECK(fd >= 0 && write_all(fd, content, strlen(content)) == 0);
	CHECK(fchmod(fd, mode) == 0);
	close(fd);
}

struct start {
	struct sandbox sb;
	char *argv[8], *env[4];
	struct zygote z;
	struct err err;
};

/* program: "python3", or in /v, which is the user's own directory, and on PYTHONPATH. */
static int start_program(struct start *s, const char *program, int cancel)
{
	const struct warm_server w = {
		.argv = s->argv,
		.first = 1,
		.env = s->env,
		.cwd = "/v",
		.cancel = cancel,
	};
	char path[512];

	*s = (struct start){
		.argv = {strdup(program), strdup("-c"), strdup("pass")},
		.env = {strdup("PATH=/usr/bin:/bin"), strdup("PYTHONPATH=/v")}};
	snprintf(path, sizeof(path), "%s/%u", dir, geteuid());
	put("here", "", 0644);
	sandbox_add_view(&s->sb, path, "/v", VIEW_WRITE);
	return zygote_start_warm(&s->sb, NULL, &w, &s->z, &s->err);
}

static void run_code(struct start *s, const char *code, struct boxed *r)
{
	free(s->argv[2]);
	s->argv[2] = strdup(code);
	boxed_request(&s->z,
		      (struct box_request){.argv = s->argv, .env = s->env, .cwd = "/v"},
		      r);
}

static void finish(struct start *s)
{
	for (size_t i = 0; s->argv[i]; i++)
		free(s->argv[i]);
	for (size_t i = 0; s->env[i]; i++)
		free(s->env[i]);
	sandbox_release(&s->sb);
}

/* No child of ours is left: neither server nor guard, nor any init. */
static void check_none_left(void)
{
	CHECK(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
}

static void forks_an_interpreter(void)
{
	struct boxed r;
	struct start s;
	int rc = start_program(&s, "python3", -1);

	if (rc < 0)
		fprintf(stderr, "%s\n", s.err.message);
	CHECK(rc == 0);
	CHECK(s.z.memory > 1 << 20 && s.z.memory < 256 << 20);
	for (int i = 0; i < 3; i++) {
		run_code(&s, "import sys; print(6 * 7, 'pytest' in sys.modules)", &r);
		CHECK(boxed_exited(&r, 0) && !strcmp(r.out, "42 False\n"));
	}
	run_code(&s, "import os; os._exit(7)", &r);
	CHECK(boxed_exited(&r, 7));
	run_code(&s, "import os; os.kill(os.getpid(), 9)", &r);
	CHECK(WIFSIGNALED(r.status) && WTERMSIG(r.status) == SIGKILL);
	/* What it is forked from is neither seen nor reached. */
	run_code(&s,
		 "import os\n"
		 "print([p for p in os.listdir('/proc') if p.isdigit()])\n"
		 "for pid in (1, os.getppid(), -1):\n"
		 "    try: os.kill(pid, 9)\n"
		 "    except OSError as e: print(e.errno)\n",
		 &r);
	/* init cannot be signalled: no errno, and nothing happens. */
	CHECK(boxed_exited(&r, 0) && !strncmp(r.out, "['1', '2']\n", 11));
	run_code(&s, "print('still')", &r);
	CHECK(boxed_exited(&r, 0) && !strcmp(r.out, "still\n"));
	zygote_stop(&s.z);
	check_none_left();
	finish(&s);
}

static void forks(void **state)
{
	(void)state;
	open_stage();
	boxed_run(forks_an_interpreter);
}

/* The confinement is that of any run. */
static void confines_forks(void)
{
	static const char *const codes[] = {
		"import ctypes, os\n"
		"libc = ctypes.CDLL(None, use_errno=True)\n"
		"assert libc.unshare(0x10000000) == -1\n"
		"assert libc.mount(b't', b'/tmp', b'tmpfs', 0, None) == -1\n"
		"assert libc.syscall(435, None, 0) == -1 and ctypes.get_errno() == 38\n",
		"status = open('/proc/self/status').read()\n"
		"assert 'CapEff:\\t0000000000000000' in status, status\n"
		"assert 'CapAmb:\\t0000000000000000' in status, status\n"
		"assert 'CapBnd:\\t0000000000000000' in status, status\n"
		"assert 'NoNewPrivs:\\t1' in status, status\n",
		"import os\n"
		"assert not os.listdir('/.exitpath') and not os.listdir('/tmp')\n"
		"assert sorted(os.listdir('/proc/self/fd'))[:3] == ['0', '1', '2']\n"
		"assert len(os.listdir('/proc/self/fd')) == 4\n",
		"import os\n"
		"open('/v/written', 'w').close()\n"
		"try: open('/usr/x', 'w')\n"
		"except OSError: pass\n"
		"else: assert False\n",
		"import os, signal\n"
		"assert signal.pthread_sigmask(0, []) == set()\n"
		"assert os.getsid(0) == os.getpid()\n",
		"assert __import__('resource').getrlimit(4)[1] == 1\n",
	};
	struct boxed r;
	struct start s;

	CHECK(start_program(&s, "python3", -1) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		run_code(&s, codes[i], &r);
		CHECK(boxed_exited(&r, 0));
	}
	zygote_stop(&s.z);
	check_none_left();
	finish(&s);
}

static void confines(void **state)
{
	(void)state;
	open_stage();
	boxed_run(confines_forks);
}

/* What cannot be shared is refused, with the reason. */
static const struct refusal {
	const char *program, *name, *content;
	mode_t mode;
	const char *message;
} refusals[] = {
	{"/v/python3", "python3", "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n", 0755,
	 "interpreter"},
	{"/v/none/python3", "x", "", 0644, "interpreter"},
	{"python3", "sitecustomize.py", "print('begun')\n", 0644, "writes at its start"},
	{"python3", "sitecustomize.py", "import sys; sys.stderr.write('e')\n", 0644,
	 "writes at its start"},
	{"python3", "sitecustomize.py",
	 "import threading, time\n"
	 "threading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n",
	 0644, "has threads"},
	{"python3", "sitecustomize.py", "import sys; sys.settrace(lambda *a: None)\n",
	 0644, "is traced"},
	{"python3", "sitecustomize.py", "import os; os._exit(0)\n", 0644,
	 "ended at its start"},
	{"python3", "sitecustomize.py", "import os; os.kill(os.getpid(), 9)\n", 0644,
	 "ended at its start"},
	{"python3", "sitecustomize.py", "import os; os.close(3)\n", 0644, "at its start"},
};
static const struct refusal *refusal;

static void is_refused(void)
{
	struct start s;

	put(refusal->name, refusal->content, refusal->mode);
	CHECK(start_program(&s, refusal->program, -1) < 0);
	if (!strstr(s.err.message, refusal->message))
		fprintf(stderr, "# %s\n", s.err.message);
	CHECK(strstr(s.err.message, refusal->message));
	check_none_left();
	finish(&s);
	put("sitecustomize.py", "", 0644);
}

static void refuses(void **state)
{
	(void)state;
	open_stage();
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		refusal = &refusals[i];
		print_message("%s\n", refusal->message);
		boxed_run(is_refused);
	}
}

/* Its start sees nothing of the machine, and can change nothing. */
static void shows_nothing(void)
{
	struct boxed r;
	struct start s;

	put("sitecustomize.py",
	    "import os\n"
	    "seen = sorted(p for p in os.listdir('/proc') if p.isdigit())\n"
	    "writable = []\n"
	    "for path in ('/v/x', '/tmp/x', '/usr/x', '/proc/sys/kernel/core_pattern'):\n"
	    "    try: open(path, 'r+' if 'core' in path else 'w').close()\n"
	    "    except OSError: pass\n"
	    "    else: writable.append(path)\n",
	    0644);
	CHECK(start_program(&s, "python3", -1) == 0);
	run_code(&s, "import sitecustomize as c; print(c.seen, c.writable)", &r);
	CHECK(boxed_exited(&r, 0));
	if (strcmp(r.out, "['1', '2'] []\n") != 0)
		fprintf(stderr, "# %s", r.out);
	CHECK(!strcmp(r.out, "['1', '2'] []\n"));
	zygote_stop(&s.z);
	check_none_left();
	finish(&s);
	put("sitecustomize.py", "", 0644);
}

static void hides(void **state)
{
	(void)state;
	open_stage();
	boxed_run(shows_nothing);
}

/* One that hangs at its start is given up when the run is cancelled. */
static void is_cancelled(void)
{
	int pipes[2];
	struct start s;

	put("sitecustomize.py", "import time; time.sleep(60)\n", 0644);
	CHECK(pipe2(pipes, O_CLOEXEC) == 0);
	CHECK(write(pipes[1], "", 1) == 1);
	CHECK(start_program(&s, "python3", pipes[0]) < 0);
	CHECK(strstr(s.err.message, "cancelled"));
	check_none_left();
	finish(&s);
	close(pipes[0]);
	close(pipes[1]);
	put("sitecustomize.py", "", 0644);
}

static void cancels(void **state)
{
	(void)state;
	open_stage();
	boxed_run(is_cancelled);
}

/* A server that is killed is known by the next request, and nothing runs. */
static void is_lost(void)
{
	char *env[] = {NULL};
	struct box_request req;
	struct start s;
	struct box b;

	CHECK(start_program(&s, "python3", -1) == 0);
	CHECK(kill(-s.z.pid, SIGKILL) == 0);
	usleep(50000);
	req = (struct box_request){
		.argv = s.argv, .env = env, .cwd = "/v", .in = 0, .out = 1, .err = 2};
	CHECK(zygote_run(&s.z, &req, &b) < 0);
	zygote_stop(&s.z);
	check_none_left();
	finish(&s);
}

static void loses(void **state)
{
	(void)state;
	open_stage();
	boxed_run(is_lost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(knows_what_it_serves),
		HARNESS_TEST(forks),
		HARNESS_TEST(confines),
		HARNESS_TEST(refuses),
		HARNESS_TEST(hides),
		HARNESS_TEST(cancels),
		HARNESS_TEST(loses),
	};

	return HARNESS_RUN(tests);
}
