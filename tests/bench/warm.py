#!/usr/bin/env python3
"""Small Python tests: from an interpreter that is ready, against python3 for each, against one pytest for all.

tests/bench/warm.py [--tests N] [--workers N] [--python PATH]    EXITPATH names another binary

Each test is a file of its own, with one function to test and one assert; PATH must have pytest. Tests per
second, and CPU time for each, in turns in one run. What is slow is measured with fewer tests.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXITPATH = os.environ.get("EXITPATH", f"{os.path.dirname(os.path.dirname(HERE))}/build/exitpath")
GOAL = 313  # tests/s on 2 cores, DESIGN 11

TEST = """
def add(a, b):
    return a + b


def test_{n}():
    assert add({n}, 1) == {n} + 1
"""


def write_tests(count):
    for n in range(count):
        with open(f"test_{n}.py", "w", encoding="utf-8") as file:
            file.write(TEST.format(n=n))
        with open(f"direct_{n}.py", "w", encoding="utf-8") as file:
            file.write(TEST.format(n=n) + f"\n\ntest_{n}()\n")


def measure(what, count, command, text=None):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=False)
    took = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"bench: {what} ended with {done.returncode}\n{done.stdout[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return count / took, cpu / count * 1000, done.stdout


def batch(what, words, count, python, workers, *flags):
    lines = "".join(json.dumps({"cmd": [python, *words(n)]}) + "\n" for n in range(count))
    rate, cpu, out = measure(what, count, [EXITPATH, "run", "--batch", "-", "--workers", str(workers), *flags], lines)
    results = [json.loads(line) for line in out.splitlines()]
    failed = [r for r in results if r["verdict"] != "exit" or r["exit"]]
    if failed or len(results) != count:
        sys.exit(f"bench: {what}: {len(results)} results, {failed[:1]}")
    return rate, cpu


def each(words, count, python, workers):
    """A python3 for each test, without a sandbox: xargs runs as many at the same time."""
    names = "".join("\0".join(words(n)) + "\0" for n in range(count))
    rate, cpu, _ = measure("python3 for each", count, ["xargs", "-0", "-n", str(len(words(0))), "-P", str(workers), python],
                           names)
    return rate, cpu


def direct(n):
    return [f"direct_{n}.py"]


def pytest(n):
    return ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"test_{n}.py"]


def show(what, figures, against=None):
    ratio = f"{figures[0] / against[0]:6.1f}x" if against else ""
    print(f"{what:<58} {figures[0]:7.1f}/s {figures[1]:7.2f} ms CPU {ratio}", flush=True)


def compare(count, workers, python):
    """Returns the tests per second of --warm, for direct functions and for pytest."""
    few, rest = max(count // 10, 2), (python, workers)
    plain = each(direct, few, *rest)
    show("direct: python3 for each, not sandboxed", plain)
    show("direct: exitpath run --batch", batch("cold", direct, few, *rest), plain)
    functions = batch("warm", direct, count, *rest, "--warm", "python")
    show("direct: exitpath run --batch --warm python", functions, plain)
    plain = each(pytest, few // 2, *rest)
    show("pytest: python3 -m pytest for each, not sandboxed", plain)
    show("pytest: exitpath run --batch", batch("cold", pytest, few // 2, *rest), plain)
    runner = batch("warm", pytest, count // 5, *rest, "--warm", "python")
    show("pytest: exitpath run --batch --warm python", runner, plain)
    one = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"test_{n}.py" for n in range(count))]
    show("pytest: one process for all, nothing isolated", measure("one pytest", count, one)[:2], plain)
    return functions[0], runner[0], plain[0]


def bench(exitpath, row, count=1000, workers=2, python="/usr/bin/python3"):
    global EXITPATH
    EXITPATH = os.path.abspath(exitpath)
    if subprocess.run([python, "-c", "import pytest"], stderr=subprocess.DEVNULL, check=False).returncode:
        print(f"warm interpreters: no pytest for {python}")
        return
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        os.mkdir(".git")  # the project is this directory
        write_tests(count)
        functions, runner, plain = compare(count, workers, python)
        os.chdir(before)
    row("Python tests from an interpreter that is ready, functions", f"{functions:.0f}/s", f">= {GOAL}/s on 2 cores")
    row("python3 -m pytest, from such an interpreter against a new one", f"{runner / plain:.1f}x", "none")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--python", default="/usr/bin/python3")
    args = parser.parse_args()
    print(f"{args.tests} tests, {args.workers} workers, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    bench(EXITPATH, lambda what, value, goal: print(f"{what:<62} {value:>9}   goal {goal}"), args.tests, args.workers,
          args.python)


if __name__ == "__main__":
    main()
