"""`exitpath fault` inside the process that runs the tests.

The first pass is the runner's own, and shows which call sites each test reaches, in which
phase. Then each site is made to fail, in a fork of this process that runs one test that
reaches it, and looks at what the process holds before and after. Where a fork is not safe,
exitpath runs the command again for each of the sites that it is told of, and the same happens
in that process itself.

Facts alone are reported; src/fault/site.c judges.
"""
import faulthandler
import gc
import hashlib
import json
import os
import re
import sys
import time

import exitpath_start
from exitpath_adapter import collect, counts
from exitpath_callees import Callee
from exitpath_child import after_crash, forget, get, put, wait
from exitpath_gates import Armed, number
from exitpath_observe import Observer, descriptors, describe_socket, resources
from exitpath_report import Report
from exitpath_sites import is_test
from exitpath_swallow import Course, Logged, mark
from exitpath_trace import Trace
from exitpath_warnings import Watch

_GRACE = 0.3  # seconds: threads and children that are about to end
_TESTS = 3  # of those that reach a site
_SLOW = 1.0  # seconds: of tests that take longer one is enough
_FACTOR, _MORE = 10, 5.0  # of a test's time without the fault; seconds
_EXACT = ("fd", "socket", "db_connection", "pool_slot", "session", "event_loop", "lock")
_FAR = 2
_PHASES = ("call", "setup", "teardown")
_RELEASES = re.compile(r"(^|_)(a?close[ds]?|stop|shutdown|clean_?up|tear_?down|dispose|release|"
                       r"finish|finali[sz]e|exit|aexit|del|terminate|disconnect|rollback)(_|$)")

_clock, _sleep = time.monotonic, time.sleep
_open, _write, _close, _fork = os.open, os.write, os.close, os.fork


def activate(runner):
    """The driver, in the one process that runs the tests; else None."""
    settings = exitpath_start.claim()
    if settings is None:
        return None
    driver = Fault(settings, runner)
    exitpath_start.hide()
    return driver


class Point:
    def __init__(self, site, callee, variant, phase, tests):
        self.site, self.callee, self.variant, self.phase = site, callee, variant, phase
        self.tests = tests
        self.key = site.key(variant)


class Outcome:
    """Of one test in one pass."""

    def __init__(self, passed, why="", text=""):
        self.passed, self.why, self.text = passed, why, text


