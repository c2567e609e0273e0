load common
bats_require_minimum_version 1.5.0

# The traps of FIELD-NOTES about Python: tests/programs/python/traps.py in a small project.
# `leak` names the functions that leak; the tag base has none.

setup() {
  python3 -m pytest --version >/dev/null 2>&1 || skip "no pytest for python3"
}

# python_repo [LEAK…]: tag base is clean; in tag candidate the named functions leak.
python_repo() {
  make_repo
  mkdir pkg tests
  cp "$EXITPATH_ROOT/tests/programs/python/traps.py" pkg/
  touch pkg/__init__.py leak
  printf '__pycache__\n.pytest_cache\n.ran\n' >.gitignore
  cat >tests/test_traps.py <<'PY'
import os

import pytest

from pkg import traps

with open(os.path.join(os.path.dirname(__file__), "..", "leak")) as f:
    LEAKS = f.read().split()


@pytest.mark.parametrize("trap", traps.ALL, ids=lambda f: f.__name__)
def test_trap(trap, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trap(trap.__name__ in LEAKS, "name")
PY
  cat >tests/unit_traps.py <<'PY'
import os
import tempfile
import unittest

from pkg import traps

with open(os.path.join(os.path.dirname(__file__), "..", "leak")) as f:
    LEAKS = f.read().split()


class Traps(unittest.TestCase):
    def test_connection(self):
        with tempfile.TemporaryDirectory() as d:
            traps.connection("connection" in LEAKS, os.path.join(d, "name"))

    @unittest.skip("always")
    def test_skipped(self):
        raise AssertionError

    @unittest.expectedFailure
    def test_expected(self):
        raise AssertionError
PY
  commit_all base && git tag base
  printf '%s\n' "$@" >leak
  git add -A && git commit -q --allow-empty -m candidate && git tag candidate
}

# gate STATUS REGEX… -- COMMAND…: base against candidate; each REGEX matches the JSON.
gate() {
  local expected=$1 patterns=()
  shift
  while [ "$1" != -- ]; do
    patterns+=("$1")
    shift
  done
  run --separate-stderr "$EXITPATH_BIN" leak --base "${BASE-base}" --candidate candidate \
    --detector python --cycles "${CYCLES-2}" --timeout 60s --quiet --json "$@"
  ended "$expected" "${patterns[@]}"
}

# trap_leaks NAME RESOURCE [WORDS]: under pytest NAME leaks RESOURCE, and the place is its function.
trap_leaks() {
  python_repo "$1"
  gate 20 "\"resource\": *\"$2\"" "\"function\": *\"$1\"" "pkg/traps.py" "${@:3}" -- \
    python3 -m pytest -q -k "test_trap and $1]"
}

@test "python: nothing that lets go is blamed" {
  python_repo
  gate 0 '"outcome": *"clean"' -- python3 -m pytest -q
  # But for a warning that a test asks for, on both sides.
  [ "$(grep '"resource"' <<<"$output" | sort -u | tr -d ' ",')" = resource:unclosed ]
}

@test "python: a descriptor" { trap_leaks descriptor fd; }
@test "python: one end of a pipe" { trap_leaks pipe fd; }
@test "python: two of one name, from two places" {
  trap_leaks epolls fd eventpoll '"function": *"an_epoll"' '"function": *"another_epoll"'
}
@test "python: a database connection, once" {
  trap_leaks connection db_connection
  [ "$(grep -c '"resource"' <<<"$output")" -eq 1 ]
}
@test "python: a connection that only the collector frees" {
  trap_leaks connection_cycle db_connection 'garbage collector alone'
}
@test "python: a socket that only its destructor closes" { trap_leaks unclosed unclosed; }
@test "python: a socket that only the collector closes" {
  trap_leaks socket_cycle socket 'garbage collector alone'
}
@test "python: a listening socket" { trap_leaks listener socket 'listening at'; }
@test "python: a thread" { trap_leaks thread thread 'pkg.traps.wait'; }
@test "python: a child" { trap_leaks child child; }
@test "python: a child that nobody waits for" { trap_leaks zombie zombie; }
@test "python: the threads of an executor" { trap_leaks executor thread; }
@test "python: a temporary file" { trap_leaks tempfile_left tempfile; }
@test "python: a file lock" { trap_leaks lock lock; }
@test "python: an event loop" { trap_leaks event_loop event_loop; }
@test "python: a task" { trap_leaks task task; }
@test "python: memory" { trap_leaks memory memory; }

@test "python: warnings as errors exit with 0, and are seen" {
  python_repo unclosed
  gate 20 '"resource": *"unclosed"' '"function": *"unclosed"' -- \
    python3 -W error::ResourceWarning -m pytest -q -k 'unclosed]'
}

@test "python: a test that does not pass again" {
  python_repo state
  gate 20 '"resource": *"state"' 'test_trap\[state\]' -- python3 -m pytest -q -k state
}

@test "python: a leak of base is the base's" {
  python_repo connection
  BASE=candidate gate 30 'base itself leaks' -- python3 -m pytest -q -k 'connection]'
}

@test "python: a forced exit is noticed, and where" {
  python_repo forced_exit
  gate 50 'forced exit' 'test_trap\[forced_exit\]' -- python3 -m pytest -q -k 'forced_exit]'
}

@test "python: a forced exit of unittest, of a thread, and of a plain callable" {
  python_repo
  printf 'import os, unittest\nclass T(unittest.TestCase):\n    def test_x(self): os._exit(0)\n' \
    >tests/unit_exit.py
  printf 'import os, threading\ndef test_x():\n    t = threading.Thread(target=os._exit, args=[0])\n    t.start()\n    t.join()\n' \
    >tests/test_exit.py
  commit_all candidate && git tag -f candidate
  echo pass >tests/unit_exit.py && echo 'def test_x(): pass' >tests/test_exit.py
  printf 'import unittest\nclass T(unittest.TestCase):\n    def test_x(self): pass\n' >tests/unit_exit.py
  commit_all base && git tag -f base
  gate 50 'forced exit' 'T.test_x' -- python3 -m unittest tests/unit_exit.py
  gate 50 'forced exit' 'test_exit.py::test_x' -- python3 -m pytest -q tests/test_exit.py
  gate 50 'forced exit' -- python3 -c 'import os; open("tests/test_exit.py").read().count("_exit") and os._exit(0)'
}

@test "python: no test, no verdict" {
  python_repo
  gate 50 'no test ran' -- python3 -m pytest -q -k no_such_test
  gate 50 'no test ran: 1 were skipped' -- python3 -m unittest tests/unit_traps.py -k skipped
}

@test "python: an interpreter that leaves the adapter out is named" {
  python_repo
  gate 50 'no Python loaded the adapter' -- python3 -E -m unittest tests/unit_traps.py
}

@test "python: … and left out, with a word, where nobody named the detector" {
  python_repo
  run --separate-stderr "$EXITPATH_BIN" leak --base base --candidate base --cycles 1 --warmup 0 \
    --json -- python3 -E -c 'exit(1)' # fails, or valgrind would run
  ended 30 'detector python does not fit: python -I, -E or -S'
  ! grep -q '"detector": *"python"' <<<"$output"
}

@test "python: a test that fails at times is told, and decides nothing" {
  python_repo
  # The first pass may fail as well, in the first attempt.
  cat >tests/test_flaky.py <<'PY'
import os

MARK = ".ran"
RUNS = []


def test_flaky():
    RUNS.append(1)
    first = not os.path.exists(MARK)
    open(MARK, "w").close()
    assert not first
    assert len(RUNS) != 3


def test_other():
    pass
PY
  cat >tests/unit_flaky.py <<'PY'
import unittest

RUNS = []


class Flaky(unittest.TestCase):
    def test_flaky(self):
        RUNS.append(1)
        self.assertNotEqual(len(RUNS), 3)
PY
  commit_all candidate && git tag -f candidate && git tag -f base
  gate 0 'test_flaky fails at times: assert 3 != 3' 'not seen again after the first attempt' -- \
    python3 -m pytest -q tests/test_flaky.py
  gate 0 'test_flaky fails at times: AssertionError' -- python3 -m unittest tests/unit_flaky.py
}

@test "python: a failing candidate fails" {
  python_repo
  echo 'def test_x(): assert 0' >tests/test_x.py && commit_all x && git tag -f candidate
  gate 10 -- python3 -m pytest -q
}

@test "python: fixtures of the session live on, those of a module do not" {
  python_repo
  cat >tests/test_fixtures.py <<'PY'
import pytest
import socket


@pytest.fixture(scope="session")
def of_session():
    with socket.socket() as s:
        yield s


@pytest.fixture(scope="module")
def of_module():
    yield socket.socketpair()


def test_one(of_session, of_module):
    assert of_session.fileno() > 0


def test_two(of_session):
    assert of_session.fileno() > 0
PY
  commit_all candidate && git tag -f candidate && git tag -f base
  gate 0 -- python3 -m pytest -q tests/test_fixtures.py -W ignore
  sed -i 's/yield socket.socketpair()/KEPT.append(socket.socketpair()); yield/; 1i KEPT = []' \
    tests/test_fixtures.py
  commit_all candidate && git tag -f candidate
  gate 20 '"resource": *"socket"' '"function": *"of_module"' -- python3 -m pytest -q tests/test_fixtures.py
}

@test "python: unittest" {
  python_repo connection
  gate 20 '"resource": *"db_connection"' '"function": *"connection"' -- \
    python3 -m unittest tests/unit_traps.py
  git tag -f candidate base
  gate 0 -- python3 -m unittest tests/unit_traps.py
}

@test "python: a plain callable" {
  python_repo descriptor
  gate 20 '"resource": *"fd"' '"function": *"descriptor"' -- \
    python3 -c 'from pkg.traps import descriptor; descriptor(bool(open("leak").read().strip()), "")'
}

@test "python: a script, when the detector is named" {
  python_repo connection
  printf 'import sys\nsys.path.insert(0, ".")\nfrom tests.unit_traps import *\nif __name__ == "__main__":\n    unittest.main()\n' >run.py
  commit_all candidate && git tag -f candidate
  : >leak && commit_all base && git tag -f base
  gate 20 '"resource": *"db_connection"' '"function": *"connection"' -- python3 run.py
}

@test "python: doctests" {
  python_repo
  printf 'KEPT = []\n\n\ndef f(path):\n    """\n    >>> f("/dev/null")\n    """\n    with open(path): pass\n' >pkg/doc.py
  commit_all base && git tag -f base
  sed -i 's/with open(path): pass/KEPT.append(open(path))/' pkg/doc.py
  git commit -qam candidate && git tag -f candidate
  gate 20 '"resource": *"fd"' '"function": *"f"' -- python3 -m pytest -q --doctest-modules pkg/doc.py
}

# session MODULE MAKE CLOSE: a client of HTTP that is kept and not closed.
session() {
  local python
  python=$(python_with "$1" pytest) || skip "no $1 or pytest"
  python_repo
  printf 'import asyncio\nimport %s\n\nKEPT = []\n\n\nasync def work():\n    client = %s\n    %s\n\n\ndef test_work():\n    asyncio.run(work())\n' \
    "$1" "$2" "$3" >tests/test_http.py
  commit_all base && git tag -f base
  sed -i 's/^    .*client.*close.*/    KEPT.append(client)/' tests/test_http.py
  commit_all candidate && git tag -f candidate
  gate 20 '"resource": *"session"' '"function": *"work"' -- "$python" -m pytest -q tests/test_http.py
}

@test "python: a session of aiohttp" { session aiohttp 'aiohttp.ClientSession()' 'await client.close()'; }
@test "python: a client of httpx" { session httpx 'httpx.AsyncClient()' 'await client.aclose()'; }
@test "python: a session of requests" { session requests 'requests.Session()' 'client.close()'; }

@test "python: a command that sets PYTHONPATH itself" {
  python_repo connection
  gate 20 '"resource": *"db_connection"' -- \
    sh -c 'PYTHONPATH=. python3 -m pytest -q -k "connection]"'
}

@test "python: pytest-xdist is turned off" {
  local python
  python=$(python_with xdist pytest) || skip "no pytest-xdist"
  python_repo connection
  gate 20 '"resource": *"db_connection"' 'pytest-xdist is turned off' -- \
    "$python" -m pytest -q -n 2 -k 'connection]'
}

@test "python: pytest-asyncio" {
  local python
  python=$(python_with pytest_asyncio pytest) || skip "no pytest-asyncio"
  python_repo
  cat >tests/test_async.py <<'PY'
import asyncio
import pytest


@pytest.mark.asyncio
async def test_async():
    await asyncio.sleep(0)
PY
  commit_all candidate && git tag -f candidate && git tag -f base
  gate 0 -- "$python" -m pytest -q tests/test_async.py
  sed -i 's/await asyncio.sleep(0)/await asyncio.sleep(0); KEPT.append(open("x", "w"))/; 1i KEPT = []' \
    tests/test_async.py
  commit_all candidate && git tag -f candidate
  gate 20 '"resource": *"fd"' '"function": *"test_async"' -- "$python" -m pytest -q tests/test_async.py
}

@test "python: auto picks it for pytest, beside the ledger" {
  python_repo connection
  run --separate-stderr "$EXITPATH_BIN" leak --base base --candidate candidate --cycles 2 \
    --quiet --json -- python3 -m pytest -q -k 'connection]'
  [ "$status" -eq 20 ]
  grep -q '"detector": *"python"' <<<"$output"
  grep -q '"detector": *"ledger"' <<<"$output"
  # What pytest keeps in its tmp_path is no leak.
  run "$EXITPATH_BIN" leak --base base --candidate base --cycles 2 --quiet \
    -- python3 -m pytest -q -k 'connection]'
  [ "$status" -eq 0 ]
}
