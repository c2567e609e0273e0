"""What a sandboxed run costs, against bubblewrap and against no sandbox at all."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

# The isolation of exitpath, as far as bubblewrap has it: no seccomp filter, no Landlock, no limits.
BWRAP = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
         "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--ro-bind-try", "/opt", "/opt",
         "--ro-bind", "/sys", "/sys", "--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin",
         "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc",
         "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp", "--tmpfs", "/dev/shm",
         "--tmpfs", os.environ.get("HOME", "/root")]


def timed(command, cwd, **more):
    start = time.monotonic()
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, **more)
    return time.monotonic() - start


def batch(exitpath, cwd, lines, workers, *flags):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    start = time.monotonic()
    done = subprocess.run([exitpath, "run", "--batch", "-", "--workers", str(workers), *flags], cwd=cwd,
                          input=text, text=True, stdout=subprocess.PIPE, check=True)
    took = time.monotonic() - start
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    if len(verdicts) != len(lines) or any(v["verdict"] != "exit" or v["exit"] for v in verdicts):
        sys.exit(f"bench: a sandboxed run failed: {[v for v in verdicts if v.get('exit') != 0][:1]}")
    return took


def loop(command, n):
    """n runs, one after the other, by a shell that does nothing else."""
    words = " ".join(command)
    return ["sh", "-c", f"i=0; while [ $i -lt {n} ]; do {words} || exit 1; i=$((i + 1)); done"]


def peak_kib(exitpath, cwd, lines):
    """The largest resident set of exitpath's own first process over a long batch."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    process = subprocess.Popen([exitpath, "run", "--batch", "-"], cwd=cwd, stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, text=True)
    process.stdin.write(text)
    peak = 0
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
        process.stdin.close()
        while process.poll() is None:
            status.seek(0)
            for line in status:
                if line.startswith("VmHWM:"):
                    peak = int(line.split()[1])
            time.sleep(0.01)
    return peak


def bench(exitpath, work, runs, row):
    n = 200
    true = [{"cmd": ["/bin/true"]}] * n
    ours, bwrap, plain, eight = [], [], [], []
    directory = f"{work}/sandbox"
    os.mkdir(directory)
    have_bwrap = shutil.which("bwrap")
    for _ in range(runs):
        ours.append(batch(exitpath, directory, true, 1))
        plain.append(timed(loop(["/bin/true"], n), directory))
        if have_bwrap:
            bwrap.append(timed(loop(BWRAP + ["--bind", directory, directory, "--chdir", directory, "/bin/true"],
                                    n), directory))
        eight.append(batch(exitpath, directory, [{"cmd": ["/bin/true"]}] * 1000, 8))
    if have_bwrap:
        row("sandboxed /bin/true against bubblewrap",
            f"{statistics.median(a / b for a, b in zip(ours, bwrap)):.2f}x", "<= 0.35x")
    else:
        print("sandboxed /bin/true against bubblewrap: bwrap is not installed")
    row("sandboxed /bin/true against plain spawn",
        f"{statistics.median(a / b for a, b in zip(ours, plain)):.2f}x", "none")
    row("1,000 sandboxed runs with 8 workers, per second", f"{1000 / statistics.median(eight):.0f}", "none")
    row("peak memory of exitpath over 2,000 runs",
        f"{peak_kib(exitpath, directory, true * 10) / 1024:.1f} MiB", "<= 64 MiB")
