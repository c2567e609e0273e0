bats_require_minimum_version 1.5.0
load common

# two PROGRAM BASE_FLAGS CANDIDATE_FLAGS: tags base and candidate, whose lines differ.
two() {
  make_repo
  cp "$EXITPATH_ROOT/tests/programs/fault_$1.c" program.c
  printf 'build/\n' >.gitignore
  cat >build.sh <<'SH'
mkdir -p build && ${CC:-gcc} -g -O1 -Wno-unused-result $(cat flags) -o build/t program.c -pthread
SH
  echo "$2" >flags
  commit_all base && git tag base
  echo "$3" >flags
  sed -i '1i /* one line\n   more, or two */' program.c
  commit_all candidate && git tag candidate
}

# gate STATUS ARG…: its JSON is $output.
gate() {
  local expected=$1
  shift
  run --separate-stderr "$EXITPATH_BIN" fault --quiet --json --setup 'sh build.sh' "$@"
  ended "$expected"
}

faults() { jq -r '.checks[].faults[]? | .class + " " + .fault.defect + " " + .fault.call' <<<"$output" | sort | tr '\n' ,; }

contract() { # TEXT of faults
  cat >exitpath.yaml <<YAML
version: 1
setup: sh build.sh
lifecycles:
  - {name: t, command: ./build/t, cycles: 1, warmup: 0, detectors: [ledger]}
  - {name: other, command: "true", cycles: 1, warmup: 0, detectors: [ledger]}
$1
YAML
}

@test "fault: blamed is what base survives" {
  two swallowed -DFIXED ''
  gate 20 --base base --candidate candidate --call fsync -- ./build/t
  [ "$(faults)" = "new swallowed fsync," ]
  [ "$(jq -r '.checks[0].faults[0].fault.signature' <<<"$output")" = "swallowed|fsync|t!save<t!main" ]
  [[ "$(jq -r '.checks[0].faults[0].fault.argument' <<<"$output")" == *saved.t* ]]
  [ "$(jq -r '.checks[0].faults[0].fault.stack[1].file' <<<"$output")" = program.c ]
  replay=$(jq -r '.checks[0].faults[0].fault.replay' <<<"$output")
  run --separate-stderr sh -c "\"$(dirname "$EXITPATH_BIN")\"/$replay"
  ended 20 'swallowed: fsync'
}

@test "fault: what base does not survive either, and what a patch repairs" {
  two swallowed '' ''
  gate 30 --base base --candidate candidate --call fsync -- ./build/t
  [ "$(faults)" = "inherited swallowed fsync," ]
  gate 20 --base base --candidate candidate --call fsync --repairs -- ./build/t
  [[ "$(jq -r '.checks[0].explanation' <<<"$output")" == "Not repaired"* ]]
  echo -DFIXED >flags && commit_all fixed
  gate 0 --base candidate --candidate HEAD --call fsync --repairs -- ./build/t
  [ "$(faults)" = "repaired swallowed fsync," ]
  gate 0 --base candidate --candidate HEAD --call fsync -- ./build/t
  gate 30 --base HEAD --candidate HEAD --call fsync --repairs -- ./build/t
  [[ "$(jq -r '.checks[0].explanation' <<<"$output")" == *"proves nothing"* ]]
}

@test "fault: a candidate, or a base, that does not pass without a fault" {
  two swallowed '' ''
  echo 'int main(void) { return 3; }' >program.c && commit_all broken
  gate 10 --base base --candidate HEAD --call fsync -- ./build/t
  [[ "$(jq -r '.checks[0].explanation' <<<"$output")" == *"passes on base, and on the candidate: without any fault"*"exit 3"* ]]
  gate 30 --base HEAD --candidate base --call fsync -- ./build/t
  echo 'int main(void) {' >program.c && commit_all unbuilt
  gate 10 --base base --candidate HEAD --call fsync -- ./build/t
  [ "$(jq -r '.checks[0].target' <<<"$output")" = setup ]
}

