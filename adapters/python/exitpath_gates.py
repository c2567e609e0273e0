"""What the code of numbered call sites calls: _c_ with what is to be called, _q_ with a
statement, _b_ before the call and _a_ after it. One of them raises, in place of the call."""
import sys

from exitpath_callees import STATEMENTS, caught_by, make, Injected, writes

_UNKNOWN, _KNOWN, _DEAD = 0, 1, 2
_LOOKS = 4  # at so many calls of a site that cannot fail, before it is left alone
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
        self.stack = ()  # (file, line, function) of the first
        self.error = None  # its text
        self.label = None


class Gates:
    def __init__(self, sites, callees, on_fire):
        self._sites, self._callees, self._on_fire = sites, callees, on_fire
        self.known = {}  # number → Callee
        self.hits = hits = {}  # number → calls since it was cleared
        self.phase = None
        self.armed = None
        self.spied = None  # a number: on_fire is told, and nothing is raised
        state = self._state = {}
        looked = {}
        written = {}

        def c(n, f):
            s = state.get(n, _UNKNOWN)
            if s is _UNKNOWN:
                found = self._look(n, f)
                if found is not None:
                    self.known[n] = found
                    state[n] = _KNOWN
                else:
                    looked[n] = looked.get(n, 0) + 1
                    if looked[n] >= _LOOKS:
                        state[n] = _DEAD
            if self.armed is not None and self.armed.number == n:
                self.armed.callee = self._look(n, f)
            return f

        def q(n, statement):
            written[n] = writes(statement)
            return statement

        def b(n):
            if state.get(n) is not _KNOWN:
                return _NOTHING
            hits[n] = hits.get(n, 0) + 1
            writing = written.pop(n, False)
            if writing and self.known[n].group == "db":
                self.known[n].must = True
            armed = self.armed
            if armed is not None and armed.number == n and armed.callee is not None:
                if armed.must and self.known[n].must and not writing and (
                        self._is_statement(n)):
                    armed.callee = None
                elif armed.variant == "before":
                    self._fire(_getframe(1))
            if self.spied == n:
                self._on_fire(_getframe(1), None)
            return _NOTHING

        def a(n, value):
            armed = self.armed
            if armed is not None and armed.number == n and armed.variant == "after" and (
                    armed.callee is not None):
                del value
                self._fire(_getframe(1))
                return None
            return value

        self.a, self.b, self.c, self.q = a, b, c, q

    def _look(self, n, f):
        try:
            return self._callees.look(self._sites.all[n], f)
        except Exception:  # an object of the project that does not like to be asked
            return None

    def _is_statement(self, n):
        return self._sites.all[n].text.rpartition(".")[2] in STATEMENTS

    def _fire(self, frame):
        armed = self.armed
        if (armed.fired and not armed.forever) or (
                armed.phase is not None and self.phase != armed.phase):
            return
        callee, armed.callee = armed.callee, None
        error = callee.error() if callee.error else make(self._caught(frame) or Injected)
        armed.fired += 1
        if armed.fired == 1:
            armed.label = callee.label
            armed.error = type(error).__name__
            armed.stack = self._stack(frame)
        self._on_fire(frame, error)
        raise error

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

    @staticmethod
    def _stack(frame):
        stack = []
        while frame is not None and len(stack) < _FRAMES:
            stack.append((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back
        return tuple(stack)
