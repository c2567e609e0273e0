# Programs of tests/programs/hostile, each run free (it must reach what it is after, else the test proves
# nothing) and in the sandbox, as root and as an ordinary user. hostile.py holds the table: the program, the
# verdict that is right, what must hold afterwards. Always: no process, mount, cgroup, file, shared memory left;
# the machine's files unchanged; a process of the machine still alive.
bats_require_minimum_version 1.5.0
load common

setup_file() {
  export HOSTILE_PROGRAMS="$BATS_FILE_TMPDIR/programs" HOSTILE_FIGURES="$BATS_FILE_TMPDIR/figures"
  mkdir "$HOSTILE_PROGRAMS"
  : >"$HOSTILE_FIGURES"
  local source
  for source in "$EXITPATH_ROOT"/tests/programs/hostile/*.c; do
    gcc -std=gnu11 -D_GNU_SOURCE -O1 -pthread -o "$HOSTILE_PROGRAMS/$(basename "$source" .c)" "$source" -lrt
  done
  cp "$EXITPATH_ROOT"/tests/programs/hostile/*.py "$HOSTILE_PROGRAMS"
}

# No timing is asserted beyond what any machine must reach; this is the figure of this one.
teardown_file() {
  sort -rn "$HOSTILE_FIGURES" | awk 'NR == 1 { worst = $1 " ms (" $2 ", " $3 ")" } { sum += $1 }
    END { if (NR) printf "# %d runs were gone %.0f ms after their deadline on average, %s at worst\n", NR, sum / NR, worst }' >&3
}

# hostile CASE…: the cases of hostile.py.
hostile() {
  run python3 -B "$BATS_TEST_DIRNAME/hostile.py" "$@"
  [ "$status" -ne 77 ] || skip "$output"
  [ "$status" -eq 0 ] || {
    echo "$output"
    return 1
  }
}

@test "hostile: every case of the table is run" {
  fails_with 0 python3 -B "$BATS_TEST_DIRNAME/hostile.py" --list
  for name in $output; do
    grep -Eq "^  hostile( [a-z0-9-]+)* $name( |\$)" "$BATS_TEST_FILENAME" || { echo "not run: $name"; return 1; }
  done
}

@test "hostile: as an ordinary user" {
  [ "$(id -u)" -eq 0 ] || skip "not root: every case runs as uid $(id -u) alone"
}

@test "hostile: a program that ignores every signal ends at its deadline" {
  hostile ignores-signals
}

@test "hostile: a daemon that forked twice does not outlive the run" {
  hostile daemon
}

@test "hostile: a process in another session that holds stdout open does not prolong the run" {
  hostile holds-stdout
}

@test "hostile: processes that are never the same for long" {
  hostile respawns
}

@test "hostile: a program that stops itself" {
  hostile stops-itself
}

@test "hostile: a regular expression that never returns" {
  hostile regex regex-wall
}

@test "hostile: os._exit(0) in a test, with a thread and a child left" {
  hostile os-exit
}

@test "hostile: a fork bomb is pids" {
  hostile fork-bomb
}

@test "hostile: a fork bomb behind a shell is pids" {
  hostile fork-bomb-shell
}

@test "hostile: a thread bomb is pids" {
  hostile thread-bomb
}

@test "hostile: a memory hog is oom" {
  hostile memory
}

@test "hostile: a memory hog behind a shell that exits 0 is oom" {
  hostile memory-shell
}

@test "hostile: a memory hog through tmpfs" {
  hostile memory-tmpfs
}

@test "hostile: a memory hog through memfd" {
  hostile memory-memfd
}

@test "hostile: a memory hog through SysV shared memory" {
  hostile memory-sysv
}

@test "hostile: a memory hog through a shared mapping" {
  hostile memory-shared
}

@test "hostile: /tmp and /var/tmp are filled" {
  hostile disk-tmp disk-var-tmp
}

@test "hostile: /dev/shm is filled" {
  hostile disk-shm
}

@test "hostile: the checkout is filled" {
  hostile disk-checkout
}

@test "hostile: the checkout is filled, to be discarded" {
  hostile disk-discard
}

@test "hostile: 1 GB to stdout is output" {
  hostile output
}

@test "hostile: 1 GB to stderr is output" {
  hostile output-stderr
}

@test "hostile: 100,000 descriptors" {
  hostile files
}

@test "hostile: sockets are flooded" {
  hostile sockets
}

@test "hostile: a tree deeper than any path" {
  hostile deep-tree deep-tree-tmp
}

@test "hostile: file names with newlines and bytes that are no text" {
  hostile odd-names
}

@test "hostile: abort, SIGTERM and SIGKILL of itself are signals, whoever is pid 1" {
  hostile abort terminates-itself kills-itself
}

@test "hostile: exit 134 and 139 are exits" {
  hostile exit-134 exit-139
}

@test "hostile: writes outside its checkout" {
  hostile writes-outside
}

@test "hostile: writes in its checkout, and has them discarded" {
  hostile writes-checkout writes-discarded
}

@test "hostile: reads secrets planted in /home, HOME, /tmp, /run and beside its checkout" {
  hostile reads-secrets
}

@test "hostile: reads what it was given with --read" {
  hostile reads-exposed
}

@test "hostile: reads what only root may" {
  hostile reads-shadow
}

@test "hostile: makes and opens device nodes" {
  hostile devices
}

@test "hostile: a setuid program" {
  hostile setuid
}

@test "hostile: makes a setuid program in its checkout" {
  hostile makes-setuid
}

@test "hostile: connects to a Unix socket below /opt" {
  hostile unix-system
}

@test "hostile: looks for descriptors that were left open" {
  hostile inherited
}

@test "hostile: connects to Unix sockets of the machine, by path and abstract" {
  hostile unix-sockets
}

@test "hostile: connects to a Unix socket in a directory that it was given with --read" {
  hostile unix-readonly
}

@test "hostile: TCP and UDP out, with --network none" {
  hostile network-none
}

@test "hostile: TCP and UDP out, with --network loopback" {
  hostile network-loopback
}

@test "hostile: AF_VSOCK and other socket families" {
  hostile families
}

@test "hostile: io_uring, bpf, keyctl, userfaultfd, perf, mounts, chroot, namespaces" {
  hostile system-calls
}

@test "hostile: namespaces through the 32-bit system calls" {
  hostile other-abi
}

@test "hostile: /proc/sys, sysrq, cgroups, its own OOM score" {
  hostile controls
}

@test "hostile: types into the terminal it was started from" {
  hostile terminal
}

@test "hostile: ptrace, memory and descriptors of processes outside and of pid 1" {
  hostile invades
}

@test "hostile: kills all that it sees" {
  hostile kills-all kills-near
}

@test "hostile: kills pid 1, its parent, its group" {
  hostile kills-init kills-parent kills-group
}

@test "hostile: leaves shared memory, semaphores, message queues and files behind" {
  hostile leaves-ipc
}
