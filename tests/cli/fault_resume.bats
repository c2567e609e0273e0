bats_require_minimum_version 1.5.0
load common

setup() {
  make_repo
  cp "$EXITPATH_ROOT/tests/programs/fault_slow.c" program.c
  printf '/t\n' >.gitignore
  build -DHELD
  commit_all one
}

build() { ${CC:-gcc} -g -O0 "$@" -o t program.c; }

# fault STATUS OPTION…: its JSON is $output.
fault() {
  local expected=$1
  shift
  run --separate-stderr "$EXITPATH_BIN" fault --quiet --json --no-fork --classes memory "$@" -- ./t
  ended "$expected"
}

# cut_short: a run that ends before all is explored, on a machine that may be slow.
cut_short() {
  local ms
  for ms in 900 1200 1600 2500 4000; do
    fault 0\|20\|40 --fresh --time "${ms}ms"
    [ "$(jq '.explored - .unconfirmed' <<<"$output")" -lt 1 ] || break
  done
  [ "$(jq '.explored < 7' <<<"$output")" = true ]
}

known() { jq -c '[.known, .explored, (.findings | length)]' <<<"$output"; }

@test "fault: a run that was cut short is gone on with" {
  cut_short
  fault 20
  [ "$(jq '.known >= 1 and .explored == 7' <<<"$output")" = true ]
  [ "$(jq -r '.findings[0].defect + .findings[0].call' <<<"$output")" = crashmalloc ]
  # What came to its end is begun anew.
  fault 20
  [ "$(known)" = '[0,7,1]' ]
}

@test "fault: what is known is that of this build, these options, and not with --fresh" {
  cut_short
  fault 20 --fresh
  [ "$(known)" = '[0,7,1]' ]
  cut_short
  fault 20 --mode forever
  [ "$(known)" = '[0,7,1]' ]
  build -DHELD -fstack-protector-all
  fault 20
  [ "$(jq .known <<<"$output")" -eq 0 ]
  build
  fault 0
  [ "$(known)" = '[0,7,0]' ]
}

@test "fault: a signal loses nothing that is known" {
  for seconds in 1 1.4 2 3 4; do
    "$EXITPATH_BIN" fault --quiet --no-fork --classes memory -- ./t >/dev/null 2>&1 &
    pid=$!
    sleep "$seconds"
    kill -TERM "$pid" || :
    ! wait "$pid"
    fault 20
    [ "$(jq .known <<<"$output")" -eq 0 ] || break
  done
  [ "$(jq '.known >= 1' <<<"$output")" = true ]
  "$EXITPATH_BIN" evidence list | grep -q aborted
  [ "$(jq -c '[.explored, (.findings | length)]' <<<"$output")" = '[7,1]' ]
  run "$EXITPATH_BIN" evidence verify
  ended 0
}

@test "fault: what changed comes first" {
  sed -i 's/STEP(four)/STEP(four) \/* changed *\//' program.c
  build -DHELD
  fault 0 --diff HEAD --points 1 --fresh
  [ "$(jq -c '[.explored, .chosen, .near]' <<<"$output")" = '[1,7,7]' ]
  fault 0 --points 1 --diff HEAD --fresh
  replay=$(fault 20 --diff HEAD --json && jq -r '.findings[0].replay' <<<"$output")
  [[ "$replay" == *"exitpath fault --replay "* ]]
  # The one function that changed.
  commit_all two
  sed -i 's/[*]p = 1;/*p = 2;/' program.c
  build -DHELD
  fault 20 --diff HEAD --points 1 --fresh
  jq -e '.findings[0].stack | any(.function == "last")' <<<"$output"
  fails_with 2 "$EXITPATH_BIN" fault --diff nowhere -- ./t
  fails_with 2 "$EXITPATH_BIN" fault --diff -p -- ./t
}

@test "fault: what is ignored is no defect, and is shown" {
  cat >exitpath.yaml <<'YAML'
version: 1
lifecycles: [{name: t, command: ./t}]
faults:
  classes: [memory]
  ignore: [{match: "crash:malloc:last", reason: "it is so", owner: "@me"}]
YAML
  fault 0
  [ "$(jq -r '.ignored[0] | .ignored_by + ", " + .reason' <<<"$output")" = "crash:malloc:last, @me: it is so" ]
  run --separate-stderr "$EXITPATH_BIN" fault --quiet -- ./t
  ended 0 'ignored by crash:malloc:last \(@me: it is so\): crash: malloc' '^evidence   run-2$'
  run "$EXITPATH_BIN" report
  ended 0 'ignored by the contract:' '^reproduce  exitpath fault --fresh -- ./t$'
  sed -i 's/owner: "@me"/owner: "@me", expires: 2020-01-01/' exitpath.yaml
  fault 20
  [[ "$(jq -r '.notes[]' <<<"$output")" == *"ignored fault crash:malloc:last expired on 2020-01-01"* ]]
  echo 'version: 2' >exitpath.yaml
  fault 2
}
