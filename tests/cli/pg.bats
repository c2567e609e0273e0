# The detector pg, against a PostgreSQL server of the tests' own: a private directory, no TCP.
load common
bats_require_minimum_version 1.5.0

PG_BIN=/usr/lib/postgresql/15/bin

# PostgreSQL refuses to be root.
as_server() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid postgres --regid postgres --clear-groups "$@"
  else
    "$@"
  fi
}

setup_file() {
  [ -x "$PG_BIN/initdb" ] || skip "no PostgreSQL 15"
  # A socket's path has at most 107 bytes.
  PG_DIR=$(mktemp -d /tmp/pg.XXXXXX)
  export PG_DIR URL="postgresql://postgres@/postgres?host=$PG_DIR/socket"
  chmod 755 "$PG_DIR" # the sandbox has no more rights than an ordinary user
  mkdir "$PG_DIR/data" "$PG_DIR/socket"
  [ "$(id -u)" != 0 ] || chown -R postgres "$PG_DIR"
  cd /
  as_server "$PG_BIN/initdb" -D "$PG_DIR/data" -A trust -U postgres --no-sync >/dev/null
  as_server "$PG_BIN/pg_ctl" -D "$PG_DIR/data" -s -w -l "$PG_DIR/log" \
    -o "-k $PG_DIR/socket -c listen_addresses='' -c fsync=off" start 3>&-
}

teardown_file() {
  [ -n "${PG_DIR-}" ] || return 0
  cd /
  as_server "$PG_BIN/pg_ctl" -D "$PG_DIR/data" -s -m immediate stop
  rm -rf "$PG_DIR"
}

# A repository whose tag base closes its session, and whose tag candidate leaves HOW.
make_client() {
  make_repo
  cp "$EXITPATH_ROOT/tests/programs/pg_session.c" .
  echo client >.gitignore
  echo CLOSED >how && commit_all base && git tag base
  echo "$1" >how && git commit -q --allow-empty -am "$1" && git tag candidate
}

# pg_case HOW STATUS [REGEX…]
pg_case() {
  local how=$1 expected=$2
  shift 2
  make_client "$how"
  run --separate-stderr "$EXITPATH_BIN" leak --base base --candidate candidate --pg "$URL" \
    --setup 'gcc -I/usr/include/postgresql -DHOW=$(cat how) -o client pg_session.c -lpq' \
    --detector pg --warmup 0 --cycles 2 --quiet --json -- ./client "$URL"
  ended "$expected" "$@"
}

@test "pg: sessions that are closed are clean" {
  pg_case CLOSED 0 '"outcome": *"clean"'
}

@test "pg: a transaction left open is a leak, named without its literals" {
  pg_case IN_TRANSACTION 20 'idle in transaction for .* after CREATE TEMP TABLE t AS SELECT \?'
  ! grep -q secret <<<"$output"
}

@test "pg: an idle session left open is a leak" {
  pg_case IDLE 20 'pg_session'
}

@test "pg: a query that runs on after its client is a leak, and is ended" {
  pg_case ACTIVE 20 'pg_orphan' 'active for .*SELECT pg_sleep\(\?\)'
  run psql "$URL" -Atc "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%sleep(100)'"
  [ "$output" = 0 ]
}

@test "pg: a client that waits for a lock, beside the one that has it" {
  pg_case LOCKED 20 'waiting for a lock for .*: SELECT pg_advisory_lock\(\?\)'
  ! grep -q secret <<<"$output"
}

@test "pg: the query of a client that was killed runs on, and is ended" {
  pg_case KILLED 20 'pg_orphan' 'active for .*SELECT pg_sleep\(\?\)'
  run psql "$URL" -Atc "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%sleep(100)'"
  [ "$output" = 0 ]
}

@test "pg: no password and no literal gets into the evidence, and the URL may be a variable's" {
  local secret=hunter2
  make_client IN_TRANSACTION
  cat >exitpath.yaml <<'YAML'
version: 1
setup: gcc -I/usr/include/postgresql -DHOW=$(cat how) -o client pg_session.c -lpq
lifecycles:
  - name: client
    command: ./client "$DATABASE_URL"
    pg: $DATABASE_URL
    detectors: [pg]
    warmup: 0
    cycles: 2
YAML
  export DATABASE_URL="postgresql://postgres:$secret@/postgres?host=$PG_DIR/socket"
  run --separate-stderr "$EXITPATH_BIN" leak --base base --candidate candidate --quiet --json \
    --store "$BATS_TEST_TMPDIR/store" --packet "$BATS_TEST_TMPDIR/packet"
  ended 20 'idle in transaction for .* after CREATE TEMP TABLE t AS SELECT \?'
  [ -s "$BATS_TEST_TMPDIR/packet/packet.json" ]
  ! grep -rqa -e "$secret" -e "'secret'" "$BATS_TEST_TMPDIR/store" "$BATS_TEST_TMPDIR/packet"
  ! grep -q "$secret" <<<"$output$stderr"
  unset DATABASE_URL
  fails_with 2 "$EXITPATH_BIN" leak --base base --candidate candidate --quiet
  [[ $output = *'DATABASE_URL is not set'* ]]
}

