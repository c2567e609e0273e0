"""What the flat tree costs on top of bare tree-sitter, on the standard library of Python."""
import os
import re
import subprocess
import sysconfig

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "../../build/release/tests/bench/source_bench")


def bench(row):
    top = sysconfig.get_paths()["stdlib"]
    files = [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names
             if name.endswith(".py") and "site-packages" not in folder][:1500]
    out = subprocess.run([BENCH, "python", *files], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    lines, bare, flat = map(int, re.search(r"(\d+) lines.* bare (\d+) ms, flat (\d+) ms", out).groups())
    row(f"flat trees against bare parsing of {lines} lines", f"{flat / bare:.2f}x", "<= 1.15x")
    row("  lines per second on one core, parsed to flat trees", f"{lines / flat:.0f}k", "-")
