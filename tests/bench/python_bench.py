"""The Python adapter over bare pytest: what a cycle costs, beside the same tests in pytest's own loop."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SUITE = """
import socket
import sqlite3

import pytest


@pytest.mark.parametrize("n", range(80))
def test_case(n):
    for _ in range(20):
        with open(__file__) as f:
            words = [line.split() for line in f]
        a, b = socket.socketpair()
        a.close(), b.close()
        db = sqlite3.connect(":memory:")
        db.execute("create table t(x)")
        db.close()
    assert words
"""
MORE = 4  # cycles, and copies of the suite


def seconds(command, directory, env):
    """Of processor time: one pass is short beside what else runs on a machine."""
    process = subprocess.Popen(command, cwd=directory, env=env, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"bench: {command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def watched_env(directory, cycles):
    reports = tempfile.mkdtemp(dir=directory)
    settings = {"dir": reports, "token": "T", "root": directory, "mode": "tests", "warmup": 1, "cycles": cycles}
    return dict(os.environ, EXITPATH_PYTHON=json.dumps(settings), PYTHONPATH=f"{ROOT}/adapters/python",
                TMPDIR=directory)


def measure(runs):
    """Medians of seconds for a pass more of (bare pytest, the adapter), in turns."""
    with tempfile.TemporaryDirectory() as directory:
        for i in range(1 + MORE):
            with open(f"{directory}/test_{i}.py", "w", encoding="utf-8") as file:
                file.write(SUITE)
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        one, all_ = ["test_0.py"], [f"test_{i}.py" for i in range(1 + MORE)]
        bare, watched = [], []
        for _ in range(runs):
            env = dict(os.environ)
            bare.append((seconds(pytest + all_, directory, env) - seconds(pytest + one, directory, env)) / MORE)
            long, short = (seconds(pytest + one, directory, watched_env(directory, n)) for n in (1 + MORE, 1))
            watched.append((long - short) / MORE)
        return statistics.median(bare), statistics.median(watched)


def bench(runs, row):
    if subprocess.run([sys.executable, "-c", "import pytest"], stderr=subprocess.DEVNULL, check=False).returncode:
        return
    bare, watched = measure(runs)
    row("python adapter against bare pytest, CPU time of a cycle of handles", f"{watched / bare:.2f}x", "none")
