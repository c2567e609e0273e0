bats_require_minimum_version 1.5.0
load common

# Every test runs in the sandbox and, where that makes sense, without.
setup() {
  export EXITPATH_ISOLATION=sandbox
  make_repo
  "$EXITPATH_BIN" run -- true || skip "there is no sandbox here"
}

ep() { "$EXITPATH_BIN" run "$@"; }

# A shell makes its background jobs ignore SIGINT, and exitpath leaves that so.
ep_bg() { exec env --default-signal=INT "$EXITPATH_BIN" run "$@"; }

# batch OPTION…: runs the lines on standard input; results in $output, one a line.
batch() { run --separate-stderr "$EXITPATH_BIN" run --batch - "$@"; }

# field KEY [LINE]: a value of the JSON in $output.
field() { jq -r --argjson n "${2:-1}" "select((.line // 1) == \$n) | .$1" <<<"$output"; }

# lines_of N CMD…: N batch lines that run CMD.
lines_of() { local n=$1; shift; for ((i = 1; i <= n; i++)); do jq -nc --arg i "$i" '{id: $i, cmd: $ARGS.positional}' --args -- "$@"; done; }

# nothing_runs PATTERN: no process has it among its arguments, soon.
nothing_runs() {
  for _ in $(seq 100); do
    pgrep -f -- "$1" >/dev/null || return 0
    sleep 0.05
  done
  pgrep -af -- "$1"
  return 1
}

@test "run: the command's output and exit status are passed on" {
  for EXITPATH_ISOLATION in none sandbox; do
    run --separate-stderr ep -- sh -c 'echo out; echo err >&2; exit 7'
    [ "$status" -eq 7 ] && [ "$output" = out ] && [ "$stderr" = err ]
    [ "$(echo in | ep -- cat)" = in ]
    fails_with 139 ep -- sh -c 'kill -SEGV $$'
    [[ "$output" == *"exitpath: killed by SIGSEGV"* ]]
    run -127 ep -- no-such-program
    [[ "$output" == *"no-such-program could not be started: exec: No such file or directory"* ]]
    fails_with 126 ep -- /etc
    printf 'exit 5\n' >script && chmod +x script
    fails_with 5 ep -- ./script
    [ "$(ep -- head -c 300000 /dev/zero | wc -c)" -eq 300000 ]
  done
}

@test "run: output comes while the command runs" {
  for EXITPATH_ISOLATION in none sandbox; do
    ep_bg -- sh -c 'echo early; sleep 3' >out &
    sleep 1
    [ "$(cat out)" = early ]
    wait
  done
}

@test "run: a limit that is reached ends it with 124 and is named" {
  for EXITPATH_ISOLATION in none sandbox; do
    fails_with 124 ep --wall 300ms -- sleep 9
    [ "$output" = "exitpath: wall limit of 300 ms reached" ]
    fails_with 124 ep --cpu 1s -- sh -c 'while :; do :; done'
    [ "$output" = "exitpath: CPU limit of 1 s reached" ]
    fails_with 124 ep --output 4K -- yes
    [[ "$output" == *"exitpath: output limit of 4 KiB reached" ]]
    [ "$(ep --output 4K -- yes 2>/dev/null | wc -c)" -le 4096 ]
    fails_with 124 ep --memory 64M -- python3 -c 'x = bytearray(200 << 20)'
    [ "$output" = "exitpath: memory limit of 64 MiB reached" ]
    fails_with 124 ep --pids 4 -- sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait'
    [[ "$output" == *"exitpath: limit of 4 processes reached" ]]
  done
  fails_with 124 ep --disk 1M -- dd if=/dev/zero of=big bs=64k count=100
  [[ "$output" == *"exitpath: disk limit of 1 MiB reached" ]]
}

@test "run: 0 and none lift a limit" {
  ep --output none -- head -c 5000000 /dev/zero | cmp -n 5000000 - /dev/zero
  [ "$(ep --output 0 --wall none --cpu none --memory none --pids none --disk none --files none -- head -c 3000000 /dev/zero | wc -c)" -eq 3000000 ]
  [ "$(ep --files none -- sh -c 'ulimit -n')" != 1024 ]
  [ "$(ep -- sh -c 'ulimit -n')" = 1024 ]
}

