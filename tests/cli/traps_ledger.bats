bats_require_minimum_version 1.5.0
load common

# Each class of resource the ledger knows: a program that holds it, and one that does not.
export DETECTOR=ledger TRAP_FLAGS='-g'

# What the leaking programs leave for good: named trap-*, or a System V segment of this test.
segments() { awk 'NR > 1 { print $2 }' /proc/sysvipc/shm | sort; }
setup() { segments >"$BATS_TEST_TMPDIR/segments"; }
teardown() {
  rm -f /dev/shm/trap-* /tmp/trap-??????*
  segments | comm -13 "$BATS_TEST_TMPDIR/segments" - | xargs -r -n 1 ipcrm -m
}

fixed_name() { printf %07d $BASHPID | tr 0-9 a-j; } # two runs of this suite do not meet

clean_too() { # PROGRAM: the clean build against itself is clean
  TRAP_CANDIDATE_FLAGS='' trap_case "$1" 0
}

@test "ledger: a file" { trap_case fd_file 20 '"fd"'; }
@test "ledger: a file, clean" { clean_too fd_file; }
@test "ledger: a pipe" { trap_case fd_pipe 20 '"fd"' pipe; }
@test "ledger: a pipe, clean" { clean_too fd_pipe; }
@test "ledger: an eventfd" { trap_case fd_eventfd 20 '"fd"' eventfd; }
@test "ledger: an eventfd, clean" { clean_too fd_eventfd; }
@test "ledger: a memfd" { trap_case fd_memfd 20 '"fd"' memfd; }
@test "ledger: a memfd, clean" { clean_too fd_memfd; }
@test "ledger: a listening TCP socket" { trap_case fd_listen 20 '"socket"' tcp; }
@test "ledger: a listening TCP socket, clean" { clean_too fd_listen; }
@test "ledger: a Unix socket" { trap_case fd_unix 20 '"socket"' unix; }
@test "ledger: a Unix socket, clean" { clean_too fd_unix; }
@test "ledger: a descriptor inherited by a child" { trap_case fd_inherited 20 '"fd"' inherited; }
@test "ledger: a descriptor inherited by a child, clean" { clean_too fd_inherited; }
@test "ledger: a thread" { trap_case thread_running 20 '"thread"'; }
@test "ledger: a thread, clean" { clean_too thread_running; }
@test "ledger: a child" { trap_case child_running 20 '"child"'; }
@test "ledger: a child, clean" { clean_too child_running; }
@test "ledger: a daemon" { trap_case child_daemon 20 '"child"'; }
@test "ledger: a daemon, clean" { clean_too child_daemon; }
@test "ledger: a zombie" { trap_case zombie 20 '"zombie"'; }
@test "ledger: a zombie, clean" { clean_too zombie; }
@test "ledger: a file in TMPDIR" { trap_case temp_tmpdir 20 '"tempfile"'; }
@test "ledger: a file in TMPDIR, clean" { clean_too temp_tmpdir; }
@test "ledger: a file in /tmp" { trap_case temp_mkstemp 20 '"tempfile"' '/tmp/trap-'; }
@test "ledger: a file in /tmp, clean" { clean_too temp_mkstemp; }
@test "ledger: a file in /tmp, base and candidate side by side" {
  ARGS='--jobs 2' trap_case temp_mkstemp 20 '"tempfile"' '/tmp/trap-'
}
@test "ledger: a file of a fixed name in /tmp" {
  TRAP_FLAGS="-g -DFIXED=$(fixed_name)" trap_case temp_fixed 20 '"shared_file"' '/tmp/trap-[a-j]{7}'
  # It is still there, and found again.
  fails_with 20 "$EXITPATH_BIN" leak --base base --candidate candidate --setup 'sh build.sh' \
    --detector ledger --cycles 2 --fresh --quiet -- ./build/t
}
@test "ledger: a file of a fixed name in /tmp, clean" {
  TRAP_FLAGS="-g -DFIXED=$(fixed_name)" clean_too temp_fixed
}
@test "ledger: a cache in /tmp that base keeps as well" {
  TRAP_FLAGS="-g -DFIXED=$(fixed_name)" TRAP_BASE_FLAGS=-DLEAK trap_case temp_fixed 0 '"shared_file"' learned
}
@test "ledger: a compiler at work in /tmp is not blamed" {
  (while sleep 0.01; do echo 'int x;' | TMPDIR=/tmp gcc -x c -c -o /dev/null -; done) 3>&- &
  local noise=$!
  clean_too temp_mkstemp
  kill $noise && { wait $noise || true; }
}
@test "ledger: POSIX shared memory" { trap_case shm_posix 20 '"posix_shm"'; }
@test "ledger: POSIX shared memory, clean" { clean_too shm_posix; }
@test "ledger: System V shared memory" { trap_case shm_sysv 20 '"sysv_shm"'; }
@test "ledger: System V shared memory, clean" { clean_too shm_sysv; }
@test "ledger: a file lock by flock" { trap_case lock_flock 20 '"lock"'; }
@test "ledger: a file lock by flock, clean" { clean_too lock_flock; }
@test "ledger: a file lock by fcntl" { trap_case lock_fcntl 20 '"lock"'; }
@test "ledger: a file lock by fcntl, clean" { clean_too lock_fcntl; }
@test "ledger: a static binary" { TRAP_FLAGS='-g -static' trap_case fd_file 20 '"fd"'; }
@test "ledger: together with LeakSanitizer, a descriptor" {
  TRAP_FLAGS='-g -fsanitize=address' DETECTOR=lsan,ledger trap_case fd_file 20 '"fd"' '"lsan"'
}
@test "ledger: together with LeakSanitizer, the heap" {
  TRAP_FLAGS='-g -fsanitize=address' DETECTOR=lsan,ledger trap_case leak_heap 20 leak_here '"ledger"'
}
@test "ledger: a static binary, with LeakSanitizer at work in the same run" {
  make_trap fd_file
  cp "$EXITPATH_ROOT/tests/programs/clean.c" .
  cat >build.sh <<'EOF'
mkdir -p build && gcc -g -static $(cat flags) -o build/t program.c && gcc -g -fsanitize=address -o build/asan clean.c
EOF
  git checkout -q base && cp build.sh b.sh && commit_all base && git tag -f base >/dev/null
  sed -i 's/$/ -DLEAK/' flags && commit_all candidate && git tag -f candidate >/dev/null
  fails_with 20 "$EXITPATH_BIN" leak --base base --candidate candidate --setup 'sh b.sh' \
    --detector lsan,ledger --cycles 2 --json --quiet -- sh -c './build/asan && ./build/t'
  python3 - "$output" <<'EOF'
import json, sys
outcome = {c["detector"]: c["outcome"] for c in json.loads(sys.argv[1])["checks"]}
assert outcome == {"lsan": "clean", "ledger": "leak"}, outcome
EOF
}
@test "ledger: _exit is seen" { trap_case exit_forced 0; }
@test "ledger: abort" { trap_case exit_abort 10; }
@test "ledger: a hang" { TIMEOUT=2s trap_case hang 40; }
@test "ledger: what base holds as well is the normal level" {
  TRAP_BASE_FLAGS=-DLEAK trap_case fd_file 0 learned
}
@test "ledger: a base that leaves files is a broken baseline" {
  TRAP_BASE_FLAGS=-DLEAK trap_case temp_tmpdir 30 '"tempfile"'
}
