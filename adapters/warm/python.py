"""A Python interpreter that is a zygote (src/sandbox/server.c, which this loads).

Given to `python3 [OPTION...] -c "exec(...)" THIS FIRST`. It imports what commands will want, hides all
of it again, and serves. In each command's process prepare() makes what a new interpreter has when it
begins with its FILE, -m MODULE or -c CODE: streams, signals, sys.argv, sys.path, sys.modules. Modules
that were imported ahead come back when they are imported, with those that they import themselves.

Whatever could be otherwise than in a new interpreter is refused: exitpath_refuse() before serving,
ANEW for one command.
"""
import sys

if sys.version_info < (3, 9):
    raise SystemExit("Python 3.9 or later")
if sys.path and sys.path[0] == "":
    del sys.path[0]  # what -c put there: nothing of a project is imported here

# As in every new interpreter; -c imports linecache from 3.13 on.
BASE = frozenset(sys.modules) - ({"linecache"} if sys.version_info >= (3, 13) else set())

import builtins
import os
import _imp
import _signal
import _frozen_importlib as _bootstrap
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import PathFinder, SourceFileLoader

ANEW, FILE, MODULE, CODE = range(4)
# Of any module, also of those that import all that they have when they are asked (py).
DICT = type(sys).__dict__["__dict__"].__get__
FIRST = int(sys.argv[2])
LIBRARY = "/proc/self/fd/5"  # sandbox/server.h

# What tests and pytest import. Not what notes at its import what is of one process: multiprocessing.
# Leaving the heavy ones out (asyncio, sqlite3, decimal) makes a run 0.3 ms shorter.
STANDARD = """
    re json dataclasses typing collections functools itertools enum pathlib tempfile shutil subprocess
    threading unittest unittest.mock asyncio logging random math datetime decimal fractions string
    textwrap contextlib copy time inspect ast traceback warnings argparse csv io os socket uuid hashlib
    base64 struct operator statistics heapq bisect queue concurrent.futures.thread importlib.metadata
    importlib.resources zipfile glob fnmatch pprint difflib pickle urllib.parse signal types abc
    numbers weakref array secrets hmac html calendar codecs locale platform runpy atexit pkgutil
    timeit sqlite3 configparser faulthandler pdb
""".split()


class Tracer:
    """Notes what each module imports while it is executed."""

    def __init__(self):
        self.needs = {}  # name of a module: names, in order
        self.stack = []  # of modules that are being executed
        self.original = builtins.__import__

    def __enter__(self):
        sys.meta_path.insert(0, self)
        builtins.__import__ = self.import_
        return self

    def __exit__(self, *_):
        builtins.__import__ = self.original
        sys.meta_path.remove(self)

    def note(self, name):
        if self.stack:
            needed = self.needs.setdefault(self.stack[-1], {})
            parts = name.split(".")
            for n in range(len(parts)):
                needed.setdefault(".".join(parts[:n + 1]))

    def import_(self, name, globals=None, locals=None, fromlist=(), level=0):
        module = self.original(name, globals, locals, fromlist, level)
        if not self.stack:
            return module
        if level:
            name = _bootstrap._resolve_name(name, _bootstrap._calc___package__(globals), level)
        self.note(name)
        for part in fromlist or ():
            if f"{name}.{part}" in sys.modules:
                self.note(f"{name}.{part}")
        return module

    def find_spec(self, name, path=None, target=None):
        self.note(name)
        for finder in sys.meta_path:
            if finder is not self:
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    break
        else:
            return None
        if hasattr(spec.loader, "exec_module"):
            spec.loader = TracedLoader(self, spec.loader)
        return spec


class TracedLoader:
    def __init__(self, tracer, loader):
        self.tracer, self.loader = tracer, loader

    def create_module(self, spec):
        spec.loader = self.loader  # for those that look
        try:
            return self.loader.create_module(spec)
        finally:
            spec.loader = self

    def exec_module(self, module):
        name = module.__spec__.name
        module.__spec__.loader = self.loader
        if module.__loader__ is self:
            module.__loader__ = self.loader
        before = set(sys.modules)
        self.tracer.stack.append(name)
        try:
            self.loader.exec_module(module)
        finally:
            self.tracer.stack.pop()
        needed = self.tracer.needs.setdefault(name, {})
        for other in set(sys.modules) - before - self.tracer.needs.keys():
            needed.setdefault(other)  # put there by hand, as typing.io


