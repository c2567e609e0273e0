# `exitpath mutate` on Python: which changes do tests notice, and does a hostile test change what is said of another?
bats_require_minimum_version 1.5.0
load common

setup() {
  make_repo
  cat >calc.py <<'CODE'
LIMIT = 10


def bigger(a, b):
    if a > b:
        return a
    return b


def unused(a):
    return a + 1


def limited(a, most=LIMIT):
    if a > most:
        raise ValueError("too much")
    return a


def same(a):
    if a and True:
        return 1
    return 2


def end(a):
    import os
    os._exit(0) if not a else None
    return a
CODE
  cat >test_calc.py <<'CODE'
import unittest

import calc


class Calc(unittest.TestCase):
    def test_bigger(self):
        self.assertEqual(calc.bigger(1, 2), 2)
        self.assertEqual(calc.bigger(2, 1), 2)

    def test_limited(self):
        self.assertEqual(calc.limited(10), 10)

    def test_same(self):
        for part in (0, 1):
            with self.subTest(part=part):
                self.assertEqual(calc.same(part), 2 - part)

    def test_end(self):
        self.assertEqual(calc.end(3), 3)
CODE
  commit_all one
}

# mutate STATUS OPTION…: its JSON is $output. $TESTS for the command.
mutate() {
  local expected=$1
  shift
  run --separate-stderr "$EXITPATH_BIN" mutate --json "$@" -- ${TESTS-python3 -m pytest -q}
  ended "$expected"
}

# verdicts: one line for each mutant.
verdicts() { jq -r '.mutants[] | "\(.line) \(.operator) \(.before) → \(.after): \(.verdict)"' <<<"$output"; }

@test "mutate python: killed, survived, unreached and undecided" {
  cat >>calc.py <<'CODE'


def down(n):
    while n > 0:
        n -= 1
    return n
CODE
  cat >>test_calc.py <<'CODE'

    def test_down(self):
        self.assertEqual(calc.down(2), 0)
CODE
  commit_all two
  mutate 0
  [ -z "$(git status --porcelain)" ]
  verdicts >all
  grep -qxF '5 ROR > → >=: survived' all # equal: both are the greater one
  grep -qxF '5 ROR > → !=: killed' all
  grep -qxF '6 RVR a → None: killed' all
  grep -qxF '11 AOR + → -: unreached' all
  grep -qxF '34 ASR -= → +=: undecided' all # it runs for ever
  grep -qxF '1 CRCR 10 → 0: killed' all     # what runs at import
  grep -qxF '1 CRCR 10 → (10 + 1): survived' all
  grep -qxF '28 COD not a → (a): killed' all # the process ends, without a word, each time
  [ "$(jq -r '.mutants[] | select(.line == 5 and .after == ">=").tests[]' <<<"$output")" = \
    test_calc.py::Calc::test_bigger ]
}

@test "mutate python: the same verdicts with unittest, and for any number of workers" {
  mutate 0 --jobs 1
  verdicts >one
  mutate 0 --jobs 3
  diff one <(verdicts)
  TESTS='python3 -m unittest' mutate 0
  diff one <(verdicts)
}

@test "mutate python: what a test does to its process changes no other verdict" {
  mutate 0
  verdicts >expected
  cat >test_0hostile.py <<'CODE'
import os, sys, json, time, builtins, unittest

class Hostile(unittest.TestCase):
    def test_patches(self):
        import calc
        if calc.unused(1) != 2:
            os.kill(os.getppid(), 0)
        os.environ.clear()
        sys.modules.pop("calc")
        os.write = os.fork = json.dumps = time.monotonic = None
        builtins.open("left", "w").close()
        if os.path.exists("../left"):
            raise SystemExit(3)
CODE
  mutate 0
  diff <(grep -v '^1[01] ' expected) <(verdicts | grep -v '^1[01] ')
}

@test "mutate python: only what changed, one mutant a line; below the threshold it is rejected" {
  sed -i 's/a + 1/a + 2/' calc.py
  mutate 60 --diff HEAD --threshold 99
  [ "$(jq '.mutants | length' <<<"$output")" -eq 1 ]
  [ "$(jq '.mutants[0].line' <<<"$output")" -eq 11 ]
}

@test "mutate python: a report in mutation-testing-report-schema, survivors as diffs" {
  "$EXITPATH_BIN" mutate --report ../report.json -- python3 -m pytest -q >out
  [ "$(jq -r '.schemaVersion' ../report.json)" = 2 ]
  [ "$(jq '[.files["calc.py"].mutants[].status] | unique | length' ../report.json)" -ge 3 ]
  jq -e '.files["calc.py"] | .language == "python" and (.source | startswith("LIMIT"))' ../report.json
  grep -qF -- '-    if a > b:' out
  grep -qF -- '+    if a >= b:' out
  grep -qF 'reached by test_calc.py::Calc::test_bigger' out
}

@test "mutate python: tests that fail by themselves, and none, are said" {
  echo 'raise SystemError("broken here")' >>test_calc.py
  mutate 2
  [[ $stderr = *'do not pass without a mutant'* ]]
  git checkout -q .
  sed -i 's/2 - part/7/' test_calc.py
  mutate 2
  [[ $stderr = *'do not pass without a mutant'*test_same* ]]
  rm test_calc.py
  mutate 2
  [[ $stderr = *'no test of pytest or unittest has run'* ]]
}
