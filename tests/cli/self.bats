load common

# exitpath passes its own gate: its contract, on a clone of its own last commit.
@test "self: exitpath's own tests hold nothing, says exitpath" {
  git -C "$EXITPATH_ROOT" rev-parse --verify -q HEAD >/dev/null || skip "not in a git checkout"
  git clone -q --depth 1 "file://$EXITPATH_ROOT" "$BATS_TEST_TMPDIR/self"
  cd "$BATS_TEST_TMPDIR/self"
  fails_with 0 "$EXITPATH_BIN" gate --base HEAD --candidate HEAD --cycles 1
  [[ "$output" == *lsan* ]]
  [[ "$output" == *suite* ]]
}