class Hidden:
    """Finds what was imported ahead. Stands before the finders of the interpreter."""

    def __init__(self, needs):
        self.modules = {}  # name: module
        self.needs = needs
        self.places = {}  # top-level name: directory it was found in; None: built in

    def hide(self):
        for name in [name for name in sys.modules if name not in BASE]:
            self.modules[name] = sys.modules.pop(name)
        self.all = dict(self.modules)
        for name in BASE - {"__main__", "builtins", "sys"}:
            self.all[name] = sys.modules[name]
        self.attributes = set()
        for name, module in self.modules.items():
            parent, _, child = name.rpartition(".")
            parent = self.modules.get(parent) or sys.modules.get(parent)
            if parent is not None and DICT(parent).get(child) is module:
                del DICT(parent)[child]
                self.attributes.add(name)
            if "." not in name:
                self.places[name] = place_of(module)

    def closure(self, name, found):
        if name in self.modules and name not in found:
            found[name] = None
            for needed in self.needs.get(name, ()):
                self.closure(needed, found)
        return found

    def find_spec(self, name, path=None, target=None):
        if name not in self.modules or sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":
            return None
        names = self.closure(name, {})
        if self.shadowed(names):
            return None
        return ModuleSpec(name, Shower(self, names))

    def shadowed(self, names):
        """Would one of them be found elsewhere today?"""
        tops = {name.partition(".")[0] for name in names}
        places = {self.places.get(top) for top in tops} - {None}
        for number, entry in enumerate(sys.path):
            if not places:
                return False
            places.discard(entry)
            if entry in TRUSTED:
                continue
            try:
                there = {file.partition(".")[0] for file in os.listdir(entry or ".")}
            except OSError:
                continue
            for top in there & tops:
                place = self.places.get(top)
                if place is not None and place not in sys.path[:number + 1]:
                    spec = PathFinder.find_spec(top, [entry])
                    if spec is not None and spec.loader is not None:
                        return True
        return bool(places)

    def show(self, names):
        for name in names:
            module = sys.modules[name] = self.modules.pop(name)
            parent, _, child = name.rpartition(".")
            if name in self.attributes and parent in sys.modules:
                DICT(sys.modules[parent])[child] = module
        if "logging" in names:
            sys.modules["logging"]._startTime = START_TIME()


    def hide_again(self):
        """At the end of a command: what is not its own is not taken apart, page by page."""
        for name, module in list(sys.modules.items()):
            if self.all.get(name) is module:
                self.modules[name] = sys.modules.pop(name)


class Shower:
    def __init__(self, hidden, names):
        self.hidden, self.names = hidden, names

    def create_module(self, spec):
        module = self.hidden.modules[spec.name]
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self.spec
        self.hidden.show([name for name in self.names if name in self.hidden.modules])


def START_TIME():
    import time
    return time.time_ns() if sys.version_info >= (3, 13) else time.time()


def place_of(module):
    spec = DICT(module).get("__spec__")
    origin = getattr(spec, "origin", None)
    if not origin or not getattr(spec, "has_location", False):
        return None
    place = os.path.dirname(origin)
    return os.path.dirname(place) if spec.submodule_search_locations else place


def trusted():
    """Where the interpreter and what is installed lie: nothing of a project."""
    library = os.path.dirname(os.__file__)
    found = {library, os.path.join(library, "lib-dynload")}
    for entry in sys.path:
        if os.path.basename(entry) in ("site-packages", "dist-packages") or entry.endswith(".zip"):
            found.add(entry)
    return found


def is_installed(name):
    spec = PathFinder.find_spec(name)
    place = spec and spec.origin and os.path.dirname(spec.origin)
    return bool(place) and (place in TRUSTED or os.path.dirname(place) in TRUSTED)


def load():
    for name in STANDARD:
        top = name.partition(".")[0]
        if top in sys.builtin_module_names or _imp.is_frozen(top) or is_installed(top):
            try:
                __import__(name)
            except ImportError:
                pass  # an interpreter without it
    if is_installed("pytest") and is_installed("_pytest"):
        import pytest
        from _pytest import config
        for name in (*config.default_plugins, "config.compat", "_argcomplete"):
            try:
                __import__(f"_pytest.{name}")
            except ImportError:
                pass  # of another version


def load_named(path):
    """What `exitpath vet` names: in each line a directory of modules, or a module of such or installed.

    "*" is all that others get. What is not needed costs: a fork copies the tables of all pages.
    """
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for line in lines:
        if line.startswith("/"):
            sys.path.insert(0, line)
            TRUSTED.add(line)
        elif line == "*":
            load()
        elif line:
            try:
                __import__(line)
            except Exception:
                pass  # the command will see


def streams():
    """As create_stdio() of CPython makes them, for the descriptors of this command."""
    import io
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, f"__{name}__")
        write = fd > 0
        raw_only = write and UNBUFFERED
        binary = io.open(fd, "wb" if write else "rb", 0 if raw_only else -1, closefd=False)
        raw = binary if raw_only else binary.raw
        raw.name = f"<{name}>"
        text = io.TextIOWrapper(binary, old.encoding, old.errors, "\n",
                                line_buffering=not UNBUFFERED and (raw.isatty() or fd == 2),
                                write_through=UNBUFFERED)
        text.mode = "w" if write else "r"
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)


