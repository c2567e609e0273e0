"""Where an injected exception goes: from the call on, a trace function sees each frame that it
passes, and the one that keeps it."""
import logging
import sys
import threading

_MARK = "_exitpath_"
_CHAIN = 10
_FRAMES = 100


def mark(error):
    try:
        setattr(error, _MARK, True)
    except Exception:
        pass


def is_marked(error):
    """The injected one, or one that was raised from it or while it was handled."""
    for _ in range(_CHAIN):
        if error is None:
            return False
        if getattr(error, _MARK, False) is True:
            return True
        error = error.__cause__ or error.__context__
    return False


class Course:
    """of_project(path), of_test(path): whose code is a file's?"""

    def __init__(self, sites, of_test):
        self._sites, self._of_test = sites, of_test
        self.on = False
        self.reached_test = False
        self.catcher = None  # (file, function, first line) of the last that it passed
        self.line = 0  # of the handler there
        self.returned = {}  # (file, function, first line) → what it returned, as text

    def start(self, frame):
        self.on = True
        at = frame
        for _ in range(_FRAMES):
            if at is None:
                break
            path = at.f_code.co_filename
            if self._sites.has(path) or self._of_test(path):
                at.f_trace = self._local
                at.f_trace_lines = True
            at = at.f_back
        sys.settrace(self._call)
        threading.settrace(self._call)

    def stop(self):
        if self.on:
            sys.settrace(None)
            threading.settrace(None)
            self.on = False

    def _call(self, frame, event, arg):
        path = frame.f_code.co_filename
        return self._local if self._sites.has(path) or self._of_test(path) else None

    def _local(self, frame, event, arg):
        code = frame.f_code
        key = code.co_filename, code.co_name, code.co_firstlineno
        if event == "exception":
            if is_marked(arg[1] if isinstance(arg[1], BaseException) else None):
                if self._of_test(code.co_filename):
                    self.reached_test = True
                self.catcher, self.line = key, 0
        elif event == "line":
            if key == self.catcher and not self.line:
                self.line = frame.f_lineno
        elif event == "return":
            self.returned[key] = _text(arg)
        return self._local


def _text(value):
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return repr(value)[:80]
    return type(value).__name__


class Logged:
    """Was anything logged as an error, or worse?"""

    def __init__(self):
        self.errors = 0
        self._handle = None

    def start(self):
        self._handle = handle = logging.Logger.handle
        me = self

        def counted(self, record):
            if record.levelno >= logging.ERROR:
                me.errors += 1
            return handle(self, record)

        logging.Logger.handle = counted

    def stop(self):
        logging.Logger.handle = self._handle
