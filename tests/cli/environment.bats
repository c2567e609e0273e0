bats_require_minimum_version 1.5.0
load common

two_revisions() {
  make_repo
  echo 1 >file && commit_all one && git tag base
  echo 2 >file && commit_all two && git tag candidate
}

options=(leak --contract /dev/null --base base --candidate candidate --detector ledger --warmup 0 --cycles 1)

@test "environment: variables that are not set, empty or odd" {
  two_revisions
  mkdir "$BATS_TEST_TMPDIR/a b:c\$d"
  for setting in -uHOME -uPATH -uUSER -uTMPDIR TMPDIR= TMPDIR=relative TMPDIR=/nonexistent/x \
    "TMPDIR=$BATS_TEST_TMPDIR/a b:c\$d" LC_ALL=C LC_ALL=xx_YY LANG= TERM= COLUMNS=1 GIT_DIR=.git; do
    fails_with 0 env "$setting" "$EXITPATH_BIN" "${options[@]}" -- true
  done
  [ -z "$(ls -A "$BATS_TEST_TMPDIR/a b:c\$d")" ]
}

@test "environment: LeakSanitizer works under a TMPDIR that LD_PRELOAD cannot hold" {
  export TMPDIR="$BATS_TEST_TMPDIR/a b:c\$d"
  mkdir "$TMPDIR"
  trap_case leak_heap 20 leak_here
  fails_with 0 "$EXITPATH_BIN" doctor
  [[ "$output" == *"lsan       works"* ]]
  [[ "$output" == *"pg         -      "*"--pg URL"* ]]
}

@test "environment: no git, and one that does not work" {
  two_revisions
  mkdir "$BATS_TEST_TMPDIR/bin"
  fails_with 50 env PATH="$BATS_TEST_TMPDIR/bin" "$EXITPATH_BIN" "${options[@]}" -- true
  [[ "$output" == *"git was not found in PATH"*next:* ]]
  printf '#!/bin/sh\necho "unknown option" >&2\nexit 129\n' >"$BATS_TEST_TMPDIR/bin/git"
  chmod +x "$BATS_TEST_TMPDIR/bin/git"
  fails_with 50 env PATH="$BATS_TEST_TMPDIR/bin:/usr/bin:/bin" "$EXITPATH_BIN" "${options[@]}" -- true
  [[ "$output" == *"git failed with exit 129: unknown option"* ]]
}

@test "environment: closed standard descriptors are not taken by files of ours" {
  two_revisions
  for closed in '<&-' '2>&-' '<&- 2>&-'; do
    fails_with 0 bash -c '"$@" '"$closed" sh "$EXITPATH_BIN" "${options[@]}" -- true
  done
  for closed in '>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
    fails_with 50 bash -c '"$@" '"$closed" sh "$EXITPATH_BIN" "${options[@]}" -- true
  done
  [ "$(head -c 1 .git/exitpath/lock | wc -c)" -eq 0 ] # would hold progress lines
  fails_with 0 "$EXITPATH_BIN" evidence verify
  # The command has all three.
  fails_with 0 bash -c '"$@" <&-' sh "$EXITPATH_BIN" "${options[@]}" -- sh -c 'for fd in 0 1 2; do test -e /proc/self/fd/$fd || exit 1; done'
}

@test "environment: a reader that went away, of the report and of the progress" {
  two_revisions
  python3 - "$EXITPATH_BIN" "${options[@]}" <<'EOF'
import subprocess, sys
for closed, status in (("stdout", 141), ("stderr", 0)):
    p = subprocess.Popen([*sys.argv[1:], "--fresh", "--", "sleep", "0.2"], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    getattr(p, closed).close()
    other = (p.stderr if closed == "stdout" else p.stdout).read()
    assert p.wait(20) == status, (closed, p.returncode, other)
    assert "Broken pipe" not in other, other
EOF
  [ "$("$EXITPATH_BIN" evidence list | grep -c clean)" -eq 2 ]
  # What we run has the defaults again.
  fails_with 0 "$EXITPATH_BIN" "${options[@]}" -- sh -c 'grep -q "^SigIgn:.*0000$" /proc/self/status'
}

@test "environment: limits of files and of descriptors are errors, and leave nothing" {
  two_revisions
  for limit in '-f 0' '-f 4' '-n 16' '-n 8'; do
    run bash -c "ulimit $limit; exec \"\$@\"" sh "$EXITPATH_BIN" "${options[@]}" --store "$BATS_TEST_TMPDIR/store" -- true
    [ "$status" -eq 50 ] || { echo "$limit: $status $output"; return 1; }
    [[ "$output" == *exitpath:* ]]
    rm -rf "$BATS_TEST_TMPDIR/store"
  done
  [ -z "$(find "${TMPDIR:-/tmp}"/exitpath-* -mindepth 1 2>/dev/null)" ]
}

@test "environment: the working directory is gone" {
  two_revisions
  mkdir sub
  fails_with 2 sh -c 'cd sub && rmdir ../sub && exec "$@"' sh "$EXITPATH_BIN" "${options[@]}" -- true
}
