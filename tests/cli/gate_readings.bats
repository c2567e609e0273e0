# What the gate reads of a patch: `scan` and `review` of the contract.
bats_require_minimum_version 1.5.0
load common

setup() {
  make_repo
  cat >store.py <<'PY'
def save(path, text):
    with open(path, "w") as f:
        f.write(text)
PY
  cat >test_store.py <<'PY'
from store import save

def test_save(tmp_path):
    save(tmp_path / "a", "x")
    assert (tmp_path / "a").read_text() == "x"
PY
  contract 'scan: true' 'review: true'
  commit_all base && git tag base
}

contract() { # LINE…
  cat >exitpath.yaml <<'YAML'
version: 1
lifecycles:
  - {name: t, command: "true", cycles: 1, warmup: 0, detectors: [ledger]}
YAML
  printf '%s\n' "$@" >>exitpath.yaml
}

leaky() {
  cat >>store.py <<'PY'

def store(session, row):
    try:
        session.add(row)
    finally:
        session.commit()
        session.close()
PY
}

# gate STATUS ARG…: its JSON is $output.
gate() {
  local expected=$1
  shift
  run --separate-stderr "$EXITPATH_BIN" gate --quiet --json --base base "$@"
  ended "$expected"
}

checks() { jq -r '.checks[] | .target + " " + .outcome' <<<"$output" | tr '\n' ,; }
remarks() {
  jq -r '.checks[].remarks[]? | "\(.blocks) \(.rule) \(.path):\(.line)"' <<<"$output" | tr '\n' ,
}

@test "gate: a failure path that the patch adds is a defect, what base has is not" {
  leaky && commit_all candidate
  gate 20
  [ "$(checks)" = "review clean,scan defect,t clean," ]
  [[ "$(remarks)" == "true "*" store.py:9," ]]
  [ "$(jq -r '.checks[1].remarks[0].function' <<<"$output")" = store ]
  [ "$(jq -r '.checks[1].remarks[0].steps | length' <<<"$output")" -gt 0 ]
  git tag -f base
  sed -i '1i # a line more' store.py
  sed -i 's/        session.commit()/        session.commit()  # at last/' store.py
  commit_all touched
  gate 0
  [ "$(checks)" = "review clean,scan clean,t clean," ]
}

@test "gate: what a person and an agent are shown, and what is recorded" {
  leaky && commit_all candidate
  run --separate-stderr "$EXITPATH_BIN" gate --quiet --base base --packet packet
  ended 20
  [[ "$output" == *"defect: scan"* ]]
  [[ "$output" == *"store.py:9"* ]]
  [[ "$output" == *"> session.commit()"* ]]
  [[ "$output" == *"exitpath scan --explain"* ]]
  grep -q 'blocks, at `store.py:9`' packet/packet.md
  [ "$(jq '.checks[] | select(.target == "scan") | .remarks | length' packet/packet.json)" = 1 ]
  run --separate-stderr "$EXITPATH_BIN" report --format json
  ended 0
  [[ "$(remarks)" == "true "*" store.py:9," ]]
  run --separate-stderr "$EXITPATH_BIN" evidence show --json
  ended 0
  [[ "$output" == *'"top_frame": "store"'* ]]
  run "$EXITPATH_BIN" evidence verify
  ended 0
}

@test "gate: a patch that weakens its judges is rejected, and cannot switch that off" {
  sed -i 's/ == "x"/ is not None/' test_store.py
  commit_all candidate
  gate 60
  [ "$(checks)" = "review rejected,scan clean,t clean," ]
  [[ "$(remarks)" == "true "*" test_store.py:5," ]]
  git reset -q --hard base
  contract && commit_all off
  gate 60
  [[ "$(jq -r '.checks[0].remarks[].message' <<<"$output")" == *"review removed"* ]]
  [[ "$(jq -r '.checks[0].remarks[].message' <<<"$output")" == *"scan removed"* ]]
  leaky && commit_all both
  gate 20 # a shown defect before a rejection
  [ "$(checks)" = "review rejected,scan defect,t clean," ]
}

@test "gate: without the keys nothing is read; leak reads nothing" {
  contract && commit_all base && git tag -f base
  leaky && commit_all candidate
  gate 0
  [ "$(checks)" = "t clean," ]
  contract 'scan: {severity: note}' 'review: {strict: true}' && commit_all on
  gate 20
  [ "$(checks)" = "review clean,scan defect,t clean," ]
  run --separate-stderr "$EXITPATH_BIN" leak --quiet --json --base base
  ended 0
  [ "$(checks)" = "t clean," ]
}

@test "gate: a malformed key names its place" {
  contract 'scan: 3'
  gate 2
  [[ "$stderr" == *"exitpath.yaml:4:7: scan must be true, false or a map"* ]]
  contract 'review: {stric: true}'
  gate 2
  [[ "$stderr" == *"exitpath.yaml:4:10:"*stric* ]]
  contract 'scan: {severity: loud}'
  gate 2
  [[ "$stderr" == *"exitpath.yaml:4:18:"*loud* ]]
}
