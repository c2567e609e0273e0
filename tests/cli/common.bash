# Loaded by every file of tests/cli. scripts/test sets these two; by hand the release binary is used.
: "${EXITPATH_ROOT:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"
: "${EXITPATH_BIN:=$EXITPATH_ROOT/build/release/exitpath}"

# Nothing of the user's git configuration or environment decides a test.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.org
export GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@example.org
export LC_ALL=C.UTF-8 NO_COLOR=1

# Where the sandbox cannot be had, everything else is still tested. Looked for once per file.
if [ -z "${EXITPATH_ISOLATION-}" ]; then
  if [ ! -e "$BATS_FILE_TMPDIR/isolation" ]; then
    if "$EXITPATH_BIN" run -- true >/dev/null 2>&1; then
      echo sandbox
    else
      echo none
    fi >"$BATS_FILE_TMPDIR/isolation"
  fi
  EXITPATH_ISOLATION=$(<"$BATS_FILE_TMPDIR/isolation")
  export EXITPATH_ISOLATION
fi

# needs_sandbox: skips the test where there is none, with the reason that exitpath gives.
needs_sandbox() {
  local why
  [ "$EXITPATH_ISOLATION" != sandbox ] || return 0
  why=$(EXITPATH_ISOLATION='' "$EXITPATH_BIN" run -- true 2>&1 | head -1 || :)
  skip "${why:-EXITPATH_ISOLATION is $EXITPATH_ISOLATION}"
}

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

# make_trap PROGRAM: a repository with tests/programs/PROGRAM.c whose build reads `flags`. Tag base is
# built without -DLEAK, tag candidate with it; $TRAP_BASE_FLAGS and $TRAP_FLAGS are added to both.
make_trap() {
  make_repo
  cp "$EXITPATH_ROOT/tests/programs/$1.c" program.c
  cp "$EXITPATH_ROOT/tests/programs/trap.h" .
  printf 'build/\n' >.gitignore
  cat >build.sh <<'EOF'
mkdir -p build && ${CC:-gcc} -Wno-unused-result $(cat flags) -o build/t program.c -pthread -lrt $LINK
EOF
  echo "${TRAP_FLAGS--g -O1 -fsanitize=address} ${TRAP_BASE_FLAGS-}" >flags
  echo base >revision
  commit_all base && git tag base
  echo "${TRAP_FLAGS--g -O1 -fsanitize=address} ${TRAP_CANDIDATE_FLAGS--DLEAK}" >flags
  echo candidate >revision
  commit_all candidate && git tag candidate
}

# ended STATUS [REGEX…]: what `run` saw last ended with STATUS, which may be several, as in 30|50,
# and its output matches each REGEX.
ended() {
  local expected=$1 pattern
  shift
  if ! [[ "|$expected|" == *"|$status|"* ]]; then
    echo "exit status $status, expected $expected"
    echo "$output" "$stderr"
    return 1
  fi
  for pattern; do
    if ! grep -Eq -- "$pattern" <<<"$output"; then
      echo "no match for: $pattern"
      echo "$output"
      return 1
    fi
  done
}

# trap_case PROGRAM STATUS [REGEX…]: the leak gate on make_trap's repository ends with STATUS and
# its JSON matches each REGEX.
# STATUS may be several, as in 30|50. $DETECTOR, $COMMAND, $CYCLES, $ARGS change the call.
trap_case() {
  local program=$1 expected=$2
  shift 2
  make_trap "$program"
  run --separate-stderr "$EXITPATH_BIN" leak --base "${BASE-base}" --candidate candidate \
    --setup 'sh build.sh' --detector "${DETECTOR-lsan}" --warmup 0 --cycles "${CYCLES-2}" \
    --timeout "${TIMEOUT-20s}" --quiet --json ${ARGS-} -- ${COMMAND-./build/t}
  ended "$expected" "$@"
}

# python_with MODULE…: the first Python that has them all where runs are; fails when there is none.
# $PYTHON names one more.
python_with() {
  local python names
  names=$(IFS=,; echo "$*")
  for python in ${PYTHON-} python3 /usr/bin/python3; do
    if (cd "$BATS_TEST_TMPDIR" && "$EXITPATH_BIN" run -- "$python" -c "import $names") >/dev/null 2>&1; then
      echo "$python"
      return
    fi
  done
  return 1
}
