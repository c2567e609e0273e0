#!/usr/bin/env python3
"""js_peer.py INSTRUMENT SOURCES COMMAND: branches by our probes, and by V8's block coverage.

V8's is what c8 and `node --test` print. COMMAND is a line of shell that runs the tests; it runs
twice in copies of the working directory. Compared is each outcome that has code of its own, by
whether V8 counts that code. Exit 1 when one differs.
"""
import collections
import glob
import json
import os
import subprocess
import sys
import tempfile
import urllib.parse

from c_peer import copy, sh


def by_probes(tmp, instrument, sources, command):
    tree = copy(tmp, "ours")
    r = subprocess.run([instrument, os.path.join(tmp, "map")] + sources, cwd=tree, check=True,
                       stdout=subprocess.PIPE, text=True)
    status, said = sh(command, tree)
    with open(os.path.join(tmp, "map"), "rb") as f:
        hits = f.read()
    rows = [json.loads(line) for line in r.stdout.splitlines()]
    for row in rows:
        row["taken"] = [hits[row["first"] + i] for i in range(row["outcomes"])]
    return status, said, rows


def by_v8(tmp, sources, command):
    """Of each file a list of scripts, each a list of (start, end, count, is known)."""
    tree = copy(tmp, "v8")
    status, _ = sh(command, tree, NODE_V8_COVERAGE=os.path.join(tmp, "v8.json"))
    scripts = collections.defaultdict(list)
    for path in glob.glob(tmp + "/v8.json/*.json"):
        with open(path) as f:
            for script in json.load(f)["result"]:
                name = urllib.parse.unquote(script["url"].replace("file://", ""))
                name = os.path.relpath(os.path.realpath(name), tree)
                if name in sources:
                    scripts[name].append([
                        (r["startOffset"], r["endOffset"], r["count"], f["isBlockCoverage"])
                        for f in script["functions"] for r in f["ranges"]])
    return status, scripts


def count_at(ranges, at):
    """Of the innermost range; None: V8 knows the function as a whole alone."""
    inner = min((r for r in ranges if r[0] <= at < r[1]), key=lambda r: r[1] - r[0], default=None)
    if inner is None or (not inner[3] and inner[2]):
        return None
    return inner[2]


def main():
    instrument, sources, command = os.path.realpath(sys.argv[1]), sys.argv[2].split(), sys.argv[3]
    with tempfile.TemporaryDirectory() as tmp:
        tmp = os.path.realpath(tmp)
        status, said, rows = by_probes(tmp, instrument, sources, command)
        vstatus, scripts = by_v8(tmp, sources, command)
    print("the tests end with %d, with V8's coverage with %d" % (status, vstatus))
    if status != vstatus:
        print(said[-2000:])
    alike = other = 0
    unlike = collections.Counter()
    for row in rows:
        with open(row["file"], "rb") as f:
            text = f.read()
        for at, taken in zip(row["arms"], row["taken"]):
            if at < 0:
                unlike["%s: no code of its own" % row["kind"]] += 1
                continue
            # V8 counts in UTF-16.
            offset = len(text[:at].decode("utf-8").encode("utf-16-le")) // 2
            counts = [count_at(s, offset) for s in scripts[row["file"]]]
            counts = [c for c in counts if c is not None]
            if not counts:
                unlike["no block coverage of it"] += 1
            elif (sum(counts) > 0) == bool(taken):
                alike += 1
            else:
                other += 1
                print("%s:%s: %s: ours %d, V8 %s" % (
                    row["file"], row["at"], row["kind"], taken, counts))
    print("%d decisions, %d of %d outcomes taken" % (
        len(rows), sum(sum(r["taken"]) for r in rows), sum(r["outcomes"] for r in rows)))
    for why, n in unlike.most_common():
        print("  not alike: %4d  %s" % (n, why))
    print("%d outcomes compared, %d otherwise" % (alike + other, other))
    sys.exit(1 if other or not alike or status != vstatus else 0)


if __name__ == "__main__":
    main()
