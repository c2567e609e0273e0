"""Where what leaks was acquired: more passes over the tests, with tracemalloc and an audit
hook, and for bare descriptors with a profile function. Only when something leaks."""
import gc
import io
import os
import socket as _socket_module
import subprocess
import sys
import threading
import tracemalloc

from exitpath_observe import descriptors, resources

_FRAMES = 25
_MEMORY_FRAMES = 12  # of every allocation of every test: each frame costs
# Of one place in each pass, to be a leak of memory. CPython itself keeps 67 bytes for each
# open() of a text file (3.11), and some hundred for asyncio.run().
_BLOCKS, _BYTES = 16, 1024
_lowest = os.dup, os.close


class Trace:
    def __init__(self, places, names):
        self._places, self._names = places, names
        self._audit = None  # while on: key → stack
        self._hooked = False

    def of(self, thing):
        """The stack of an object's allocation; () when it is not known."""
        if not tracemalloc.is_tracing():
            return ()
        found = tracemalloc.get_object_traceback(thing)
        if found is None:
            found = _with_managed_dict(thing)
        return self._places.from_traceback(found)

    # --- resources ---------------------------------------------------------------------

    def locate(self, leaks, one_pass, driver):
        """The same leaks with stacks, split where several places leak alike."""
        if not leaks:
            return leaks
        suspects = driver.watch_tests({(k.resource, k.what) for k in leaks}, one_pass)
        # Where a leak comes from no test but from a fixture's end, all are traced.
        if all((k.resource, k.what) in suspects.found for k in leaks):
            driver.selected = set().union(*suspects.found.values())
        found = self._traced_pass(one_pass, driver)
        missing = [k for k in leaks if k.resource in ("fd", "socket") and
                   self._explained(found, (k.resource, k.what)) < min(k.units)]
        if missing:
            self._profiled_pass(one_pass, driver, found)
        driver.selected = None
        located = []
        for leak in leaks:
            located.extend(self._split(leak, found))
        for leak in located:
            if not self._places.has_project(leak.stack):
                leak.stack = self._test_of(leak, suspects) or leak.stack
        return located

    @staticmethod
    def _test_of(leak, suspects):
        """A child of the test did it, or code that no hook sees: at least the test."""
        tests = suspects.found.get((leak.resource, leak.what), {})
        tests = [t for t in tests if t in suspects.places]
        if not tests:
            return ()
        most = max(tests, key=lambda t: (suspects.found[leak.resource, leak.what][t], t))
        return (suspects.places[most],)

    def _explained(self, found, key):
        """Of how many the place in the project is known."""
        return sum(n for s, n in found.get(key, {}).items() if self._places.has_project(s))

    def _split(self, leak, found):
        stacks = found.get((leak.resource, leak.what), {})
        total = sum(stacks.values())
        if not stacks:
            return [leak]
        if len(stacks) > 1 and all(n == total for n in leak.units) and all(
                self._places.has_project(s) for s in stacks):
            parts = []
            for stack, n in sorted(stacks.items()):
                part = _copy(leak)
                part.units, part.stack = [n] * len(leak.units), stack
                parts.append(part)
            return parts
        best = max(stacks, key=lambda s: (self._places.has_project(s), stacks[s]))
        # Of what a destructor closed, at least where it was dropped is known.
        if self._places.has_project(best) or not leak.stack:
            leak.stack = best
        return [leak]

    def _traced_pass(self, one_pass, driver):
        gc.collect()
        before = driver.snapshot()
        self._start_audit()
        tracemalloc.start(_FRAMES)
        try:
            gc.disable()
            driver.warnings.take()
            one_pass()
            held = driver.settle(before)
            found = {}
            self._add_objects(found, before)
            self._add_descriptors(found, before, held)
            self._add_named(found, before, held)
            for (what, stack), n in driver.warnings.take().items():
                _count(found, ("unclosed", what), stack, n)
        finally:
            tracemalloc.stop()
            self._audit = None
        gc.collect()
        return found

    def _add_objects(self, found, before):
        for o, resource, what in resources():
            if id(o) not in before.get((resource, what), ()):
                _count(found, (resource, what), self.of(o))
        for thread in threading.enumerate():
            for key, things in before.items():
                if key[0] == "thread" and id(thread) in things:
                    break
            else:
                stack = self.of(thread)
                if stack:
                    from exitpath_observe import _target_of
                    _count(found, ("thread", _target_of(thread)), stack)

    def _add_descriptors(self, found, before, held):
        owners, by_inode = {}, {}
        for o in gc.get_objects():
            kind = type(o)
            if kind is io.FileIO or issubclass(kind, _socket_module.socket):
                try:
                    owners[o.fileno()] = self.of(o)
                except Exception:
                    pass
        del o
        for key, things in held.items():
            if key[0] not in ("fd", "socket"):
                continue
            for thing in set(things) - set(before.get(key, ())):
                stack = owners.get(thing[0]) or self._audited("path", thing[1])
                if stack:
                    _count(found, key, stack)
                    by_inode[_inode(thing[0])] = stack
        for key, things in held.items():
            for thing in set(things) - set(before.get(key, ())):
                stack = key[0] == "lock" and by_inode.get(thing[1].split(":")[-1])
                if stack:
                    _count(found, key, stack)

    def _add_named(self, found, before, held):
        children = {p.pid: self.of(p) for p in gc.get_objects()
                    if type(p) is subprocess.Popen}
        for key, things in held.items():
            for thing in set(things) - set(before.get(key, ())):
                if key[0] == "tempfile":
                    stack = self._audited("path", thing)
                elif key[0] in ("child", "zombie"):
                    stack = children.get(thing) or self._audited("fork", None)
                else:
                    continue
                if stack:
                    _count(found, key, stack)

    # --- the audit hook ----------------------------------------------------------------

    def _start_audit(self):
        self._audit = {}
        if not self._hooked:
            sys.addaudithook(self._hook)  # stays for good; does nothing while off
            self._hooked = True

    def _audited(self, kind, name):
        if kind == "path" and name is not None:
            name = name[:-10] if name.endswith(" (deleted)") else name
        return (self._audit or {}).get((kind, name), ())

    def _hook(self, event, args):
        if self._audit is None:
            return
        if event in ("open", "tempfile.mkstemp", "tempfile.mkdtemp", "os.mkdir",
                     "sqlite3.connect", "os.rename", "shutil.copyfile", "os.link"):
            name = args[1] if event in ("os.rename", "shutil.copyfile", "os.link") else (
                args[0])
            if isinstance(name, (str, bytes, os.PathLike)):
                try:
                    key = "path", os.path.realpath(os.fsdecode(name))
                except (OSError, ValueError):
                    return
                self._note(key)
        elif event in ("os.fork", "os.forkpty", "os.posix_spawn"):
            self._note(("fork", None))

    def _note(self, key):
        stack = self._places.from_frame(sys._getframe(2))
        if self._audit is not None and self._places.has_project(stack):
            self._audit[key] = stack

    # --- bare descriptors --------------------------------------------------------------

    def _profiled_pass(self, one_pass, driver, found):
        """After each call, has a descriptor come? Those of ctypes and extensions have no
        object and raise no event."""
        watch = _DescriptorWatch(self._places)
        gc.collect()
        before = driver.snapshot()
        gc.disable()
        threading.setprofile(watch.profile)
        sys.setprofile(watch.profile)
        try:
            one_pass()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        held, opened = driver.settle(before), {}
        for key, things in held.items():
            if key[0] not in ("fd", "socket"):
                continue
            for thing in set(things) - set(before.get(key, ())):
                stack = watch.opened.get(thing[0])
                if stack:
                    _count(opened, key, stack)
        for key, stacks in opened.items():
            if self._explained(opened, key) > self._explained(found, key) or key not in found:
                found[key] = stacks
        gc.collect()

    # --- memory ------------------------------------------------------------------------

    def memory(self, one_pass, rounds, driver):
        """Stacks through the project whose allocations grow with every pass. Each step looks
        closer at less: which tests leave blocks behind, on which lines, and by which way."""
        from exitpath_adapter import Leak

        driver.selected = driver.growing_tests(one_pass)
        try:
            lines = self._traced(1, rounds, one_pass, driver, self._line_of)
            grown = {line for line in lines[-1] if _grows(_series(lines, line))}
            if not grown:
                return []

            def stack_of(frames):
                return self._places.project_of(frames) if frames[0] in grown else None

            stacks = self._traced(_MEMORY_FRAMES, rounds - 1, one_pass, driver, stack_of)
        finally:
            driver.selected = None
        leaks = []
        for stack in stacks[-1]:
            sizes = _series(stacks, stack)
            if _grows(sizes):
                steps = _steps(sizes)
                leaks.append(Leak("memory", "memory that grows", growth=False, stack=stack,
                                  units=[min(n for n, _ in steps)] * driver.cycles,
                                  bytes_=max(0, min(b for _, b in steps))))
        return leaks

    def _line_of(self, frames):
        return None if self._places.is_runner(frames[0][0]) else frames[0]

    @staticmethod
    def _traced(depth, rounds, one_pass, driver, key_of):
        """After each pass but the first: key → (blocks, bytes). key_of(frames), innermost
        first; no key: left out."""
        from exitpath_adapter import collect

        tracemalloc.start(depth)
        series = []
        try:
            for i in range(rounds + 1):
                one_pass()
                driver.warnings.take()
                collect()
                if i:
                    series.append(_allocated(key_of))
        finally:
            tracemalloc.stop()
        return series