class Fault:
    def __init__(self, settings, runner):
        wanted = settings["fault"]
        self._dir = settings["dir"]
        self.report = Report(settings, runner)
        self.only = wanted.get("keys")  # of points; None: all
        self.selected = wanted.get("tests")  # names; None: all
        self._places = wanted.get("places")  # [file, function, call]; None: all
        self._classes = wanted.get("classes")
        self._changed = wanted.get("changed", ())  # [file, first line, last line]
        # A point: the runner's own pass alone, in which it fails; "0000…": nothing does.
        self.bare = wanted.get("bare")
        self.first = wanted.get("first")  # points that are to fail in a test's first run
        self._forks = wanted.get("fork", True)
        self._call = wanted.get("call")
        self._most = wanted.get("points") or 0
        self._ends = _clock() + wanted["time_ms"] / 1000 if wanted.get("time_ms") else None
        self._forever = wanted.get("forever", False)
        # Since the start of the interpreter: tests may be loaded by now.
        self.places, self._sites, self.gates = number(settings["root"])
        self.gates.on_fire = self._on_fire
        self.gates.caller = wanted.get("caller")
        self._reached = {}  # number → {phase: [(test, calls)]}
        self._calls = 0
        self._recording = True
        self._test = None
        if self.bare is not None:
            self._recording = False
            must = wanted.get("must", False)
            self._sites.on_add(lambda site: self._arm_bare(site, must))
        self._took = {}
        self._began = 0.0
        self._bases = {}
        self._lingering = set()
        self._observer = Observer()
        self._trace = Trace(self.places, self._observer.names)
        self.warnings = Watch(self.places, self._trace.of)
        self._course = None

    # --- what runners say --------------------------------------------------------------

    def note(self, text):
        self.report.add("note", text=text)

    def refuse(self, text):
        self.report.add("refused", text=text)

    def failed(self, text):
        self.report.add("failed", text=text)

    def tests(self, run, skipped=0):
        self.report.add("tests", run=run, skipped=skipped)

    def wants(self, test):
        return self.selected is None or test in self.selected

    def compile_main(self, path):
        """The script that is the program, with its sites."""
        with open(path, "rb") as f:
            data = f.read()
        if not self._sites.wants(path):
            return compile(data, path, "exec", dont_inherit=True)
        return self._sites.compile(data, path, main=True)

    def begin(self, test):
        self._leave()
        self._test, self._began = test, _clock()
        self.gates.phase = "call"
        self.warnings.lead()

    def phase(self, name):
        self._leave()
        self.gates.phase = name

    def end(self):
        self._leave()
        if self._test is not None:
            self._took[self._test] = _clock() - self._began
        self._test = self.gates.phase = None

    def _leave(self):
        """Notes what was reached in the phase that ends."""
        if not self._recording:
            return
        hits = self.gates.hits
        for number, n in hits.items():
            self._calls += n
            phases = self._reached.setdefault(number, {})
            tests = phases.setdefault(self.gates.phase, {})
            tests[self._test] = tests.get(self._test, 0) + n
        self.gates.clear()

    def _arm_bare(self, site, must):
        for variant in ("before", "after"):
            if site.key(variant) == self.bare:
                self.gates.armed = Armed(site.number, variant, must, None, self._forever)

    # --- all points --------------------------------------------------------------------

    def explore(self, passed, run):
        """passed: the tests that passed once; run(test) → Outcome, quietly."""
        self.end()
        self._recording = False
        if sys.implementation.name != "cpython":
            self.refuse("%s frees objects when it likes: CPython is needed"
                        % sys.implementation.name)
            return
        points, outside = self._plan(set(passed))
        near = sum(self._distance(p.site) < _FAR for p in points)
        left = points[self._most or len(points):]
        points = points[:self._most or None]
        about = _about(self.places)
        self.report.add("plan", sites=len(self._sites.all), points=len(points), left=len(left),
                        near=near, calls=self._calls, outside=outside, about=about)
        for path, why in self._sites.failed:
            self.note("%s could not be given numbers and runs as it is: %s"
                      % (self.places.below(path) or path, why))
        self._run = run
        self.warnings.start()
        unsafe = self._unsafe() if self._forks else "asked not to"
        if unsafe and self._forks:
            self.report.add("unsafe", text=unsafe)
        done = 0
        # A collection writes to all that it looks at: each fork would copy all of it.
        collect()
        gc.freeze()
        for point in points:
            self.report.add("point", **self._fields(point))
        known = self._known(about)
        if not unsafe or not self._forks:
            for point in points:
                if point.key in known:
                    continue
                done += 1
                self._progress(done, len(points))
                for test in point.tests:
                    if self._ends is None or _clock() < self._ends:
                        (self._forked if self._forks else self._here)(point, test)
        gc.unfreeze()
        self.warnings.stop()
        self.report.add("done")

    def explore_first(self, run):
        """Before any test has run: what a test does once in a process, and tests that cannot
        be repeated. run(test) → Outcome."""
        self._recording = False
        self._run = run
        numbers = {site.key(variant): (site, variant) for site in self._sites.all
                   for variant in ("before", "after")}
        self.warnings.start()
        unsafe = self._unsafe()
        collect()
        gc.freeze()
        for i, wanted in enumerate(self.first):
            self._progress(i, len(self.first))
            site, variant = numbers.get(wanted["key"], (None, None))
            if site is None or unsafe or not wanted["tests"]:
                continue
            callee = Callee(site.text, (), "other", None, wanted["must"], False, (variant,))
            self._forked(Point(site, callee, variant, wanted["phase"], ()), wanted["tests"][0])
        gc.unfreeze()
        self.warnings.stop()
        self.report.add("done")

    def _known(self, about):
        """Points that an earlier run came to know, with the same surroundings."""
        try:
            known = json.loads(get(os.path.join(self._dir, "known")))
        except ValueError:
            return ()
        return set(known["keys"]) if known["about"] == about else ()

    def _plan(self, passed):
        points, outside = [], 0
        for number, callee in sorted(self.gates.known.items()):
            site = self._sites.all[number]
            if not self._is_chosen(site, callee):
                continue
            phases = self._reached.get(number, {})
            phase, tests = None, []
            for name in _PHASES:
                tests = [t for t in phases.get(name, ()) if t in passed]
                if tests:
                    phase = name
                    break
            if phase is None:
                outside += 1
                continue
            tests.sort(key=lambda t: (self._took.get(t, 0), t))
            slow = self._took.get(tests[0], 0) > _SLOW
            for variant in callee.variants:
                point = Point(site, callee, variant, phase, tests[:1 if slow else _TESTS])
                if self.only is None or point.key in self.only:
                    points.append((self._rank(site, callee, phases), point))
        points.sort(key=lambda p: p[0])
        return [p for _, p in points], outside

    def _is_chosen(self, site, callee):
        if self._call and self._call not in callee.names:
            return False
        if self.gates.caller and site.number not in self.gates.called_by:
            return False
        if self._classes is not None and callee.group not in self._classes:
            return False
        return self._places is None or [site.file, site.function, callee.label] in (
            self._places)

    def _distance(self, site):
        """0: in a function that changed, 1: in a file that did, _FAR: in none."""
        ranges = [r for r in self._changed if r[0] == site.file]
        return 0 if any(r[1] <= site.line <= r[2] for r in ranges) else 1 if ranges else _FAR

    def _rank(self, site, callee, phases):
        groups = ("db", "file", "net", "process", "other")
        calls = sum(n for tests in phases.values() for n in tests.values())
        return self._distance(site), not callee.must, groups.index(callee.group), calls

    def _fields(self, point):
        site = point.site
        return {"key": point.key, "label": point.callee.label, "file": site.file,
                "line": site.line, "function": site.function, "text": site.text,
                "variant": point.variant, "must": point.callee.must, "tests": point.tests,
                "phase": point.phase, "group": point.callee.group,
                "releasing": point.callee.releasing}

    def _progress(self, done, all_):
        try:
            fd = _open(os.path.join(self._dir, "progress"), os.O_WRONLY | os.O_CREAT |
                       os.O_NOFOLLOW, 0o600)
            _write(fd, b"%d %d \n" % (done, all_))
            _close(fd)
        except OSError:
            pass

    # --- is a fork safe? ---------------------------------------------------------------

    def _unsafe(self):
        self.settle({})
        if len(os.listdir("/proc/self/task")) > 1:
            names = [key[1] for key in self._observer.running() if key[0] == "thread"]
            return "there are threads" + (": " + ", ".join(sorted(names)) if names else "")
        collect()
        for o, resource, what in resources():
            if resource == "event_loop":
                return "an event loop is open"
            if resource == "db_connection" and not _in_memory(o):
                return "a database connection is open: " + what
        for fd, target in descriptors().items():
            if target.startswith("socket:"):
                what = describe_socket(fd, self._observer.names)
                if "listening" not in what and "not connected" not in what:
                    return "a socket is connected: " + what
        return None

    # --- in a fork ---------------------------------------------------------------------

    def _forked(self, point, test):
        base = self._bases.get(test)
        if base is None:
            base = self._bases[test] = self._in_child(
                lambda: self._measure(test, None), 60 + _FACTOR * self._took.get(test, 1))
            if base.get("passed") is not True:
                self.note("%s cannot be run twice in one process: %s" % (
                    test, base.get("why") or base.get("end") or "?"))
        if base.get("passed") is not True:
            self.report.add("trial", key=point.key, test=test, fired=False, again=True)
            return
        deadline = _MORE + _FACTOR * max(base.get("took", 0), self._took.get(test, 0))
        facts = self._in_child(lambda: self._trial(point, test, base), deadline)
        self._say(point, test, facts)

    def _say(self, point, test, facts):
        for name in ("text", "levels"):
            facts.pop(name, None)
        # Sources are parsed here, once, and not in each fork.
        facts["stack"] = self._describe(facts.get("stack", ()))
        for held in facts.get("held", ()):
            held["frames"] = self._describe(held["frames"])
        self.report.add("trial", key=point.key, test=test, **facts)

    def _in_child(self, work, seconds):
        """What work() returns, in a fork, or how that ended."""
        path = os.path.join(self._dir, "child")
        forget(path)
        forget(path + ".crash")
        files = self._files()
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()
            except Exception:
                pass
        pid = _fork()
        if pid == 0:
            status = 1
            try:
                os.setpgid(0, 0)
                self._become_child(path)
                put(path, json.dumps(work()))
                status = 0
            except BaseException as e:
                try:
                    put(path, json.dumps({"broken": "%s: %s" % (type(e).__name__, e)}))
                except BaseException:
                    pass
            finally:
                os._exit(status)
        end, number = wait(pid, seconds)
        self._remove_new(files)
        try:
            facts = json.loads(get(path))
        except ValueError:
            facts = after_crash(get(path + ".fired"))
        forget(path + ".fired")
        if "broken" in facts:
            self.note("a trial broke off: " + facts["broken"])
        if end != "exit" or "passed" not in facts:
            facts["end"], facts["signal"] = end if end != "exit" else "left", number
            facts["seconds"] = seconds
            facts["detail"] = self._where(get(path + ".crash"))
        return facts

    def _become_child(self, path):
        fd = _open(os.devnull, os.O_RDONLY)
        os.dup2(fd, 0)
        _close(fd)
        fd = _open(path + ".out", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        for n in (1, 2):
            os.dup2(fd, n)
        _close(fd)
        self._fired_path = path + ".fired"
        # A descriptor of ours would be counted.
        fd = _open(path + ".crash", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        faulthandler.enable(fd, all_threads=True)

    _fired_path = None

    def _where(self, text):
        """The innermost frames of faulthandler's report that are the project's."""
        frames = re.findall(r'File "([^"]*)", line (\d+) in (\S+)', text)
        for file, line, function in frames:
            if self.places.is_project(file):
                return "in %s (%s:%s)" % (function, self.places.below(file), line)
        return ""

    def _files(self):
        """Of TMPDIR: what a trial leaves there must not meet the next."""
        try:
            return set(os.listdir(self._observer.names.tmp))
        except OSError:
            return set()

    def _remove_new(self, before):
        import shutil

        tmp = self._observer.names.tmp
        for name in self._files() - before:
            if name.startswith("pytest-of-"):
                continue
            path = os.path.join(tmp, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                forget(path)

    # --- in this process ---------------------------------------------------------------

    def _here(self, point, test):
        base = self._bases.get(test)
        if base is None:
            base = self._bases[test] = self._measure(test, None)
        if base["passed"] is not True:
            self.report.add("trial", key=point.key, test=test, fired=False, again=True)
            return
        self._say(point, test, self._trial(point, test, base))

    # --- one trial ---------------------------------------------------------------------

    def _armed(self, point):
        return Armed(point.site.number, point.variant, point.callee.must, point.phase,
                     self._forever)

    def _measure(self, test, armed):
        """The test once, between two looks at what is held."""
        collect()
        gc.freeze()
        gc.disable()
        before = self._observer.snapshot()
        self.warnings.take()
        logged = Logged()
        logged.start()
        self.gates.clear()
        started = _clock()
        self.gates.armed = armed
        try:
            outcome = self._run(test)
        finally:
            self.gates.armed = None
            if self._course is not None:
                self._course.stop()
            logged.stop()
        took = _clock() - started
        self.gates.phase = None
        _let_go()
        warned = {}
        for (what, _), n in self.warnings.take().items():
            warned[what] = warned.get(what, 0) + n
        frozen = counts(self.settle(before))
        gc.enable()
        self.warnings.paused = True
        collect()
        self.warnings.paused = False
        after = counts(self._observer.snapshot())
        before = counts(before)
        held = {}
        for key in set(after) | set(frozen):
            more = after.get(key, 0) - before.get(key, 0)
            freed = frozen.get(key, 0) - max(after.get(key, 0), before.get(key, 0))
            if more > 0:
                held[key] = more, False
            elif freed > 0 and key[0] in _EXACT:
                held[key] = freed, True
        for what, n in warned.items():
            held["unclosed", what] = n, True
        must = sum(n for number, n in self.gates.hits.items() if self.gates.known[number].must)
        return {
            "passed": outcome.passed, "why": outcome.why, "text": outcome.text,
            "levels": [[k[0], k[1], n, gone] for k, (n, gone) in sorted(held.items())],
            "must": must, "errors": logged.errors, "took": took,
        }

    def _trial(self, point, test, base):
        armed = self._armed(point)
        self._course = course = Course(self._sites, self._of_test)
        facts = self._measure(test, armed)
        self._course = None
        facts["fired"] = armed.fired > 0
        if not armed.fired:
            return facts
        facts["error"], facts["label"] = armed.error, armed.label
        facts["stack"] = armed.stack
        held = self._more(facts["levels"], base["levels"])
        facts["held"] = self._locate(point, test, armed, held) if held else []
        facts["same"] = _plain(facts["text"]) == _plain(base["text"])
        facts["repeated"] = facts["must"] > base["must"]
        facts["logged"] = facts["errors"] > base["errors"]
        facts["told"] = course.reached_test or self._told(course)
        if point.callee.must and facts["passed"] and not (
                facts["logged"] or facts["told"] or facts["repeated"]) and facts["same"]:
            facts["told"] = self._returned_otherwise(point, test, course)
        return facts

    def _of_test(self, path):
        return self.places.is_project(path) and not self._sites.wants(path)

    def _on_fire(self, frame, error):
        if error is not None:
            mark(error)
            self._note_fired()
        if self._course is not None and not self._course.on:
            self._course.start(frame)

    def _note_fired(self):
        """For whoever finds this process dead."""
        armed = self.gates.armed
        fields = {"fired": True, "error": armed.error, "label": armed.label,
                  "stack": armed.stack}
        if self._fired_path is not None:
            put(self._fired_path, json.dumps(fields))
        else:
            fields["stack"] = self._describe(armed.stack)
            self.report.add("fired", **fields)

    def _describe(self, stack):
        stack = [tuple(f) for f in stack if not self.places.is_runner(f[0]) and
                 not f[0].startswith("<")]
        return self.places.describe(self.places._trim(stack))

    # --- what is held ------------------------------------------------------------------

    @staticmethod
    def _more(levels, base):
        known = {(r, w): n for r, w, n, _ in base}
        return {(r, w): (n - known.get((r, w), 0), gone) for r, w, n, gone in levels
                if n > known.get((r, w), 0)}

    def settle(self, level):
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

    def _locate(self, point, test, armed, held):
        """Where it was acquired, in two passes more with the same failure. What does not
        grow with them was made once and is kept: no leak."""
        fired = []

        def once():
            self.gates.armed = armed = self._armed(point)
            self.warnings.lead()
            try:
                self._run(test)
            finally:
                self.gates.armed = None
                self.gates.phase = None
            fired.append(armed.fired)
            _let_go()

        before = counts(self._observer.snapshot())
        found = self._trace._traced_pass(once, self)
        after = counts(self._observer.snapshot())
        if not fired[-1]:
            # What it left does not let the test come there again.
            return [self._held(key, n, gone, (), None) for key, (n, gone) in held.items()]
        # A connection explains the descriptors beneath it.
        if not any(key in found for key in held) and any(
                key[0] in ("fd", "socket") for key in held):
            self._trace._profiled_pass(once, self, found)
        kept = []
        for key, (n, gone) in sorted(held.items()):
            grows = gone or after.get(key, 0) > before.get(key, 0)
            if not grows or (gone and key[0] == "unclosed" and key not in found):
                continue
            stacks = found.get(key, {})
            best = max(stacks, key=lambda s: (self._owned(s, armed), stacks[s]), default=())
            kept.append(self._held(key, n, gone, best, self._owned(best, armed)))
        if any(k["frames"] for k in kept):
            kept = [k for k in kept if k["frames"]]
        return kept

    def _held(self, key, n, gone, stack, owned):
        return {"resource": key[0], "what": key[1], "units": n, "released_by_gc": gone,
                "frames": stack, "owned": owned is not False}

    def _owned(self, acquired, failed):
        """Was it to be released by what failed? Not if the test had been given it before, or
        took it itself: it is the test's to give back, then."""
        entry = self._entry(acquired)
        if entry is None:
            return False
        if entry == self._entry(failed.stack):
            return True
        return any(_RELEASES.search(name.strip("_").lower()) for name in failed.names)

    def _entry(self, stack):
        """The place outside of the project's modules from which they were entered."""
        ours = [i for i, f in enumerate(stack) if self._sites.wants(f[0])]
        if not ours:
            return None
        rest = [f for f in stack[ours[-1] + 1:] if self.places.is_project(f[0])]
        return rest[0] if rest else ("", 0)

    # --- who was told ------------------------------------------------------------------

    def _told(self, course):
        if course.catcher is None or not course.line:
            return False
        handler = self._sites.handler_at(course.catcher[0], course.line)
        return handler is not None and handler.tells

    def _returned_otherwise(self, point, test, course):
        """Does the function that kept the exception return the same without it?"""
        if course.catcher is None:
            return False
        self._course = spy = Course(self._sites, self._of_test)
        self.gates.spied = point.site.number
        try:
            self._run(test)
        finally:
            self.gates.spied = None
            spy.stop()
            self._course = None
        return spy.returned.get(course.catcher) != course.returned.get(course.catcher)


# --- helpers ---------------------------------------------------------------------------


def _about(places):
    """The interpreter and all that is loaded of other projects, told apart by size and time."""
    text = [sys.version]
    for name, module in sorted(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and not name.startswith("exitpath_") and not (
                places.is_project(path)):
            try:
                at = os.stat(path)
            except OSError:
                continue
            text.append("%s %d %d" % (path, at.st_size, at.st_mtime_ns))
    return hashlib.sha256("\n".join(text).encode("utf-8", "replace")).hexdigest()


def _in_memory(connection):
    try:
        return type(connection).__module__ == "sqlite3" and not any(
            row[2] for row in connection.execute("PRAGMA database_list").fetchall())
    except Exception:
        return False


def _plain(text):
    text = re.sub(r"0x[0-9a-f]+", "0", text)
    return re.sub(r"\d+(\.\d+)?", "0", text)


def _let_go():
    for name in ("last_value", "last_type", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)