@test "run: --json gives one object and the same exit status" {
  fails_with 7 ep --json -- sh -c 'echo out; echo err >&2; exit 7'
  [ "$(field verdict)" = exit ] && [ "$(field exit)" = 7 ]
  [ "$(field stdout)" = out ] && [ "$(field stderr)" = err ]
  [ "$(field stdout_bytes)" = 4 ] && [ "$(field isolation)" = sandbox ]
  EXITPATH_ISOLATION=none fails_with 124 ep --json --wall 200ms -- sleep 9
  [ "$(jq -r 'select(.verdict) | "\(.verdict) \(.isolation)"' <<<"${lines[0]}")" = "wall none" ]
  run --separate-stderr ep --json -- printf '\377\376'
  [ "$(field stdout_base64)" = "//4=" ] && [ "$(field stdout)" = null ]
  run --separate-stderr ep --json --output 10 -- sh -c 'printf ééééééééé; sleep 1'
  [ "$(field stdout)" = ééééé ] && [ "$(field stdout_cut)" = true ] && [ "$(field verdict)" = output ]
}

@test "run: the project can be written, and nothing else" {
  ep -- sh -c 'echo written >file; echo x >/tmp/x; echo y >~/y'
  [ "$(cat file)" = written ] && [ ! -e /tmp/x ] && [ ! -e ~/y ]
  mkdir sub && (cd sub && ep -- sh -c 'cat ../file && pwd') >out
  [ "$(cat out)" = "written"$'\n'"$PWD/sub" ]
  ep --discard -- sh -c 'echo gone >file; rm -f out; cat file' >seen
  [ "$(cat seen file)" = "gone"$'\n'"written" ] && [ -e out ]
  echo secret >"$BATS_TEST_TMPDIR/secret"
  fails_with 1 ep -- cat "$BATS_TEST_TMPDIR/secret"
  [ "$(ep --read "$BATS_TEST_TMPDIR/secret" -- cat "$BATS_TEST_TMPDIR/secret")" = secret ]
  [ "$(ep --read "/usr,$BATS_TEST_TMPDIR/secret" -- cat ../secret)" = secret ]
  [ "$(ep --read ../secret -- cat ../secret)" = secret ]
  fails_with 2 ep --read /nonexistent/x -- true
  fails_with 2 ep --read / -- true
  fails_with 2 ep --read a,,b -- true
}

@test "run: what git would obey later cannot be written, and can be read" {
  echo 1 >file && commit_all one
  for option in '' --discard; do
    ep $option -- sh -c 'git log --oneline; git status --short' >out
    [[ "$(cat out)" == *" one"* ]]
    for command in 'echo x >.git/hooks/pre-commit' 'git config core.fsmonitor evil' 'rm -rf .git' \
      'mv .git .git.old' 'git commit --allow-empty -qm two'; do
      ! ep $option -- sh -c "$command" 2>/dev/null || { echo "$command"; return 1; }
    done
  done
  git fsck && [ "$(git log --oneline | wc -l)" -eq 1 ] && [ -z "$(git config core.fsmonitor)" ]
  git worktree add -q ../linked && cd ../linked
  ep -- sh -c 'git log --oneline; touch here' >out
  [[ "$(cat out)" == *" one" ]] && [ -e here ]
  for command in 'echo x >.git' 'rm .git' 'git config a.b c'; do
    ! ep -- sh -c "$command" 2>/dev/null || { echo "$command"; return 1; }
  done
  # A file .git that leads to what is no repository of this directory shows nothing.
  mkdir -p ../forged ../private/worktrees/x && cd ../forged
  echo secret | tee ../private/key >../private/worktrees/x/key
  for to in ../private/worktrees/x "$PWD/../private" "$PWD/../private/worktrees/x" "$PWD/../repo/.git/worktrees/linked"; do
    echo "gitdir: $to" >.git
    ! ep -- sh -c 'cat ../private/key || cat ../private/worktrees/x/key || ls ../repo/.git' || return 1
  done
}

