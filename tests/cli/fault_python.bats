bats_require_minimum_version 1.5.0
load common

setup() {
  make_repo
  git commit -q --allow-empty -m empty
}

# fault STATUS OPTION…: its JSON is $output
fault() {
  local expected=$1
  shift
  run --separate-stderr "$EXITPATH_BIN" fault --quiet --json "$@"
  if [ "$status" -ne "$expected" ]; then
    echo "exit status $status, expected $expected: $*"
    echo "$output" "$stderr"
    return 1
  fi
}

# found: one "DEFECT CALL FUNCTION" a line, of the function that makes the call.
found() { jq -r '.findings[] | .defect + " " + .call + " " + .stack[0].function' <<<"$output" | sort; }

is_found() {
  local expected
  expected=$(sort)
  [ "$(found)" = "$expected" ] || { diff <(echo "$expected") <(found); echo "$output"; return 1; }
}

pytest='python3 -m pytest -q -p no:cacheprovider'

@test "fault python: what is held, what is swallowed, what is the test's own" {
  cat >store.py <<'PY'
import sqlite3

def insert(c):
    c.execute("INSERT INTO t VALUES (1)")

def bad(path):
    c = sqlite3.connect(path)
    c.execute("CREATE TABLE t (a)")
    insert(c)
    c.commit()
    c.close()

def good(path):
    c = sqlite3.connect(path)
    try:
        c.execute("CREATE TABLE t (a)")
        insert(c)
        c.commit()
    finally:
        c.close()

def swallow(path):
    c = sqlite3.connect(path)
    try:
        c.execute("CREATE TABLE t (a)")
        c.commit()
    except sqlite3.Error:
        c.rollback()
    finally:
        c.close()

class Keeper:
    """Its user closes it."""
    def __init__(self, path):
        self.c = sqlite3.connect(path)
    def put(self):
        self.c.execute("SELECT 1")
    def close(self):
        self.c.close()
PY
  cat >test_store.py <<'PY'
import store
def test_bad(tmp_path): store.bad(tmp_path / "x")
def test_good(tmp_path): store.good(tmp_path / "x")
def test_swallow(tmp_path): store.swallow(tmp_path / "x")
def test_keeper(tmp_path):
    k = store.Keeper(tmp_path / "x")
    k.put()
    k.close()
PY
  fault 20 -- $pytest
  is_found <<'EOT'
held Connection.execute bad
held Connection.execute insert
held Connection.commit bad
swallowed Connection.commit swallow
EOT
  [ "$(jq '.explored == .chosen and .unconfirmed == 0' <<<"$output")" = true ]
  # One call, by its name or its receiver's class, and a replay by key.
  replay=$(jq -r '.findings[] | select(.call == "Connection.commit" and .defect == "held") | .replay' <<<"$output")
  fault 20 --call Connection.commit -- $pytest
  [ "$(found | wc -l)" = 2 ]
  # Line numbers of other functions do not matter.
  sed -i '1i # a line\n\n' store.py
  run --separate-stderr "$EXITPATH_BIN" ${replay#exitpath }
  ended 20 'held: Connection.commit fails with OperationalError' 'called by' 'bad +store.py:13'
  fault 50 --replay 0123456789abcdef -- $pytest
  [ -z "$(find . -name '*.pyc')" ] || [ "$EXITPATH_ISOLATION" = none ]
}
