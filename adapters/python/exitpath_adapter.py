"""All cycles of the selected tests within this process, and what each adds.

Passes over the tests, in this order: one as the runner would do it, whose outcome is the
run's; one that shows which tests cannot be repeated; the rest of the warm-up; the measured
cycles. If something grew, more passes with tracemalloc on say where it was acquired: nothing
is traced, and so nothing is slow, while nothing leaks.

A measured cycle runs with the automatic collector off. What it still holds at its end, and
what is still held after a collection, are told apart.
"""
import gc
import os
import sys
import time

import exitpath_start
from exitpath_observe import Canary, Observer, blocks
from exitpath_places import Places
from exitpath_report import Report
from exitpath_suspects import Growing, Suspects
from exitpath_trace import Trace
from exitpath_warnings import Watch

_GRACE = 0.5  # seconds: threads and children that are about to end
_GROWING = 2  # passes in which a test that leaks memory leaves some
_GIVES_BACK = 16  # blocks
_RETRIES = 2  # of a test that passed before
_ROUNDS = 4  # passes that are traced for growth of memory, after one to warm up
# Those of which a release by the collector alone is a leak.
_EXACT = ("fd", "socket", "db_connection", "pool_slot", "session", "event_loop", "lock")

_sleep, _clock = time.sleep, time.monotonic
_open, _close = os.open, os.close


def activate(runner):
    """The driver, in the one process that runs the tests; else None."""
    settings = exitpath_start.claim()
    if settings is None:
        return None
    driver = Driver(settings, runner)
    exitpath_start.hide()
    return driver