@test "run: the network is asked for" {
  [ "$(ep -- sh -c 'grep -c : /proc/net/dev')" = 1 ]
  ep --network loopback -- python3 -c '
import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
c = socket.create_connection(s.getsockname())'
  fails_with 1 ep -- python3 -c 'import socket; socket.create_connection(("127.0.0.1", 1))'
  fails_with 2 ep --network host -- true
}

@test "run: directories that nobody may write as a whole are refused" {
  for dir in / /tmp "$HOME" /usr /etc /dev/shm; do
    cd "$dir"
    fails_with 2 ep -- true
    [[ "$output" == *"commands could write all of $dir, which "*"next: "* ]]
    fails_with 2 ep --batch /dev/null
  done
  cd "$BATS_TEST_TMPDIR"
  HOME=$BATS_TEST_TMPDIR fails_with 2 ep -- true
  HOME=$BATS_TEST_TMPDIR/home fails_with 2 ep -- true
  HOME=$BATS_TEST_TMPDIR.elsewhere ep -- true
}

@test "run: a home directory under git does not become the project" {
  export HOME=$BATS_TEST_TMPDIR/home
  mkdir -p "$HOME/work" && git init -q "$HOME" && cd "$HOME/work"
  ep -- touch here
  [ -e here ]
  ep -- sh -c 'touch ../there && ls -A ..' # in a home of its own
  [ ! -e ../there ]
}

@test "run: what makes no sense is refused" {
  fails_with 2 ep
  [[ "$output" == *"which command?"* ]]
  fails_with 2 ep --batch - -- true
  fails_with 2 ep --ordered -- true
  fails_with 2 ep --workers 2 -- true
  fails_with 2 ep --batch /nonexistent/file
  fails_with 2 ep --wall 5 -- true
  fails_with 2 ep --memory 0x10 -- true
  fails_with 2 ep --pids many -- true
  fails_with 2 ep --isolation jail -- true
  EXITPATH_ISOLATION=jail fails_with 2 ep -- true
  for option in --discard '--network loopback' '--read /etc'; do
    fails_with 2 ep --isolation none $option -- true
    [[ "$output" == *"only a sandbox can do that"* ]]
  done
}

@test "run: nothing outlives it" {
  for EXITPATH_ISOLATION in none sandbox; do
    ep -- sh -c 'sleep 7391 & setsid sleep 7391 & (setsid sh -c "sleep 7391 &" &); exit 0'
    nothing_runs 'sleep 7391'
    for signal in INT TERM; do
      ep_bg --wall none -- sh -c 'trap "" INT TERM; sleep 7392 & sleep 7392; echo not' >out &
      sleep 0.5
      kill -$signal $!
      status=0 && wait $! || status=$?
      [ "$status" -eq $((128 + $(kill -l $signal))) ]
      nothing_runs 'sleep 7392'
    done
    ep_bg --wall none -- sh -c 'sleep 7393 & setsid sleep 7393' &
    sleep 0.5
    kill -KILL $!
    nothing_runs 'sleep 7393'
  done
}

@test "run: a reader that went away ends it" {
  for EXITPATH_ISOLATION in none sandbox; do
    (ep --wall none -- sh -c 'echo one; sleep 7394' || echo $? >status) | head -1 >out
    [ "$(cat out status)" = "one"$'\n'141 ]
    nothing_runs 'sleep 7394'
    fails_with 125 sh -c '"$1" run -- echo x >/dev/full' sh "$EXITPATH_BIN"
    [[ "$output" == *"cannot write to standard output: No space left on device"* ]]
  done
}

