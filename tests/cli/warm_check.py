#!/usr/bin/env python3
"""Small programs, each run by `exitpath run --batch` with and without --warm python: the same comes out.

warm_check.py EXITPATH PYTHON [OPTION...]    in an empty directory; prints what differs and exits 1
"""
import json
import os
import re
import subprocess
import sys

EXITPATH, PYTHON, *FLAGS = sys.argv[1:]

# Interpreter state, as a program sees it at its beginning.
STATE = """
import sys
print(sorted(sys.modules))
print(sys.argv, sys.orig_argv if hasattr(sys, "orig_argv") else "", sys.path, sys.flags)
print(sys.executable, sys.prefix, sys.dont_write_bytecode, sys.warnoptions)
main = sys.modules["__main__"]
print(list(main.__dict__), __name__, main.__dict__.get("__file__"), main.__loader__, main.__spec__)
print([type(finder).__name__ for finder in sys.meta_path if type(finder).__name__ != "Hidden"])
frame = sys._getframe()
print(frame.f_back and frame.f_back.f_code.co_filename)
for stream in (sys.stdin, sys.stdout, sys.stderr):
    print(stream, stream.line_buffering, stream.write_through, getattr(stream.buffer, "raw", 0))
import os, signal
print(os.getpid(), os.getppid(), os.getsid(0) == os.getpid(), os.getcwd(), os.umask(0), os.environ)
print([(s, signal.getsignal(s)) for s in (2, 13, 15, 25)])
print(sorted(os.listdir("/proc/self/fd"))[:3])
import warnings, threading, importlib, logging
print(warnings.filters, threading.enumerate(), hasattr(importlib, "util"), logging.root.handlers)
"""