def signals():
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)
    _signal.signal(_signal.SIGXFSZ, _signal.SIG_IGN)


def importer_of(path):
    """Not None: a directory or an archive, of which __main__ is run."""
    for hook in sys.path_hooks:
        try:
            return hook(path)
        except ImportError:
            pass
    return None


def form_of(words):
    """What is run, and what sys.argv and sys.path[0] become."""
    if words[0] == "-m":
        try:
            return MODULE, ["-m", *words[2:]], os.getcwd()
        except OSError:
            return MODULE, ["-m", *words[2:]], None
    if words[0] == "-c":
        return (CODE if sys.version_info < (3, 13) else ANEW), ["-c", *words[2:]], ""
    if not os.path.isfile(words[0]) or words[0].endswith(".pyc") or importer_of(words[0]) is not None:
        return ANEW, None, None
    return FILE, words, os.path.dirname(os.path.realpath(words[0]))


def absolute(name):
    """As CPython: its server.c does the same."""
    if name.startswith("/"):
        return name
    return f"{os.getcwd()}/{name[2:] if name.startswith('./') else name}"


def new_main():
    """Of the old one a frame of the server knows: its names would not be deleted at the end."""
    old = sys.modules["__main__"]
    new = sys.modules["__main__"] = type(sys)("__main__")
    for name, value in DICT(old).items():
        DICT(new)[name] = {} if name == "__annotations__" else value
    return new


def start(words):
    form, argv, first = form_of(words[FIRST:])
    if form == ANEW:
        return form
    streams()
    signals()
    sys.argv = argv
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = words
    main = DICT(new_main())
    if form == FILE:
        name = absolute(argv[0])
        main["__file__"], main["__cached__"] = name, None
        main["__loader__"] = SourceFileLoader("__main__", name)
    if first is not None and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        sys.path.insert(0, first)
    return form


def prepare(count, words):
    try:
        return start([os.fsdecode(words[n]) for n in range(count)])
    except BaseException:
        return ANEW


def fill_pools(line):
    """Objects of a command then lie together on new pages, not on a page of the server each."""
    sys.stderr.flush()
    at = os.lseek(2, 0, os.SEEK_END)
    sys._debugmallocstats()
    with open(2, "rb", closefd=False, buffering=0) as file:
        file.seek(at)
        text = file.read().decode("ascii", "replace")
    os.ftruncate(2, at)
    empty = sys.getsizeof(b"")
    kept = []
    for size, free in line.findall(text):
        make = object if int(size) < 32 else lambda n=int(size) - empty: bytes(n) if n > 0 else float("7")
        kept.append([make() for _ in range(int(free))])
    return kept


def objection():
    """Why this interpreter cannot be shared."""
    if len(os.listdir("/proc/self/task")) > 1:
        return "it has threads"
    if sys.gettrace() or sys.getprofile():
        return "it is traced"
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            return "it has no streams"
        stream.flush()
    if os.fstat(1).st_size:
        return "it writes at its start"
    return None


def serve():
    tracer = Tracer()
    path = sys.path[:]
    sys.path[:] = [entry for entry in path if entry in TRUSTED]
    with tracer:
        import atexit
        import gc
        hidden = Hidden(tracer.needs)
        atexit.register(hidden.hide_again)  # the first: it is called last
        gc.disable()
        if "EXITPATH_WARM" in os.environ:
            load_named(os.environ["EXITPATH_WARM"])
        else:
            load()
        import ctypes
    sys.path[:] = path
    for entry in [entry for entry in sys.path_importer_cache if not entry.startswith(tuple(TRUSTED))]:
        del sys.path_importer_cache[entry]
    library = ctypes.PyDLL(LIBRARY)
    why = objection()
    if why:
        library.exitpath_refuse(why.encode())
        return
    line = sys.modules["re"].compile(r"^ *\d+ +(\d+) +\d+ +\d+ +(\d+)$", 8)  # re.M
    callback = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p))(prepare)
    hidden.hide()
    at = [number for number, finder in enumerate(sys.meta_path)
          if getattr(finder, "__name__", "") == "BuiltinImporter"]
    sys.meta_path.insert(at[0] if at else 0, hidden)
    gc.collect()
    pools = fill_pools(line)
    # All of it lives on at the end of a command.
    kept = [hidden, hidden.all, tracer, callback, pools, *DICT(sys).values(), *sys.path_importer_cache.values()]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.close(null)
    gc.freeze()
    gc.enable()
    library.exitpath_serve(callback, FIRST, sys.version_info.minor)


TRUSTED = trusted()
UNBUFFERED = bool(sys.stdout and sys.stdout.write_through)  # -u
serve()
