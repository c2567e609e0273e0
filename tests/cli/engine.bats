bats_require_minimum_version 1.5.0
load common

# A repository whose two revisions differ in a file that nobody reads.
two_revisions() {
  make_repo
  echo 1 >file && commit_all one && git tag base
  echo 2 >file && commit_all two && git tag candidate
}

leak() { # OPTION… -- CMD…
  "$EXITPATH_BIN" leak --contract /dev/null --base base --candidate candidate --detector ledger \
    --warmup 0 --cycles 1 --quiet "$@"
}

lifecycle() { # NAME COMMAND [DETECTORS]: a line of a contract
  printf '  - {name: %s, command: "%s", detectors: [%s], warmup: 0, cycles: 1}\n' "$1" "$2" "${3-ledger}"
}

gate() {
  "$EXITPATH_BIN" gate --base base --candidate candidate --quiet "$@"
}

@test "set-up: after a failed one nothing is measured, under no lifecycle and no detector" {
  two_revisions
  { printf 'version: 1\nsetup: exit 4\nlifecycles:\n'
    lifecycle a 'exit 0' 'ledger, valgrind'
    lifecycle b 'exit 0'; } >exitpath.yaml
  fails_with 30 gate --json
  [ "$(grep -c '"target"' <<<"$output")" -eq 1 ]
}

@test "set-up: what a killed one left is not built upon" {
  two_revisions
  printf 'version: 1\nsetup: "test ! -e half && touch half && test -n \\"$GO\\""\nlifecycles:\n' >exitpath.yaml
  lifecycle a 'test -e half' >>exitpath.yaml
  fails_with 30 gate
  GO=1 fails_with 0 gate
}

@test "set-up: two contracts of one repository with the same command each have their own" {
  make_repo
  for dir in a b; do
    mkdir $dir
    { printf 'version: 1\nsetup: touch built\nlifecycles:\n'; lifecycle t 'test -e built'; } >$dir/exitpath.yaml
  done
  commit_all one && git tag base
  echo 2 >file && commit_all two && git tag candidate
  cd a && fails_with 0 gate
  cd ../b && fails_with 0 gate
}

@test "detectors: one named twice runs once, none is a mistake" {
  two_revisions
  fails_with 0 leak --detector ledger,ledger --json -- true
  [ "$(grep -c '"target"' <<<"$output")" -eq 1 ]
  fails_with 2 leak --detector , -- true
  fails_with 2 leak --detector '' -- true
}

@test "a command that names the working tree, in any spelling" {
  two_revisions
  top=$(git rev-parse --show-toplevel)
  for command in "ls $top" "ls -I$top/x" "ls '$top'/x" "X=$top:/x ls" "ls $top-2 $top/x"; do
    fails_with 2 leak --isolation none -- sh -c "$command"
    [[ "$output" == *"same files"* ]]
  done
  for command in "ls .$top/x || :" "ls $top-2 || :" "ls $top.d || :"; do
    fails_with 0 leak -- sh -c "$command"
  done
}

@test "base is measured again when it would be observed in another way" {
  two_revisions
  reused() { leak "$@" --json -- true | grep -c '"base_reused": true' || :; }
  [ "$(reused)" -eq 0 ]
  [ "$(reused)" -eq 1 ]
  [ "$(reused --base "$(git rev-parse base)")" -eq 1 ] # the same base by another name
  [ "$(reused --jobs 2)" -eq 0 ]
  [ "$(ASAN_OPTIONS=verbosity=0 reused)" -eq 0 ]
}

@test "the command that is printed has every flag" {
  two_revisions
  fails_with 0 leak --jobs 2 --timeout 3s --json -- sh -c 'exit  0'
  grep -q -- '--warmup=0 --cycles=1 --timeout=3000ms --jobs=2\( --isolation=none\)\? --fresh -- sh -c .exit  0' <<<"$output"
}

