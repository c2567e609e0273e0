#!/usr/bin/env python3
"""mutate_c.py [SAMPLE]: `exitpath mutate` on C beside building and running each mutant by itself.

For each project: all mutants by exitpath, then a random sample of them (200, seeded) the naive
way: the text changed in a copy, built by the same command, tests run. Verdicts must agree; a
mutant that no test reaches must survive. Prints mutants per second, and the ratio. Exit 1 on a
disagreement.

EXITPATH  the binary under test, build/exitpath by default
MIRROR    a folder of local clones, in place of https://github.com
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXITPATH = os.path.realpath(os.environ.get("EXITPATH") or os.path.join(HERE, "../../build/exitpath"))
PROJECTS = [
    ("codeplea/tinyexpr", "tinyexpr.c", "gcc -O1 -o t smoke.c tinyexpr.c -lm", ["./t"]),
    ("zserge/jsmn", "jsmn.h", "gcc -O1 -o t test/tests.c", ["./t"]),
]


def source_of(name):
    mirror = os.environ.get("MIRROR")
    for path in (name, name.replace("/", "+") + "/repo", name.split("/")[1], name.split("/")[1] + ".git"):
        if mirror and os.path.exists(os.path.join(mirror, path)):
            return os.path.join(mirror, path)
    return "https://github.com/" + name


def naive(tree, mutant, setup, tests, limit):
    """The verdict of one mutant, in a tree of its own."""
    path = os.path.join(tree, mutant["file"])
    with open(path, "rb") as f:
        text = f.read()
    after = "(%s)" % mutant["after"] if mutant["after"] else ";"
    with open(path, "wb") as f:
        f.write(text[:mutant["start"]] + after.encode() + text[mutant["end"]:])
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        if subprocess.run(setup, shell=True, cwd=tree, **quiet).returncode:
            return "invalid"
        status = subprocess.run(tests, cwd=tree, timeout=limit, **quiet).returncode
        return "killed" if status else "survived"
    except subprocess.TimeoutExpired:
        return "undecided"
    finally:
        with open(path, "wb") as f:
            f.write(text)


def compare(name, target, setup, tests, sample):
    with tempfile.TemporaryDirectory() as tmp:
        tree = os.path.join(tmp, "tree")
        subprocess.run(["git", "clone", "-q", source_of(name), tree], check=True)
        store = os.path.join(tmp, "store")
        started = time.monotonic()
        r = subprocess.run([EXITPATH, "mutate", "--store", store, "--json", "--target", target,
                            "--setup", setup, "--"] + tests, cwd=tree, stdout=subprocess.PIPE)
        ours = time.monotonic() - started
        if r.returncode:
            sys.exit("exitpath mutate ends with %d" % r.returncode)
        report = json.loads(r.stdout)
        mutants = report["mutants"]
        chosen = random.Random(1).sample(mutants, min(sample, len(mutants)))
        wrong = 0
        started = time.monotonic()
        for mutant in chosen:
            theirs = naive(tree, mutant, setup, tests, 1)
            expected = "survived" if mutant["verdict"] == "unreached" else mutant["verdict"]
            if theirs != expected:
                wrong += 1
                print("  %s:%d %s: %r → %r: exitpath %s, by itself %s" % (
                    mutant["file"], mutant["line"], mutant["operator"], mutant["before"],
                    mutant["after"], mutant["verdict"], theirs))
        each = (time.monotonic() - started) / len(chosen)
    ratio = each * len(mutants) / ours
    counts = ", ".join("%d %s" % (n, what) for what, n in report["counts"].items())
    print("%s: %d mutants: %s" % (name, len(mutants), counts))
    print("  exitpath: %.1f s, %.0f mutants/s (%d builds, the forking run %.1f s, %d runs besides)" % (
        ours, len(mutants) / ours, report["builds"], report["fork_us"] / 1e6, report["runs"]))
    print("  one build each: %.2f mutants/s, on a sample of %d; exitpath is %.0f times as fast" % (
        1 / each, len(chosen), ratio))
    print("  verdicts: %d of %d agree" % (len(chosen) - wrong, len(chosen)))
    return wrong, ratio


def bench(row, sample=40):
    """Rows of `make bench`."""
    if not os.environ.get("MIRROR"):
        print("  mutants of C: set MIRROR, a folder of local clones")
        return
    for project in PROJECTS:
        wrong, ratio = compare(*project, sample)
        row("mutants of %s per second against a build for each%s" % (
            project[0].split("/")[1], "; VERDICTS DIFFER" if wrong else ""), "%.0fx" % ratio, ">= 10x")


def main():
    sample = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    if not shutil.which("gcc"):
        sys.exit("no gcc")
    wrong = sum([compare(*p, sample)[0] for p in PROJECTS])
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
