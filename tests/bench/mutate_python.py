#!/usr/bin/env python3
"""mutate_python.py [SAMPLE [PROJECT]]: `exitpath mutate` on Python beside running each mutant by itself, and mutmut.

All mutants by exitpath, then a random sample of them (200, seeded) the naive way: the changed file
written, pytest run. Verdicts must agree; what no test reaches must survive. Prints mutants per second,
the ratio, and peak memory. Exit 1 on a disagreement.

EXITPATH  the binary under test, build/exitpath by default
MIRROR    a folder of local clones, in place of https://github.com
MUTMUT    mutmut's program; without it, no line of it
"""
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from mutate_c import EXITPATH, source_of

PROJECTS = [("hukkin/tomli", "src", "src/tomli"), ("tkem/cachetools", "src", "src/cachetools")]
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
PYTEST = ["python3", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]


def naive(tree, mutant, env, limit):
    path = os.path.join(tree, mutant["file"])
    with open(path, "rb") as f:
        text = f.read()
    with open(path, "wb") as f:
        f.write(text[:mutant["start"]] + mutant["after"].encode() + text[mutant["end"]:])
    try:
        status = subprocess.run(PYTEST, cwd=tree, env=env, timeout=limit, **QUIET).returncode
        return "killed" if status else "survived"
    except subprocess.TimeoutExpired:
        return "undecided"
    finally:
        with open(path, "wb") as f:
            f.write(text)


def agree(ours, theirs):
    same = {"unreached": "survived", "equivalent": "survived", "invalid": "killed"}
    if theirs == "undecided":  # one test hangs: another that fails may come first, or not at all
        return ours in ("killed", "undecided")
    return same.get(ours, ours) == theirs


def mutmut(tree, source, env):
    """Mutants per second, and how many."""
    program = os.environ.get("MUTMUT")
    if not program:
        return None
    with open(os.path.join(tree, "setup.cfg"), "w") as f:
        f.write("[mutmut]\npaths_to_mutate=%s\nsource_paths=%s\n" % (source, source))
    env = dict(env, PATH=os.path.dirname(program) + ":" + env["PATH"])
    env.pop("PYTHONPATH")
    started = time.monotonic()
    r = subprocess.run([program, "run"], cwd=tree, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seconds = time.monotonic() - started
    done = re.findall(r"(\d+)/(\d+)", r.stdout)
    if not done or int(done[-1][0]) == 0:
        print("  mutmut: ends with %d: %s" % (r.returncode, r.stdout.strip()[-200:]))
        return None
    return int(done[-1][0]), seconds


def compare(name, source, target, sample):
    with tempfile.TemporaryDirectory() as tmp:
        tree = os.path.join(tmp, "tree")
        subprocess.run(["git", "clone", "-q", source_of(name), tree], check=True)
        env = dict(os.environ, PYTHONPATH=source, PYTHONDONTWRITEBYTECODE="1")
        started = time.monotonic()
        r = subprocess.run([EXITPATH, "mutate", "--json", "--target", target, "--"] + PYTEST[:4], cwd=tree, env=env,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ours = time.monotonic() - started
        if r.returncode:
            sys.exit("exitpath mutate ends with %d: %s" % (r.returncode, r.stderr))
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        report = json.loads(r.stdout)
        mutants = report["mutants"]
        started = time.monotonic()
        if subprocess.run(PYTEST, cwd=tree, env=env, **QUIET).returncode:
            sys.exit("%s: its tests fail" % name)
        limit = 10 + 10 * (time.monotonic() - started)
        chosen = random.Random(1).sample(mutants, min(sample, len(mutants)))
        wrong, hung, spent = 0, 0, 0
        for mutant in chosen:
            started = time.monotonic()
            theirs = naive(tree, mutant, env, limit)
            if theirs == "undecided":
                hung += 1  # how long one waits for those is a choice: they count on neither side
            else:
                spent += time.monotonic() - started
            if not agree(mutant["verdict"], theirs):
                wrong += 1
                print("  %s:%d %s: %r → %r: exitpath %s (%s), by itself %s" % (
                    mutant["file"], mutant["line"], mutant["operator"], mutant["before"][:60],
                    mutant["after"][:60], mutant["verdict"], mutant.get("why", ""), theirs))
        each = spent / max(1, len(chosen) - hung)
        print("%s: %d mutants: %s" % (name, len(mutants), ", ".join(
            "%d %s" % (n, what) for what, n in report["counts"].items())))
        print("  exitpath: %.1f s, %.1f mutants/s, largest process %d MB" % (ours, len(mutants) / ours, memory))
        print("  pytest for each: %.2f mutants/s, on a sample of %d; exitpath is %.1f times as fast" % (
            1 / each, len(chosen), each * len(mutants) / ours))
        print("  verdicts: %d of %d agree" % (len(chosen) - wrong, len(chosen)))
        peer = mutmut(tree, target, env)
        if peer:
            print("  mutmut: %d mutants in %.1f s, %.1f mutants/s; exitpath is %.1f times as fast" % (
                *peer, peer[0] / peer[1], len(mutants) / ours / (peer[0] / peer[1])))
    return wrong


def main():
    sample = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    wanted = [p for p in PROJECTS if len(sys.argv) < 3 or sys.argv[2] in p[0]]
    if not shutil.which("python3"):
        sys.exit("no python3")
    sys.exit(1 if sum([compare(*p, sample) for p in wanted]) else 0)


if __name__ == "__main__":
    main()