@test "run: batch: one result for each line, the bad ones named" {
  for EXITPATH_ISOLATION in none sandbox; do
    batch --ordered <<'LINES'
{"id": {"a": 1}, "cmd": ["echo", "hi"]}

{"cmd": ["sh", "-c", "echo $A $B >&2; exit 3"], "env": {"A": "x"}}
nope
{"id": "i", "cmd": ["true"], "wal": "5s"}
{"cmd": ["sleep", "9"], "wall": 200}
{"cmd": ["no-such-program"]}
{"cmd": ["sh", "-c", "kill -ABRT $$"]}
{"cmd": ["pwd"], "cwd": ".git"}
LINES
    [ "$status" -eq 2 ]
    [ "$(jq -r '"\(.line) \(.verdict)"' <<<"$output" | tr '\n' ,)" = "1 exit,3 exit,4 bad-input,5 bad-input,6 wall,7 not-started,8 signal,9 exit," ]
    [ "$(field id.a 1)" = 1 ] && [ "$(field stdout 1)" = hi ]
    [ "$(field stderr 3)" = x ] && [ "$(field exit 3)" = 3 ]
    [[ "$(field error 4)" == "line 4: not JSON"* ]]
    [[ "$(field error 5)" == 'line 5: unknown key "wal"' ]] && [ "$(field id 5)" = i ]
    [[ "$(field error 7)" == *"exec: No such file or directory" ]]
    [ "$(field signal 8)" = 6 ]
    [ "$(field stdout 9)" = "$PWD/.git" ]
  done
}

@test "run: batch: a file, an empty one, no newline at the end, a line that is too long" {
  printf '{"cmd":["echo","1"]}\n{"cmd":["echo","2"]}' >batch
  run ep --batch batch --ordered
  [ "$status" -eq 0 ] && [ "$(jq -r .stdout <<<"$output" | tr -d '\n')" = 12 ]
  : >empty
  run ep --batch empty
  [ "$status" -eq 0 ] && [ -z "$output" ]
  { printf '{"cmd":["true"],"id":"'; head -c 1100000 /dev/zero | tr '\0' x; printf '"}\n{"cmd":["echo","on"]}\n'; } >long
  run ep --batch long --ordered
  [ "$status" -eq 2 ] && [ "${#lines[@]}" -eq 2 ]
  [[ "$(field error 1)" == "line 1: longer than 1048576 bytes" ]] && [ "$(field stdout 2)" = on ]
}

@test "run: batch: the options are the defaults of its lines" {
  batch --wall 200ms --output none <<'LINES'
{"cmd": ["sleep", "9"]}
{"cmd": ["sleep", "0.4"], "wall": "none"}
{"cmd": ["head", "-c", "2000000", "/dev/zero"], "wall": "20s"}
LINES
  [ "$status" -eq 0 ]
  [ "$(field verdict 1),$(field verdict 2),$(field stdout_bytes 3)" = wall,exit,2000000 ]
}

@test "run: batch: only a sandbox discards; each line may" {
  echo kept >file
  batch --ordered --workers 1 <<'LINES'
{"cmd": ["sh", "-c", "echo gone >file; cat file"], "discard": true}
{"cmd": ["sh", "-c", "cat file; grep -c : /proc/net/dev"], "network": "loopback"}
LINES
  [ "$status" -eq 0 ] && [ "$(field stdout 1)" = gone ] && [ "$(field stdout 2)" = kept$'\n'1 ]
  EXITPATH_ISOLATION=none batch <<<'{"cmd": ["true"], "discard": true}'
  [ "$status" -eq 2 ] && [[ "$(field error)" == "line 1: discard: only a sandbox can do that" ]]
}

@test "run: batch: order, workers, and a thousand lines" {
  lines_of 1000 sh -c 'echo $1' sh >batch
  run ep --batch batch --ordered --workers 4
  [ "$status" -eq 0 ] && [ "${#lines[@]}" -eq 1000 ]
  [ "$(jq -r .id <<<"$output")" = "$(seq 1000)" ]
  [ "$(jq -r .verdict <<<"$output" | sort -u)" = exit ]
  lines_of 4 sleep 0.5 >batch
  start=$(date +%s%N)
  ep --batch batch --workers 4 >/dev/null
  [ $((($(date +%s%N) - start) / 1000000)) -lt 1900 ]
  printf '{"id":1,"cmd":["sleep","1"]}\n{"id":2,"cmd":["true"]}\n' >batch
  run ep --batch batch --workers 2
  [ "$(jq -r .id <<<"$output" | tr -d '\n')" = 21 ]
}

