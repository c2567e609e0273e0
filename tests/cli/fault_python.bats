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
  fault 20 --caller bad -- $pytest
  [ "$(found | grep -c ' bad$')" = 2 ] && [ "$(found | grep -c swallow)" = 0 ]
  fault 2 --path '*' -- $pytest
  # Line numbers of other functions do not matter.
  sed -i '1i # a line\n\n' store.py
  run --separate-stderr "$EXITPATH_BIN" ${replay#exitpath }
  ended 20 'held: Connection.commit fails with OperationalError' 'called by' 'bad +store.py:13'
  fault 50 --replay 0123456789abcdef -- $pytest
  [ -z "$(find . -name '*.pyc')" ] || [ "$EXITPATH_ISOLATION" = none ]
}

@test "fault python: who is told, and who is not" {
  cat >told.py <<'PY'
import contextlib
import logging
import sqlite3

log = logging.getLogger(__name__)

@contextlib.contextmanager
def table(path):
    c = sqlite3.connect(path)
    try:
        c.execute("CREATE TABLE t (a)")
        yield c
    finally:
        c.close()

def logged(path):
    with table(path) as c:
        try:
            c.commit()
        except sqlite3.Error as e:
            log.error("not saved: %s", e)

def warned(path):
    with table(path) as c:
        try:
            c.commit()
        except sqlite3.Error as e:
            log.debug("not saved: %s", e)

def returned(path):
    with table(path) as c:
        try:
            c.commit()
        except sqlite3.Error:
            return False
        return True

class Store:
    def kept(self, path):
        with table(path) as c:
            try:
                c.commit()
            except sqlite3.Error as e:
                self.error = e

def retried(path):
    with table(path) as c:
        for _ in range(3):
            try:
                c.commit()
                break
            except sqlite3.Error:
                pass

def suppressed(path):
    with table(path) as c, contextlib.suppress(sqlite3.Error):
        c.commit()

def printed(path):
    with table(path) as c:
        try:
            c.commit()
        except sqlite3.Error:
            print("not saved")

def translated(path):
    with table(path) as c:
        try:
            c.commit()
        except sqlite3.Error:
            raise ValueError("not saved")

def finally_returns(path):
    with table(path) as c:
        try:
            c.commit()
        finally:
            return

def written(path):
    with open(path, "w") as f:
        try:
            f.write("text")
        except OSError:
            pass

def read(path):
    try:
        return open(path + ".conf").read()
    except OSError:
        return ""
PY
  cat >test_told.py <<'PY'
import pytest, told
@pytest.mark.parametrize("name", "logged warned returned retried suppressed printed finally_returns written read".split())
def test(name, tmp_path):
    getattr(told, name)(str(tmp_path / "x"))
def test_kept(tmp_path): told.Store().kept(str(tmp_path / "x"))
def test_translated(tmp_path):
    try:
        told.translated(str(tmp_path / "x"))
    except ValueError:
        pass
PY
  fault 20 -- $pytest
  is_found <<'EOT'
swallowed Connection.commit finally_returns
swallowed Connection.commit suppressed
swallowed Connection.commit warned
swallowed TextIOWrapper.write written
EOT
}

