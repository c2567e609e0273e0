# Commands that are forked from a Python interpreter which is ready (`run --batch --warm python`) end, and look
# to themselves, as those that a new interpreter runs. warm_check.py holds the table of programs.
bats_require_minimum_version 1.5.0
load common

setup() {
  export EXITPATH_ISOLATION=sandbox
  export PATH=/usr/bin:/bin
  make_repo
  "$EXITPATH_BIN" run -- true || skip "there is no sandbox here"
  /usr/bin/python3 -c 'import pytest' || skip "no pytest for /usr/bin/python3"
}

# warm OPTION…: runs the lines on standard input, in order, on one worker; results in $output.
warm() { run --separate-stderr "$EXITPATH_BIN" run --batch - --ordered --workers 1 --warm python "$@"; }

# field KEY: that of each line.
field() { jq -rc ".$1" <<<"$output"; }

# line WORD…: one of a batch.
line() { jq -nc '{cmd: $ARGS.positional}' --args -- "$@"; }

@test "warm: programs end as with a new interpreter" {
  fails_with 0 python3 -B "$BATS_TEST_DIRNAME/warm_check.py" "$EXITPATH_BIN" /usr/bin/python3
}

@test "warm: as an ordinary user, too" {
  [ "$(id -u)" -eq 0 ] || skip "we are one"
  command -v setpriv >/dev/null || skip "no setpriv"
  # Somewhere that the user can reach.
  dir=$(mktemp -d)
  cp "$EXITPATH_BIN" "$dir/exitpath"
  cp "$BATS_TEST_DIRNAME/warm_check.py" "$dir"
  mkdir "$dir/project"
  git -C "$dir/project" init -q
  chown -R 65534 "$dir"
  run bash -c 'cd "$1/project" && HOME=/nonexistent setpriv --reuid=65534 --regid=65534 --clear-groups \
    python3 -B "$1/warm_check.py" "$1/exitpath" /usr/bin/python3' - "$dir"
  rm -rf "$dir"
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "warm: other versions of Python" {
  tested=0
  for python in /opt/*/bin/python3 $EXITPATH_TEST_PYTHONS; do
    [ -x "$python" ] || continue
    rm -rf ./*
    fails_with 0 python3 -B "$BATS_TEST_DIRNAME/warm_check.py" "$EXITPATH_BIN" "$python" \
      --read "$("$python" -c 'import sys; print(sys.base_prefix)')"
    tested=$((tested + 1))
  done
  [ "$tested" -gt 0 ] || skip 'EXITPATH_TEST_PYTHONS="PATH…" names none'
}

@test "warm: the interpreter of a virtual environment in the project" {
  python3 -m venv --without-pip .venv
  site=$(echo .venv/lib/python3*/site-packages)
  echo 'def f(): return "installed"' >"$site/thing.py"
  echo 'print(__import__("thing").f(), __import__("sys").prefix)' >a.py
  for python in .venv/bin/python3 ./.venv/bin/python "$PWD/.venv/bin/python3"; do
    { line "$python" a.py; line "$python" a.py; } | { warm >"$BATS_TEST_TMPDIR/ignored"; printf '%s\n' "$output" >out; }
    output=$(<out)
    [ "$(field stdout | sort -u | grep -c "^\"\?installed $PWD/.venv")" -eq 1 ]
    [ "$(field warm | head -1)" = true ]
  done
}

@test "warm: what one run changes the next does not see" {
  echo 'import json, os, sys
json.X = getattr(json, "X", 0) + 1
sys.modules["planted"] = json
os.environ["X"] = "1"
open("/tmp/x", "x").close()
print(json.X)' >a.py
  echo 'import json, os, sys
print(hasattr(json, "X"), "planted" in sys.modules, "X" in os.environ, os.path.exists("/tmp/x"))' >b.py
  { line python3 a.py; line python3 a.py; line python3 b.py; } >lines
  warm <lines
  [ "$(field warm | sort -u)" = true ]
  [ "$(field stdout | xargs)" = "1 1 False False False False" ]
}

@test "warm: a project's own modules are loaded by each run anew" {
  echo 'V = 1' >mine.py
  echo 'import mine; print(mine.V); open("mine.py", "w").write("V = 222\n")' >a.py
  { line python3 a.py; line python3 a.py; } >lines
  warm <lines
  [ "$(field stdout)" = $'1\n\n222' ]
}

@test "warm: every run has limits of its own, and the interpreter survives them" {
  {
    line python3 -c 'x = bytearray(1 << 30); print(len(x))'
    line python3 -c 'while True: pass'
    line python3 -c 'import os; [os.fork() for _ in range(20)]; import time; time.sleep(1)'
    line python3 -c 'print("x" * 10000000)'
    line python3 -c 'import os; os.kill(-1, 9)'
    line python3 -c 'import os; os.kill(os.getppid(), 9); print("fine")'
    line python3 -c 'print("fine")'
  } >lines
  warm --memory 128M --cpu 500ms --wall 3s <lines
  [ "$(field verdict | tr '\n' ' ')" = "oom cpu pids output exit exit exit " ]
  [ "$(field warm | sort -u)" = true ]
}

