bats_require_minimum_version 1.5.0
load common

# Every trap of valgrind that was measured.
export DETECTOR=valgrind TRAP_FLAGS='-g -O0' CYCLES=1

@test "valgrind: a leak" { trap_case leak_heap 20 leak_here; }
@test "valgrind: base against itself is clean" { TRAP_CANDIDATE_FLAGS='' trap_case leak_heap 0; }
@test "valgrind: a leak on both is a broken baseline" { TRAP_BASE_FLAGS=-DLEAK trap_case leak_heap 30 leak_here; }
@test "valgrind: a leak in a forked child" { trap_case leak_fork 20; }
@test "valgrind: a leak in an exec'ed child" { trap_case leak_exec 20; }
@test "valgrind: a leak in a thread" { trap_case leak_thread 20; }
@test "valgrind: a pure cycle" { trap_case leak_cycle 20; }
@test "valgrind: a descriptor" { trap_case fd_file 20 '"fd"'; }
@test "valgrind: a listening socket" { trap_case fd_listen 20 '"socket"'; }
@test "valgrind: SIGKILL" { trap_case exit_killed 10; }
@test "valgrind: abort" { trap_case exit_abort 10; }
@test "valgrind: a hang" { TIMEOUT=1s trap_case hang 40; }
@test "valgrind: a static binary has no heap to watch" { TRAP_FLAGS='-g -static' trap_case leak_heap 50; }
@test "valgrind: a binary built for AddressSanitizer" { TRAP_FLAGS='-g -fsanitize=address' trap_case leak_heap '30|50'; }
@test "valgrind: --leak-check=no in VALGRIND_OPTS does not matter" {
  export VALGRIND_OPTS=--leak-check=no
  trap_case leak_heap 20 leak_here
}
@test "valgrind: a suppression of everything in VALGRIND_OPTS" {
  printf '{\n all\n Memcheck:Leak\n ...\n}\n' >"$BATS_TEST_TMPDIR/all.supp"
  export VALGRIND_OPTS=--suppressions=$BATS_TEST_TMPDIR/all.supp
  trap_case leak_heap '20|50'
}
