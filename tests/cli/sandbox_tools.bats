# What must work in the sandbox, as root and as an ordinary user, with 256 MB unless a test says otherwise.
bats_require_minimum_version 1.5.0
load common

user=23456 # has no name and no home

setup() {
  # $BATS_TEST_TMPDIR cannot be entered by the ordinary user.
  dir=$(mktemp -d "${TMPDIR:-/tmp}/tools.XXXXXX")
  chmod 755 "$dir"
  mkdir "$dir/src" "$dir/home"
  cp "$EXITPATH_BIN" "$dir/exitpath"
  cd "$dir/src"
}

teardown() {
  cd /
  rm -rf "$dir"
}

# needs PROGRAM…: skips where one is missing.
needs() {
  local program
  for program; do
    command -v "$program" >/dev/null || skip "no $program here"
  done
  [ "$1" != python3 ] || [ -x /usr/bin/python3 ] || skip "no /usr/bin/python3 here"
}

# builds NAME [FLAG…]: compiles stdin (C).
builds() {
  local name=$1
  shift
  gcc -std=gnu11 -D_GNU_SOURCE -g -O1 -o "$name" -x c - -pthread "$@"
}

# ends VERDICT EXIT REGEX [FLAG…] -- CMD…: as root and as an ordinary user, each in a copy of what the test made.
ends() {
  local verdict=$1 status=$2 regex=$3 who as json
  shift 3
  for who in self user; do
    as=(env "HOME=${home_inside-$dir/home}" "TMPDIR=$dir/home")
    rm -rf "$dir/$who"
    cp -r "$dir/src" "$dir/$who"
    if [ "$who" = user ]; then
      [ "$(id -u)" -eq 0 ] || return 0
      chown -R "$user:$user" "$dir/user" "$dir/home"
      as=(setpriv "--reuid=$user" "--regid=$user" --clear-groups "${as[@]}")
    fi
    json=$(cd "$dir/$who" && "${as[@]}" "$dir/exitpath" run --json --memory 256M --wall 60s --cpu 60s --output 1M "$@") || true
    if ! python3 "$BATS_TEST_DIRNAME/run_check.py" "$verdict" "$status" "$regex" <<<"$json"; then
      echo "as $who: $*"
      return 1
    fi
  done
}

works() {
  ends exit 0 "$@"
}

@test "tools: LeakSanitizer finds a leak" {
  cat >leak.c <<'END'
#include <stdlib.h>
static void __attribute__((noinline)) leak(void) { char *volatile p = malloc(77); p[0] = 1; p = 0; }
int main(void) { leak(); return 0; }
END
  builds lsan -fsanitize=leak <leak.c
  builds asan -fsanitize=address <leak.c
  ends exit 23 'detected memory leaks' -- ./lsan
  ends exit 1 'detected memory leaks' -- ./asan
}

@test "tools: a fatal error of LeakSanitizer is no leak" {
  needs strace
  builds lsan -fsanitize=leak <<<'int main(void) { return 0; }'
  # Who is traced already cannot be looked at by LeakSanitizer's tracer.
  ends exit '23|1' 'LeakSanitizer has encountered a fatal error' -- strace -f -o /dev/null ./lsan
  builds clean -fsanitize=leak <<<'int main(void) { return 0; }'
  works '^\s*$' -- ./clean
}

@test "tools: AddressSanitizer" {
  builds asan -fsanitize=address <<'END'
#include <stdlib.h>
int main(void) { char *volatile p = malloc(7); free((void *)p); return p[3]; }
END
  ends exit 1 'heap-use-after-free' -- ./asan
}

@test "tools: UndefinedBehaviorSanitizer" {
  builds ubsan -fsanitize=undefined <<<'int main(int argc, char **argv) { (void)argv; return (argc << 31 << argc) * 0; }'
  works 'runtime error' -- ./ubsan
}

@test "tools: ThreadSanitizer" {
  builds tsan -fsanitize=thread <<'END'
#include <pthread.h>
static int shared;
static void *race(void *arg) { shared++; return arg; }
int main(void) { pthread_t t; pthread_create(&t, 0, race, 0); shared++; pthread_join(t, 0); return 0; }
END
  ends exit 66 'data race' -- ./tsan
}

@test "tools: valgrind" {
  needs valgrind
  builds leak <<'END'
#include <stdlib.h>
int main(void) { char *volatile p = malloc(77); p = 0; return p != 0; }
END
  ends exit 9 'definitely lost: 77 bytes' -- valgrind --leak-check=full --error-exitcode=9 ./leak
}

