#!/usr/bin/env python3
"""1,000 small generated Python tests, judged by `exitpath vet`, beside one pytest that only executes them.

tests/bench/vet.py [--functions N] [--workers N] [--python PATH]    EXITPATH names another binary

For each function of a module eight tests: a good one, the same in other words, a wrong oracle, a no-op, one without
an assertion, a tautology, a weak one, a flaky one. Each must get its verdict. Executed tests a second: every run of a
test counts, also in other surroundings and with the code changed. Peak memory is the sum of what all processes have
(Pss), with eight workers.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXITPATH = os.environ.get("EXITPATH", f"{os.path.dirname(os.path.dirname(HERE))}/build/exitpath")
GOAL, GOAL_MIB = 313, 1434  # executed tests/s on 2 cores; 1.4 GB

FUNCTION = """
def price_{n}(count):
    if count < 0:
        raise ValueError("negative")
    if count >= {n} + 10:
        return count * 9 + {n}
    return count * 10
"""
KINDS = (
    ("good", "accepted", None, """
    assert price_{n}(0) == 0
    assert price_{n}({n} + 9) == ({n} + 9) * 10
    assert price_{n}({n} + 10) == ({n} + 10) * 9 + {n}
    with raises(ValueError):
        price_{n}(-1)
"""),
    ("again", "rejected", "duplicate", """
    '''The same.'''
    assert price_{n}(0) == 0
    assert price_{n}({n} + 9) == ({n} + 9) * 10
    assert price_{n}({n} + 10) == ({n} + 10) * 9 + {n}
    with raises(ValueError):
        price_{n}(-1)  # negative
"""),
    ("wrong", "rejected", "passes", "\n    assert price_{n}(1) == 9\n"),
    ("noop", "rejected", "asserts", "\n    assert price_{n}(1) == 9 or True\n"),
    ("none", "rejected", "runs", "\n    price_{n}(1)\n"),
    ("self", "rejected", "asserts", "\n    result = price_{n}(1)\n    assert result == result\n"),
    ("weak", "rejected", "kills", """
    assert price_{n}(5) is not None
    assert price_{n}({n} + 50) is not None
"""),
    ("flaky", "rejected", "repeatable", "\n    assert price_{n}(1) == 10 and random.random() < 0.995\n"),
)
HEAD = """import random
from contextlib import contextmanager
from prices import price_{n}


@contextmanager
def raises(kind):
    try:
        yield
    except kind:
        return
    raise AssertionError("not raised")


def test_{kind}_{n}():"""


def make(functions):
    with open("prices.py", "w", encoding="utf-8") as file:
        file.write("\n".join(FUNCTION.format(n=n) for n in range(functions)))
    tests = [(f"{kind}-{n}", verdict, stage, (HEAD + body).replace("{n}", str(n)).replace("{kind}", kind))
             for n in range(functions) for kind, verdict, stage, body in KINDS]
    os.mkdir("tests")
    for name, _, _, source in tests:
        with open(f"tests/test_{name.replace('-', '_')}.py", "w", encoding="utf-8") as file:
            file.write(source)
    return tests


def below(pid):
    found = [pid]
    for one in found:
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children", encoding="ascii") as file:
                    found += map(int, file.read().split())
        except OSError:
            pass
    return found


def memory(pid):
    total = 0
    for one in below(pid):
        try:
            with open(f"/proc/{one}/smaps_rollup", encoding="ascii") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except OSError:
            pass
    return total / 1024


def vet(tests, workers, python, watch):
    lines = "".join(json.dumps({"test": name, "source": source}) + "\n" for name, _, _, source in tests)
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([EXITPATH, "vet", "--json", "--quiet", "--target", "prices.py", "--workers", str(workers),
                                "--python", python], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    peak, over = [0.0], threading.Event()

    def look():
        while watch and not over.wait(0.25):
            peak[0] = max(peak[0], memory(process.pid))

    watcher = threading.Thread(target=look)
    watcher.start()
    out, _ = process.communicate(lines)
    over.set()
    watcher.join()
    took, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [json.loads(line) for line in out.splitlines()], took, cpu, peak[0]


def check(tests, results):
    wrong = 0
    for (name, verdict, stage, _), result in zip(tests, results):
        got = result["reasons"][0]["stage"] if result["reasons"] else None
        if (result["test"], result["verdict"], got) != (name, verdict, stage):
            wrong += 1
            print(f"bench: {name} should be {verdict} {stage}: {json.dumps(result)}", file=sys.stderr)
    if wrong or len(results) != len(tests):
        sys.exit(f"bench: {wrong} wrong verdicts, {len(results)} of {len(tests)} results")


def one_pytest(count, python):
    start = time.monotonic()
    done = subprocess.run([python, "-m", "pytest", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "tests"],
                          stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, "PYTHONPATH": "."})
    took = time.monotonic() - start
    if " passed" not in done.stdout:
        sys.exit(f"bench: pytest: {done.stdout[-500:]}")
    return count / took


def bench(exitpath, row, functions=125, workers=2, python="/usr/bin/python3"):
    global EXITPATH
    EXITPATH = os.path.abspath(exitpath)
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        os.mkdir(".git")  # the project is this directory
        tests = make(functions)
        peer = one_pytest(len(tests), python)
        results, took, cpu, _ = vet(tests, workers, python, False)
        check(tests, results)
        executed = sum(result["executions"] for result in results)
        few = tests[:max(len(tests) // 4, 8)]
        results, _, _, peak = vet(few, 8, python, True)
        check(few, results)
        os.chdir(before)
    row(f"{len(tests)} generated tests judged, all verdicts right", f"{len(tests) / took:.0f}/s", "none")
    row(f"executed tests, {executed} in all, each in a process", f"{executed / took:.0f}/s", f">= {GOAL}/s on 2 cores")
    row("the same by CPU time: of two processors that do nothing else", f"{2 * executed / cpu:.0f}/s", f">= {GOAL}/s on 2 cores")
    row("python3 -m pytest on the same files, one process, executes them once", f"{peer:.0f}/s", "none")
    row("peak memory of all processes, 8 workers", f"{peak:.0f} MiB", f"<= {GOAL_MIB} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", type=int, default=125, help="an eighth of the tests")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--python", default="/usr/bin/python3")
    args = parser.parse_args()
    print(f"{args.functions} functions, {args.workers} workers, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    bench(EXITPATH, lambda what, value, goal: print(f"{what:<72} {value:>9}   goal {goal}", flush=True), args.functions,
          args.workers, args.python)


if __name__ == "__main__":
    main()
