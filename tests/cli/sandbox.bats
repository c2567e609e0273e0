bats_require_minimum_version 1.5.0
load common

# What gate and leak show their runs of the machine, and what they do when a limit is reached.

setup() { needs_sandbox; }

# two_revisions: base and candidate differ in one word of the file `what`.
two_revisions() {
  make_repo
  echo base >what && printf 'node_modules/\nout/\n' >.gitignore
  commit_all base && git tag base
  echo candidate >what
  commit_all 'more of it' && git tag candidate
}

leak() {
  "$EXITPATH_BIN" leak --contract /dev/null --base base --candidate candidate --detector ledger --warmup 0 \
    --cycles 1 --quiet "$@"
}

# A contract whose lifecycle `t` runs a command; the rest of the text comes first.
contract() { # COMMAND MORE-OF-THE-LIFECYCLE TEXT
  printf 'version: 1\n%s\nlifecycles:\n  - {name: t, command: %s, detectors: [ledger], warmup: 0, cycles: 1%s}\n' \
    "$3" "$1" "${2:+, $2}" >exitpath.yaml
}

@test "sandbox: the revision stands at the repository's own path, absolute paths mean it" {
  two_revisions
  top=$(git rev-parse --show-toplevel)
  fails_with 0 leak -- sh -c "test \"\$PWD\" = $top && test -f $top/what && test \"\$(pwd -P)\" = $top"
  fails_with 10 leak -- sh -c "grep -q base $top/what"
}