@test "run: batch: a producer that is faster blocks" {
  mkfifo in
  ep_bg --batch in --workers 1 --queue 2 --wall none >out &
  pid=$!
  python3 - in <<'PY' &
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
line = b'{"cmd":["sleep","60"]}\n'
n = 0
try:
    while n < 10000:
        os.write(fd, line)
        n += 1
        open("written.new", "w").write(str(n)); os.rename("written.new", "written")
except BrokenPipeError:
    pass
PY
  producer=$!
  before=
  for _ in $(seq 30); do
    sleep 1
    [ "$before" != "$(cat written)" ] || break
    before=$(cat written)
  done
  # A pipe of 64 KiB, some that were read ahead, two that wait, one that runs.
  [ "$before" -gt 2000 ] && [ "$before" -lt 3600 ]
  kill -TERM $pid
  status=0 && wait $pid || status=$?
  [ "$status" -eq 143 ]
  wait $producer
  [ "$(jq -r .verdict out | sort -u)" = cancelled ] && [ "$(wc -l <out)" -eq 3 ]
}

@test "run: batch: results are written when they come, and input may come late" {
  mkfifo in
  ep_bg --batch in >out &
  exec 5>in
  echo '{"cmd":["echo","one"]}' >&5
  for _ in $(seq 100); do [ -s out ] && break; sleep 0.05; done
  [ "$(jq -r .stdout out)" = one ]
  echo '{"cmd":["echo","two"]}' >&5
  exec 5>&-
  wait $!
  [ "$(jq -r .stdout out | tr -d '\n')" = onetwo ]
}

@test "run: batch: a signal cancels what runs, and leaves nothing" {
  for EXITPATH_ISOLATION in none sandbox; do
    for signal in INT TERM; do
      lines_of 20 sh -c 'trap "" INT TERM; sleep 7395 & setsid sleep 7395' >batch
      ep_bg --batch batch --workers 2 --wall none >out &
      sleep 0.7
      kill -$signal $!
      status=0 && wait $! || status=$?
      [ "$status" -eq $((128 + $(kill -l $signal))) ]
      [ "$(jq -r .verdict out | sort -u)" = cancelled ]
      nothing_runs 'sleep 7395'
    done
  done
}

@test "run: batch: a reader that went away, or does not read, holds up nothing" {
  for EXITPATH_ISOLATION in none sandbox; do
    lines_of 50 sh -c 'echo x; sleep 0.1; sleep 7396' >batch
    sed -i '1s/sleep 7396/true/' batch
    (ep --batch batch --workers 2 --wall none || echo $? >status) | head -1 >out
    [ "$(jq -r .stdout out)" = x ] && [ "$(cat status)" = 141 ]
    nothing_runs 'sleep 7396'
    lines_of 100 head -c 20000 /dev/zero >batch
    mkfifo full-$EXITPATH_ISOLATION
    exec 5<>full-$EXITPATH_ISOLATION
    ep_bg --batch batch >&5 &
    sleep 2
    kill -INT $!
    status=0 && wait $! || status=$?
    [ "$status" -eq 130 ]
    exec 5>&-
  done
}

@test "run: batch: a worker that is killed loses its run alone" {
  export EXITPATH_ISOLATION=none
  batch --ordered --workers 2 <<'LINES'
{"cmd": ["sh", "-c", "kill -KILL $PPID; sleep 7397"]}
{"cmd": ["echo", "on"]}
{"cmd": ["echo", "on"]}
LINES
  [ "$status" -eq 125 ]
  [ "$(field verdict 1)" = lost ] && [ "$(field stdout 2)$(field stdout 3)" = onon ]
  nothing_runs 'sleep 7397'
}