@test "suppressions: what the patch adds is shown, wherever its contract is" {
  make_repo
  mkdir ci
  contract() {
    printf 'version: 1\nlifecycles:\n'
    lifecycle t 'exit 0'
    [ $# -eq 0 ] || printf 'suppressions: [{match: "leak:%s", reason: r, owner: o}]\n' "$@"
  }
  contract one_function >ci/gate.yaml && commit_all one && git tag base
  contract another_function >ci/gate.yaml && commit_all two && git tag candidate
  fails_with 0 gate --contract ci/gate.yaml
  [[ "$output" == *"suppression added: leak:another_function"* ]]
  [[ "$output" != *one_function* ]]
  # Another contract is followed: the patch's is still looked at.
  git checkout -q base
  fails_with 0 gate --contract ci/gate.yaml
  [[ "$output" == *"suppression added: leak:another_function"* ]]
  cp ci/gate.yaml "$BATS_TEST_TMPDIR/outside.yaml"
  fails_with 0 gate --contract "$BATS_TEST_TMPDIR/outside.yaml"
  [[ "$output" != *suppression* ]]
}

@test "hooks: what git tells a hook does not reach the commands" {
  two_revisions
  cat >.git/hooks/pre-push <<HOOK
#!/bin/sh
export GIT_NAMESPACE=x GIT_QUARANTINE_PATH=x
exec "$EXITPATH_BIN" leak --contract /dev/null --base base --candidate candidate --detector ledger \
  --warmup 0 --cycles 1 -- sh -c '! env | grep -E "^GIT_(DIR|NAMESPACE|QUARANTINE|INDEX)"'
HOOK
  chmod +x .git/hooks/pre-push
  git init -q --bare ../remote
  fails_with 0 git push -q ../remote HEAD
  [[ "$output" == *clean* ]]
}

@test "evidence: an artifact of the newest run" {
  two_revisions
  fails_with 0 leak -- true
  fails_with 0 "$EXITPATH_BIN" evidence show --artifact artifacts/true/ledger/base.json
  fails_with 2 "$EXITPATH_BIN" evidence show --artifact nonsense
  [[ "$output" == *"the newest run has no artifact"* ]]
  [[ "$output" == *"evidence show --artifacts"* ]]
}

@test "the same revision on both sides, side by side" {
  two_revisions
  fails_with 0 leak --candidate base --jobs 2 --suite true -- true
}

@test "a contract that is no file" {
  two_revisions
  mkfifo fifo
  for file in fifo /dev/zero .; do
    fails_with 2 timeout 20 "$EXITPATH_BIN" gate --contract "$file"
    [[ "$output" == *"not a file"* ]]
  done
}

@test "a test that puts a pipe where its output was" {
  two_revisions
  fails_with 0 timeout 60 "$EXITPATH_BIN" leak --contract /dev/null --base base --candidate candidate \
    --detector ledger --warmup 0 --cycles 1 --suite 'cd "${TMPDIR%/tmp}" && rm stdout && mkfifo stdout' -- true
}

@test "two exitpaths on the same revisions the other way round do not wait for each other" {
  two_revisions
  for attempt in 1 2 3 4; do
    rm -rf .git/exitpath/trees
    pids=()
    for pair in 'base candidate' 'candidate base'; do
      set -- $pair
      timeout 30 "$EXITPATH_BIN" leak --contract /dev/null --base "$1" --candidate "$2" --detector ledger \
        --warmup 0 --cycles 1 --quiet -- true >"$BATS_TEST_TMPDIR/$1.out" 2>&1 &
      pids+=($!)
    done
    wait "${pids[0]}"
    wait "${pids[1]}"
  done
}

@test "base was reused, and is measured after all when the candidate is intermittent" {
  make_repo
  echo 1 >file && commit_all base && git tag base
  # Trees sort at random: some of them before that of base.
  for n in 1 2 3 4; do
    git checkout -q base && echo "$n" >flaky && git add flaky && git commit -q -m "$n" && git tag "c$n"
    fails_with 40 "$EXITPATH_BIN" leak --contract /dev/null --base base --candidate "c$n" --detector ledger \
      --warmup 0 --cycles 4 --quiet --json --setup 'touch built' -- sh -c 'test -e built || exit 9
        test -e flaky || exit 0
        echo >>"$0"; [ $(($(wc -l <"$0") % 2)) -eq 0 ] || touch "$TMPDIR/left-behind"' counter
  done
  grep -q '"base_reused": false' <<<"$output"
}
