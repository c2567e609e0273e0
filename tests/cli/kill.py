#!/usr/bin/env python3
"""Kills `exitpath leak` with SIGKILL at N random moments of a run; afterwards every run that was seen
to finish must be in the store, the chain must verify, and nothing of any run may be left.

kill.py EXITPATH REPOSITORY N
"""
import json
import os
import random
import signal
import subprocess
import sys
import time

exitpath, repository, kills = sys.argv[1], sys.argv[2], int(sys.argv[3])
command = [exitpath, "leak", "--contract", "/dev/null", "--base", "base", "--candidate", "candidate",
           "--detector", "ledger", "--warmup", "0", "--cycles", "2", "--quiet", "--json", "--", "sh", "-c",
           "sleep 0.0123 & wait; exit 0"]


def run():
    return subprocess.Popen(command, cwd=repository, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True)


def evidence(verb, *more):
    return subprocess.run([exitpath, "evidence", verb, *more], cwd=repository, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def timed_run():
    start = time.monotonic()
    run_id = json.loads(run().communicate()[0])["run_id"]
    return run_id, time.monotonic() - start


# The first run makes the checkouts; those after it show how long a run takes.
warm = [timed_run() for _ in range(4)]
finished = {run_id for run_id, _ in warm}
length = min(seconds for _, seconds in warm)
seed = int(os.environ.get("KILL_SEED", random.randrange(1 << 30)))
random.seed(seed)
killed = 0
while killed < kills:
    process = run()
    try:
        process.wait(random.uniform(0, length * 1.05))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        killed += 1
    output = process.communicate()[0]
    if process.returncode == 0:
        finished.add(json.loads(output)["run_id"])

rows = json.loads(evidence("list", "--json", "--limit", "0").stdout)
recorded = {row["run_id"] for row in rows if row["state"] == "finished"}
problems = []
if not finished <= recorded:
    problems.append(f"lost records: {sorted(finished - recorded)}")
verified = evidence("verify")
if verified.returncode != 0:
    problems.append(f"verify: {verified.stdout}")
if any(row["state"] == "running" for row in rows):
    problems.append("a killed run is still said to be running")
time.sleep(0.3)
left = subprocess.run(["pgrep", "-f", "sleep 0.0123"], text=True, check=False, stdout=subprocess.PIPE).stdout
if left:
    problems.append(f"processes left: {left.split()}")
last = run()
output = last.communicate()[0]
if last.returncode != 0:
    problems.append(f"a run after the kills ends with {last.returncode}: {output}")
scratch = f"{os.environ.get('TMPDIR', '/tmp')}/exitpath-{os.getuid()}"
if os.path.isdir(scratch) and os.listdir(scratch):
    problems.append(f"scratch left: {os.listdir(scratch)}")
worktrees = subprocess.run(["git", "worktree", "list"], cwd=repository, text=True, check=True,
                           stdout=subprocess.PIPE).stdout.count("\n")
if worktrees != 1:
    problems.append(f"{worktrees} worktrees")
print(f"{killed} kills, {len(recorded)} finished records, seed {seed}")
print("\n".join(problems))
sys.exit(1 if problems else 0)
