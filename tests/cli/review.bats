bats_require_minimum_version 1.5.0
load common

# A repository with a test, a workflow and a contract.
setup() {
  cd "$BATS_TEST_TMPDIR"
  git init -q -b main .
  mkdir -p tests .github/workflows
  printf 'def test_a():\n    assert f(1) == 2\n\ndef test_b():\n    assert g(1) == 2\n' >tests/test_a.py
  printf 'jobs:\n  - run: pytest\n' >.github/workflows/ci.yml
  printf 'version: 1\nlifecycles:\n  - {name: a, command: ./t, cycles: 5}\n' >exitpath.yaml
  printf 'requests\n' >requirements.txt
  git add -A
  git commit -qm base
}

@test "review: a patch that changes nothing of the checks is clean" {
  echo 'def f(x): return x + 1' >a.py
  run -0 "$EXITPATH_BIN" review
  [[ "$output" == *"review: clean, 0 of 0 items reject, in 1 changed files"* ]]
}

@test "review: what weakens the gate is rejected, with place and reason" {
  printf 'def test_a():\n    assert f(1)\n' >tests/test_a.py
  sed -i 's/pytest/pytest || true/' .github/workflows/ci.yml
  sed -i 's/cycles: 5/cycles: 1, timeout: 600s/' exitpath.yaml
  run -60 "$EXITPATH_BIN" review --base HEAD --candidate WORKTREE
  [[ "$output" == *"tests/test_a.py:2: \`assert f(1) == 2\` became \`assert f(1)\` [assertion-loosened]"* ]]
  [[ "$output" == *"tests/test_a.py:4 (base): test_b is gone, with 1 assertions [test-deleted]"* ]]
  [[ "$output" == *".github/workflows/ci.yml:2: a command may fail [ci-loosened]"* ]]
  [[ "$output" == *"exitpath.yaml: lifecycle a: a longer timeout: 600.0 s, was 60.0 s [contract-weakened]"* ]]
  [[ "$output" == *"exitpath.yaml: lifecycle a: fewer cycles: 1, was 5 [contract-weakened]"* ]]
}

@test "review: a suppression with owner, reason and date passes and is listed" {
  printf 'suppressions:\n  - {match: "leak:foo_init", reason: "a cache", owner: "@core", expires: 2027-06-30}\n' >>exitpath.yaml
  printf '# one-time cache of libbar; @core, until 2027-06-30\nleak:bar_init\n' >lsan.supp
  run -0 "$EXITPATH_BIN" review
  [[ "$output" == *"justified: a cache, owner @core, until 2027-06-30"* ]]
  [[ "$output" == *"lsan.supp:2: "*"[suppression-added]"* ]]
  echo leak:more >>lsan.supp
  printf '\nleak:third\n' >>lsan.supp
  run -60 "$EXITPATH_BIN" review
}

@test "review: a module that is mocked must be known" {
  cat >tests/test_m.py <<'EOF'
import sys
sys.modules["requests"] = None
sys.modules["json"] = None
sys.modules["psycopg9"] = None

def test_m():
    assert f(1) == 2
EOF
  run -60 "$EXITPATH_BIN" review
  [[ "$output" == *"\`psycopg9\` is in no manifest"* ]]
  [ "$(grep -c mock-unknown <<<"$output")" = 1 ]
}

@test "review: --json has rule, place and whether it rejects" {
  printf 'def test_a():\n    assert f(1) == 3\n\ndef test_b():\n    assert g(1) == 2\n' >tests/test_a.py
  run -0 --separate-stderr "$EXITPATH_BIN" review --json
  python3 - "$output" <<'EOF'
import json, sys
r = json.loads(sys.argv[1])
assert r["outcome"] == "clean" and r["exit_code"] == 0, r
item, = r["items"]
assert (item["rule"], item["path"], item["line"], item["rejects"]) == (
    "expected-changed", "tests/test_a.py", 2, False), item
EOF
  run -60 "$EXITPATH_BIN" review --strict --quiet
}

@test "review: SARIF, annotations, reviewdog and GitLab" {
  printf 'def test_a():\n    assert f(1) is not None\n\ndef test_b():\n    assert g(1) == 3\n' >tests/test_a.py
  run -60 --separate-stderr "$EXITPATH_BIN" review --format sarif
  jq -e '.runs[0] | .automationDetails.id == "exitpath/review/" and (.results | length == 2) and
    (.results | all(.locations[0].physicalLocation.region | .startLine and .endColumn)) and
    (.tool.driver.rules | all(.shortDescription.text and .help.text))' <<<"$output"
  jq -e '[.runs[0].results[] | .ruleId + " " + .level] == ["assertion-loosened error", "expected-changed warning"]' <<<"$output"
  jq -e '.runs[0] | .tool.driver.rules[.results[0].ruleIndex].id == "assertion-loosened"' <<<"$output"
  run -60 --separate-stderr "$EXITPATH_BIN" review --format github
  [[ "${lines[0]}" == "::error file=tests/test_a.py,line=2,"*"title=assertion-loosened::"* ]]
  run -60 --separate-stderr "$EXITPATH_BIN" review --format rdjsonl
  jq -e 'select(.code.value == "expected-changed") | .severity == "WARNING" and .location.range.start.line == 5' <<<"$output"
  run -60 --separate-stderr "$EXITPATH_BIN" review --format gitlab
  [ "$(jq -r '.[0].check_name' <<<"$output")" = assertion-loosened ]
}

@test "review: what is deliberate has rule, file, reason, owner and date" {
  allow() { # EXPIRES
    cat >exitpath.yaml <<YAML
version: 1
lifecycles:
  - {name: a, command: ./t, cycles: 5}
review:
  allow:
    - {match: "test-deleted:tests/test_a.py", reason: the feature is gone, owner: "@core", expires: $1}
YAML
  }
  printf 'def test_a():\n    assert f(1) == 2\n' >tests/test_a.py # test_b is gone
  run -60 "$EXITPATH_BIN" review
  allow 2999-01-31
  run -0 "$EXITPATH_BIN" review
  [[ "$output" == *"justified: the feature is gone, owner @core, until 2999-01-31"* ]]
  allow 2020-01-31
  run -60 "$EXITPATH_BIN" review # expired
  for match in 'test-deleted:tests/*' 'test-gone:tests/test_a.py' contract-weakened:exitpath.yaml test-deleted; do
    allow 2999-01-31
    sed -i "s|test-deleted:tests/test_a.py|$match|" exitpath.yaml
    run -2 --separate-stderr "$EXITPATH_BIN" gate
    [[ "$stderr" == *"exitpath.yaml:6:15: match: "* ]]
  done
}

@test "review: an unknown revision is a usage error, and nothing is written" {
  run -2 "$EXITPATH_BIN" review --base nope
  run -2 "$EXITPATH_BIN" review --format morse
  [ -z "$(git status --porcelain)" ]
}