@test "fault: the contract says what fails, and what is ignored" {
  two swallowed -DFIXED ''
  contract 'faults:
  classes: [file]
  lifecycles: [t]
  ignore:
    - {match: "swallowed:fsync:save", reason: a cache, owner: "@me"}
    - {match: "swallowed:fwrite:save", reason: late, owner: "@me", expires: 2020-01-01}'
  gate 20 --base base --candidate candidate
  [ "$(faults)" = "new swallowed fclose,new swallowed fflush,new swallowed fwrite,suppressed swallowed fsync," ]
  [ "$(jq -r '.checks[0].faults[] | select(.class == "suppressed") | .fault.ignored_by + ", " + .fault.reason' <<<"$output")" = "swallowed:fsync:save, @me: a cache" ]
  jq -e '.checks[0].notes | any(. == "ignored fault swallowed:fwrite:save expired on 2020-01-01")' <<<"$output"
  jq -e '.checks | length == 1' <<<"$output"
  commit_all contract
  run --separate-stderr "$EXITPATH_BIN" fault --quiet --base base --candidate HEAD
  ended 20 'ignored by the contract:' 'ignored by the contract:' 'warning: ignored fault added: swallowed:fsync:save'
}

@test "gate: faults of the contract, after the leaks" {
  two swallowed -DFIXED ''
  contract 'faults: {classes: [file], lifecycles: [t]}'
  run --separate-stderr "$EXITPATH_BIN" gate --quiet --json --base base --candidate candidate --packet packet
  ended 20
  [ "$(jq -r '[.checks[] | .target + " " + .detector + " " + .outcome] | join(",")' <<<"$output")" = "t ledger clean,other ledger clean,t fault defect" ]
  [ "$(jq -r .outcome <<<"$output")" = defect ]
  grep -q 'signature: `swallowed|fsync|t!save<t!main`' packet/packet.md
  grep -q '^replay  exitpath fault --base' packet/packet.md
  jq -e '.checks[2].faults | length == 4' packet/packet.json
  run "$EXITPATH_BIN" evidence show
  ended 0 '^detector: fault$' '^leak_kind: swallowed$' '^leaked_units: 4$' '^top_frame: save$'
  run "$EXITPATH_BIN" evidence verify
  ended 0
  run "$EXITPATH_BIN" report
  ended 20\|0 'not survived on the candidate'
  run "$EXITPATH_BIN" leak --quiet --json --base base --candidate candidate
  ended 0
}

@test "gate: faults of a Python lifecycle are those of its modules" {
  command -v python3 >/dev/null || skip "no python3"
  make_repo
  cat >shop.py <<'PY'
import sqlite3

def save(path, row):
    db = sqlite3.connect(path)
    try:
        db.execute("insert into t values (?)", (row,))
        db.commit()
    finally:
        db.close()
PY
  cat >test_shop.py <<'PY'
import os, sqlite3, tempfile, unittest
import shop

class Save(unittest.TestCase):
    def test_save(self):
        path = os.path.join(tempfile.mkdtemp(dir="/tmp"), "x.db")
        db = sqlite3.connect(path)
        db.execute("create table t (a)")
        db.close()
        shop.save(path, 1)
PY
  cat >exitpath.yaml <<'YAML'
version: 1
lifecycles: [{name: t, command: python3 -m unittest test_shop, cycles: 1, warmup: 0}]
faults: {}
YAML
  commit_all base && git tag base
  sed -i 's/^    finally:/    except sqlite3.Error:\n        pass\n    finally:/' shop.py
  commit_all candidate
  run --separate-stderr "$EXITPATH_BIN" fault --quiet --json --base base --candidate HEAD
  ended 20
  [ "$(faults)" = "new swallowed Connection.commit,new swallowed Connection.execute," ]
  run --separate-stderr "$EXITPATH_BIN" fault --quiet --json --base HEAD --candidate base --repairs
  ended 0
}

@test "fault: flags and contracts that cannot be" {
  two swallowed '' ''
  contract 'faults: {lifecycles: [other]}' # no program of the project
  run --separate-stderr "$EXITPATH_BIN" gate --quiet --json --base base --candidate candidate
  ended 50 'other on the candidate: no (call|program of the project)'
  rm -r .git/exitpath
  contract 'faults: {layer: fortran}'
  fails_with 2 "$EXITPATH_BIN" fault --base base
  [[ "$output" == *"there is no layer \`fortran\`"*"layers are: libc"* ]]
  contract 'faults: {lifecycles: [nobody]}'
  fails_with 2 "$EXITPATH_BIN" gate --base base
  [[ "$output" == *'exitpath.yaml:6:23: faults: there is no lifecycle "nobody"'* ]]
  rm exitpath.yaml
  fails_with 2 "$EXITPATH_BIN" fault --base base
  [[ "$output" == *"no exitpath.yaml here, and no command after --"* ]]
  fails_with 2 "$EXITPATH_BIN" fault --base nowhere -- ./build/t
  [ ! -e .git/exitpath/evidence.db ]
}