@test "fault python: descriptors, children, threads, files, coroutines" {
  cat >held.py <<'PY'
import asyncio
import os
import subprocess
import tempfile
import threading

def spawn():
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(r)
    os.close(w)

def run(step):
    p = subprocess.Popen(["sleep", "60"])
    step.it()
    p.kill()
    p.wait()

def serve(step):
    stop = threading.Event()
    t = threading.Thread(target=stop.wait)
    t.start()
    step.it()
    stop.set()
    t.join()

def save(text, path):
    fd, name = tempfile.mkstemp()
    with os.fdopen(fd, "w") as f:
        f.write(text)
    os.replace(name, path)

async def load(path, step):
    f = open(path)
    text = f.read()
    await step.later()
    f.close()
    return text

async def load_well(path, step):
    with open(path) as f:
        await step.later()
        return f.read()

class Two:
    """close() of the first fails, and the second stays open."""
    def __init__(self, path):
        self.a, self.b = open(path), open(path)
    def close(self):
        self.a.close()
        self.b.close()
PY
  cat >test_held.py <<'PY'
import asyncio, held
class Step:
    def it(self): pass
    async def later(self): await asyncio.sleep(0)
def test_spawn(): held.spawn()
def test_run(): held.run(Step())
def test_serve(): held.serve(Step())
def test_save(tmp_path): held.save("a", tmp_path / "x")
def test_load(): asyncio.run(held.load(__file__, Step()))
def test_load_well(): asyncio.run(held.load_well(__file__, Step()))
def test_two():
    t = held.Two(__file__)
    t.close()
PY
  fault 20 -- $pytest
  is_found <<'EOT'
file TextIOWrapper.__exit__ save
file TextIOWrapper.write save
file os.replace save
held Step.it run
held Step.it serve
held Step.later load
held TextIOWrapper.close Two.close
held TextIOWrapper.read load
held os.fork spawn
held os.waitpid spawn
held open Two.__init__
held os.close spawn
held os.fdopen save
EOT
}

@test "fault python: a hang, a crash" {
  cat >bad.py <<'PY'
import os, signal, threading
def hang(step):
    try:
        step.it()
    except KeyError:
        threading.Event().wait()
def crash(step):
    try:
        step.it()
    except LookupError:
        os.kill(os.getpid(), signal.SIGSEGV)
PY
  cat >test_bad.py <<'PY'
import bad
class Step:
    def it(self): pass
def test_hang(): bad.hang(Step())
def test_crash(): bad.crash(Step())
PY
  fault 20 --call it -- $pytest
  is_found <<'EOT'
crash Step.it crash
hang Step.it hang
EOT
  jq -r '.findings[].what' <<<"$output" | grep -q 'SIGSEGV in test_bad.py::test_crash, in crash (bad.py:11)'
  jq -r '.findings[].what' <<<"$output" | grep -q 'after 5 s, in hang (bad.py:6)'
}