@test "tools: gdb" {
  needs gdb
  builds crash <<<'int main(void) { __builtin_trap(); }'
  works 'SIGILL' -- gdb -batch -nx -ex run -ex bt ./crash
}

@test "tools: strace" {
  needs strace
  works 'execve.*exited with 0' -- sh -c 'strace -f -o trace /bin/true && tr "\n" " " <trace'
}

@test "tools: a Go program and a Go test binary" {
  needs go
  mkdir go && cd go
  printf 'module example.org/m\ngo 1.18\n' >go.mod
  cat >m.go <<'END'
package main

import ("fmt"; "sync"; "runtime")

func main() {
	var w sync.WaitGroup
	for i := 0; i < 100; i++ { w.Add(1); go func() { runtime.Gosched(); w.Done() }() }
	w.Wait(); fmt.Println("go works")
}
END
  printf 'package main\nimport "testing"\nfunc TestIt(t *testing.T) { main() }\n' >m_test.go
  GOFLAGS=-mod=mod GOCACHE="$dir/cache" HOME="$dir/home" go build -o ../prog . 
  GOFLAGS=-mod=mod GOCACHE="$dir/cache" HOME="$dir/home" go test -c -o ../test . 
  cd ..
  works 'go works' -- ./prog
  works 'PASS' -- ./test -test.v
}

@test "tools: node, and a WebAssembly module" {
  needs node
  cat >m.js <<'END'
const { Worker, isMainThread } = require("worker_threads");
const bytes = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97,
  100, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11);
if (isMainThread)
  new Worker(__filename).on("exit", () =>
    WebAssembly.instantiate(bytes).then(m => console.log("node works", m.instance.exports.add(40, 2))));
END
  works 'node works 42' -- node m.js
}

@test "tools: Java" {
  needs java javac
  echo 'class Hello { public static void main(String[] a) { System.out.println("java works"); } }' >Hello.java
  javac Hello.java
  works 'java works' -- java -cp . Hello
}

@test "tools: Python threads, processes and asyncio" {
  needs python3
  cat >m.py <<'END'
import asyncio, concurrent.futures, multiprocessing, tempfile, threading

async def main():
    process = await asyncio.create_subprocess_exec("/bin/echo", "asyncio", stdout=-1)
    return (await process.communicate())[0].decode().strip()

if __name__ == "__main__":
    thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print(sum(pool.map(abs, range(-10, 0))))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(abs, [-1, -2]))
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
    print(asyncio.run(main()))
END
  works '(?s)thread.*55.*\[1, 2\].*asyncio' -- /usr/bin/python3 m.py
}

@test "tools: SQLite with a write-ahead log, in the checkout and in /tmp" {
  needs python3
  cat >m.py <<'END'
import sqlite3
for path in ("t.db", "/tmp/t.db", "/dev/shm/t.db"):
    a, b = sqlite3.connect(path), sqlite3.connect(path)
    print(a.execute("PRAGMA journal_mode=WAL").fetchone())
    with a:
        a.execute("CREATE TABLE t(x)"); a.execute("INSERT INTO t VALUES (42)")
    print(b.execute("SELECT x FROM t").fetchone())
END
  works "(?s)(wal.*42.*){3}" -- /usr/bin/python3 m.py
}

@test "tools: a pseudo-terminal" {
  needs python3
  works 'tty works' -- /usr/bin/python3 -c 'import pty; pty.spawn(["sh", "-c", "test -t 0 && test -t 1 && tty >/dev/null && echo tty works"])'
}

@test "tools: shell pipelines, job control, here documents, background jobs" {
  works '^3\n6\nhere\nwaited' -- bash -c 'seq 9 | grep -c [123]; { seq 1 3; seq 1 3; } | wc -l | tr -d " "; cat <<<here; (sleep 0.01; exit 3) & wait $!; [ $? -eq 3 ] && echo waited; cat <(echo x) >/dev/null'
}

@test "tools: it sees only its own processes" {
  needs ps
  # init, the shell, a subshell, ps, wc
  works '^only [2-5]\n' -- sh -c 'n=$(ps -e -o pid= | wc -l); echo only $n; ls -d /proc/[0-9]*; hostname || uname -n'
}