@test "pg: doctor proves it by a transaction that psql leaves open" {
  run --separate-stderr "$EXITPATH_BIN" doctor --pg "$URL"
  grep -Eq '^pg +works .*, libpq' <<<"$output"
  cd "$BATS_TEST_TMPDIR" && mkdir none
  printf 'version: 1\nlifecycles:\n  - name: a\n    command: "true"\n    pg: %s\n' \
    "postgresql:///x?host=$PWD/none" >exitpath.yaml
  run --separate-stderr "$EXITPATH_BIN" doctor
  grep -Eq '^pg +MISSES ' <<<"$output"
  grep -q 'cannot be reached' <<<"$output"
}

@test "pg: a run that opens no session is not clean" {
  make_client CLOSED
  fails_with 50 "$EXITPATH_BIN" leak --base base --candidate candidate --pg "$URL" \
    --detector pg --cycles 1 --quiet -- /bin/true
  [[ $output = *"opened no session"* ]]
}

@test "pg: a server that cannot be reached is not clean" {
  make_client CLOSED
  mkdir "$BATS_TEST_TMPDIR/none"
  fails_with 50 "$EXITPATH_BIN" leak --base base --candidate candidate --detector pg --quiet \
    --pg "postgresql:///x?host=$BATS_TEST_TMPDIR/none" --cycles 1 -- /bin/true
  [[ $output = *"cannot be reached"* ]]
}

@test "pg: a sandboxed run has no network to reach a server by" {
  needs_sandbox
  make_client CLOSED
  fails_with 2 "$EXITPATH_BIN" leak --base base --candidate candidate --detector pg --quiet \
    --pg "postgresql://u:pw@localhost/x" --cycles 1 -- /bin/true
  [[ $output = *"Unix socket"* ]]
  [[ $output != *pw* ]]
}

@test "pg: the sandbox shows the directory of the socket and nothing beside it" {
  needs_sandbox
  make_client CLOSED
  fails_with 50 "$EXITPATH_BIN" leak --base base --candidate candidate --detector pg --json --quiet \
    --pg "$URL" --cycles 1 -- sh -c "test -S $PG_DIR/socket/.s.PGSQL.5432 && ! test -e $PG_DIR/data"
  [[ $output = *"opened no session"* ]]
}

# service STATEMENT: a function of a service, which ends with it.
service() {
  printf 'import psycopg2\nURL = "%s"\nkept = []\n\n\ndef work():\n    c = psycopg2.connect(URL)\n    c.cursor().execute("select 1")\n    %s\n' \
    "$URL" "$1" >svc.py
}

@test "pg: what each cycle of one process leaves in a transaction, beside the detector python" {
  /usr/bin/python3 -c 'import psycopg2, pytest' 2>/dev/null || skip "no psycopg2 or pytest"
  make_repo
  printf 'import svc\n\n\ndef test_work():\n    svc.work()\n' >test_svc.py
  service 'c.commit(); c.close()'
  commit_all base && git tag base
  service 'kept.append(c)'
  git commit -qam candidate && git tag candidate
  run --separate-stderr "$EXITPATH_BIN" leak --base base --candidate candidate --pg "$URL" \
    --detector python,pg --warmup 1 --cycles 3 --quiet -- /usr/bin/python3 -m pytest -q
  [ "$status" -eq 20 ]
  grep -q 'idle in transaction .*select ?' <<<"$(tr '\n' ' ' <<<"$output")"
  grep -q '1 connection (psycopg2 connection, in a transaction)' <<<"$output"
  [ "$(grep -c 'candidate  1 1 1' <<<"$output")" -eq 2 ]
  run --separate-stderr "$EXITPATH_BIN" leak --base base --candidate base --pg "$URL" \
    --detector python,pg --warmup 1 --cycles 3 --quiet -- /usr/bin/python3 -m pytest -q
  [ "$status" -eq 0 ]
}

# dead_pool STATEMENT: each cycle checks a connection out, loses it to the server by STATEMENT, and
# keeps it: the server has nothing, the client's pool is used up.
dead_pool() {
  /usr/bin/python3 -c 'import psycopg2, pytest' 2>/dev/null || skip "no psycopg2 or pytest"
  make_repo
  cat >test_svc.py <<'PY'
import time

import svc


def test_work():
    svc.work()
    time.sleep(0.1)
PY
  service 'c.close()'
  commit_all base && git tag base
  service "$1; kept.append(c)"
  git commit -qam candidate && git tag candidate
  run --separate-stderr "$EXITPATH_BIN" leak --base base --candidate candidate --pg "$URL" --json \
    --detector python,pg --warmup 1 --cycles 3 --quiet -- /usr/bin/python3 -m pytest -q
}