@test "fault python: a program is what it was, with its calls numbered" {
  cat >zoo.py <<'PY'
from __future__ import annotations
import dataclasses
import functools
import inspect
import sys

def wraps(*names):
    def outer(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return f(*args, **kwargs)
        inner.names = names
        return inner
    return outer

class Base:
    def __init__(self, *args):
        self.args = args
    def name(self) -> str:
        return type(self).__name__

class Child(Base):
    total: int = sum(len(n) for n in ("a", "bb"))
    def __init__(self, *args):
        super().__init__(*args)
        self.__private = args
    @wraps("one", *("two",))
    def name(self):
        return super().name() + f"/{self.__private!r:>4}/{len(self.args)}"
    @property
    def size(self): return len([a for a in self.args if (n := str(a)) and n.strip()])

@dataclasses.dataclass
class Point:
    x: int = dataclasses.field(default=3)
    y: list[int] = dataclasses.field(default_factory=lambda: list(range(2)))

def local_names():
    a, b = 1, 2
    return sorted(locals().keys())

def caller():
    return sys._getframe(1).f_code.co_name

def lines():
    try:
        int(
            "x")
    except ValueError:
        return inspect.currentframe().f_lineno

def generate(n):
    got = yield from (i for i in range(n))
    return got

async def later(n):
    async def inner(): return n
    return [await inner() async for _ in ticks(n)]

async def ticks(n):
    for i in range(n):
        yield i

def spread(*args, key=None, **rest): return args, key, rest
def spreads(): return spread(*[1, 2], *(3,), key=dict(a=1), **{"b": 2}, **dict(c=3))
def sole(): return spread(x for x in "ab")
def tries():
    try:
        raise KeyError("k")
    except KeyError as e:
        return str(e.args[0])
    finally:
        sorted(set())
kinds = {"match": None}
def match(value):
    match value:
        case Point(x=0): return "origin"
        case {"a": [x, *rest]}: return max(rest)
        case str() as s if s.startswith("q"): return s.upper()
    return None
PY
  cat >test_zoo.py <<'PY'
import asyncio, inspect, re, traceback
import pytest, zoo
from zoo import Child, Point
def helper(): return zoo.caller()
def test_all():
    c = Child("a", "")
    assert c.name() == "Child/('a', '')/2" and Child.name.names == ("one", "two") and c.size == 1
    assert Child.total == 3 and Point() == Point(3, [0, 1]) and zoo.Point.__annotations__["x"] == "int"
    assert zoo.local_names() == ["a", "b"] and helper() == "helper"
    assert "return sys._getframe(1)" in inspect.getsource(zoo.caller)
    assert inspect.getsource(zoo).splitlines()[zoo.lines() - 1].strip().startswith("return inspect")
    assert list(zoo.generate(3)) == [0, 1, 2] and asyncio.run(zoo.later(2)) == [2, 2]
    assert zoo.spreads() == ((1, 2, 3), {"a": 1}, {"b": 2, "c": 3}) and list(zoo.sole()[0][0]) == ["a", "b"]
    assert zoo.tries() == "k"
    assert (zoo.match(Point(0)), zoo.match({"a": [1, 2, 3]}), zoo.match("qu"), zoo.match(1)) == ("origin", 3, "QU", None)
def test_traceback():
    with pytest.raises(TypeError) as e:
        Point(1, 2, 3, 4)
    with pytest.raises(AttributeError) as e:
        zoo.match.nothing()
    try:
        zoo.spread(**{"key": 1}, **{"key": 2})
    except TypeError as e:
        assert "multiple values" in str(e)
def test_assertions_are_rewritten():
    with pytest.raises(AssertionError, match=re.escape("assert 1 == 2")):
        one = 1
        assert one == 2
def test_deep():
    import deep
    assert deep.f("x") == "x"
PY
  python3 - >deep.py <<'PY'
print("def f(a):\n    return a" + ".strip(' ').replace('a', 'a')" * 200)
PY
  $pytest
  run --separate-stderr "$EXITPATH_BIN" fault --quiet --json -- $pytest
  ended '0|50' 'deep.py could not be given numbers and runs as it is: RecursionError'
  [[ "$output" != *"without any fault"* ]]
  [ -z "$(find . -name '__pycache__' -newer test_zoo.py -path '*zoo*')" ]
}

@test "fault python: unittest, a script, python3 -c" {
  mkdir -p app && touch app/__init__.py
  cat >app/copy.py <<'PY'
def copy(a, b):
    f = open(a)
    g = open(b, "w")
    g.write(f.read())
    g.close()
    f.close()
if __name__ == "__main__":
    import os
    copy(__file__, os.path.join(os.environ["TMPDIR"], "copy.txt"))
PY
  cat >test_copy.py <<'PY'
import os, unittest
from app.copy import copy
class Copy(unittest.TestCase):
    def setUp(self): self.to = os.path.join(os.environ["TMPDIR"], "to.txt")
    def tearDown(self): os.unlink(self.to)
    def test_copy(self):
        with open(self.to, "w"): pass
        copy(__file__, self.to)
        with self.subTest(1): self.assertTrue(os.path.exists(self.to))
if __name__ == "__main__":
    unittest.main()
PY
  for command in '-m unittest -q test_copy' 'app/copy.py' '-m app.copy' 'test_copy.py -q'; do
    fault 20 --call read -- python3 $command
    is_found <<'EOT'
held TextIOWrapper.read copy
EOT
  done
  printf 'PY = python3\n.PHONY: check\ncheck: unit\n\t@echo done\nunit:\n\t@$(PY) -m unittest -q test_copy\nnone:\n\ttrue\n' >Makefile
  printf '#!/bin/sh\nset -e\n# the tests\npython3 -m unittest -q test_copy\n' >run-tests && chmod +x run-tests
  for command in 'make check' 'make -C . unit' make './run-tests' 'sh -e run-tests'; do
    fault 20 --call TextIOWrapper.read -- $command
    is_found <<'EOT'
held TextIOWrapper.read copy
EOT
  done
  # No Python in it: calls of the C library, which TextIOWrapper.read is not.
  fault 2 --call TextIOWrapper.read -- make none
  fault 20 -- sh -c 'cd . && PYTHONPATH=. python3 -c "import app.copy; app.copy.copy(\"app/copy.py\", \"/dev/null\")"'
  is_found <<'EOT'
held TextIOWrapper.close copy
held TextIOWrapper.read copy
held TextIOWrapper.write copy
held open copy
EOT
}

@test "fault python: threads and open connections, one run for each point; what is done once" {
  cat >pool.py <<'PY'
import functools, sqlite3
def leaky(path):
    c = sqlite3.connect(path)
    c.execute("SELECT 1")
    c.close()
@functools.lru_cache()
def settings(path):
    f = open(path)
    text = f.read()
    f.close()
    return text
PY
  cat >test_pool.py <<'PY'
import threading, pool
threading.Thread(target=threading.Event().wait, daemon=True).start()
def test_leaky(tmp_path): pool.leaky(tmp_path / "x")
PY
  fault 20 -- $pytest test_pool.py
  is_found <<'EOT'
held Connection.execute leaky
EOT
  [ "$(jq '.rerun == 3 and .forked == 0' <<<"$output")" = true ]
  [[ "$(jq -r '.notes[]' <<<"$output")" == *"no forks, one run for each point: there are threads"* ]]
  cat >test_once.py <<'PY'
import pool
def test_settings(): assert pool.settings(__file__)
PY
  fault 20 -- $pytest test_once.py
  is_found <<'EOT'
held TextIOWrapper.read settings
EOT
  [ "$(jq .missed <<<"$output")" = 0 ]
}

@test "fault python: a check behind each run, some classes, no forks, base" {
  cat >ledger.py <<'PY'
import os
def book(amount, path):
    with open(path, "a") as f:
        f.write("-%d\n" % amount)
    with open(path, "a") as f:
        f.write("+%d\n" % amount)
PY
  cat >test_ledger.py <<'PY'
import os, ledger
def test_book(): ledger.book(3, os.path.join(os.environ["TMPDIR"], "ledger"))
PY
  sums='[ ! -e $TMPDIR/ledger ] || awk "{ s += \$1 } END { exit s != 0 }" $TMPDIR/ledger'
  fault 20 --call open --check "$sums" -- $pytest
  is_found <<'EOT'
check open book
EOT
  replay=$(jq -r '.findings[0].replay' <<<"$output")
  [[ "$replay" == *"--check "*"awk"* ]]
  fault 30 --call open --check 'echo no; false' -- $pytest
  [[ "$(jq -r .why <<<"$output")" == "without any fault the check fails with 1: no" ]]
  fault 50 --classes net,process -- $pytest
  fault 0 --classes file -- $pytest
  [ "$(jq .explored <<<"$output")" -ge 4 ]
}

@test "fault python: only what is bad on the candidate and good on base is blamed" {
  needs_sandbox
  cat >store.py <<'PY'
import sqlite3
def save(path):
    c = sqlite3.connect(path)
    try:
        c.execute("SELECT 1")
    finally:
        c.close()
def old(path):
    c = sqlite3.connect(path)
    c.execute("SELECT 1")
    c.close()
PY
  cat >test_store.py <<'PY'
import store
def test_save(tmp_path): store.save(tmp_path / "x")
def test_old(tmp_path): store.old(tmp_path / "x")
PY
  commit_all base && git tag base
  python3 - <<'PY'
s = open("store.py").read()
s = s.replace('    try:\n        c.execute("SELECT 1")\n    finally:\n        c.close()', '    c.execute("SELECT 1")\n    c.close()')
open("store.py", "w").write(s)
PY
  commit_all candidate
  run --separate-stderr "$EXITPATH_BIN" fault --quiet --base base --candidate HEAD -- $pytest
  ended 20 'Connection.execute' 'save '
}

@test "fault python: coroutines, tasks, asynchronous managers" {
  cat >app.py <<'PY'
import asyncio, contextlib, os

class Conn:
    def __init__(self): self.r, self.w = os.pipe()
    async def commit(self): await asyncio.sleep(0)
    async def aclose(self):
        os.close(self.r); os.close(self.w)

async def swallow(path):
    async def job():
        f = open(path, "w")
        try:
            f.write("x")
        finally:
            f.close()
    t = asyncio.create_task(job())
    try:
        await t
    except OSError:
        pass

async def forgotten(path):
    async def job():
        with open(path, "w") as f:
            f.write("x")
    res = await asyncio.gather(job(), return_exceptions=True)

async def told(path):
    async def job():
        with open(path, "w") as f:
            f.write("x")
    await asyncio.gather(job())

async def leak(step):
    c = Conn()
    await step.go()
    await c.aclose()

@contextlib.asynccontextmanager
async def conn():
    c = Conn()
    try:
        yield c
    finally:
        await c.aclose()

async def noleak(step):
    async with conn() as c:
        await step.go()

class Lines:
    def __init__(self, n): self.n = n
    def __aiter__(self): return self
    async def __anext__(self):
        if not self.n: raise StopAsyncIteration
        self.n -= 1
        return self.n
async def loop():
    return [x async for x in Lines(3)]
PY
  cat >test_app.py <<'PY'
import asyncio, os, unittest, app
class Step:
    async def go(self): await asyncio.sleep(0)
P = os.path.join(os.environ["TMPDIR"], "x")
class A(unittest.IsolatedAsyncioTestCase):
    async def test_swallow(self): await app.swallow(P)
    async def test_forgotten(self): await app.forgotten(P)
    async def test_told(self): await app.told(P)
    async def test_leak(self): await app.leak(Step())
    async def test_noleak(self): await app.noleak(Step())
    async def test_loop(self): self.assertEqual(await app.loop(), [2,1,0])
PY
  fault 20 -- python3 -m unittest -q test_app
  is_found <<'EOT'
held Step.go leak
held os.close Conn.aclose
swallowed TextIOWrapper.__exit__ forgotten.job
swallowed TextIOWrapper.close swallow.job
swallowed TextIOWrapper.write forgotten.job
swallowed TextIOWrapper.write swallow.job
EOT
}

@test "fault python: what a with statement does at its end" {
  cat >ends.py <<'PY'
import contextlib
import sqlite3

def leaks(path):
    c = sqlite3.connect(path)
    with c:
        c.execute("CREATE TABLE t (a)")
    c.close()

def closes(path):
    with contextlib.closing(sqlite3.connect(path)) as c:
        with c:
            c.execute("CREATE TABLE t (a)")

def swallows(path):
    with contextlib.closing(sqlite3.connect(path)) as c:
        try:
            with c:
                c.execute("CREATE TABLE t (a)")
        except sqlite3.Error:
            pass

def truncated(path):
    try:
        with open(path, "w") as f:
            f.write("text")
    except OSError:
        return

def reads(path):
    g = open(path)
    with open(path) as f:
        len(f.name)
    g.close()

@contextlib.contextmanager
def own(path):
    with open(path, "w") as f:
        yield f

def by_own(path):
    with own(path) as f, contextlib.suppress(KeyError):
        f.write("text")

class Row:
    async def __aenter__(self):
        return self
    async def __aexit__(self, *error):
        return None

async def later():
    async with Row() as r:
        return r
PY
  cat >test_ends.py <<'PY'
import asyncio, pytest, ends
@pytest.mark.parametrize("name", "leaks closes swallows truncated by_own".split())
def test(name, tmp_path): getattr(ends, name)(tmp_path / "x")
def test_reads(): ends.reads(__file__)
def test_later(): asyncio.run(ends.later())
PY
  fault 20 -- $pytest
  is_found <<'EOT'
held Connection.__exit__ leaks
held Connection.execute leaks
held open reads
swallowed Connection.__exit__ swallows
swallowed TextIOWrapper.__exit__ truncated
swallowed TextIOWrapper.write truncated
EOT
  [ "$(jq '.missed == 0 and .unconfirmed == 0' <<<"$output")" = true ]
  fault 20 --call Connection.__exit__ --classes db -- $pytest
  [ "$(jq -c '[.explored, (.findings | length)]' <<<"$output")" = '[6,2]' ]
}

@test "fault python: few points, changed code first, forever" {
  cat >steps.py <<'PY'
import sqlite3

def again(c, statement):
    for left in (1, 0):
        try:
            return c.execute(statement)
        except sqlite3.OperationalError:
            if not left:
                raise

def read(path):
    f = open(path)
    text = f.read()
    f.close()
    return text

def held(path):
    c = sqlite3.connect(path)
    again(c, "SELECT 1")
    c.close()
PY
  cat >test_steps.py <<'PY'
import steps
def test_read(): steps.read(__file__)
def test_held(tmp_path): steps.held(tmp_path / "x")
PY
  commit_all one
  # Once, what comes next helps; forever, nothing does, and the connection stays open.
  fault 0 --call Connection.execute -- $pytest
  fault 20 --call Connection.execute --mode forever -- $pytest
  is_found <<'EOT'
held Connection.execute again
EOT
  replay=$(jq -r '.findings[].replay' <<<"$output")
  [[ "$replay" == *" --mode forever --replay "* ]]
  run --separate-stderr "$EXITPATH_BIN" ${replay#exitpath }
  ended 20 'held: Connection.execute fails with OperationalError'
  # Calls of databases come first, changed code before them.
  fault 0 --points 3 -- $pytest
  [ "$(jq -c '[.explored, .chosen, .near]' <<<"$output")" = '[3,6,0]' ]
  sed -i '/^def read/a\    # changed' steps.py
  fault 20 --diff HEAD --points 3 -- $pytest
  is_found <<'EOT'
held TextIOWrapper.read read
EOT
  [ "$(jq -c '[.explored, .chosen, .near]' <<<"$output")" = '[3,6,6]' ]
}

@test "fault python: a run that was cut short is gone on with" {
  mkdir -p vendor/v.dist-info && echo x=1 >vendor/v.py && echo vendor >.gitignore
  cat >slow.py <<'PY'
import time

def held(path):
    f = open(path)
    f.read()
    f.close()
PY
  for i in 1 2 3 4 5 6; do
    printf 'def step%d(path):\n    with open(path) as f:\n        f.read()\n    time.sleep(0.1)\n' $i >>slow.py
  done
  cat >test_slow.py <<'PY'
import sys, slow
sys.path.insert(0, "vendor")
import v
def test_held(): slow.held(__file__)
for name in [n for n in dir(slow) if n.startswith("step")]:
    exec("def test_%s(): slow.%s(__file__)" % (name, name))
PY
  commit_all one
  cut_short() {
    for seconds in 2 3 4 6 9 15; do
      run --separate-stderr "$EXITPATH_BIN" fault --quiet --json --fresh --time ${seconds}s -- $pytest
      [ "$(jq '.explored - .unconfirmed' <<<"$output")" -lt 2 ] || break
    done
    [ "$(jq '.explored < 15 and .chosen == 15' <<<"$output")" = true ]
  }
  known() { jq -c '[.known > 1, .explored, (.findings | length)]' <<<"$output"; }
  cut_short
  fault 20 -- $pytest
  [ "$(known)" = '[true,15,1]' ] || { echo "$output"; return 1; }
  # What came to its end is begun anew.
  fault 20 -- $pytest
  [ "$(known)" = '[false,15,1]' ]
  # Something else that is loaded and no part of the tree.
  cut_short
  echo y=1 >>vendor/v.py
  fault 20 -- $pytest
  [ "$(known)" = '[false,15,1]' ]
}
