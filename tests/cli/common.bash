# Loaded by every file of tests/cli. scripts/test sets these two; by hand the release binary is used.
: "${EXITPATH_ROOT:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"
: "${EXITPATH_BIN:=$EXITPATH_ROOT/build/release/exitpath}"

# Nothing of the user's git configuration or environment decides a test.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.org
export GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@example.org
export LC_ALL=C.UTF-8 NO_COLOR=1

# make_repo: an empty repository on branch main, as working directory of the test.
make_repo() {
  cd "$BATS_TEST_TMPDIR" && git init -q -b main repo && cd repo
}

# commit_all MESSAGE: commits the whole tree of the test's repository.
commit_all() {
  git add -A && git commit -q -m "$1"
}

# fails_with STATUS CMD…: runs CMD and compares the exit status; $output is set as by `run`.
fails_with() {
  local expected=$1
  shift
  run "$@"
  if [ "$status" -ne "$expected" ]; then
    echo "exit status $status, expected $expected: $*"
    echo "$output"
    return 1
  fi
}
