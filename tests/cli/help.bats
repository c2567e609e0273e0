bats_require_minimum_version 1.5.0
load common

commands() { "$EXITPATH_BIN" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }
options_of() { "$EXITPATH_BIN" "$1" --help | grep -o -e '^  --[a-z-]*' | tr -d ' '; }

@test "help: every command and every option of it is in the manual" {
  page=$(mandoc -T utf8 "$EXITPATH_ROOT/docs/exitpath.1" | sed 's/.\x08//g')
  [ "$(commands | wc -l)" -ge 7 ]
  for command in $(commands); do
    grep -q "^ *$command\b" <<<"$page" && grep -q "^ *exitpath $command\b" <<<"$page" || { echo "the manual has no $command"; return 1; }
    for option in $(options_of "$command"); do
      [ "$option" = --help ] || grep -q -e "$option\([^a-z-]\|\$\)" <<<"$page" || { echo "the manual has no $command $option"; return 1; }
    done
  done
}

@test "help: every option in the manual exists" {
  all=$(for command in $(commands); do options_of "$command"; done; echo --version)
  for option in $(grep -o '^\.It Fl -[a-z-]*\|^\.Fl -[a-z-]*\|, Fl -[a-z-]*' "$EXITPATH_ROOT/docs/exitpath.1" | sed 's/.*Fl -/--/' | sort -u); do
    grep -qx -e "$option" <<<"$all" || { echo "the manual has $option"; return 1; }
  done
}

@test "help: every detector is in the manual, in docs/DETECTORS.md and in the help of gate" {
  names=$(sed -n 's/^extern const struct detector detector_\([a-z]*\);/\1/p' "$EXITPATH_ROOT/src/detect/registry.c")
  [ "$(wc -w <<<"$names")" -ge 8 ]
  help=$("$EXITPATH_BIN" gate --help | grep -e --detector)
  for name in $names; do
    grep -q "^\.It Cm $name$" "$EXITPATH_ROOT/docs/exitpath.1" || { echo "the manual has no $name"; return 1; }
    grep -q "^## $name" "$EXITPATH_ROOT/docs/DETECTORS.md" || { echo "DETECTORS.md has no $name"; return 1; }
    grep -qw "$name" <<<"$help" || { echo "gate --help has no $name"; return 1; }
  done
}

@test "help: the manual's exit statuses are those of the program" {
  pairs=$(awk '/^\.It [0-9]+$/ { code = $2 } /^\.Sy/ && code != "" { print code ":" $2; code = "" }' "$EXITPATH_ROOT/docs/exitpath.1")
  [ "$(wc -l <<<"$pairs")" -ge 7 ]
  for pair in $pairs; do
    grep -q "\"${pair#*:}\", ${pair%:*}," "$EXITPATH_ROOT/src/model/outcome.def" || { echo "$pair"; return 1; }
  done
}

@test "help: three ways to ask, on standard output, in 100 columns" {
  for command in $(commands); do
    text=$("$EXITPATH_BIN" "$command" --help 2>/dev/null)
    [[ "$text" == "usage: exitpath $command"* ]]
    [ "$text" = "$("$EXITPATH_BIN" help "$command")" ]
    [ "$text" = "$("$EXITPATH_BIN" "$command" -h)" ]
    [ "$(wc -L <<<"$text")" -le 100 ]
  done
  [ "$("$EXITPATH_BIN" help)" = "$("$EXITPATH_BIN" -h)" ]
  fails_with 2 "$EXITPATH_BIN" help gaet
  fails_with 50 sh -c '"$1" gate --help >/dev/full' sh "$EXITPATH_BIN"
  fails_with 50 sh -c '"$1" --version >/dev/full' sh "$EXITPATH_BIN"
}

@test "options: a value that was forgotten, an empty one, an operand too many" {
  make_repo
  fails_with 2 "$EXITPATH_BIN" gate --base --candidate x
  [[ "$output" == *"--base needs a value"*"next: when --candidate is the value: --base=--candidate"* ]]
  fails_with 2 "$EXITPATH_BIN" gate --candidate -- true
  [[ "$output" == *"--candidate needs a value"* ]]
  for option in base candidate store contract lifecycle detector packet format; do
    fails_with 2 "$EXITPATH_BIN" gate "--$option" ''
    [[ "$output" == *"--$option is empty"* ]]
  done
  for command in doctor init completion 'report run-1' 'evidence list'; do
    fails_with 2 "$EXITPATH_BIN" $command -- x
    [[ "$output" == *'unexpected `x`'*"next: "* ]]
  done
  for command in 'doctor x' 'init x' 'completion x' 'report run-1 x' 'evidence list x' 'evidence show run-1 x' 'gate x'; do
    fails_with 2 "$EXITPATH_BIN" $command
    [[ "$output" == *'unexpected `x`'* ]]
  done
}

@test "options: what could not be used later is refused before anything is run" {
  make_repo
  echo 1 >file && commit_all one
  fails_with 2 "$EXITPATH_BIN" gate --timeout 25h -- true
  [[ "$output" == *"--timeout is more than 24h"* ]]
  fails_with 50 "$EXITPATH_BIN" gate --packet file --quiet -- true
  [[ "$output" == *"cannot make directory file: Not a directory"* ]]
  [ ! -e .git/exitpath ]
}

@test "completion: bash completes commands and options" {
  cat >"$BATS_TEST_TMPDIR/complete.bash" <<'SCRIPT'
PATH=$(dirname "$1"):$PATH
eval "$("$1" completion)"
COMP_WORDS=(exitpath ga) COMP_CWORD=1 && _exitpath && echo "${COMPREPLY[*]}"
COMP_WORDS=(exitpath gate --cy) COMP_CWORD=2 && _exitpath && echo "${COMPREPLY[*]}"
COMP_WORDS=(exitpath evidence --art) COMP_CWORD=2 && _exitpath && echo "${COMPREPLY[*]}"
COMP_WORDS=(exitpath fault --no) COMP_CWORD=2 && _exitpath && echo "${COMPREPLY[*]}"
COMP_WORDS=(exitpath s) COMP_CWORD=1 && _exitpath && echo "${COMPREPLY[*]}"
COMP_WORDS=(exitpath nonsense --x) COMP_CWORD=2 && _exitpath && echo "${COMPREPLY[*]}"
complete -p exitpath
SCRIPT
  run bash --norc "$BATS_TEST_TMPDIR/complete.bash" "$EXITPATH_BIN"
  [ "${lines[0]}" = gate ]
  [ "${lines[1]}" = --cycles ]
  [ "${lines[2]}" = "--artifacts --artifact" ]
  [ "${lines[3]}" = --no-fork ]
  [ "${lines[4]}" = scan ]
  [[ "$output" == *"-F _exitpath exitpath" ]]
}
