#!/usr/bin/env python3
"""Runs `true` N times through one `exitpath run --batch -` and compares exitpath, its supervisors and its zygotes
at N/10 runs with the end: peak memory, open descriptors, mounts, processes. Nothing may grow, nothing be left.

many_runs.py EXITPATH N    (10000 by hand; the suite takes fewer)
"""
import json
import os
import sys
import time

from hostile_stage import Stage, read_file

ALLOWED_KIB = 256  # an allocator may round up once more


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        found += read_file(f"/proc/{pid}/task/{task}/children").decode().split()
    return [int(child) for child in found]


def tree(pid):
    """pid, its supervisors and their zygotes; the runs themselves come and go."""
    found = {pid: "exitpath"}
    for child in children(pid):
        found[child] = "supervisor"
        for grandchild in children(child):
            # A zygote is as old as its supervisor; an init is the first of its pid namespace.
            status = read_file(f"/proc/{grandchild}/status").decode()
            if "NSpid:" in status and status.split("NSpid:")[1].split("\n")[0].split()[-1] != "1":
                found[grandchild] = "zygote"
    return found


def measure(pid):
    """By pid: role, VmHWM in KiB, descriptors, mounts. What vanishes meanwhile is left out."""
    found = {}
    for one, role in tree(pid).items():
        try:
            status = read_file(f"/proc/{one}/status").decode()
            peak = int(status.split("VmHWM:")[1].split()[0])
            found[one] = (role, peak, len(os.listdir(f"/proc/{one}/fd")),
                          read_file(f"/proc/{one}/mountinfo").count(b"\n"))
        except (OSError, IndexError):
            pass
    return found


def feed(process, runs, problems):
    """Has exitpath run `true` that often, and reads all results: then it is idle."""
    pending, lines = (json.dumps({"cmd": ["true"]}) + "\n").encode() * runs, 0
    while lines < runs:
        try:
            pending = pending[os.write(process.stdin.fileno(), pending[:4096]):] if pending else b""
        except BlockingIOError:
            pass  # it reads no further while its queue is full
        line = process.stdout.readline()
        if not line:
            problems.append(f"{lines} results of {runs}")
            return
        record = json.loads(line)
        if record["verdict"] != "exit" or record["exit"] != 0:
            problems.append(f"{line.decode().strip()}")
        lines += 1


def compare(early, late):
    problems = []
    for pid in early.keys() | late.keys():
        if pid not in early or pid not in late:
            problems.append(f"process {pid}: {early.get(pid)} became {late.get(pid)}")
            continue
        role, *was = early[pid]
        _, *now = late[pid]
        if not os.environ.get("SANITIZED") and now[0] > was[0] + ALLOWED_KIB:
            problems.append(f"{role} grew from {was[0]} to {now[0]} KiB")
        if now[1] != was[1]:
            problems.append(f"{role}: {was[1]} descriptors became {now[1]}")
        # exitpath and its supervisors see the machine's mounts, which others change.
        if role == "zygote" and now[2] != was[2]:
            problems.append(f"{role}: {was[2]} mounts became {now[2]}")
    if {role for role, *_ in early.values()} != {"exitpath", "supervisor", "zygote"}:
        problems.append(f"the processes were not seen: {early}")
    return problems


def main():
    exitpath, runs = sys.argv[1], int(sys.argv[2])
    problems, rates = [], []
    with Stage(exitpath, [], os.getuid()) as stage:
        process = stage.start([stage.exitpath, "run", "--batch", "-"], stdin=-1, stdout=-1)
        os.set_blocking(process.stdin.fileno(), False)
        seen = []
        for part in (runs // 10, runs - runs // 10):
            start = time.monotonic()
            feed(process, part, problems)
            rates.append(part / (time.monotonic() - start))
            seen.append(measure(process.pid))
        process.stdin.close()
        if process.wait(30) != 0:
            problems.append(f"exit status {process.returncode}")
        process.stdout.close()
        left, _ = stage.wait_gone()
        problems += [f"left process {pid}" for pid in left] + [f"left {name}" for name in stage.others()]
    problems += compare(*seen)
    peaks = sorted((role, peak) for role, peak, *_ in seen[1].values())
    print(f"{runs} runs, {rates[1]:.0f} a second; peak KiB: {peaks}")
    print("\n".join(problems[:20]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
