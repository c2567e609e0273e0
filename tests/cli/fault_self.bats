bats_require_minimum_version 1.5.0
load common

# exitpath survives what exitpath makes fail: its own unit tests, in the time that CI has for it. What
# is deliberate stands in exitpath.yaml.
@test "self: the failures of exitpath's own calls are survived" {
  needs_sandbox
  cd "$EXITPATH_ROOT"
  local seconds tests=build/sanitize/tests/unit
  [ -x $tests/test_base_fs ] || skip "no sanitized build here"
  while read -r name seconds; do
    run --separate-stderr "$EXITPATH_BIN" fault --quiet --json --store "$BATS_TEST_TMPDIR/store" --time "${seconds}s" -- "$tests/test_$name"
    ended '0|40'
    jq -e '.explored >= 5 and .findings == []' <<<"$output" || { echo "$name: $output"; return 1; }
  done <<'TESTS'
base_buf 10
base_strv 10
base_json 15
base_fs 22
contract_units 5
contract_suppression 8
model_run 8
store_summary 8
TESTS
}
