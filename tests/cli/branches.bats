# Which outcomes of branches are taken (docs/COVERAGE.md). branches_check.py holds the table.
bats_require_minimum_version 1.5.0
load common

@test "branches: of Python, as they are defined" {
  fails_with 0 python3 -B "$BATS_TEST_DIRNAME/branches_check.py" "$BATS_TEST_DIRNAME/../../adapters/python"
}