@test "tools: fifos and Unix sockets, in the checkout and in /tmp" {
  needs python3
  cat >m.py <<'END'
import os, socket, threading
for d in (".", "/tmp", "/dev/shm"):
    os.mkfifo(f"{d}/fifo")
    threading.Thread(target=lambda: open(f"{d}/fifo", "w").write("x")).start()
    assert open(f"{d}/fifo").read() == "x"
for name in ("socket", "/tmp/socket", "\0abstract"):
    server = socket.socket(socket.AF_UNIX); server.bind(name); server.listen()
    client = socket.socket(socket.AF_UNIX); client.connect(name); client.sendall(b"x")
    assert server.accept()[0].recv(1) == b"x"
print("sockets work")
END
  works 'sockets work' -- /usr/bin/python3 m.py
}

@test "tools: servers on 127.0.0.1, ::1 and localhost with --network loopback" {
  needs python3
  cat >m.py <<'END'
import socket
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "localhost"), (socket.AF_INET6, "::1")):
    server = socket.create_server((host, 0), family=family)
    client = socket.create_connection((host, server.getsockname()[1]))
    client.sendall(b"x")
    assert server.accept()[0].recv(1) == b"x"
    a, b = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
    a.bind((host, 0)); b.sendto(b"y", a.getsockname()); assert a.recv(1) == b"y"
print(socket.getaddrinfo("localhost", 80)[0][4][0], [name for _, name in socket.if_nameindex()])
print("loopback works")
END
  works 'loopback works' --network loopback -- /usr/bin/python3 m.py
}

@test "tools: without a network, names and addresses fail at once" {
  needs python3
  cat >m.py <<'END'
import socket, time
start = time.monotonic()
for address in (("example.org", 80), ("192.0.2.1", 80)):
    try:
        socket.create_connection(address, timeout=20)
    except OSError as e:
        print("fails:", e)
print("fast" if time.monotonic() - start < 5 else "slow")
END
  works '(?s)fails.*fails.*fast' --network none -- /usr/bin/python3 m.py
  works '(?s)fails.*fails.*fast' --network loopback -- /usr/bin/python3 m.py
}

@test "tools: git in the checkout" {
  git init -q -b main . && echo 1 >file && git add -A && git commit -q -m one
  works '(?s)one.* M file' -- sh -c 'echo 2 >file && git log --format=%s && git status --short'
}

@test "tools: a compiler, and make -j2" {
  needs cc make
  for i in 1 2 3; do echo "int f$i(void) { return $i; }" >f$i.c; done
  echo 'int f1(void), f2(void), f3(void), puts(const char *); int main(void) { return puts("made") < 0 || f1() + f2() + f3() != 6; }' >m.c
  printf 'm: m.o f1.o f2.o f3.o\n\tcc -o $@ $^\n' >Makefile
  works 'made' -- sh -c 'make -j2 && ./m'
}

@test "tools: deep recursion on the usual stack" {
  builds deep -O0 <<'END'
#include <stdio.h>
static int down(int n) { volatile char frame[1000]; frame[0] = (char)n; return n ? down(n - 1) + frame[0] - (char)n : 0; }
int main(void) { return printf("deep %d\n", down(7000)) < 0; }
END
  works 'deep' -- ./deep
  needs python3
  works 'RecursionError' -- /usr/bin/python3 -c '
def f(): f()
try: f()
except RecursionError as e: print(repr(e))'
}

