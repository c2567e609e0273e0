"""`exitpath mutate` inside the process that runs the tests.

Three kinds of processes, all forked from one interpreter. The *start* stands where no module of the
project is loaded: a fork of it runs the whole command, once without a mutant, to see which lines each
test reaches, and then for mutants of code that runs at import. The *warm* process has collected the
tests and run none: for every other mutant a fork of it gives the functions their changed code, runs the
tests that reach it, and stops at the first that fails. A mutant is a text and compiled as the file would
be; the fork knows which one it has by a variable, so tests may clear the environment.

Facts alone are reported; src/engine/mutate_python.c decides.
"""
import gc
import importlib.machinery
import json
import os
import select
import sys
import threading
import time

import exitpath_start
from exitpath_adapter import collect
from exitpath_child import forget, get, put, wait
from exitpath_mutate_code import Codes
from exitpath_report import Report

_clock = time.monotonic
_open, _read, _write, _close, _fork, _exit = os.open, os.read, os.write, os.close, os.fork, os._exit
_getpid, _dumps, _loads = os.getpid, json.dumps, json.loads
_settrace, _gettrace = sys.settrace, sys.gettrace
_MORE, _FACTOR = 0.5, 10  # seconds, and times the time of the test without a mutant
_TICK = 0.05
_ALONE = 3  # times as much for those that are tried once more


def activate(runner):
    """The driver, in the one process that runs the tests; else None."""
    settings = exitpath_start.claim()
    if settings is None:
        return None
    driver = Mutate(settings, runner)
    exitpath_start.hide()
    driver.split()
    return driver


class Mutant:
    """path: as the run sees it. first, last: lines one of which is reached when it is."""
    __slots__ = ("id", "path", "start", "end", "first", "last", "text")

    def __init__(self, fields):
        self.id, self.path, self.start, self.end, self.first, self.last, text = fields
        self.text = text.encode()


class Lines:
    """Which lines of the mutated files run, per test."""

    def __init__(self, paths):
        self._paths = paths
        self._known = {}  # co_filename → local trace function, or None
        self.hits = {p: set() for p in paths}
        self._kept = self.trace  # one object, to know it again
        self.lost = False

    def start(self):
        threading.settrace(self._kept)
        _settrace(self._kept)

    def take(self):
        """What was reached since the last time; None: a test has traced by itself."""
        lost = _gettrace() is not self._kept
        if lost:
            self.start()
        taken = {p: sorted(h) for p, h in self.hits.items() if h}
        for h in self.hits.values():
            h.clear()
        return None if lost else taken

    def trace(self, frame, event, arg):
        name = frame.f_code.co_filename
        try:
            return self._known[name]
        except KeyError:
            pass
        path = name if name in self.hits else os.path.realpath(name)
        self._known[name] = local = self._local(self.hits[path]) if path in self.hits else None
        return local

    @staticmethod
    def _local(hits):
        add = hits.add

        def local(frame, event, arg):
            if event == "line":
                add(frame.f_lineno)
            return local

        return local


