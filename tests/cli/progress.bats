bats_require_minimum_version 1.5.0
load common

two_revisions() {
  make_repo
  echo 1 >file && commit_all one && git tag base
  echo 2 >file && commit_all two && git tag candidate
}

options=(leak --contract /dev/null --base base --candidate candidate --detector ledger --warmup 0 --fresh)

# on_terminal COLUMNS CMD…: what a terminal of that width receives, control characters shown.
on_terminal() {
  python3 - "$@" <<'PY'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
text = b""
try:
    while chunk := os.read(fd, 65536):
        text += chunk
except OSError:
    pass
os.waitpid(pid, 0)
sys.stdout.write(text.decode().replace("\x1b", "<ESC>").replace("\r\n", "\n").replace("\r", "<CR>"))
PY
}

@test "progress: on a terminal one line, with a count and what is left, gone before the report" {
  two_revisions
  export TERM=xterm
  unset NO_COLOR
  text=$(on_terminal 120 "$EXITPATH_BIN" "${options[@]}" --cycles 4 -- sleep 0.4)
  [[ "$text" == *"<CR><ESC>[Ksleep: base, ledger  1/4<CR>"* ]]
  [[ "$text" == *"4/4  about 1 s left<CR>"* ]]
  report=${text##*<CR><ESC>\[K}
  [[ "$report" != *ledger\ \ * && "$report" == *clean* ]]
  [ "$(grep -c '<CR>' <<<"$text")" -eq 1 ]
}

@test "progress: a line never wraps, in a narrow terminal either" {
  two_revisions
  export TERM=xterm
  unset NO_COLOR
  text=$(on_terminal 20 "$EXITPATH_BIN" "${options[@]}" --cycles 1 -- sleep 0)
  longest=$(grep -o '<CR><ESC>\[K[^<]*<CR>' <<<"$text" | sed 's/<CR>//g; s/<ESC>\[K//' | wc -L)
  [ "$longest" -gt 0 ]
  [ "$longest" -lt 20 ]
}

@test "progress: NO_COLOR and TERM=dumb mean no escape codes at all" {
  two_revisions
  for setting in NO_COLOR=1 TERM=dumb TERM=; do
    text=$(unset NO_COLOR; TERM=xterm on_terminal 80 env "$setting" "$EXITPATH_BIN" "${options[@]}" --cycles 1 -- sleep 0)
    [[ "$text" == *"exitpath: sleep: base"* ]]
    [[ "$text" != *'<ESC>'* && "$text" != *'<CR>'* ]]
  done
}

@test "progress: off a terminal one line for each phase, side by side too" {
  two_revisions
  unset NO_COLOR
  for jobs in 1 2; do
    TERM=xterm run --separate-stderr "$EXITPATH_BIN" "${options[@]}" --cycles 5 --jobs $jobs -- sleep 0.01
    [ "$status" -eq 0 ]
    [[ "$output$stderr" != *$'\033'* && "$output$stderr" != *$'\r'* ]]
    [ "$(grep -c 'sleep: base, ledger, 5 runs' <<<"$stderr")" -eq 1 ]
    [ "$(grep -c 'sleep:' <<<"$stderr")" -eq 2 ]
  done
}

@test "progress: --quiet writes nothing on standard error" {
  two_revisions
  run --separate-stderr "$EXITPATH_BIN" "${options[@]}" --cycles 1 --quiet -- true
  [ "$status" -eq 0 ]
  [ -z "$stderr" ]
}