@test "tools: shared mappings, memfd, eventfd, timerfd, signalfd, epoll, inotify, pidfd, POSIX and SysV IPC" {
  builds kernel -lrt <<'END'
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#define WORKS(call) do { if (!(call)) { perror(#call); bad++; } } while (0)
int main(void)
{
	int bad = 0, fd;
	char *at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), c;
	struct itimerspec soon = {.it_value.tv_nsec = 1000};
	uint64_t n;
	sigset_t set;
	pid_t pid;

	WORKS(at != MAP_FAILED);
	if ((pid = fork()) == 0) { at[0] = 7; _exit(0); }
	WORKS(waitpid(pid, 0, 0) == pid && at[0] == 7);
	WORKS((fd = memfd_create("m", MFD_CLOEXEC | MFD_ALLOW_SEALING)) >= 0 && !ftruncate(fd, 99) && !fcntl(fd, F_ADD_SEALS, F_SEAL_GROW));
	WORKS((fd = eventfd(1, 0)) >= 0 && read(fd, &n, 8) == 8);
	WORKS((fd = timerfd_create(CLOCK_MONOTONIC, 0)) >= 0 && !timerfd_settime(fd, 0, &soon, 0) && read(fd, &n, 8) == 8);
	sigemptyset(&set); sigaddset(&set, SIGUSR1); sigprocmask(SIG_BLOCK, &set, 0);
	WORKS((fd = signalfd(-1, &set, 0)) >= 0 && !raise(SIGUSR1) && poll(&(struct pollfd){fd, POLLIN, 0}, 1, 1000) == 1);
	WORKS(epoll_create1(EPOLL_CLOEXEC) >= 0);
	WORKS((fd = inotify_init1(0)) >= 0 && inotify_add_watch(fd, ".", IN_CREATE) >= 0);
	WORKS((fd = open("made", O_CREAT | O_RDWR, 0644)) >= 0 && !flock(fd, LOCK_EX) && !fchmod(fd, 0600) && !posix_fallocate(fd, 0, 4096));
	WORKS(mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED);
	WORKS((fd = open(".", O_TMPFILE | O_RDWR, 0600)) >= 0);
	WORKS(syscall(SYS_pidfd_open, getpid(), 0) >= 0);
	WORKS(shm_open("/s", O_CREAT | O_RDWR, 0600) >= 0);
	WORKS(sem_open("/s", O_CREAT, 0600, 1) != SEM_FAILED);
	WORKS(shmget(IPC_PRIVATE, 4096, 0600) >= 0 && semget(IPC_PRIVATE, 1, 0600) >= 0 && msgget(IPC_PRIVATE, 0600) >= 0);
	WORKS(getrandom(&c, 1, 0) == 1 && prctl(PR_SET_NAME, "name") == 0 && !nice(1) + 1);
	WORKS(!setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) && !prctl(PR_SET_CHILD_SUBREAPER, 1));
	WORKS(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && mlock(at, 4096) == 0);
	WORKS(mprotect(at, 4096, PROT_READ | PROT_EXEC) == 0);
	for (const char **d = (const char *[]){"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/ptmx", "/dev/stdin", "/dev/fd/1", 0}; *d; d++)
		WORKS(access(*d, R_OK) == 0 || (perror(*d), 0));
	puts(bad ? "something does not" : "all work");
	return bad;
}
END
  works 'all work' -- ./kernel
}

@test "tools: a large environment and a long argument" {
  needs python3
  for i in $(seq 8); do export "BIG_$i=$(head -c 100000 /dev/zero | tr '\0' x)"; done
  # shellcheck disable=SC2016
  works '^100000 100000' -- sh -c 'echo ${#BIG_8} ${#1}' sh "$(head -c 100000 /dev/zero | tr '\0' y)"
}

@test "tools: timeout inside is an exit" {
  ends exit 124 '' -- timeout 0.2 sleep 20
  ends signal '' '' -- timeout -s KILL 0.2 sleep 20
}

@test "tools: files in the checkout belong to who started it, and stay" {
  works '' -- sh -c 'mkdir d && echo x >d/f && chmod 640 d/f && mv d/f d/g && ln d/g d/h'
  [ "$(stat -c %u:%a:%h "$dir/self/d/g")" = "$(id -u):640:2" ]
  [ "$(id -u)" -ne 0 ] || [ "$(stat -c %u "$dir/user/d/g")" = "$user" ]
}

@test "tools: the run has standard input, TMPDIR, HOME and a working directory that exist" {
  works 'all there' -- sh -c '[ "$(cat)" = "" ] && [ -w "${TMPDIR:-/tmp}" ] && touch "${TMPDIR:-/tmp}/x" && cd "$HOME" && touch x && [ -x "$OLDPWD" ] && echo all there'
}

@test "tools: HOME is below /tmp, above the checkout, a system directory, /, relative, empty" {
  for home_inside in /tmp/h /var/tmp /dev/shm/h "$dir" /nonexistent/h /root /usr /dev /proc / relative ''; do
    works 'runs' -- sh -c 'test -x /usr/bin/env && test -e /dev/null && test -e /proc/self && echo runs'
  done
}

@test "tools: a checkout that is, or holds, the home directory is refused" {
  for home in "$dir/src" "$dir/src/below"; do
    fails_with 2 env HOME="$home" "$dir/exitpath" run -- true
    [[ "$output" == *"home directory"*next:* ]]
  done
}
