"""How the adapter gets into a process, and leaves no trace for its tests to trip over.

EXITPATH_PYTHON holds a JSON object: dir (of the reports), token, root (of the checkout),
warmup, cycles, mode, and hidden: the values that PYTHONPATH and others had. The process that
runs the tests claims it and takes it out of its environment, so that programs which the
tests start are as they were; launchers in between pass it on.
"""
import importlib
import importlib.util
import json
import os
import sys

NAME = "EXITPATH_PYTHON"
HERE = os.path.dirname(__file__)


def prepare():
    """In every Python process, before its program starts."""
    try:
        settings = json.loads(os.environ[NAME])
    except ValueError:
        return
    kind = "exitpath" + next(("_" + k for k in ("fault", "mutate") if k in settings), "")
    if settings["mode"] == "program":
        _reexec(settings, kind + "_program")
    if "fault" in settings:
        importlib.import_module("exitpath_gates").number(settings["root"])
    plugins = os.environ.get("PYTEST_PLUGINS")
    if kind + "_pytest" not in (plugins or "").split(","):
        os.environ["PYTEST_PLUGINS"] = (
            plugins + "," if plugins else "") + kind + "_pytest"
    sys.meta_path.insert(0, _UnittestFinder(kind + "_unittest"))


def claim():
    """The settings, in the one process that runs the tests; None in all others."""
    text = os.environ.pop(NAME, None)
    if text is None:
        return None
    settings = json.loads(text)
    settings["mark"] = os.environ.pop("EXITPATH_CYCLE", None)
    path = os.environ.get("PYTHONPATH")
    if path is not None:
        rest = [p for p in path.split(os.pathsep) if p != HERE]
        _restore("PYTHONPATH", os.pathsep.join(rest) or None)
    plugins = [p for p in os.environ.get("PYTEST_PLUGINS", "").split(",")
               if p not in ("", "exitpath_pytest", "exitpath_fault_pytest",
                            "exitpath_mutate_pytest")]
    _restore("PYTEST_PLUGINS", ",".join(plugins) or None)
    return settings


def hide():
    """Once all of the adapter is imported."""
    while HERE in sys.path:
        sys.path.remove(HERE)


def _restore(name, value):
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _command_line():
    if hasattr(sys, "orig_argv"):
        return list(sys.orig_argv)
    with open("/proc/self/cmdline", "rb") as f:
        return [os.fsdecode(a) for a in f.read().split(b"\0")[:-1]]


def _reexec(settings, program):
    """python3 [OPTIONS] -c CODE|-m MODULE|SCRIPT … → … -m exitpath_program …"""
    argv = _command_line()
    at = 1
    while at < len(argv) and argv[at].startswith("-") and argv[at] not in ("-c", "-m", "-"):
        if argv[at].startswith("-m") or argv[at].startswith("-c"):
            argv[at:at + 1] = [argv[at][:2], argv[at][2:]]
            break
        at += 2 if argv[at] in ("-W", "-X", "--check-hash-based-pycs") else 1
    if at >= len(argv) or argv[at] == "-":
        return
    settings["mode"] = "claimed"
    os.environ[NAME] = json.dumps(settings)
    os.execv(sys.executable, argv[:at] + ["-m", program] + argv[at:])


class _UnittestFinder:
    """Patches unittest.main as it is imported."""

    def __init__(self, name):
        self._name = name

    def find_spec(self, name, path=None, target=None):
        if name != "unittest.main":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            if NAME in os.environ:  # else another runner has it, and the adapter is hidden
                importlib.import_module(self._name).patch(module)

        try:
            spec.loader.exec_module = exec_module
        except AttributeError:
            return None
        return spec
