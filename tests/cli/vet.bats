bats_require_minimum_version 1.5.0
load common

# labels TARGET TESTS: are the tests of tests/vet judged as they say?
labels() {
  cd "$BATS_TEST_TMPDIR" || return
  "$EXITPATH_ROOT/tests/vet/check.py" "$EXITPATH_BIN" "$EXITPATH_ROOT/tests/vet/$1" "$EXITPATH_ROOT/tests/vet/$2" --time 3s "${@:3}"
}

@test "vet: each labelled test of a cart gets its verdict for its reason" {
  needs_sandbox
  run labels cart cart/tests.txt
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "vet: each labelled test of a bank, whatever the others do" {
  needs_sandbox
  run labels bank bank/tests.txt --workers 4
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "vet: twelve tests of which a published gate accepts three wrong ones and rejects two right ones" {
  needs_sandbox
  run labels cart twelve.txt
  echo "$output"
  [ "$status" -eq 0 ]
  grep -qx "published gate: 3 false accepts, 2 false rejects, 1 true accepts, 6 true rejects" <<<"$output"
}

@test "vet: files and directories, a file of several tests, text" {
  needs_sandbox
  make_repo
  printf 'def double(x):\n    return 2 * x\n' >double.py
  mkdir tests
  printf 'from double import double\n\ndef test_two():\n    assert double(2) == 4\n\ndef test_bad():\n    assert double(2) == 5\n' \
    >tests/test_double.py
  fails_with 60 "$EXITPATH_BIN" vet --target double.py tests
  grep -q "^accepted  tests/test_double.py::test_two" <<<"$output"
  grep -q "^  passes: tests/test_double.py, line 7: " <<<"$output"
  grep -q "1 accepted, 1 rejected, 0 not judged" <<<"$output"
  [ -z "$(git status --porcelain tests/__pycache__)" ]
  "$EXITPATH_BIN" vet list | grep -q "  accepted  double.py  tests/test_double.py::test_two$"
  "$EXITPATH_BIN" vet show tests/test_double.py::test_bad | grep -q '"verdict": "rejected"'
  "$EXITPATH_BIN" vet export --all out
  [ "$(cat out/test_*.py)" = "$(head -4 tests/test_double.py)" ]
  fails_with 2 "$EXITPATH_BIN" vet show nobody
  printf 'version: 1\nlifecycles: [{name: a, command: "true"}]\nvet: {target: [double.py], score: 0.95}\n' >exitpath.yaml
  cp tests/test_double.py test_twice.py && sed -i 's/== 5/== 2 * 2/' test_twice.py
  fails_with 60 "$EXITPATH_BIN" vet test_twice.py
  grep -q "^rejected  test_twice.py::test_two  score 0.80 " <<<"$output"
  sed -i s/0.95/0.8/ exitpath.yaml
  (cd tests && fails_with 60 "$EXITPATH_BIN" vet test_double.py && grep -q "^accepted  test_double.py::test_two" <<<"$output")
}

@test "vet: a signal ends it and all that it started, and keeps what was told" {
  needs_sandbox
  make_repo
  printf 'def double(x):\n    return 2 * x\n' >double.py
  mkfifo in
  TMPDIR=$BATS_TEST_TMPDIR "$EXITPATH_BIN" vet --json --target double.py - <in >out 2>err 3>&- &
  vet=$!
  exec 4>in
  echo '{"test": "one", "source": "from double import double\n\ndef test():\n    assert double(3) == 6\n"}' >&4
  for _ in $(seq 100); do [ -s out ] && break; sleep 0.1; done
  echo '{"test": "two", "source": "def test():\n    while True:\n        pass\n"}' >&4
  sleep 0.3
  kill -TERM "$vet"
  wait "$vet" && status=0 || status=$?
  exec 4>&-
  cat out err
  [ "$status" -eq 143 ]
  grep -q "stopped by signal 15" err
  [ "$("$EXITPATH_BIN" vet list)" = "$("$EXITPATH_BIN" vet list | grep "accepted  double.py  one$")" ]
  [ -z "$(ls "$BATS_TEST_TMPDIR"/exitpath-*)" ]
}

@test "vet: what was not judged is no pass" {
  needs_sandbox
  make_repo
  printf 'def double(x):\n    return 2 * x\n' >double.py
  printf 'raise OSError("not today")\n' >broken.py
  fails_with 2 "$EXITPATH_BIN" vet double.py
  fails_with 2 "$EXITPATH_BIN" vet --target none.py double.py
  fails_with 2 "$EXITPATH_BIN" vet --isolation none --target double.py double.py
  fails_with 2 "$EXITPATH_BIN" vet --target broken.py double.py
  grep -q "OSError: not today" <<<"$output"
  fails_with 50 "$EXITPATH_BIN" vet --target double.py </dev/null
  run "$EXITPATH_BIN" vet --json --target double.py <<<$'{"test": "a"}\n{"test": "b", "source": "def test():\\n assert 0"}'
  [ "$status" -eq 50 ]
  grep -q '"test":"line 1","verdict":"error"' <<<"$output"
  grep -q '"test":"b","verdict":"rejected"' <<<"$output"
  fails_with 50 "$EXITPATH_BIN" vet --target double.py --python /bin/false double.py
  printf 'from double import double\n\ndef test_two():\n    assert double(3) == 6\n' >test_good.py
  "$EXITPATH_BIN" vet --target double.py test_good.py
  fails_with 50 sh -c '"$1" vet --target double.py test_good.py >/dev/full' sh "$EXITPATH_BIN"
  run bash -c '"$1" vet --target double.py test_good.py test_good.py | true; exit "${PIPESTATUS[0]}"' bash "$EXITPATH_BIN"
  [ "$status" -eq 141 ]
}