FILES = {
    "state.py": STATE,
    "hello.py": "print('hello')\n",
    "package/__init__.py": "NAME = __name__\n",
    "package/__main__.py": "from . import part\nprint(part.WHAT, __package__)\n" + STATE,
    "package/part.py": "WHAT = 'part'\n",
    "package/relative.py": "from . import part\nprint(part.WHAT)\n",
    "raises.py": "import json\n\ndef inner():\n    json.loads('{')\n\ninner()\n",
    "chained.py": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise RuntimeError('é') from e\n",
    "syntax.py": "x = (\n",
    "encoding.py": "# -*- coding: latin-1 -*-\nprint('\\xe9')\n",
    "deep.py": "import sys\n\ndef f(n):\n    try:\n        return f(n + 1)\n    except RecursionError:\n"
               "        return n\n\nprint(f(0))\n",
    "stack.py": "import traceback, inspect\ntraceback.print_stack()\nprint(len(inspect.stack()))\n",
    "passing_test.py": "def test_one():\n    assert 1 + 1 == 2\n",
    "failing_test.py": "import pytest\n\ndef test_one():\n    x = [1, 2]\n    assert x == [1, 3]\n\n"
                       "@pytest.mark.parametrize('n', [1, 2])\ndef test_two(n, tmp_path):\n    assert n == 1\n",
    "unit_test.py": "import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self):\n"
                    "        self.assertEqual(1, 1)\n\n    def test_b(self):\n        self.assertEqual(1, 2)\n",
    "exit_code.py": "import sys\nsys.exit(3)\n",
    "exit_text.py": "import sys\nsys.exit('no more')\n",
    "exit_none.py": "raise SystemExit\n",
    "exit_class.py": "class E(SystemExit):\n    pass\nraise E(7)\n",
    "os_exit.py": "import os\nprint('lost', end='')\nos._exit(5)\n",
    "kill_self.py": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
    "terminate_self.py": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n",
    "abort.py": "import os\nos.abort()\n",
    "interrupt_self.py": "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nfor _ in range(9**9): pass\n",
    "atexit_order.py": "import atexit, sys\nclass D:\n    def __del__(self):\n        print('del')\n"
                       "d = D()\natexit.register(print, 'first')\natexit.register(print, 'second')\n"
                       "atexit.register(lambda: print(__file__, 'atexit' in sys.modules))\nprint('main')\n",
    "unflushed.py": "f = open('/tmp/x', 'w')\nf.write('kept')\nimport atexit, os\n"
                    "class Last:\n    def __init__(self):\n        self.os = os\n    def __del__(self):\n"
                    "        self.os.write(1, str(self.os.stat('/tmp/x').st_size).encode())\n"
                    "a = [f]; f = None\nlast = Last()\n",
    "del_raises.py": "class D:\n    def __del__(self):\n        raise ValueError('in del')\nd = D()\n",
    "bad_stdout.py": "import os, sys\nfd = os.open('/dev/full', os.O_WRONLY)\nos.dup2(fd, 1)\nprint('x')\n",
    "thread.py": "import threading, time\ndef f():\n    time.sleep(0.05)\n    print('thread')\n"
                 "threading.Thread(target=f).start()\nprint(threading.current_thread(), threading.main_thread() is "
                 "threading.current_thread(), threading.get_native_id())\n",
    "daemon_thread.py": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n",
    "pool.py": "from concurrent.futures import ThreadPoolExecutor\n"
               "with ThreadPoolExecutor(2) as e:\n    print(list(e.map(abs, [-1, -2])))\n",
    "fork.py": "import multiprocessing as m\nif __name__ == '__main__':\n    m.set_start_method('fork')\n"
               "    with m.Pool(2) as p:\n        print(p.map(abs, [-1, -2]))\n",
    "spawn.py": "import multiprocessing as m\nif __name__ == '__main__':\n    m.set_start_method('spawn')\n"
                "    p = m.Process(target=print, args=('spawned',))\n    p.start()\n    p.join()\n    print(p.exitcode)\n",
    "os_fork.py": "import os, sys\nprint('before', flush=True)\npid = os.fork()\nif pid == 0:\n    sys.exit(4)\n"
                  "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n",
    "subprocess_.py": "import subprocess, sys\n"
                      "print(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True))\n"
                      "print(subprocess.run('exit 3', shell=True).returncode)\n",
    "stdin.py": "import sys\nprint(repr(sys.stdin.read()), sys.stdin.isatty(), sys.stdin.seekable())\n",
    "imports.py": "import json, re, unittest.mock, asyncio, xml.dom, email.message, ctypes, logging, decimal\n"
                  "import importlib.util, collections.abc, os.path\nprint(importlib.util.find_spec('json'))\n"
                  "print(json.__spec__, json.decoder, unittest.mock.__loader__, importlib.reload(json))\n"
                  "print(sorted(m for m in __import__('sys').modules if not m.startswith('_')))\n",
    "lazy.py": "import concurrent.futures, xml, importlib\n"
               "print([hasattr(concurrent.futures, n) for n in ('thread', '_base')], hasattr(xml, 'etree'))\n",
    "asyncio_.py": "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 1\nprint(asyncio.run(f()))\n",
    "shadow/random.py": "print('my random')\nrandom = 4\n",
    "shadow/main.py": "import tempfile\n",
    "shadow/json.py": "X = 1\n",
    "shadow/uses.py": "import json\nprint(json.X, json.__file__)\n",
    "ctypes_.py": "import ctypes\nC = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)\n"
                  "print(C(lambda n: n + 1)(41), ctypes.pythonapi.PyGILState_Check())\n",
    "ctypes_thread.py": "import ctypes, threading\nlibc = ctypes.CDLL(None)\n"
                        "C = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)\n"
                        "a = (ctypes.c_int * 3)(3, 1, 2)\n"
                        "libc.qsort(a, 3, 4, C(lambda x, y: ctypes.c_int.from_address(x).value - "
                        "ctypes.c_int.from_address(y).value))\nprint(list(a))\n",
    "pickle_.py": "import pickle\nclass A:\n    pass\nprint(pickle.loads(pickle.dumps(A())).__class__, A.__module__)\n",
    "warn.py": "import warnings\nwarnings.warn('deprecated', DeprecationWarning)\nwarnings.warn('other')\nopen('/dev/null')\n",
    "flood.py": "while True:\n    print('x' * 1000)\n",
    "hog.py": "x = []\nwhile True:\n    x.append(bytearray(1 << 20))\n",
    "spin.py": "while True:\n    pass\n",
    "sleep.py": "import time\ntime.sleep(60)\n",
    "kill_parent.py": "import os\ntry:\n    os.kill(os.getppid(), 9)\nexcept OSError as e:\n    print(e)\n"
                      "print(os.getppid())\n",
    "kill_all.py": "import os\ntry:\n    os.kill(-1, 9)\nexcept OSError as e:\n    print(e)\n",
    "sees.py": "import os\nprint(sorted(p for p in os.listdir('/proc') if p.isdigit()))\n",
    "writes_module.py": "import json\njson.SEEN = getattr(json, 'SEEN', 0) + 1\nprint(json.SEEN)\n"
                        "open('/tmp/seen', 'x').close()\n",
    "main.pyc.py": "print(1)\n",
}

PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
# (words after the interpreter, keys of the line; warm: False when no server is to be used)
CASES = [([name], {}) for name in FILES if "/" not in name and name.endswith(".py")
         and name not in ("flood.py", "hog.py", "spin.py", "sleep.py", "passing_test.py", "failing_test.py")]
