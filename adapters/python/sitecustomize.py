"""Loaded by every Python whose PYTHONPATH names the adapter; prepares it, and makes way for
the module of the same name that it hides."""
import importlib.machinery
import importlib.util
import os
import sys


def _load_hidden():
    """A distribution or a virtual environment may have a sitecustomize of its own."""
    mine = os.path.dirname(__file__)
    path = [p for p in sys.path if p != mine]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if "EXITPATH_PYTHON" in os.environ:
    import exitpath_start

    exitpath_start.prepare()

_load_hidden()
