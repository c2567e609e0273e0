#!/usr/bin/env python3
"""c_peer.py INSTRUMENT SOURCES COMMAND: branches by our probes, by gcov and by llvm-cov.

COMMAND is a line of shell that builds with $CC the program ./t and runs it. It runs three times in
copies of the working directory, with our probes in SOURCES, and with what each peer needs.
Compared with gcov are lines on which both have the same number of outcomes (it gives no columns),
by how many were taken; with llvm-cov each condition and case of the same place. Exit 1 when one
differs.
"""
import collections
import glob
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile


def sh(command, cwd, **env):
    r = subprocess.run(["sh", "-c", command], cwd=cwd, env=dict(os.environ, **env), timeout=600,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return r.returncode, r.stdout.decode("utf-8", "replace")


def copy(tmp, name):
    to = os.path.join(tmp, name)
    shutil.copytree(".", to, symlinks=True)
    return to


def by_probes(tmp, instrument, sources, command):
    tree = copy(tmp, "ours")
    # By absolute paths, since #include finds headers anywhere.
    r = subprocess.run([instrument, os.path.join(tmp, "map")] + sources, cwd=tree, check=True,
                       stdout=subprocess.PIPE, text=True)
    status, said = sh(command, tree, CC="gcc -O0")
    with open(os.path.join(tmp, "map"), "rb") as f:
        hits = f.read()
    rows = [json.loads(line) for line in r.stdout.splitlines()]
    for row in rows:
        row["taken"] = [hits[row["first"] + i] for i in range(row["outcomes"])]
    return status, said, rows


def by_gcov(tmp, sources, command):
    tree = copy(tmp, "gcov")
    status, _ = sh(command, tree, CC="gcc --coverage -O0")
    lines = collections.defaultdict(list)
    for data in glob.glob(tree + "/**/*.gcda", recursive=True):
        sh("gcov --json-format --branch-probabilities '%s'" % data, os.path.dirname(data))
    for path in glob.glob(tree + "/**/*.gcov.json.gz", recursive=True):
        with gzip.open(path) as f:
            report = json.load(f)
        where = report["current_working_directory"]
        for file in report["files"]:
            name = os.path.relpath(os.path.realpath(os.path.join(where, file["file"])), tree)
            for line in file["lines"]:
                if name in sources and line["branches"]:
                    lines[name, line["line_number"]].append(line["branches"])
    return status, lines


def by_llvm(tmp, sources, command):
    tree = copy(tmp, "llvm")
    profile = os.path.join(tmp, "llvm.profraw")
    status, _ = sh(command, tree, LLVM_PROFILE_FILE=profile,
                   CC="clang -O0 -fprofile-instr-generate -fcoverage-mapping")
    _, said = sh("llvm-profdata merge -o '%s.data' '%s' && llvm-cov export -instr-profile '%s.data'"
                 " ./t" % (profile, profile, profile), tree)
    regions = {}
    for file in json.loads(said)["data"][0]["files"]:
        name = os.path.relpath(os.path.realpath(file["filename"]), tree)
        if name in sources:
            for r in file.get("branches", ()):
                regions[name, r[0], r[1], r[2], r[3]] = r[4], r[5]
    return status, regions


class Text:
    """Of a file, by line and column: where a region begins without its parentheses."""

    def __init__(self, path):
        with open(path, encoding="utf-8", errors="replace") as f:
            self.lines = f.read().split("\n")

    def bare(self, region):
        a, b, c, d = region
        while True:
            text = "\n".join(self.lines[a - 1:c]) if c > a else self.lines[a - 1]
            end = len(text) - (len(self.lines[c - 1]) - (d - 1))
            text = text[b - 1:end]
            inner = text[1:-1]
            if not (text.startswith("(") and text.endswith(")")) or a != c or not balanced(inner):
                return a, b, c, d
            b += 1 + len(inner) - len(inner.lstrip())
            d -= 1 + len(inner) - len(inner.rstrip())


def balanced(text):
    depth = 0
    for c in text:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if depth < 0:
            return False
    return depth == 0


class Comparison:
    def __init__(self):
        self.alike, self.other, self.unlike = collections.Counter(), 0, collections.Counter()

    def tell(self, peer, where, ours, theirs):
        if ours == theirs:
            self.alike[peer] += len(ours) if isinstance(ours, tuple) else 1
        else:
            self.other += 1
            print("%s: %s: ours %s, %s %s" % (where[0], where[1], ours, peer, theirs))

    def gcov(self, rows, lines):
        ours = collections.defaultdict(list)
        for row in rows:
            ours[row["file"], row["at"][0]] += row["taken"]
        for key, branches in sorted(lines.items()):
            mine = ours.get(key, [])
            if len(branches) > 1:
                self.unlike["gcov: a line of several functions or programs"] += 1
            elif len(branches[0]) != len(mine):
                self.unlike["gcov: another number of outcomes on the line"] += 1
            else:
                taken = sum(b["count"] > 0 for b in branches[0])
                # As many outcomes as arcs, and as many of them taken.
                self.tell("gcov", key, (sum(mine),) * len(mine), (taken,) * len(mine))

    def llvm(self, rows, regions):
        texts = {}
        bare = {}
        for (file, *region), counts in regions.items():
            text = texts.setdefault(file, Text(file))
            bare[(file,) + text.bare(region)] = tuple(int(c > 0) for c in counts)
        starts = {key[:3]: counts for key, counts in bare.items()}
        for row in rows:
            if row["kind"] == "switch":
                for place, taken in zip(row["labels"], row["taken"]):
                    key = (row["file"], *place)
                    if key in starts:
                        self.tell("llvm-cov", key, (taken,), starts[key][:1])
                    else:
                        self.unlike["llvm-cov: no region at the label"] += 1
                continue
            key = (row["file"], *row["at"], *row["to"])
            if key not in bare:
                self.unlike["llvm-cov: no region at the condition"] += 1
            else:
                self.tell("llvm-cov", key, tuple(row["taken"]), bare[key])


def main():
    instrument, sources, command = os.path.realpath(sys.argv[1]), sys.argv[2].split(), sys.argv[3]
    with tempfile.TemporaryDirectory() as tmp:
        tmp = os.path.realpath(tmp)
        status, said, rows = by_probes(tmp, instrument, sources, command)
        gstatus, lines = by_gcov(tmp, sources, command)
        lstatus, regions = by_llvm(tmp, sources, command)
    print("the tests end with %d, under gcov with %d, under llvm-cov with %d" % (
        status, gstatus, lstatus))
    if status:
        print(said[-2000:])
    c = Comparison()
    c.gcov(rows, lines)
    c.llvm(rows, regions)
    print("%d decisions, %d of %d outcomes taken" % (
        len(rows), sum(sum(r["taken"]) for r in rows), sum(r["outcomes"] for r in rows)))
    for why, n in c.unlike.most_common():
        print("  not alike: %4d  %s" % (n, why))
    print("%s outcomes compared, %d otherwise" % (
        ", ".join("%s %d" % i for i in sorted(c.alike.items())), c.other))
    sys.exit(1 if c.other or len(c.alike) < 2 or status != gstatus or status != lstatus else 0)


if __name__ == "__main__":
    main()
