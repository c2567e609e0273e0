bats_require_minimum_version 1.5.0
load common

@test "many runs: nothing grows, nothing is left" {
  # The sanitized build keeps freed memory.
  if grep -q __asan_init "$EXITPATH_BIN"; then export SANITIZED=1; fi
  fails_with 0 python3 -B "$BATS_TEST_DIRNAME/many_runs.py" "$EXITPATH_BIN" "${RUNS:-2000}"
  echo "# $(head -1 <<<"$output")" >&3
}

@test "many runs: kill -9 of exitpath, a supervisor, a zygote, an init or a command at random moments" {
  fails_with 0 python3 -B "$BATS_TEST_DIRNAME/sandbox_kill.py" "$EXITPATH_BIN" "${KILLS:-25}"
}