CASES += [
    (["state.py", "a", "-m", "é"], {}),
    (["./package/../hello.py"], {}),
    (["package/__main__.py"], {}),
    (["package"], {}),
    (["-m", "package", "x"], {}),
    (["-m", "package.relative"], {}),
    (["package/relative.py"], {}),
    (["-m", "missing.module"], {}),
    (["missing.py"], {}),
    (["-c", STATE, "x"], {}),
    (["-c", "raise ValueError(1)"], {}),
    (["-c", "import sys; sys.exit(9)"], {}),
    (["-c", "  print(1)"], {}),
    (["-m", "timeit", "-n", "1", "-h"], {}),
    (["-m", "json.tool", "/dev/null"], {}),
    (["-m", "unittest", "unit_test"], {}),
    (["-m", "unittest", "-v", "unit_test.T.test_a"], {}),
    ([*PYTEST, "passing_test.py"], {}),
    ([*PYTEST, "failing_test.py"], {}),
    ([*PYTEST, "failing_test.py", "-k", "two"], {}),
    ([*PYTEST, "missing_test.py"], {}),
    ([*PYTEST, "--co", "."], {}),
    (["shadow/main.py"], {}),
    (["shadow/uses.py"], {}),
    (["-m", "package"], {"cwd": "shadow"}),
    (["-c", "import random"], {"cwd": "shadow"}),
    (["-B", "-E", "state.py"], {}),
    (["-O", "-u", "state.py"], {}),
    (["-I", "state.py"], {}),
    (["state.py"], {"env": {"PYTHONPATH": "package:shadow", "A": "b"}}),
    (["warn.py"], {"env": {"PYTHONWARNINGS": "always"}}),
    (["hello.py"], {"env": {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "latin-1"}}),
    (["-X", "dev", "hello.py"], {"warm": False}),
    (["-W", "error", "warn.py"], {"warm": False}),
    (["-V"], {"warm": False}),
    (["hello.py"], {"env": {"PYTHONDEVMODE": "1"}, "warm": False}),
    (["flood.py"], {"output": 100000}),
    (["hog.py"], {"memory": "128M"}),
    (["spin.py"], {"cpu": "300ms"}),
    (["spin.py"], {"wall": "500ms", "cpu": 0}),
    (["sleep.py"], {"wall": "200ms"}),
    (["hello.py"], {}),
    (["writes_module.py"], {}),
    (["writes_module.py"], {}),
    (["state.py"], {"network": "loopback"}),
    (["state.py"], {"discard": True}),
]


def normal(text):
    text = re.sub(r"\b\d+\.\d+s\b", "TIME", text)
    text = re.sub(r"0x[0-9a-f]+", "ADDRESS", text)
    return re.sub(r"\b(started \d+|native_id=\d+)", "ID", text)


def run(lines, *flags):
    done = subprocess.run([EXITPATH, "run", "--batch", "-", "--ordered", "--workers", "1", *FLAGS, *flags],
                          input="".join(json.dumps(line) + "\n" for line in lines), text=True,
                          stdout=subprocess.PIPE, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def outcome(result):
    keys = ["verdict", "exit", "signal", "error"]
    # What is written before the end of a flood is chance.
    if result["verdict"] != "output":
        keys += ["stdout", "stderr", "left_behind"]
    return {key: normal(str(result.get(key))) for key in keys}


def main():
    for name, text in FILES.items():
        os.makedirs(os.path.dirname(os.path.join(".", name)), exist_ok=True)
        with open(name, "w", encoding="latin-1" if name == "encoding.py" else "utf-8") as file:
            file.write(text)
    lines, expected = [], []
    for words, keys in CASES:
        keys = dict(keys)
        expected.append(keys.pop("warm", True))
        lines.append({"cmd": [PYTHON, *words], **keys})
    cold = run(lines)
    # Twice each: of interpreters after the first, the second asks for one to be kept.
    warm = run([line for line in lines for _ in range(2)], "--warm", "python")[1::2]
    if not len(cold) == len(warm) == len(lines):
        sys.exit(f"{len(lines)} lines, {len(cold)} results cold, {len(warm)} warm")
    bad = 0
    for line, is_warm, one, other in zip(lines, expected, cold, warm):
        a, b = outcome(one), outcome(other)
        if a == b and other["warm"] == is_warm and not one["warm"]:
            continue
        bad += 1
        print(f"# {line}: warm: {other['warm']}")
        for key in a:
            if a[key] != b[key]:
                print(f"#   {key} cold {a[key]}\n#   {key} warm {b[key]}")
    print(f"{len(lines)} programs, {bad} differ")
    sys.exit(bad != 0)


main()