@test "warm: as much memory as without" {
  line python3 -c 'x = bytearray(100 << 20); print(len(x))' >lines
  warm --memory 112M <lines
  [ "$(field verdict)" = exit ]
  line python3 -c 'x = bytearray(150 << 20); print(len(x))' >lines
  warm --memory 112M <lines
  [ "$(field verdict)" = oom ]
}

@test "warm: a run that is killed at any moment harms no other" {
  for i in $(seq 150); do
    jq -nc --argjson wall $((i % 10)) '{cmd: ["python3", "-c", "print(1)"], wall: ($wall + 1)}'
    line python3 -c 'print("fine")'
  done >lines
  warm <lines
  [ "$(field warm | sort -u)" = true ]
  [ "$(field stdout | grep -cx fine)" -eq 150 ]
}

@test "warm: a killed interpreter is replaced, and what it ran is no verdict" {
  { line python3 -c 'import time; time.sleep(2)'; line python3 -c 'print("next")'; } >lines
  "$EXITPATH_BIN" run --batch lines --ordered --workers 1 --warm python >out &
  pid=$!
  for _ in $(seq 100); do
    server=$(pgrep -f 'exec\(__import__' | head -1) && break
    sleep 0.05
  done
  sleep 0.5
  pkill -KILL -P "$(pgrep -P "$pid" | head -1)" -f 'exec\(__import__' || true
  wait "$pid" || true
  output=$(<out)
  [[ "$(field verdict | head -1)" =~ ^(sandbox-error|signal|exit)$ ]]
  [ "$(field stdout | grep -cx next)" -eq 1 ]
}

@test "warm: commands with another environment each start no interpreter" {
  for i in 1 2 3 4 5 6; do jq -nc --arg i "$i" '{cmd: ["python3", "-c", "import os; print(os.environ[\"N\"])"], env: {N: $i}}'; done >lines
  warm <lines
  [ "$(field stdout | grep -v '^$' | tr '\n' ' ')" = "1 2 3 4 5 6 " ]
  [ "$(field warm | grep -c true)" -eq 1 ]
}

@test "warm: whatever is no interpreter is run as ever" {
  printf '#!/bin/sh\nexec /usr/bin/python3 "$@"\n' >python3 && chmod +x python3
  { line ./python3 -c 'print(1)'; line echo 2; line python3 --version; line python3; line no-such-program; } >lines
  warm <lines
  [ "$(field warm | sort -u)" = false ]
  [ "$(field verdict | tr '\n' ' ')" = "exit exit exit exit not-started " ]
}

@test "warm: an interpreter that writes, hangs or dies at its start is started anew" {
  mkdir late && echo 'print("begun")' >late/sitecustomize.py
  jq -nc '{cmd: ["python3", "-c", "print(1)"], env: {PYTHONPATH: "late"}}' >lines
  cat lines lines >more
  warm <more
  [ "$(field stdout | tr '\n' ' ')" = "begun 1  begun 1  " ]
  [ "$(field warm | sort -u)" = false ]
}

@test "warm: the key of a line, and what is refused" {
  echo '{"cmd": ["python3", "-c", "print(1)"], "warm": "python"}
{"cmd": ["python3", "-c", "print(1)"], "warm": "none"}
{"cmd": ["python3", "-c", "print(1)"], "warm": "perl"}
{"cmd": ["node", "-e", "1"], "warm": "node"}' >lines
  run --separate-stderr "$EXITPATH_BIN" run --batch lines --ordered --workers 1
  [ "$status" -eq 2 ]
  [ "$(field warm | tr '\n' ' ')" = "true false null null " ]
  [ "$(field verdict | tr '\n' ' ')" = "exit exit bad-input bad-input " ]
  fails_with 2 "$EXITPATH_BIN" run --batch lines --warm perl
  fails_with 2 "$EXITPATH_BIN" run --batch lines --warm node
  [[ "$output" == *"cannot be forked"* ]]
  fails_with 2 "$EXITPATH_BIN" run --warm python -- python3 -c 1
  EXITPATH_ISOLATION=none fails_with 2 "$EXITPATH_BIN" run --batch lines --warm python
}

@test "warm: nothing is left, also after kill -9" {
  for _ in $(seq 40); do line python3 -c 'import os, time; os.fork(); time.sleep(0.05)'; done >lines
  "$EXITPATH_BIN" run --batch lines --warm python >out
  [ "$(jq -rs 'map(.verdict) | unique | join(" ")' <out)" = exit ]
  ! pgrep -f 'exec\(__import__' || false
  "$EXITPATH_BIN" run --batch lines --warm python >out &
  pid=$!
  sleep 1
  kill -9 "$pid"
  wait "$pid" || true
  for _ in $(seq 60); do pgrep -f 'exec\(__import__' >/dev/null || break; sleep 0.05; done
  ! pgrep -af 'exec\(__import__' || false
}
