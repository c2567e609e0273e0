"""A directory is watched, and then no more: the kernel's queue must be closed."""
import collections.abc
import os
import sys
import tempfile
import types
import unittest

# It is of 2014, and asks for what newer Pythons have elsewhere or not at all.
collections.MutableSet = collections.abc.MutableSet
for name in ("pathtools", "pathtools.path", "pathtools.patterns"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["pathtools.path"].absolute_path = os.path.abspath
sys.modules["pathtools.patterns"].match_any_paths = None
sys.path.insert(0, "src")

from watchdog.observers.inotify_c import Inotify  # noqa: E402


class Watch(unittest.TestCase):
    def test_close(self):
        with tempfile.TemporaryDirectory() as directory:
            watch = Inotify(os.fsencode(directory))
            watch.close()
