bats_require_minimum_version 1.5.0
load common

# What the user's environment says must not decide about exitpath itself, when that is sanitized.
without_sanitizer() {
  ! ldd "$EXITPATH_BIN" | grep -q libasan || skip "the sanitized exitpath reads these variables itself"
}

# Every trap of LeakSanitizer that was measured: never `clean` where no check happened.

@test "lsan, gcc -fsanitize=address: a leak" { trap_case leak_heap 20 leak_here; }
@test "lsan, clang -fsanitize=address: a leak" { CC=clang trap_case leak_heap 20 leak_here; }
@test "lsan, gcc -fsanitize=leak: a leak" { TRAP_FLAGS='-g -fsanitize=leak' trap_case leak_heap 20 leak_here; }
@test "lsan, clang -fsanitize=leak: a leak" { CC=clang TRAP_FLAGS='-g -fsanitize=leak' trap_case leak_heap 20 leak_here; }
@test "lsan: base against itself is clean" { TRAP_CANDIDATE_FLAGS='' trap_case leak_heap 0; }
@test "lsan: a leak on both is a broken baseline" { TRAP_BASE_FLAGS=-DLEAK trap_case leak_heap 30 leak_here; }
@test "lsan: a leak in ten blocks" { trap_case leak_many 20; }
@test "lsan: a leak in a thread" { trap_case leak_thread 20; }
@test "lsan: a leak in a forked child" { trap_case leak_fork 20; }
@test "lsan: a leak in an exec'ed child" { trap_case leak_exec 20; }
@test "lsan: a pure cycle" { trap_case leak_cycle 20; }
@test "lsan: a stripped binary" { TRAP_FLAGS='-s -O1 -fsanitize=address' trap_case leak_heap 20; }
@test "lsan: -O2" { TRAP_FLAGS='-g -O2 -fsanitize=address' trap_case leak_heap 20; }
@test "lsan: clang without a symboliser still names the function" {
  export ASAN_SYMBOLIZER_PATH= # found in PATH otherwise
  CC=clang trap_case leak_heap 20 leak_here
}
@test "lsan: reachable growth is not its business" { trap_case leak_reachable 0; }
@test "lsan: _exit on the candidate" { trap_case exit_forced 50 _exit; }
@test "lsan: _exit of a forked child is said" { trap_case fork_forced 0 'candidate: 1 forked process ended without'; }
@test "lsan: _exit on both" { TRAP_BASE_FLAGS=-DLEAK trap_case exit_forced 30; }
@test "lsan: abort" { trap_case exit_abort 10; }
@test "lsan: SIGKILL" { trap_case exit_killed 10; }
@test "lsan: a hang" { TIMEOUT=2s trap_case hang 40 'hang|timed'; }
@test "lsan: a hang on both" { TRAP_BASE_FLAGS=-DLEAK TIMEOUT=2s trap_case hang 40; }
@test "lsan: an assertion" { trap_case assertion 10; }
@test "lsan: use after free" { trap_case use_after_free 10 'use-after-free'; }
@test "lsan: leaks now and then" {
  export TRAP_COUNTER=runs # in the checkout
  CYCLES=4 trap_case leak_intermittent 40
}
@test "lsan: no instrumentation" { TRAP_FLAGS=-g trap_case leak_heap 50 'instrument'; }
@test "lsan: strace around it" { COMMAND='strace -f -o /dev/null ./build/t' trap_case leak_heap 50; }
@test "lsan: malformed LSAN_OPTIONS" {
  without_sanitizer
  export LSAN_OPTIONS=exitcode=xx
  trap_case leak_heap 50
}
@test "lsan: a missing suppression file" {
  without_sanitizer
  export LSAN_OPTIONS=suppressions=/nonexistent/suppressions
  trap_case leak_heap 50
}
@test "lsan: the user's unwritable log_path does not matter" {
  without_sanitizer
  export LSAN_OPTIONS=log_path=/nonexistent/log ASAN_OPTIONS=log_path=/nonexistent/log
  trap_case leak_heap 20 leak_here
}
@test "lsan: detect_leaks=0 in ASAN_OPTIONS does not matter" {
  without_sanitizer
  export ASAN_OPTIONS=detect_leaks=0
  trap_case leak_heap 20 leak_here
}
@test "lsan: detect_leaks=0 in LSAN_OPTIONS does not matter" {
  without_sanitizer
  export LSAN_OPTIONS=detect_leaks=0
  trap_case leak_heap 20 leak_here
}
@test "lsan: detect_leaks=0 set by the command itself" {
  export EXITPATH_ISOLATION=none # the script lies outside of the project
  printf 'ASAN_OPTIONS=detect_leaks=0 LSAN_OPTIONS=detect_leaks=0 exec ./build/t\n' >"$BATS_TEST_TMPDIR/off.sh"
  COMMAND="sh $BATS_TEST_TMPDIR/off.sh" trap_case leak_heap 50
}
@test "lsan: detect_leaks=0 compiled in" { trap_case off_options 20; }
@test "lsan: turned off by the program" { trap_case off_turned_off 50; }
@test "lsan: leak:* compiled in" { trap_case off_suppressed 50; }
@test "lsan, gcc: one function suppressed, compiled in" {
  trap_case suppressed_function 0 '1 leak \(77 bytes\) suppressed.*leak_here'
}
@test "lsan, clang: one function suppressed, compiled in" {
  CC=clang trap_case suppressed_function 0 '1 leak \(77 bytes\) suppressed.*leak_here'
}
@test "lsan, static runtime of gcc: one function suppressed, compiled in" {
  TRAP_FLAGS='-g -O1 -fsanitize=address -static-libasan' \
    trap_case suppressed_function 0 '1 leak \(77 bytes\) suppressed.*leak_here'
}
@test "lsan: leak:* in the user's suppressions" {
  echo 'leak:*' >"$BATS_TEST_TMPDIR/all"
  without_sanitizer
  export LSAN_OPTIONS=suppressions=$BATS_TEST_TMPDIR/all
  trap_case leak_heap 50
}
@test "lsan: an environment wiped by the command" { COMMAND='env -i ./build/t' trap_case leak_heap 50; }
@test "lsan: ulimit -v kills it before main" {
  export EXITPATH_ISOLATION=none # the script lies outside of the project
  printf 'ulimit -v 1000000; exec ./build/t\n' >"$BATS_TEST_TMPDIR/limit.sh"
  COMMAND="sh $BATS_TEST_TMPDIR/limit.sh" trap_case leak_heap 50
}
