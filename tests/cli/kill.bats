load common

@test "kill -9 at 200 random moments loses no finished record and leaves nothing" {
  make_repo
  echo 1 >file && commit_all one && git tag base
  echo 2 >file && commit_all two && git tag candidate
  fails_with 0 python3 "$BATS_TEST_DIRNAME/kill.py" "$EXITPATH_BIN" "$PWD" "${KILLS:-200}"
}
