bats_require_minimum_version 1.5.0
load common

# The demo project is the smallest real one: a contract, a leaking patch, its repair.
demo() {
  "$EXITPATH_ROOT/demo/history" "$BATS_TEST_TMPDIR/worker" && cd "$BATS_TEST_TMPDIR/worker"
}

@test "gate: a patch that leaks, with its place, its evidence and its command" {
  demo
  fails_with 20 "$EXITPATH_BIN" gate --candidate busy --cycles 2
  [[ "$output" == *leak* ]]
  [[ "$output" == *worker_do* ]]
  [[ "$output" == *worker.c:* ]]
  [[ "$output" == *run-1* ]]
  [[ "$output" == *"exitpath gate --base"* ]]
}

@test "gate: the repaired patch is clean, and the suite was run" {
  demo
  fails_with 0 "$EXITPATH_BIN" gate --candidate busy-repaired --cycles 2
  [[ "$output" == *clean* ]]
  [[ "$output" == *suite* ]]
}

@test "gate: the command it prints reproduces the outcome" {
  demo
  fails_with 20 "$EXITPATH_BIN" gate --candidate busy --cycles 1 --warmup 0 --json --quiet
  command=$("$EXITPATH_BIN" report --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["reproduce"])')
  fails_with 20 sh -c "PATH=$(dirname "$EXITPATH_BIN"):\$PATH; $command"
}

@test "gate: base is measured once, and measured again with --fresh" {
  demo
  "$EXITPATH_BIN" gate --candidate busy-repaired --cycles 1 --quiet
  run --separate-stderr "$EXITPATH_BIN" gate --candidate busy-repaired --cycles 1 --quiet --json
  [ "$status" -eq 0 ]
  grep -q '"base_reused": true' <<<"$output"
  run --separate-stderr "$EXITPATH_BIN" gate --candidate busy-repaired --cycles 1 --quiet --json --fresh
  [ "$status" -eq 0 ]
  ! grep -q '"base_reused": true' <<<"$output"
  # A base that was measured before still shows what the next candidate adds.
  fails_with 20 "$EXITPATH_BIN" gate --candidate busy --cycles 1
}

@test "gate: detectors of one run are reused together or not at all" {
  demo
  "$EXITPATH_BIN" gate --candidate busy-repaired --cycles 1 --quiet
  # What a kill between two writes, or a damaged page, would leave.
  python3 - <<'EOF'
import sqlite3
db = sqlite3.connect(".git/exitpath/evidence.db")
with db:
    assert db.execute("DELETE FROM observation WHERE body LIKE '%\"detector\":\"ledger\"%'").rowcount == 1
EOF
  run --separate-stderr "$EXITPATH_BIN" gate --candidate busy-repaired --cycles 1 --quiet --json
  [ "$status" -eq 0 ]
  python3 - "$output" <<'EOF'
import json, sys
seen = {(c["base_cycles"], c["base_reused"]) for c in json.loads(sys.argv[1])["checks"] if c.get("detector")}
assert seen == {(1, False)}, seen
EOF
}

@test "gate: the working tree is a candidate, and stays as it is" {
  demo
  git apply "$EXITPATH_ROOT/demo/busy.patch"
  echo untracked >notes.txt
  before=$(git status --porcelain; git rev-parse HEAD; git stash list; git worktree list; sha256sum .git/index)
  fails_with 20 "$EXITPATH_BIN" gate --cycles 1
  after=$(git status --porcelain; git rev-parse HEAD; git stash list; git worktree list; sha256sum .git/index)
  [ "$before" = "$after" ]
}

@test "gate: base and candidate side by side" {
  demo
  fails_with 20 "$EXITPATH_BIN" gate --candidate busy --cycles 2 --jobs 2
  [[ "$output" == *worker_do* ]]
}

@test "gate: --repairs accepts a patch that repairs, and nothing else" {
  demo
  fails_with 30 "$EXITPATH_BIN" gate --base busy --candidate busy-repaired --cycles 1
  [[ "$output" == *--repairs* ]]
  fails_with 0 "$EXITPATH_BIN" gate --base busy --candidate busy-repaired --cycles 1 --repairs
  fails_with 30 "$EXITPATH_BIN" gate --base main --candidate busy-repaired --cycles 1 --repairs
}

@test "gate: a repair that shows under one detector only" {
  TRAP_BASE_FLAGS=-DLEAK TRAP_CANDIDATE_FLAGS='' make_trap leak_heap
  fails_with 0 "$EXITPATH_BIN" leak --base base --candidate candidate --setup 'sh build.sh' \
    --detector lsan,ledger --cycles 2 --repairs --json --quiet -- ./build/t
  [[ "$output" == *"Repaired: base leaks"* ]]
  [[ "$output" == *"lsan shows what is repaired"* ]]
}

@test "gate: what a patch does to the contract is shown" {
  demo
  git checkout -q busy-repaired
  sed -i 's|command: .*|command: "true"|; s/cycles: 3/cycles: 1/' exitpath.yaml
  commit_all weaker
  run "$EXITPATH_BIN" gate --base main --candidate HEAD
  [[ "$output" == *"warning:"*"command"* ]]
  [[ "$output" == *"warning:"*"cycles"* ]]
}

@test "gate: a suite that fails on the candidate only" {
  demo
  git checkout -q busy-repaired
  printf '\nfails:\n\tfalse\n' >>Makefile
  sed -i 's/^test: build/test: fails build/' Makefile
  fails_with 10 "$EXITPATH_BIN" gate --cycles 1
  [[ "$output" == *suite* ]]
}

@test "gate: packet.md and packet.json for the repairing agent" {
  demo
  fails_with 20 "$EXITPATH_BIN" gate --candidate busy --cycles 1 --packet "$BATS_TEST_TMPDIR/packet"
  grep -q worker_do "$BATS_TEST_TMPDIR/packet/packet.md"
  python3 -m json.tool "$BATS_TEST_TMPDIR/packet/packet.json" >/dev/null
}

@test "gate: flags alone do, from a subdirectory too" {
  demo
  mkdir sub && printf 'x\n' >sub/file && commit_all sub && git tag sub
  cd sub
  fails_with 0 "$EXITPATH_BIN" leak --contract /dev/null --base sub --candidate sub -- true
}

@test "gate: paths with spaces and other letters" {
  "$EXITPATH_ROOT/demo/history" "$BATS_TEST_TMPDIR/wörker tree" && cd "$BATS_TEST_TMPDIR/wörker tree"
  fails_with 20 "$EXITPATH_BIN" gate --candidate busy --cycles 1
  [[ "$output" == *worker_do* ]]
}

@test "gate: leaves no process, no scratch directory, no worktree" {
  demo
  fails_with 20 "$EXITPATH_BIN" gate --candidate busy --cycles 1
  [ "$(git worktree list | wc -l)" -eq 1 ]
  [ -z "$(find "${TMPDIR:-/tmp}"/exitpath-* -mindepth 1 2>/dev/null)" ]
}
