"""scan against bare tree-sitter parsing of the same files, and against ruff and semgrep where they are installed.

All in CPU time, the better of two. ruff and semgrep (RUFF, SEMGREP: other paths) look at the Python files;
semgrep has two rules of scan's as patterns of its own. C: CORPUS_C, a directory of C files, else exitpath's.
"""
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BARE = os.path.join(ROOT, "build/release/tests/bench/source_bench")
SEMGREP_FILES = 20  # it takes its time, most of it to start
# Rules of ruff about failures: tries, blind excepts, returns in finally, files that are not closed.
RUFF_RULES = "BLE,TRY,SIM115,B012,B904,E722,S110"
SEMGREP_RULES = """
rules:
- id: rollback-swallowed
  languages: [python]
  severity: WARNING
  message: the exception ends here
  patterns:
  - pattern: |
      try:
          ...
      except $E:
          $X.rollback()
  - pattern-not: |
      try:
          ...
      except $E:
          $X.rollback()
          raise
- id: release-not-protected
  languages: [python]
  severity: WARNING
  message: when this raises, it stays open
  patterns:
  - pattern: |
      $F = open(...)
      ...
      $F.close()
  - pattern-not: |
      $F = open(...)
      try:
          ...
      finally:
          $F.close()
"""


def files_of(top, suffix):
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names
                  if name.endswith(suffix) and not os.path.islink(os.path.join(folder, name))
                  and "site-packages" not in folder and "dist-packages" not in folder)


def once(command):
    """Seconds of CPU, seconds, peak KiB of one command with all of its children."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss, process.returncode


def best(command, accepted=(0, 1, 20)):
    runs = [once(command) for _ in range(2)]
    if runs[0][3] not in accepted:
        return None
    return [min(run[i] for run in runs) for i in range(3)]


def bare(lang, files):
    out = subprocess.run([BARE, lang, *files], check=True, text=True, stdout=subprocess.PIPE).stdout
    lines, ms = map(int, re.search(r"(\d+) lines.* bare (\d+) ms", out).groups())
    return lines, ms / 1000


def against_bare(exitpath, lang, files, row):
    command = [exitpath, "scan", "--json", "--jobs"]
    lines, parsing = bare(lang, files)
    cpu, _, one_peak = best([*command, "1", *files])
    all_cpu, wall, all_peak = best([*command, str(min(os.cpu_count(), 16)), *files])
    row(f"scan of {lines} lines of {lang}: speed against bare parsing", f"{100 * parsing / cpu:.0f} %", ">= 60 %")
    row("  lines per second on one core", f"{lines / cpu / 1000:.0f}k", "-")
    row(f"  the same on all {os.cpu_count()}, by the clock (CPU time against one core's)",
        f"{lines / wall / 1000:.0f}k", f"- ({all_cpu / cpu:.2f}x)")
    row("  peak memory, on one core and on all", f"{one_peak / 1024:.0f}, {all_peak / 1024:.0f} MiB", "<= 64 MiB")
    return lines / cpu


def peer(name, command, files, scan_rate, row):
    measured = best([*command, *files])
    if measured is None:
        row(f"  {name}", "failed", "-")
        return
    rate = sum(open(file, "rb").read().count(b"\n") for file in files) / measured[0]
    row(f"  {name}: lines per CPU second ({measured[2] / 1024:.0f} MiB); scan's against them",
        f"{rate / 1000:.0f}k", f"- ({scan_rate / rate:.1f}x)")


def bench(exitpath, row):
    python = files_of(sysconfig.get_paths()["stdlib"], ".py")[:600]
    c_files = files_of(os.environ.get("CORPUS_C", os.path.join(ROOT, "src")), ".c")[:600]
    rate = against_bare(exitpath, "python", python, row)
    with tempfile.TemporaryDirectory() as work:
        rules = os.path.join(work, "rules.yaml")
        with open(rules, "w", encoding="utf-8") as file:
            file.write(SEMGREP_RULES)
        for name, command, files in (
                ("ruff", ["check", "--isolated", "--no-cache", "--quiet", "--select", RUFF_RULES], python),
                ("semgrep", ["scan", "--config", rules, "--metrics", "off", "--disable-version-check", "--quiet",
                             "--jobs", "1", "--no-git-ignore"], python[:SEMGREP_FILES])):
            path = os.environ.get(name.upper(), shutil.which(name))
            if path:
                peer(name, [path, *command], files, rate, row)
            else:
                row(f"  {name}: not installed", "-", "-")
    against_bare(exitpath, "c", c_files, row)