def _allocated(key_of):
    """There are some hundred thousand blocks, of some thousand stacks: equal ones share a
    tuple, which is looked at once."""
    found, keys = {}, {}
    traces = tracemalloc.take_snapshot().traces
    for _, size, frames, *_ in traces._traces:
        try:
            key = keys[id(frames)]
        except KeyError:
            key = keys[id(frames)] = key_of(frames)
        if key:
            n, total = found.get(key, (0, 0))
            found[key] = n + 1, total + size
    return found


def _series(passes, key):
    return [found.get(key, (0, 0)) for found in passes]


def _steps(sizes):
    return [(b[0] - a[0], b[1] - a[1]) for a, b in zip(sizes, sizes[1:])]


def _with_managed_dict(thing):
    """Python 3.11.0 to 3.11.9 looks in the wrong place for an object whose dict is in front
    of it: two pointers before the collector's head of two."""
    if sys.version_info[:2] != (3, 11):
        return None
    try:
        import ctypes

        find = ctypes.pythonapi._PyTraceMalloc_GetTraceback
        find.restype, find.argtypes = ctypes.py_object, (ctypes.c_uint, ctypes.c_size_t)
        head = 4 * ctypes.sizeof(ctypes.c_void_p)
        frames = find(0, id(thing) - head)
    except (ImportError, AttributeError):
        return None
    return tracemalloc.Traceback(frames) if frames else None