@test "pg: where the server ends idle transactions, the dead pool shows on the client's side" {
  dead_pool 'c.cursor().execute("set idle_in_transaction_session_timeout = 20")'
  ended 20 '"resource": *"db_connection"' 'psycopg2 connection' '"function": *"work"'
  ! grep -Eq '"resource": *"pg_' <<<"$output"
}

@test "pg: so it does where the server's end of a socket is reset" {
  dead_pool "d = psycopg2.connect(URL); d.cursor().execute('select pg_terminate_backend(%d)' % c.get_backend_pid()); d.close()"
  ended 20 '"resource": *"db_connection"' 'psycopg2 connection' '"function": *"work"'
  ! grep -Eq '"resource": *"pg_' <<<"$output"
}

@test "pg: a server that ends all idle transactions looks clean, and is not taken for it" {
  make_client IN_TRANSACTION
  psql "$URL" -qc "ALTER ROLE postgres SET idle_in_transaction_session_timeout = 20"
  run --separate-stderr "$EXITPATH_BIN" leak --base base --candidate candidate --pg "$URL" --json \
    --setup 'gcc -I/usr/include/postgresql -DHOW=$(cat how) -o client pg_session.c -lpq' \
    --detector pg --warmup 0 --cycles 1 --quiet -- sh -c "sleep 0.2; ./client '$URL'"
  psql "$URL" -qc "ALTER ROLE postgres RESET idle_in_transaction_session_timeout"
  ended 50 'planted session is not in pg_stat_activity' 'idle_in_transaction_session_timeout'
}

@test "pg: connections that SQLAlchemy never gets back, by the pool's own count" {
  local python
  python=$(python_with sqlalchemy psycopg2 pytest) || skip "no SQLAlchemy, psycopg2 or pytest"
  make_repo
  cat >test_svc.py <<'PY'
import svc


def test_work():
    svc.work()
PY
  cat >svc.py <<PY
import sqlalchemy

URL = "${URL/postgresql:/postgresql+psycopg2:}"
ENGINE = sqlalchemy.create_engine(URL, pool_size=20)
KEPT = []


def work():
    c = ENGINE.connect()
    c.execute(sqlalchemy.text("select 1"))
    c.close()
PY
  commit_all base && git tag base
  sed -i 's/c.close()/KEPT.append(c)/' svc.py
  git commit -qam candidate && git tag candidate
  run --separate-stderr "$EXITPATH_BIN" leak --base base --candidate candidate --pg "$URL" --json \
    --detector python,pg --warmup 1 --cycles 2 --quiet -- "$python" -m pytest -q
  ended 20 '"resource": *"pool_slot"' '"resource": *"pg_transaction"' '"function": *"work"'
  run --separate-stderr "$EXITPATH_BIN" leak --base base --candidate base --pg "$URL" \
    --detector python,pg --warmup 1 --cycles 2 --quiet -- "$python" -m pytest -q
  ended 0
}

@test "pg: calls of Python fail on a real server: what is held, what is lost" {
  local python
  # Outside of the sandbox, where the server's socket is.
  for python in ${PYTHON-} python3 /usr/bin/python3 none; do
    ! "$python" -c 'import psycopg' 2>/dev/null || break
  done
  [ "$python" != none ] || skip "no psycopg"
  make_repo
  cat >store.py <<PY
import psycopg

URL = "$URL"


def leaks():
    c = psycopg.connect(URL)
    c.execute("SELECT 1")
    c.close()


def closes():
    with psycopg.connect(URL) as c:
        c.execute("SELECT 1")


def swallows():
    with psycopg.connect(URL, autocommit=True) as c:
        c.execute("CREATE TEMPORARY TABLE t (a int)")
        try:
            with c.transaction():
                c.execute("INSERT INTO t VALUES (1)")
        except psycopg.OperationalError:
            pass
PY
  cat >test_store.py <<'PY'
import unittest

import store


class Store(unittest.TestCase):
    def test_leaks(self): store.leaks()
    def test_closes(self): store.closes()
    def test_swallows(self): store.swallows()
PY
  run --separate-stderr "$EXITPATH_BIN" fault --isolation none --quiet --json -- "$python" -m unittest -q test_store
  ended 20
  diff <(jq -r '.findings[] | .defect + " " + .call + " " + .stack[0].function' <<<"$output" | sort) - <<'EOT'
held Connection.execute leaks
swallowed Connection.execute swallows
swallowed Connection.transaction swallows
EOT
  [ "$(jq '.missed == 0 and .unconfirmed == 0 and .explored == .chosen' <<<"$output")" = true ]
}