class Mutate:
    def __init__(self, settings, runner):
        self._dir = settings["dir"]
        with open(os.path.join(self._dir, "mutants.json"), encoding="utf-8") as f:
            wanted = json.load(f)
        self._mutants = [Mutant(m) for m in wanted["mutants"]]
        self._scale = _ALONE if wanted["alone"] else 1
        paths = sorted({m.path for m in self._mutants})
        self.codes = Codes(paths)
        self.report = Report(settings, runner)
        loaded = [p for p in paths if self.codes.is_loaded(p)]
        for path in loaded:
            self.report.add("note", text="%s is loaded before any test: what runs at its import is not "
                            "tried" % path)
        self._early = set(loaded)
        self._lines = Lines(paths)
        self.mode = "warm"  # "record", "fresh": the command itself, in a fork of the start
        self._current = None
        self._pid = _getpid()
        self._tests = {}  # name → {time, lines}; of the record
        self._killers = {}  # (path, line // 16) → tests that killed

    # --- the start -----------------------------------------------------------------------

    def split(self):
        """Returns in the warm process, and in every fork of the start."""
        self._hook()
        ask, answer = os.pipe(), os.pipe()
        if _fork() == 0:
            _close(ask[1])
            _close(answer[0])
            if self._serve(ask[0], answer[1]):
                return  # in a fork that goes on as the command
        _close(ask[0])
        _close(answer[1])
        self._ask, self._answer = self._up(ask[1]), self._up(answer[0])
        if self.mode != "warm":
            return
        if not self._record():
            _exit(1)

    @staticmethod
    def _up(fd):
        """Out of the way of tests that expect low numbers."""
        import fcntl

        high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200)
        _close(fd)
        return high

    def _serve(self, ask, answer):
        """True: this is a fork. Else it serves until nobody asks, and ends."""
        buffered = b""
        while True:
            while b"\n" not in buffered:
                more = _read(ask, 65536)
                if not more:
                    _exit(0)
                buffered += more
            line, buffered = buffered.split(b"\n", 1)
            wanted = _loads(line)
            path = os.path.join(self._dir, wanted["name"])
            pid = _fork()
            if pid == 0:
                _close(ask)
                _close(answer)
                self._become(path)
                self._begin_fresh(wanted)
                return True
            end = self._wait(pid, path, wanted["times"])
            text = _dumps(end).encode() + b"\n"
            while text:
                text = text[_write(answer, text):]

    def _wait(self, pid, path, times):
        """How it ends. times: each test has so many seconds, and the rest; None: an hour."""
        if times is None:
            return wait(pid, 3600)
        slack = self._scale * (_MORE + _FACTOR * times[""])
        fd = os.pidfd_open(pid)
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        at, ends = None, _clock() + slack
        while not poll.poll(1000 * _TICK):
            now = _parsed(get(path)).get("at", at)
            if now != at:
                at, ends = now, _clock() + self._scale * (_MORE + _FACTOR * times.get(at, 0))
            if _clock() > ends:
                break
        _close(fd)
        return wait(pid, 0)

    def _fresh(self, wanted, times):
        """(how it ended, what it says) of the command in a fork of the start."""
        wanted["times"] = times
        path = os.path.join(self._dir, wanted["name"])
        forget(path)
        text = _dumps(wanted).encode() + b"\n"
        while text:
            text = text[_write(self._ask, text):]
        reply = b""
        while not reply.endswith(b"\n"):
            more = _read(self._answer, 4096)
            if not more:
                raise RuntimeError("the first process is gone")
            reply += more
        return tuple(_loads(reply)), _parsed(get(path))

    def _begin_fresh(self, wanted):
        self.mode, self._wanted = wanted["mode"], wanted
        if self.mode == "record":
            self._lines.start()
        else:
            self._choose(self._mutants[wanted["index"]])

    def _become(self, path):
        os.setpgid(0, 0)
        self._pid, self._path = _getpid(), path
        fd = _open(os.devnull, os.O_RDWR)
        for n in (0, 1, 2):
            os.dup2(fd, n)
        _close(fd)

    def _hook(self):
        """Who loads one of the files gets the text of this process."""
        kind = importlib.machinery.SourceFileLoader
        plain, codes = kind.get_code, self.codes

        def get_code(self, fullname):
            changed = codes.changed
            if changed is not None and type(self) is kind and os.path.realpath(self.path) == changed[0]:
                return compile(changed[1], self.path, "exec", dont_inherit=True)
            return plain(self, fullname)

        kind.get_code = get_code

    def _choose(self, mutant):
        self.codes.changed = mutant.path, self.codes.text_with(mutant)

    # --- what runners say, in a fork of the start ------------------------------------------

    def failed_early(self, why):
        """Collection failed."""
        self._say({"failed": why, "test": ""})

    def fails(self, test, why):
        """A test that goes on has failed already."""
        self._say({"failed": why, "test": test})

    def run_all(self, tests, run):
        """The whole command, by the driver. run(test) → why it failed, or None. Never returns."""
        (self._record_all if self.mode == "record" else self._try_all)(tests, run)

    def _try_all(self, tests, run):
        for test in tests:
            self._say({"at": test})
            why = run(test)
            if why is not None:
                self._say({"failed": why, "test": test})
        self._say({"passed": True})

    def _record_all(self, tests, run):
        collected = self._lines.take()
        found = {}
        for test in tests:
            self._say({"at": test})
            began = _clock()
            why = run(test)
            if why is not None:
                self._say({"failed": why, "test": test})
            found[test] = _clock() - began, self._lines.take()
        _settrace(None)
        self._say({"passed": True, "import": collected, "tests": found})

    def _say(self, facts):
        """For good, unless it only tells where it stands. A child of a test is not to speak."""
        if _getpid() != self._pid:
            _exit(1)
        put(self._path, _dumps(facts))
        if "at" not in facts:
            _exit(0)

    # --- the record ------------------------------------------------------------------------

    def _record(self):
        began = _clock()
        end, facts = self._fresh({"name": "record", "mode": "record"}, None)
        self._times_of_start = max(0, _clock() - began - sum(
            took for took, _ in facts.get("tests", {}).values()))
        if "passed" not in facts:
            why = facts.get("failed") or "the process ended (%s %d)" % end
            self.report.add("failed", text="%s: %s" % (facts.get("test") or facts.get("at") or "collection",
                                                       why))
            return False
        self._tests = {t: {"time": took, "lines": {p: set(n) for p, n in lines.items()} if lines is not None
                           else None} for t, (took, lines) in facts["tests"].items()}
        self._import = {p: set(n) for p, n in (facts["import"] or {}).items()}
        self.report.add("tests", run=len(self._tests), seconds=sum(t["time"] for t in self._tests.values()))
        return bool(self._tests)

    def _reaching(self, mutant):
        lines = range(mutant.first, mutant.last + 1)
        return [t for t, f in self._tests.items() if f["lines"] is None or
                not f["lines"].get(mutant.path, set()).isdisjoint(lines)]

    def _at_import(self, mutant):
        return not self._import.get(mutant.path, set()).isdisjoint(range(mutant.first, mutant.last + 1))

    # --- the mutants -----------------------------------------------------------------------

    def explore(self, run):
        """run(test) → why it failed, or None; quietly."""
        self._run = run
        self.codes.index()
        collect()
        gc.freeze()
        end, facts = self._in_child(self._time_all, None)
        if "passed" not in facts:
            # Not as before: it depends on something that the tests do not say.
            self.report.add("failed", text="%s: %s, at its second run" % (
                facts.get("test") or facts.get("at") or "?", facts.get("failed") or "the process ended"))
            return
        self._times = dict(facts["tests"])
        self._times[""] = self._times_of_start
        for i, mutant in enumerate(self._mutants):
            self._progress(i)
            self.report.add("try", id=mutant.id)
            facts = self._one(i, mutant)
            self.report.add("mutant", id=mutant.id, **facts)
        gc.unfreeze()
        self.report.add("done")

    def _progress(self, done):
        put(os.path.join(self._dir, "progress"), "%d %d \n" % (done, len(self._mutants)))

    def _one(self, index, mutant):
        kind, replaced = self.codes.compare(mutant)
        if kind in ("invalid", "equivalent"):
            return {"verdict": kind}
        tests = self._reaching(mutant)
        imported = self._at_import(mutant)
        if not tests and not imported:
            return {"verdict": "unreached"}
        fresh = kind == "static" or imported
        if fresh and mutant.path in self._early:
            return {"verdict": "undecided", "why": "its file is loaded before any test"}
        if fresh:
            tests = list(self._tests)
        near = mutant.path, mutant.first // 16
        killers = self._killers.setdefault(near, [])
        tests.sort(key=lambda t: (t not in killers, self._times[t]))
        facts = {"reached": len(tests), "tests": sorted(tests)[:10], "fresh": fresh}
        facts.update(self._decide(index, mutant, tests, None if fresh else replaced))
        if facts.get("by"):
            killers.append(facts["by"])
        return facts

    def _decide(self, index, mutant, tests, replaced):
        times = self._times
        ends = []
        for _ in range(2):
            if replaced is None:
                end, said = self._fresh({"name": "fresh", "mode": "fresh", "index": index}, times)
            else:
                end, said = self._forked(mutant, tests, replaced)
            if said.get("passed"):
                return {"verdict": "survived"}
            if "failed" in said:
                return {"verdict": "killed", "by": said["test"], "why": said["failed"][:200]}
            if said.get("fresh"):
                return self._decide(index, mutant, tests, None)
            if end[0] == "hang":
                return {"verdict": "late", "by": said.get("at", "")}
            # It ended without a word: the mutant's doing only if it does so again.
            ends.append((end, said.get("at", "")))
        if ends[0] == ends[1]:
            return {"verdict": "killed", "by": ends[0][1], "why": "the process ended (%s %d)" % ends[0][0]}
        return {"verdict": "undecided", "why": "the process ends, and not in the same way each time"}

    def _forked(self, mutant, tests, replaced):
        return self._in_child(lambda: self._try_one(mutant, tests, replaced), self._times)

    def _try_one(self, mutant, tests, replaced):
        if not self.codes.put_in(replaced):
            self._say({"fresh": True})
        self._choose(mutant)
        self._try_all(tests, self._run)

    def _time_all(self):
        """Without a mutant and without a trace."""
        found = {}
        for test in self._tests:
            self._say({"at": test})
            began = _clock()
            why = self._run(test)
            if why is not None:
                self._say({"failed": why, "test": test})
            found[test] = _clock() - began
        self._say({"passed": True, "tests": found})

    def _in_child(self, work, times):
        path = os.path.join(self._dir, "child")
        forget(path)
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()
            except Exception:
                pass
        pid = _fork()
        if pid == 0:
            try:
                self._become(path)
                work()
            except BaseException as e:
                put(path, _dumps({"broken": "%s: %s" % (type(e).__name__, e)}))
            finally:
                _exit(3)
        end = self._wait(pid, path, times)
        return end, _parsed(get(path))


def _parsed(text):
    try:
        facts = _loads(text)
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}
