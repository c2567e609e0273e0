#!/usr/bin/env python3
"""check.py EXITPATH FOLDER: are the tests of a folder judged as it says?

FOLDER has right/ and buggy/, with the same modules, and tests.txt: before each test a line
`=== NAME VERDICT [STAGE]`, the stage being that of the first reason. A repository is made in the working
directory, with the bug committed and the right code in the working tree. Prints what is wrong.
"""
import json
import os
import re
import shutil
import subprocess
import sys

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


def main():
    exitpath, folder = (os.path.abspath(path) for path in sys.argv[1:3])
    tests = read_tests(f"{folder}/tests.txt")
    make_repository(folder)
    lines = "".join(json.dumps({"test": name, "source": source}) + "\n" for name, _, _, source in tests)
    targets = ",".join(sorted(os.listdir(f"{folder}/right")))
    done = subprocess.run([exitpath, "vet", "--json", "--buggy", "HEAD", "--target", targets, *sys.argv[3:]], input=lines,
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
    print(f"{len(tests) - wrong} of {len(tests)} right")
    sys.exit(1 if wrong else 0)


main()
