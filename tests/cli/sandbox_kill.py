#!/usr/bin/env python3
"""Kills, with SIGKILL and at N random moments, one of the processes of `exitpath run --batch`: exitpath itself, a
supervisor, a zygote, an init, a command. When it was exitpath, all of it must be gone; else it goes on, says so
of the run concerned, and ends cleanly.

sandbox_kill.py EXITPATH N
"""
import json
import os
import random
import sys
import time

from hostile_stage import Stage

SHELL = "sleep 30 & (setsid sleep 30 &) ; sleep 0.05; exit 0"
RUNS = 30


def role_of(stage, pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return "exitpath" if file.read().startswith(stage.exitpath.encode()) else "command"


def one(stage, rng):
    """Returns what was killed and what was wrong."""
    read, write = os.pipe()
    for _ in range(RUNS):
        os.write(write, (json.dumps({"cmd": ["sh", "-c", SHELL]}) + "\n").encode())
    os.close(write)
    process = stage.start([stage.exitpath, "run", "--batch", "-", "--wall", "5s"], stdin=read, stdout=-1)
    os.close(read)
    time.sleep(rng.uniform(0.02, 0.6))
    problems, victims = [], stage.processes()
    victim = rng.choice(victims) if victims else process.pid
    if rng.random() < 0.4:
        victim = process.pid
    try:
        killed = "main" if victim == process.pid else role_of(stage, victim)
        os.kill(victim, 9)
    except (ProcessLookupError, FileNotFoundError):
        killed = "nothing"
    try:
        lines = process.communicate(timeout=60)[0].decode().splitlines()
    except Exception as error:  # TimeoutExpired: it hangs
        problems.append(f"exitpath hangs after a kill of {killed}: {error}")
        process.kill()
        lines = process.communicate()[0].decode().splitlines()
    left, _ = stage.wait_gone()
    problems += [f"left process {pid} after a kill of {killed}" for pid in left]
    problems += [f"left {name} after a kill of {killed}" for name in stage.others()]
    if killed != "main":
        verdicts = [json.loads(line)["verdict"] for line in lines]
        if len(verdicts) != RUNS:
            problems.append(f"{len(verdicts)} results of {RUNS} after a kill of {killed}")
        if sum(verdict != "exit" for verdict in verdicts) > 1:
            problems.append(f"a kill of {killed} spoils more than one run: {verdicts}")
    return killed, problems


def main():
    exitpath, kills = sys.argv[1], int(sys.argv[2])
    seed = int(os.environ.get("KILL_SEED", random.randrange(1 << 30)))
    rng, counts, problems = random.Random(seed), {}, []
    with Stage(exitpath, [], os.getuid()) as stage:
        for _ in range(kills):
            killed, wrong = one(stage, rng)
            counts[killed] = counts.get(killed, 0) + 1
            problems += wrong
            stage.kill_marked()
    print(f"{counts}, seed {seed}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