@test "sandbox: git status, log, describe and a clone work, and say nothing on stderr" {
  two_revisions
  git tag v1 base
  git worktree add -q "$BATS_TEST_TMPDIR/linked" candidate
  echo frozen >>what
  cat >"$BATS_TEST_TMPDIR/check" <<'EOF'
set -e
{ git status --porcelain; git log --format=%s; git describe --tags; git fsck --connectivity-only
  git cat-file -e HEAD:what; } >"$TMPDIR/out" 2>"$TMPDIR/err"
test -z "$(git status --porcelain)" && test -n "$(git log --format=%s)"
test ! -s "$TMPDIR/err" || { cat "$TMPDIR/err"; exit 3; }
git clone -q . "$TMPDIR/clone" 2>/dev/null && git -C "$TMPDIR/clone" log --format=%s | grep -q more
rm -r "${TMPDIR:?}"/*
EOF
  git tag -f base candidate
  for dir in . "$BATS_TEST_TMPDIR/linked"; do
    cd "$dir"
    fails_with 0 "$EXITPATH_BIN" leak --contract /dev/null --base base --detector ledger --warmup 0 \
      --cycles 1 --quiet -- sh -c "$(<"$BATS_TEST_TMPDIR/check")"
  done
}

@test "sandbox: the user's home, the host's /tmp, /run and the other revision are not there" {
  two_revisions
  home=$BATS_TEST_TMPDIR/home
  mkdir -p "$home/.ssh" && echo secret >"$home/.ssh/id" && echo secret >"$BATS_TEST_TMPDIR/secret"
  HOME=$home fails_with 0 leak -- sh -c "test \"\$HOME\" = $home && test ! -e $home/.ssh &&
    test ! -e $BATS_TEST_TMPDIR/secret && test ! -e .git/exitpath && test ! -e /run/systemd &&
    : >$home/mine && test -w /tmp && rm $home/mine"
}

@test "sandbox: what the set-up puts into the home directory is there for the lifecycle" {
  two_revisions
  fails_with 0 leak --setup 'mkdir -p ~/.cache && echo fetched >~/.cache/pack' -- sh -c 'grep -q fetched ~/.cache/pack'
  [ ! -e ~/.cache/pack ]
}

@test "sandbox: the set-up has the network, the lifecycle what the contract says" {
  two_revisions
  cat >bind.py <<'EOF'
import socket
s = socket.create_server(("127.0.0.1", 0))
socket.create_connection(s.getsockname()).close()
s.close()
EOF
  commit_all bind
  contract 'python3 bind.py' 'network: loopback' ''
  PATH=/usr/bin:/bin fails_with 0 "$EXITPATH_BIN" gate --base HEAD
  contract 'python3 bind.py' '' ''
  PATH=/usr/bin:/bin fails_with 30 "$EXITPATH_BIN" gate --base HEAD
}

@test "sandbox: share is read-only and is the working tree's, expose too" {
  two_revisions
  mkdir -p node_modules/lib "$BATS_TEST_TMPDIR/data" && echo 1 >node_modules/lib/x && echo 2 >"$BATS_TEST_TMPDIR/data/y"
  echo 3 >"$BATS_TEST_TMPDIR/file"
  contract "'grep -q 1 node_modules/lib/x && ! touch node_modules/z && grep -q 2 $BATS_TEST_TMPDIR/data/y &&
    grep -q 3 $BATS_TEST_TMPDIR/file && ! touch $BATS_TEST_TMPDIR/data/z && test -z \"\$(git status --porcelain)\"'" '' \
    "share: [node_modules]
expose: [$BATS_TEST_TMPDIR/data, $BATS_TEST_TMPDIR/file]"
  commit_all contract
  fails_with 0 "$EXITPATH_BIN" gate --base HEAD
  [ ! -e node_modules/z ]
}

@test "sandbox: expose of what is missing, of the home and of the repository is refused" {
  two_revisions
  for path in /no/such "$BATS_TEST_TMPDIR" "$PWD" "$PWD/out" "$PWD/.git/exitpath" /proc/1 /tmp; do
    contract "'true'" '' "expose: ['$path']"
    HOME="$BATS_TEST_TMPDIR/x" fails_with 2 "$EXITPATH_BIN" gate --base HEAD
    [[ "$output" == *"expose: "* ]] || { echo "$path: $output"; false; }
  done
  mkdir -p "$BATS_TEST_TMPDIR/h/sub"
  contract "'true'" '' "expose: ['$BATS_TEST_TMPDIR/h']"
  HOME=$BATS_TEST_TMPDIR/h/sub fails_with 2 "$EXITPATH_BIN" gate --base HEAD
  contract "'true'" '' 'expose: [~/sub]'
  HOME=$BATS_TEST_TMPDIR/h fails_with 0 "$EXITPATH_BIN" gate --base HEAD
}

@test "sandbox: a limit that the candidate alone reaches is its failure, on base the base's" {
  two_revisions
  cat >hog.sh <<'EOF'
test "$(cat what)" = "$1" || exit 0
case $2 in
memory) head -c 200000000 /dev/zero | tail -c 150000000 >/dev/null ;;
pids) for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 5 & done; wait ;;
output) head -c 3000000 /dev/zero ;;
cpu) while :; do :; done ;;
esac
EOF
  commit_all hog && git tag -f candidate && git checkout -q base && git checkout -q candidate -- hog.sh &&
    commit_all hog && git tag -f base && git checkout -q main
  limits='limits: {memory: 64M, pids: 8, output: 1M, cpu: 1s}'
  for what in memory pids output; do
    contract "sh hog.sh candidate $what" "$limits" ''
    fails_with 10 "$EXITPATH_BIN" gate --base base --candidate candidate --json --quiet
    grep -q '"limit_tier": "\(cgroup\|polling\)' <<<"$output"
    contract "sh hog.sh base $what" "$limits" ''
    fails_with 30 "$EXITPATH_BIN" gate --base base --candidate candidate --quiet
  done
  contract "sh hog.sh candidate cpu" "$limits" ''
  fails_with 40 "$EXITPATH_BIN" gate --base base --candidate candidate --quiet
  [[ "$output" == *"CPU time"* ]]
}

@test "sandbox: what stays in /tmp, /dev/shm and System V memory is the run's own" {
  two_revisions
  touch /tmp/exitpath-unit-foreign-$$
  for left in '/tmp/worker-$$' /dev/shm/worker '$TMPDIR/worker'; do
    fails_with 20 leak -- sh -c "grep -q base what || echo >$left"
  done
  rm /tmp/exitpath-unit-foreign-$$
  [ ! -e /dev/shm/worker ]
  fails_with 0 leak -- sh -c 'echo >/tmp/a; rm /tmp/a'
}

@test "sandbox: --isolation none must be asked for, is recorded and repeated" {
  two_revisions
  leak --json -- true | grep -q '"isolation": "sandbox"'
  run --separate-stderr leak --isolation none --json -- test -d "$HOME"
  grep -q '"isolation": "none"' <<<"$output"
  grep -q 'isolation=none' <<<"$output"
  "$EXITPATH_BIN" evidence show | grep -qx 'isolation: none'
}

@test "sandbox: submodules and their objects" {
  git init -q -b main "$BATS_TEST_TMPDIR/lib" && (cd "$BATS_TEST_TMPDIR/lib" && echo 1 >f && commit_all 1)
  two_revisions
  git -c protocol.file.allow=always submodule --quiet add "$BATS_TEST_TMPDIR/lib" lib
  commit_all sub && git tag -f candidate && git tag -f base
  fails_with 0 leak -- sh -c 'git -C lib log --format=%s | grep -qx 1 && test -z "$(git status --porcelain)"'
}

@test "sandbox: where it cannot be had nothing runs, and the way without is offered" {
  two_revisions
  command -v setpriv >/dev/null || skip "no setpriv"
  run unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces' 2>/dev/null
  [ "$status" -eq 0 ] || skip "cannot forbid user namespaces"
  fails_with 50 unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"' - \
    "$EXITPATH_BIN" leak --contract /dev/null --base base --candidate candidate -- true
  [[ "$output" == *"--isolation none"* ]]
  [ -z "$("$EXITPATH_BIN" evidence list)" ]
}
