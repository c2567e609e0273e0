#!/usr/bin/env python3
"""python_peer.py ADAPTER PACKAGE TESTS [PYTEST-OPTION…]: a package's branches, by our probes and by coverage.py.

Runs the tests twice with pytest in the directory of the project, and compares the decisions
that both define alike; prints how many there were, how many not alike and why, and each
that is told otherwise. Exit 1 when there is one.
"""
import ast
import collections
import json
import os
import subprocess
import sys
import tempfile

PLUGIN = """
import json, os, sys
sys.path.insert(0, {adapter!r})
from exitpath_branches import Branches
sys.path.remove({adapter!r})
branches = Branches(lambda path: os.path.realpath(path).startswith({package!r}))
branches.install()

def pytest_unconfigure(config):
    with open({out!r}, "w") as f:
        json.dump({{"taken": branches.taken(), "failed": branches.failed, "files": {{
            p: [d.row() for d in rows] for p, rows in branches.files.items()}}}}, f)
"""


def run(argv, **more):
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **more)
    r = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, timeout=900)
    return r.stdout.strip().splitlines()[-1] if r.stdout.strip() else "", r


def by_probes(adapter, package, tests, tmp):
    out = os.path.join(tmp, "ours.json")
    with open(os.path.join(tmp, "exitpath_probe.py"), "w") as f:
        f.write(PLUGIN.format(adapter=adapter, package=package, out=out))
    path = os.pathsep.join(filter(None, (tmp, os.environ.get("PYTHONPATH"))))
    last, r = run([sys.executable, "-m", "pytest", "-q", "-p", "exitpath_probe", "-p",
                   "no:cacheprovider"] + tests, PYTHONPATH=path)
    if not os.path.exists(out):
        sys.exit("no report of ours:\n" + r.stdout[-3000:])
    with open(out) as f:
        return last, json.load(f)


def by_coverage(package, tests, tmp):
    data, out = os.path.join(tmp, "data"), os.path.join(tmp, "theirs.json")
    coverage = [sys.executable, "-m", "coverage"]
    last, r = run(coverage + ["run", "--branch", "--rcfile=/dev/null", "--data-file=" + data,
                              "--include=%s,%s/*" % (package, package), "-m", "pytest", "-q", "-p",
                              "no:cacheprovider"] + tests)
    _, s = run(coverage + ["json", "--rcfile=/dev/null", "--data-file=" + data, "-o", out])
    if not os.path.exists(out):
        sys.exit("no report of coverage.py:\n" + r.stdout[-3000:] + s.stdout)
    with open(out) as f:
        files = json.load(f)["files"]
    return last, {os.path.realpath(p): v for p, v in files.items()}