class Driver:
    def __init__(self, settings, runner):
        self.report = Report(settings, runner)
        self.warmup = settings["warmup"]
        self.cycles = max(settings["cycles"], 1)
        self.unrepeatable = {}  # test → why
        self._flaky = set()
        self._debug, self._garbage = gc.get_debug(), len(gc.garbage)
        self.selected = None  # the tests of a pass; None: all
        self._lingering = set()
        self._suspects = None
        self._mark = settings.get("mark")
        self.places = Places(settings["root"])
        self._observer = Observer()
        self._trace = Trace(self.places, self._observer.names)
        self.warnings = Watch(self.places, self._trace.of)

    # --- what runners say --------------------------------------------------------------

    def note(self, text):
        self.report.add("note", text=text)

    def refuse(self, text):
        self.report.add("refused", text=text)

    def tests(self, run, skipped=0):
        self.report.add("tests", run=run, skipped=skipped)

    def failed(self, text):
        self.report.add("failed", text=text)

    def begin(self, test, code=None):
        """code: of the test's function."""
        self.report.at(test)
        if self._suspects is not None:
            self._suspects.begin(test, code and (code.co_filename, code.co_firstlineno))
        self.warnings.lead()

    def wants(self, test):
        """Is it to run in this pass?"""
        return test not in self.unrepeatable and (
            self.selected is None or test in self.selected)

    def failed_again(self, failed, run):
        """failed: test → why, of a pass. run(tests) runs them alone and returns the same.
        What passes when it is tried again is flaky, and says nothing about what is left."""
        for _ in range(_RETRIES):
            if not failed:
                return
            still = run(set(failed))
            for test in sorted(set(failed) - set(still)):
                if test not in self._flaky:
                    self._flaky.add(test)
                    self.note("%s fails at times: %s" % (test, " ".join(failed[test].split())[:200]))
            failed = still
        for test, why in failed.items():
            self.drop(test, why)

    def drop(self, test, why):
        """It passed once and fails when it runs again: something is left behind."""
        self.unrepeatable[test] = " ".join(str(why).split())[:200]

    def mark(self, cycle):
        """Tells exitpath that a cycle has ended (src/detect/pg_watch.h): 0 is the warm-up.
        The call is held up while a database server is asked."""
        if self._mark:
            _close(_open(self._mark + str(cycle), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))

    # --- the passes --------------------------------------------------------------------

    def _calm(self):
        """A test may leave the collector to keep all that it finds (gc.DEBUG_SAVEALL)."""
        if gc.get_debug() != self._debug:
            gc.set_debug(self._debug)
            del gc.garbage[self._garbage:]

    def measure(self, run):
        """run(): every test once more but those dropped."""
        if sys.implementation.name != "cpython":
            self.refuse("%s frees objects when it likes: CPython is needed"
                        % sys.implementation.name)
            return
        def one_pass():
            run()
            self._calm()

        collecting = gc.isenabled()
        self.warnings.start()
        try:
            for _ in range(max(self.warmup - 1, 1)):
                one_pass()
            self._canary("before")
            series = Series(self, one_pass)
            series.run()
            leaks = series.leaks()
            leaks = self._trace.locate(leaks, one_pass, self)
            # What leaks holds memory: that of anything else would not stand out.
            if series.memory_grew() and not any(k.growth for k in leaks):
                leaks += self._trace.memory(one_pass, _ROUNDS, self)
            self._canary("after")
        finally:
            self.warnings.stop()
            if collecting:
                gc.enable()
        for test, why in sorted(self.unrepeatable.items()):
            leaks.append(Leak("state", test, [1] * self.cycles, growth=False, what_more=why))
        for leak in fold(leaks, self.places):
            self.report.add("leak", **leak.fields(self.places))
        self.report.add("done", warmup=self.warmup, cycles=self.cycles)
        self.report.at("the end of the session")

    def settle(self, level):
        """The snapshot, once threads and children that are on their way out are gone. What
        outlasted a wait once is not waited for again."""
        deadline = _clock() + _GRACE
        while True:
            running = self._observer.running()
            above = {key for key, things in running.items()
                     if len(things) > len(level.get(key, ()))} - self._lingering
            if not above:
                break
            if _clock() > deadline:
                self._lingering |= above
                break
            del running
            _sleep(0.005)
        return self._observer.snapshot()

    def snapshot(self):
        return self._observer.snapshot()

    def watch_tests(self, keys, one_pass):
        """A pass that shows which tests leak what keys name."""
        return self._look(Suspects(self._observer, keys, self.warnings), one_pass)

    def growing_tests(self, one_pass):
        """Those that leave more memory behind each time, or much less: what a module's last
        test leaks may be less than what the module's end gives back. None: it is no test."""
        passes = [self._look(Growing(), one_pass).found for _ in range(_GROWING)]
        return {test for test in passes[0]
                if all(p.get(test, 0) > 0 for p in passes) or
                all(p.get(test, 0) < -_GIVES_BACK for p in passes)} or None

    def _look(self, suspects, one_pass):
        self._suspects = suspects
        suspects.start()
        try:
            one_pass()
        finally:
            suspects.stop()
            self._suspects = None
        return suspects

    # --- the proof that it sees --------------------------------------------------------

    def _canary(self, when):
        import warnings

        seen = []
        self.warnings.lead()
        collect()
        before = self.snapshot()
        start = blocks()
        planted = Canary()
        loop = [planted]
        loop.append(loop)
        memory = [object() for _ in range(2000)]
        if blocks() - start >= 1000:
            seen.append("memory")
        fd = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        after = self.snapshot()
        if grown(before, after, ("fd", "/dev/null")) == 1:
            seen.append("fd")
        if grown(before, after, ("canary", "object")) == 1:
            seen.append("object")
        os.close(fd)
        del planted, loop, memory
        gc.disable()
        held = self.snapshot()
        if grown(before, held, ("canary", "object")) == 1:
            seen.append("frozen")
        del held
        collect()
        gone = self.snapshot()
        if grown(before, gone, ("canary", "object")) or grown(
                before, gone, ("fd", "/dev/null")):
            seen.append("still there")
        taken = self.warnings.take()
        warnings.warn("unclosed <exitpath.canary>", ResourceWarning)
        if any(what == "exitpath.canary" for what, _ in self.warnings.take()):
            seen.append("warning")
        self.warnings.seen = taken
        self.report.add("canary", when=when, seen=seen)


def collect():
    """Finalizers may free what another collection finds."""
    for _ in range(3):
        if not gc.collect():
            break


def grown(before, after, key):
    return len(after.get(key, ())) - len(before.get(key, ()))


