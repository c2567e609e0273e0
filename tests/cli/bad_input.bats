bats_require_minimum_version 1.5.0
load common

demo() {
  "$EXITPATH_ROOT/demo/history" "$BATS_TEST_TMPDIR/worker" && cd "$BATS_TEST_TMPDIR/worker"
}

@test "bad input: no command, an unknown command, an unknown option" {
  fails_with 2 "$EXITPATH_BIN"
  fails_with 2 "$EXITPATH_BIN" gaet
  fails_with 2 "$EXITPATH_BIN" gate --cylces 3
  [[ "$output" == *"did you mean --cycles"* ]]
  fails_with 2 "$EXITPATH_BIN" gate --cycles 0
  fails_with 2 "$EXITPATH_BIN" gate --cycles
  fails_with 2 "$EXITPATH_BIN" gate --timeout 5parsecs
  fails_with 2 "$EXITPATH_BIN" gate --format yaml
  fails_with 2 "$EXITPATH_BIN" gate ./build/t
}

@test "bad input: outside a repository" {
  cd "$BATS_TEST_TMPDIR"
  GIT_CEILING_DIRECTORIES=/ fails_with 2 "$EXITPATH_BIN" leak -- true
  [[ "$output" == *repository* ]]
  [[ "$output" == *next:* ]]
}

@test "bad input: no contract and no command" {
  make_repo
  echo x >x && commit_all x
  fails_with 2 "$EXITPATH_BIN" gate
  [[ "$output" == *"exitpath init"* ]]
}

@test "bad input: a malformed contract, with its place" {
  demo
  sed -i 's/cycles: 3/cylces: 3/' exitpath.yaml
  fails_with 2 "$EXITPATH_BIN" gate --candidate busy
  [[ "$output" == *"exitpath.yaml:8:"* ]]
  [[ "$output" == *cycles* ]]
}

@test "bad input: an unknown revision" {
  demo
  fails_with 2 "$EXITPATH_BIN" gate --candidate bussy
  [[ "$output" == *bussy* ]]
  [[ "$output" == *busy* ]]
}

@test "bad input: an unknown detector" {
  demo
  fails_with 2 "$EXITPATH_BIN" gate --candidate busy --detector lsna
  [[ "$output" == *lsan* ]]
}

@test "bad input: a command that does not exist" {
  demo
  fails_with 30 "$EXITPATH_BIN" leak --contract /dev/null --base main --candidate busy -- ./no/such
  [[ "$output" == *"./no/such"* ]]
  [[ "$output" == *setup* ]]
}

@test "bad input: a command that names the working tree" {
  demo
  fails_with 2 "$EXITPATH_BIN" leak --isolation none --base main --candidate busy -- "$PWD/build/worker_test"
  [[ "$output" == *"same files"* ]]
}

@test "bad input: a set-up that fails on base, and on the candidate" {
  demo
  git checkout -q -b broken busy-repaired
  echo '#error no' >>worker.c && commit_all broken
  fails_with 10 "$EXITPATH_BIN" gate --base main --candidate broken --cycles 1
  fails_with 30 "$EXITPATH_BIN" gate --base broken --candidate main --cycles 1
  [[ "$output" == *set-up* || "$output" == *setup* ]]
}

@test "bad input: a read-only repository says where else to keep the evidence, and then works" {
  unshare -m true 2>/dev/null || skip "mounting .git read-only needs root and a mount namespace"
  demo
  unshare -m sh -c '
    mount --bind .git .git && mount -o remount,ro,bind .git || exit 99
    "$1" gate --candidate busy --cycles 1 >"$2.first" 2>&1
    [ $? -eq 50 ] || exit 98
    "$1" gate --candidate busy --cycles 1 --store "$2.store" >"$2.second" 2>&1
    [ $? -eq 20 ] || exit 97
  ' sh "$EXITPATH_BIN" "$BATS_TEST_TMPDIR/out"
  grep -q -- "next:.*--store" "$BATS_TEST_TMPDIR/out.first"
  grep -q worker_do "$BATS_TEST_TMPDIR/out.second"
}

@test "bad input: a full disk loses no record and says what to do" {
  unshare -m true 2>/dev/null || skip "mounting a small tmpfs needs root and a mount namespace"
  demo
  mkdir "$BATS_TEST_TMPDIR/small"
  unshare -m sh -c '
    mount -t tmpfs -o size=6m none "$1" || exit 99
    "$2" gate --candidate busy-repaired --cycles 1 --store "$1/s" --quiet >/dev/null || exit 98
    head -c 6m /dev/zero >"$1/fill" 2>/dev/null
    "$2" gate --candidate busy --cycles 1 --store "$1/s" --fresh >"$3" 2>&1
    echo $? >"$3.status"
    rm "$1/fill"
    "$2" evidence verify --store "$1/s" || exit 97
    "$2" evidence list --store "$1/s" | grep -q "^run-1 .*clean" || exit 96
  ' sh "$BATS_TEST_TMPDIR/small" "$EXITPATH_BIN" "$BATS_TEST_TMPDIR/out"
  [ "$(cat "$BATS_TEST_TMPDIR/out.status")" -eq 50 ]
  grep -q 'No space left\|full' "$BATS_TEST_TMPDIR/out"
  grep -q next: "$BATS_TEST_TMPDIR/out"
}

@test "bad input: an interrupt in the middle ends everything and is recorded as aborted" {
  demo
  sed -i 's/cycles: 3/cycles: 500/' exitpath.yaml
  # An asynchronous command of a non-interactive shell ignores SIGINT, and so does what it starts.
  python3 - "$EXITPATH_BIN" <<'EOF'
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen([sys.argv[1], "gate", "--candidate", "busy"], stderr=subprocess.PIPE, text=True)
for line in p.stderr:
    if "candidate" in line and "runs" in line or "base, " in line:
        break
time.sleep(0.3)
p.send_signal(signal.SIGINT)
sys.exit(0 if p.wait(20) == 130 else 1)
EOF
  "$EXITPATH_BIN" evidence list | grep -q '^run-1 .*aborted'
  "$EXITPATH_BIN" evidence verify
  [ -z "$(find "${TMPDIR:-/tmp}"/exitpath-* -mindepth 1 2>/dev/null)" ]
}

@test "bad input: two exitpaths at the same time" {
  demo
  "$EXITPATH_BIN" gate --candidate busy --cycles 2 >"$BATS_TEST_TMPDIR/one" 2>&1 &
  other=$!
  run "$EXITPATH_BIN" gate --candidate busy --cycles 2
  [ "$status" -eq 20 ]
  wait $other || [ $? -eq 20 ]
  "$EXITPATH_BIN" evidence verify
  [ "$("$EXITPATH_BIN" evidence list | grep -c 'leak')" -eq 2 ]
}

@test "bad input: a closed standard output" {
  demo
  run bash -c '"$1" gate --candidate busy --cycles 1 --quiet >/dev/full' sh "$EXITPATH_BIN"
  [ "$status" -eq 50 ]
}

@test "init: writes a contract that parses, and never over an existing one" {
  make_repo
  printf 'build/t: t.c\n\tcc t.c -o $@\ntest: build/t\n\t./build/t\n' >Makefile
  echo 'int main(void){return 0;}' >t.c
  commit_all x
  run "$EXITPATH_BIN" init
  [ "$status" -eq 0 ]
  [ -f exitpath.yaml ]
  echo '# mine' >>exitpath.yaml
  fails_with 2 "$EXITPATH_BIN" init
  grep -q '# mine' exitpath.yaml
}
