bats_require_minimum_version 1.5.0
load common

recorded() {
  "$EXITPATH_ROOT/demo/history" "$BATS_TEST_TMPDIR/worker" && cd "$BATS_TEST_TMPDIR/worker"
  run "$EXITPATH_BIN" gate --candidate busy --cycles 1 --warmup 0 --quiet
  [ "$status" -eq 20 ]
}

@test "evidence: the record has exactly the form of the design" {
  recorded
  run "$EXITPATH_BIN" evidence show run-1
  keys=$(sed -n '/^---$/q; s/:.*//p' <<<"$output" | paste -sd' ')
  [ "$keys" = "schema_version run_id revision test_target detector detector_version attempt outcome exit_code leak_kind leaked_units top_frame duration_ms baseline_artifact result_artifact config_digest isolation limit_tier" ]
  grep -qx 'schema_version: leak-evidence-v1' <<<"$output"
  grep -qx 'run_id: run-1' <<<"$output"
  grep -qx 'leak_kind: heap' <<<"$output"
  grep -q '^top_frame: worker_do' <<<"$output"
  grep -Eqx 'config_digest: sha256:[0-9a-f]{64}' <<<"$output"
}

@test "evidence: full reports are artifacts" {
  recorded
  run "$EXITPATH_BIN" evidence show run-1 --artifacts
  [[ "$output" == *artifacts/worker_shutdown/lsan/candidate-report.txt* ]]
  run "$EXITPATH_BIN" evidence show run-1 --artifact artifacts/worker_shutdown/lsan/candidate-report.txt
  [[ "$output" == *"LeakSanitizer: detected memory leaks"* ]]
  fails_with 2 "$EXITPATH_BIN" evidence show run-1 --artifact nonsense
}

@test "evidence: verify sees a changed artifact" {
  recorded
  fails_with 0 "$EXITPATH_BIN" evidence verify
  file=$(find .git/exitpath/artifacts -type f | head -1)
  chmod u+w "$file"
  printf 'X' | dd of="$file" bs=1 seek=20 conv=notrunc status=none
  fails_with 50 "$EXITPATH_BIN" evidence verify
}

@test "evidence: export writes a directory with a statement" {
  recorded
  "$EXITPATH_BIN" evidence export run-1 "$BATS_TEST_TMPDIR/out"
  python3 -m json.tool "$BATS_TEST_TMPDIR/out/statement.intoto.json" | grep -q 'in-toto.io/Statement/v1'
  fails_with 50 "$EXITPATH_BIN" evidence export run-1 "$BATS_TEST_TMPDIR/out" ||
    fails_with 2 "$EXITPATH_BIN" evidence export run-1 "$BATS_TEST_TMPDIR/out"
  fails_with 2 "$EXITPATH_BIN" evidence export run-99 "$BATS_TEST_TMPDIR/other"
}

@test "evidence: list, report in every format, and gc" {
  recorded
  run "$EXITPATH_BIN" evidence list
  [[ "$output" == run-1*leak* ]]
  for format in text json packet packet-json; do
    run "$EXITPATH_BIN" report run-1 --format "$format"
    [ "$status" -eq 0 ]
    [[ "$output" == *worker_do* ]]
  done
  run "$EXITPATH_BIN" evidence gc --checkouts 0
  [ "$status" -eq 0 ]
  [ -z "$(ls -A .git/exitpath/trees)" ]
  fails_with 0 "$EXITPATH_BIN" evidence verify
  fails_with 2 "$EXITPATH_BIN" evidence lsit
}