class Leak:
    def __init__(self, resource, what, units, growth=True, stack=(), things=(),
                 released_by_gc=False, what_more=None, bytes_=0):
        self.resource, self.what, self.units = resource, what, units
        self.growth, self.stack, self.things = growth, stack, things
        self.released_by_gc, self.what_more, self.bytes = released_by_gc, what_more, bytes_

    def fields(self, places):
        return {
            "resource": self.resource,
            "what": self.what,
            "more": self.what_more,
            "units": self.units,
            "bytes": self.bytes,
            "growth": self.growth,
            "released_by_gc": self.released_by_gc,
            "frames": places.describe(self.stack),
        }


class Series:
    """The measured cycles."""

    def __init__(self, driver, one_pass):
        self._driver, self._pass = driver, one_pass
        self._places = driver.places
        self._levels, self._frozen, self._warned = [], [], []
        self._blocks = []
        self._last = {}

    def run(self):
        collect()
        self._last = self._driver.snapshot()
        self._levels.append(counts(self._last))
        self._driver.mark(0)
        self._driver.warnings.take()
        for cycle in range(self._driver.cycles):
            self._one(cycle + 1)

    def _one(self, cycle):
        driver = self._driver
        collect()
        start = blocks()
        gc.disable()
        self._pass()
        self._warned.append(driver.warnings.take())
        middle = blocks()
        frozen = driver.settle(self._last)
        driver.mark(cycle)
        self._frozen.append(counts(frozen))
        del frozen
        own = blocks() - middle
        driver.warnings.paused = True
        collect()
        driver.warnings.paused = False
        self._blocks.append(blocks() - start - own)
        self._last = driver.snapshot()
        self._levels.append(counts(self._last))

    def leaks(self):
        found = []
        for key in sorted(set().union(*self._levels, *self._frozen)):
            if key[0] == "canary":
                continue
            growth = highs([level.get(key, 0) for level in self._levels])
            if steady(growth):
                found.append(Leak(key[0], key[1], growth))
                continue
            if key[0] not in _EXACT:
                continue
            freed = [max(0, frozen.get(key, 0) - max(level.get(key, 0), before.get(key, 0)))
                     for frozen, level, before in zip(
                         self._frozen, self._levels[1:], self._levels)]
            if steady(freed):
                # What waits in a pool for an engine that is garbage is common; what was
                # taken out of it and not given back is a leak by itself.
                found.append(Leak(key[0], key[1], freed, growth=key[0] == "pool_slot",
                                  released_by_gc=True))
        for what in sorted({key[0] for warned in self._warned for key in warned}):
            units = [sum(n for key, n in warned.items() if key[0] == what)
                     for warned in self._warned]
            if steady(units):
                dropped = max((key[1] for w in self._warned for key in w if key[0] == what),
                              key=lambda stack: (self._places.has_project(stack), stack))
                found.append(Leak("unclosed", what, units, growth=False, stack=dropped))
        return found

    def memory_grew(self):
        return all(n > 0 for n in self._blocks)


def counts(held):
    return {key: len(things) for key, things in held.items()}


def highs(levels):
    """By how much each level is above all before it: what comes back is no growth."""
    most, found = levels[0], []
    for level in levels[1:]:
        found.append(max(0, level - most))
        most = max(most, level)
    return found


def steady(units):
    """Once in all cycles is a late warm-up."""
    some = sum(1 for n in units if n)
    return some == len(units) or some > 1


# What is of a higher level comes first, and explains what lies beneath it.
_ORDER = ("pool_slot", "session", "db_connection", "event_loop", "task", "thread", "child",
          "lock", "socket", "fd")
_BENEATH = ("db_connection", "socket", "fd", "lock", "event_loop", "unclosed")


def fold(leaks, places):
    """A connection's own descriptor, acquired in the same place, is not a second leak."""
    kept, taken = [], {}
    rank = {name: i for i, name in enumerate(_ORDER)}
    for leak in sorted(leaks, key=lambda k: rank.get(k.resource, len(rank))):
        place = places.project_part(leak.stack)
        over = taken.get(place) if place else None
        if over is not None and leak.resource in _BENEATH and (
                over.resource != leak.resource):
            continue
        if place and leak.resource in _ORDER:
            taken.setdefault(place, leak)
        kept.append(leak)
    return kept
