#!/usr/bin/env python3
"""check.py EXITPATH FOLDER TESTS [OPTION…]: are these tests judged as it says?

FOLDER has right/ and buggy/, with the same modules. In TESTS each test has a line `=== NAME VERDICT [STAGE]` in
front, the stage being that of the first reason; and may have a comment `published: accepts` or `rejects`, which
is what published.py must say. A repository is made in the working directory, with the bug committed and the right
code in the working tree. Prints what is wrong.
"""
import json
import os
import re
import shutil
import subprocess
import sys

PUBLISHED = re.compile(r"^# published: (accepts|rejects)$", re.M)
HEAD = re.compile(r"^=== (\S+) (accepted|rejected)(?: (\S+))?\n", re.M)


def read_tests(path):
    with open(path, encoding="utf-8") as file:
        parts = HEAD.split(file.read())[1:]
    return [(*parts[n:n + 3], parts[n + 3]) for n in range(0, len(parts), 4)]


def make_repository(folder):
    os.mkdir("project")
    shutil.copytree(f"{folder}/buggy", "project", dirs_exist_ok=True)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "buggy"]):
        subprocess.run(["git", "-C", "project", *words], check=True)
    shutil.copytree(f"{folder}/right", "project", dirs_exist_ok=True)


def compare(tests):
    """With the published gate, each in a process: it would not live on."""
    seen = {}
    for name, verdict, _, source in tests:
        said = PUBLISHED.search(source)
        if not said:
            continue
        code = "import os, sys, published; ok = published.accepts(sys.argv[1]); os.write(1, b'yes' if ok else b'no'); os._exit(0)"
        done = subprocess.run([sys.executable, "-c", code, source], stdout=subprocess.PIPE, text=True, cwd="project", check=True,
                              env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.abspath(__file__))})
        accepts = done.stdout == "yes"
        if accepts != (said[1] == "accepts"):
            sys.exit(f"{name}: the published gate should say {said[1]}")
        kind = f"{'true' if accepts == (verdict == 'accepted') else 'false'} {'accepts' if accepts else 'rejects'}"
        seen[kind] = seen.get(kind, 0) + 1
    if seen:
        print("published gate:", ", ".join(f"{count} {kind}" for kind, count in sorted(seen.items())))


def main():
    exitpath, folder, path = (os.path.abspath(path) for path in sys.argv[1:4])
    tests = read_tests(path)
    make_repository(folder)
    lines = "".join(json.dumps({"test": name, "source": source}) + "\n" for name, _, _, source in tests)
    targets = ",".join(sorted(os.listdir(f"{folder}/right")))
    done = subprocess.run([exitpath, "vet", "--json", "--buggy", "HEAD", "--target", targets, *sys.argv[4:]], input=lines,
                          stdout=subprocess.PIPE, text=True, cwd="project", check=False)
    got = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = 0
    for (name, verdict, stage, _), said in zip(tests, got):
        first = said["reasons"][0]["stage"] if said["reasons"] else None
        if said["test"] != name or said["verdict"] != verdict or stage and first != stage:
            wrong += 1
            print(f"{name}: {verdict} {stage or ''}, and it says {json.dumps(said)}")
    if len(got) != len(tests) or done.returncode != 60:
        sys.exit(f"{len(got)} of {len(tests)} verdicts, exit status {done.returncode}")
    compare(tests)
    print(f"{len(tests) - wrong} of {len(tests)} right")
    sys.exit(1 if wrong else 0)


main()