class _DescriptorWatch:
    def __init__(self, places):
        self._places = places
        self._known = set(descriptors())
        self._free = self._lowest_free()
        self.opened = {}

    @staticmethod
    def _lowest_free():
        dup, close = _lowest
        try:
            fd = dup(2)
        except OSError:
            return -1
        close(fd)
        return fd

    def profile(self, frame, event, arg):
        if event not in ("c_return", "return"):
            return
        free = self._lowest_free()
        if free == self._free:
            return
        self._free = free
        now = set(descriptors())
        for fd in now - self._known:
            self.opened[fd] = self._places.from_frame(frame)
        self._known = now


def _grows(sizes):
    """(blocks, bytes) after each pass. A cache that fills grows less each time: what leaks
    has a slope."""
    steps = _steps(sizes)
    blocks = [n for n, _ in steps]
    return min(blocks) > 0 and 4 * min(blocks) >= 3 * max(blocks) and (
        min(blocks) >= _BLOCKS or min(b for _, b in steps) >= _BYTES)


def _inode(fd):
    try:
        return str(os.fstat(fd).st_ino)
    except OSError:
        return None


def _count(found, key, stack, n=1):
    stacks = found.setdefault(key, {})
    stacks[stack] = stacks.get(stack, 0) + n


def _copy(leak):
    import copy

    return copy.copy(leak)
