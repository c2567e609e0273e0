"""What the code of numbered call sites calls: _c_ with what is to be called, _q_ with a
statement, _b_ before the call and _a_ after it, _w_ with what a block enters. One of them
raises, in place of the call."""
import sys

from exitpath_callees import STATEMENTS, Callees, Injected, caught_by, make, writes
from exitpath_sites import FaultPlaces, Sites

_LOOKS = 4  # at so many calls of a site in one test, for one that can fail
_NOTHING = {}
_FRAMES = 60
_getframe = sys._getframe


class Armed:
    """The failure that is wanted."""

    def __init__(self, number, variant, must, phase, forever=False):
        self.number, self.variant, self.must, self.phase = number, variant, must, phase
        self.forever = forever
        self.callee = None  # of the call that is under way
        self.fired = 0
        self.stack = ()  # (file, line) of the first
        self.names = ()  # of the project's functions in it
        self.error = None  # its text
        self.label = None


class Gates:
    def __init__(self, sites, callees):
        self._sites, self._callees = sites, callees
        self.on_fire = None  # (frame, exception or None)
        self.caller = None  # a function; the sites that had it in their chain:
        self.called_by = set()
        self.known = {}  # number → Callee
        self.hits = hits = {}  # number → calls since it was cleared
        self.phase = None
        self.armed = None
        self.spied = None  # a number: on_fire is told, and nothing is raised
        # number → True: it can fail; else how often it was looked at, in this test
        seen = self._seen = {}
        written = {}

        def c(n, f):
            s = seen.get(n, 0)
            if s is not True and s < _LOOKS:
                found = self._look(n, f)
                seen[n] = s + 1 if found is None else True
                if found is not None:
                    self.known.setdefault(n, found)
                    if self.caller and self._is_under(_getframe(1)):
                        self.called_by.add(n)
            if self.armed is not None and self.armed.number == n:
                self.armed.callee = self._look(n, f)
            return f

        def q(n, statement):
            written[n] = writes(statement)
            return statement

        def b(n):
            if seen.get(n) is not True:
                return _NOTHING
            hits[n] = hits.get(n, 0) + 1
            writing = written.pop(n, False)
            if writing and self.known[n].group == "db":
                self.known[n].must = True
            armed = self.armed
            if armed is not None and armed.number == n and armed.callee is not None:
                if armed.must and not writing and self._is_statement(n):
                    armed.callee = None
                elif armed.variant == "before":
                    self._fire(_getframe(1))
            if self.spied == n:
                self.on_fire(_getframe(1), None)
            return _NOTHING

        def a(n, value):
            armed = self.armed
            if armed is not None and armed.number == n and armed.variant == "after" and (
                    armed.callee is not None):
                del value
                self._fire(_getframe(1))
                return None
            return value

        def w(n, manager):
            found = self._look_at_end(n, manager)
            if found is None:
                return manager
            seen[n] = True
            if n not in self.known:
                self.known[n] = found
                if self.caller and self._is_under(_getframe(1)):
                    self.called_by.add(n)
            hits[n] = hits.get(n, 0) + 1
            armed = self.armed
            if self.spied == n or (armed is not None and armed.number == n):
                return _Block(self, n, manager, found)
            return manager

        self.a, self.b, self.c, self.q, self.w = a, b, c, q, w

    def clear(self):
        """Another test, or another phase of it, begins."""
        self.hits.clear()
        self._seen.clear()

    def _look(self, n, f):
        try:
            return self._callees.look(self._sites.all[n], f)
        except Exception:  # an object of the project that does not like to be asked
            return None

    def _look_at_end(self, n, manager):
        try:
            return self._callees.look_at_end(self._sites.all[n], manager)
        except Exception:
            return None

    def leave(self, n, callee, frame, variant):
        """The block ended well. An exception that __exit__ is to see, or None; raises with
        variant "after"."""
        if self.spied == n:
            if variant == "after":
                self.on_fire(frame, None)
            return None
        armed = self.armed
        if armed is None or armed.number != n or armed.variant != variant:
            return None
        armed.callee = callee
        if variant == "after":
            self._fire(frame)
            return None
        return self._error(frame)

    def _is_under(self, frame):
        for _ in range(_FRAMES):
            if frame is None:
                break
            code = frame.f_code
            if self.caller in (code.co_name, getattr(code, "co_qualname", None)):
                return True
            frame = frame.f_back
        return False

    def _is_statement(self, n):
        return self._sites.all[n].text.rpartition(".")[2] in STATEMENTS

    def _fire(self, frame):
        error = self._error(frame)
        if error is not None:
            raise error

    def _error(self, frame):
        """What is to be raised now, if anything is."""
        armed = self.armed
        if (armed.fired and not armed.forever) or (
                armed.phase is not None and self.phase != armed.phase):
            return None
        callee, armed.callee = armed.callee, None
        error = callee.error() if callee.error else make(self._caught(frame) or Injected)
        armed.fired += 1
        if armed.fired == 1:
            armed.label = callee.label
            armed.error = type(error).__name__
            armed.stack, armed.names = self._stack(frame)
        self.on_fire(frame, error)
        return error

    def _caught(self, frame):
        """What the nearest of the project's callers catches."""
        for _ in range(_FRAMES):
            if frame is None:
                break
            path = frame.f_code.co_filename
            if self._sites.has(path):
                kind = caught_by(self._sites.handlers(path, frame.f_lineno), frame)
                if kind is not None:
                    return kind
            frame = frame.f_back
        return None

    def _stack(self, frame):
        stack, names = [], []
        while frame is not None and len(stack) < _FRAMES:
            code = frame.f_code
            stack.append((code.co_filename, frame.f_lineno))
            if self._sites.has(code.co_filename):
                names.append(code.co_name)
            frame = frame.f_back
        return tuple(stack), tuple(names)


class _Block:
    """Stands for the manager of the block whose end fails. Where nothing was to be saved, the
    manager is told of an error: it rolls back, and lets go."""

    def __init__(self, gates, number, manager, callee):
        self._gates, self._number = gates, number
        self._manager, self._callee = manager, callee

    def _leave(self, frame, variant):
        return self._gates.leave(self._number, self._callee, frame, variant)

    def __enter__(self):
        return self._manager.__enter__()

    def __exit__(self, kind, error, trace):
        if kind is not None:
            return self._manager.__exit__(kind, error, trace)
        wrong = self._leave(_getframe(1), "before")
        if wrong is not None:
            self._manager.__exit__(type(wrong), wrong, None)
            raise wrong
        value = self._manager.__exit__(None, None, None)
        self._leave(_getframe(1), "after")
        return value

    async def __aenter__(self):
        return await self._manager.__aenter__()

    async def __aexit__(self, kind, error, trace):
        if kind is not None:
            return await self._manager.__aexit__(kind, error, trace)
        wrong = self._leave(_getframe(1), "before")
        if wrong is not None:
            await self._manager.__aexit__(type(wrong), wrong, None)
            raise wrong
        value = await self._manager.__aexit__(None, None, None)
        self._leave(_getframe(1), "after")
        return value


_NUMBERED = []


def number(root):
    """Gives numbers to the calls of what is loaded from now on: (places, sites, gates)."""
    if not _NUMBERED:
        places = FaultPlaces(root)
        sites = Sites(places)
        gates = Gates(sites, Callees(sites.wants))
        sites.install(gates)
        _NUMBERED[:] = places, sites, gates
    return _NUMBERED