class Comparison:
    def __init__(self):
        self.alike, self.other, self.unlike = 0, 0, collections.Counter()

    def file(self, path, rows, taken, theirs):
        """rows: of our decisions; theirs: one file of coverage's JSON."""
        with open(path, "rb") as f:
            tree = ast.parse(f.read(), path)
        self._path, self._taken = path, taken
        self._at = {(r[2], r[3]): r for r in rows if r[1] not in ("match", "except", "for")}
        self._whole = {(r[1], r[2]): r for r in rows}
        self._arcs = collections.defaultdict(dict)
        for known, arcs in ((True, theirs["executed_branches"]),
                            (False, theirs["missing_branches"])):
            for start, end in arcs:
                self._arcs[start][end] = known
        self._lines = {n: known for known, name in ((True, "executed_lines"),
                       (False, "missing_lines")) for n in theirs[name]}
        self._excluded = set(theirs["excluded_lines"])
        for node in ast.walk(tree):
            look = getattr(self, "_" + type(node).__name__, None)
            if look is not None and node.lineno in self._excluded:
                self.unlike["excluded by a comment"] += 1
            elif look is not None:
                look(node)

    def _truths(self, node):
        """The outcomes of which one makes it true, and those that make it false; None: not
        a decision."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self._truths(node.operand) if self._has_operator(node) else None
            if inner is not None:
                return inner[1], inner[0]
        if isinstance(node, ast.BoolOp):
            parts = [self._truths(v) for v in node.values]
            if None in parts:
                return None
            every = [[n for p in parts for n in p[i]] for i in (0, 1)]
            last = parts[-1]
            return (last[0], every[1]) if isinstance(node.op, ast.And) else (every[0], last[1])
        row = self._at.get((node.lineno, node.col_offset + 1))
        return None if row is None else ([row[0]], [row[0] + 1])

    @staticmethod
    def _has_operator(node):
        while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node = node.operand
        return isinstance(node, ast.BoolOp)

    def _first(self, body):
        node = body[0]
        lines = [d.lineno for d in getattr(node, "decorator_list", ())]
        return min(lines + [node.lineno])

    def _compare(self, node, start, target, yes, no, what):
        """yes, no: whether we say that the branch to the target, and another, was taken."""
        arcs = self._arcs.get(start, {})
        rest = {k: v for k, v in arcs.items() if k != target}
        if target == start:
            self.unlike["on one line"] += 1
        elif target not in arcs or not rest:
            self.unlike["no branch in coverage.py: " + what] += 1
        else:
            self._tell(node, what + " taken", yes, arcs[target])
            if no is not None:
                self._tell(node, what + " not taken", no, any(rest.values()))

    def _tell(self, node, what, ours, theirs):
        if ours == theirs:
            self.alike += 1
        else:
            self.other += 1
            print("%s:%d: %s: ours %s, coverage.py %s" % (
                self._path, node.lineno, what, ours, theirs))

    def _condition(self, node, what):
        truths = self._truths(node.test)
        if truths is None:
            self.unlike["a constant"] += 1
            return
        yes, no = (any(n in self._taken for n in side) for side in truths)
        self._compare(node, node.lineno, self._first(node.body), yes, no, what)

    def _If(self, node):
        self._condition(node, "if")

    def _While(self, node):
        self._condition(node, "while")

    def _For(self, node):
        row = self._whole["for", node.lineno]
        self._compare(node, node.lineno, self._first(node.body), row[0] in self._taken,
                      row[0] + 1 in self._taken, "for")

    _AsyncFor = _For

    def _Match(self, node):
        row = self._whole["match", node.lineno]
        for i, case in enumerate(node.cases):
            self._compare(case.pattern, case.pattern.lineno, self._first(case.body),
                          row[0] + i in self._taken, None, "case")

    def _ExceptHandler(self, node):
        row = self._whole["except", node.lineno]
        first = self._first(node.body)
        if first == node.lineno or first not in self._lines:
            self.unlike["on one line, or no code"] += 1
        else:  # a line that runs: of an except clause alone it has no branch
            self._tell(node, "except entered", row[0] in self._taken, self._lines[first])


def main():
    adapter, package, tests = sys.argv[1], sys.argv[2], sys.argv[3:]
    package = os.path.realpath(package)
    with tempfile.TemporaryDirectory() as tmp:
        last, ours = by_probes(os.path.realpath(adapter), package, tests, tmp)
        other, theirs = by_coverage(package, tests, tmp)
    print("with probes:      " + last)
    print("with coverage.py: " + other)
    for path, why in ours["failed"]:
        print("not transformed: %s: %s" % (path, why))
    c = Comparison()
    taken = set(ours["taken"])
    for path, rows in ours["files"].items():
        if os.path.realpath(path) in theirs:
            c.file(path, rows, taken, theirs[os.path.realpath(path)])
    rows = [r for v in ours["files"].values() for r in v]
    print("%d decisions, %d of %d outcomes taken" % (
        len(rows), len(taken), sum(len(r[6]) for r in rows)))
    for why, n in c.unlike.most_common():
        print("  not alike: %4d  %s" % (n, why))
    print("%d outcomes compared, %d otherwise" % (c.alike + c.other, c.other))
    sys.exit(1 if c.other or not c.alike or ours["failed"] else 0)


if __name__ == "__main__":
    main()
