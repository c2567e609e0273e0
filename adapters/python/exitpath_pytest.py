"""pytest: session-scoped fixtures live through all cycles, all others end with theirs."""
import functools
import warnings

import pytest

from exitpath_adapter import activate
from _pytest.fixtures import FixtureDef
from _pytest.runner import runtestprotocol

_DRIVER = activate("pytest " + pytest.__version__)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if _DRIVER is None or hasattr(config, "workerinput"):
        return
    option = config.option
    if getattr(option, "dist", "no") != "no" or getattr(option, "numprocesses", None):
        option.dist, option.numprocesses, option.tx = "no", None, []
        _DRIVER.note("pytest-xdist is turned off: all cycles pass in one process")
    config.pluginmanager.register(_Plugin(_DRIVER), "exitpath_cycles")


class _Plugin:
    def __init__(self, driver):
        self._driver = driver
        self._quiet = False
        self._reports = []
        self._outcomes = {}
        self._first = None
        self._shared = None  # fixtures that outlive a test
        self._doctests = {}  # node id → the names that it starts with

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        option = session.config.option
        if option.collectonly or (
                session.testsfailed and not option.continue_on_collection_errors):
            return None
        for name in ("forked", "isolate", "boxed"):
            if getattr(option, name, False):
                self._driver.refuse("--%s runs each test in a process of its own: "
                                    "leave it out" % name)
                return None
        self._logged_pass(session)
        passed = sum(1 for o in self._outcomes.values() if o == "passed")
        self._driver.tests(passed, len(self._outcomes) - passed)
        if session.testsfailed:
            self._driver.failed(self._first or "a test failed")
        elif passed:
            self._quiet = True
            self._driver.measure(lambda: self._pass(session))
            self._quiet = False
        return True

    def _run(self, session, item, following):
        function = getattr(item, "function", None)
        self._driver.begin(item.nodeid, getattr(function, "__code__", None))
        self._restore_doctest(item)
        # The session stands for "nothing follows, but keep what is the session's".
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following or session)

    def _restore_doctest(self, item):
        """A doctest clears its names when it has run."""
        names = getattr(getattr(item, "dtest", None), "globs", None)
        if names is not None:
            names.update(self._doctests.setdefault(item.nodeid, dict(names)))

    def _logged_pass(self, session):
        items = session.items
        for i, item in enumerate(items):
            self._run(session, item, items[i + 1] if i + 1 < len(items) else None)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)

    def _pass(self, session):
        failed = self._run_quietly(session, lambda test: self._driver.wants(test))
        self._driver.failed_again(
            failed, lambda tests: self._run_quietly(session, tests.__contains__))

    def _run_quietly(self, session, wanted):
        """Test → why, of those that failed."""
        items = [i for i in session.items if wanted(i.nodeid) and
                 self._outcomes.get(i.nodeid) == "passed"]
        failed = {}
        for i, item in enumerate(items):
            self._reports = []
            self._run(session, item, items[i + 1] if i + 1 < len(items) else None)
            for report in self._reports:
                if report.failed:
                    failed[item.nodeid] = _why(report)
            self._reports = []
            # Captured output is kept there for good.
            del getattr(item, "_report_sections", [])[:]
            session.shouldfail = session.shouldstop = False
            self._trim_finalizers(session)
        return failed

    def _trim_finalizers(self, session):
        """With each test that uses it, a fixture of the session is told once more what is to
        end before it. Once is enough, and the list would grow with every cycle. (Other
        versions of pytest may have other names for these: then it grows.)"""
        if self._shared is None:
            self._shared = {
                d for item in session.items
                for defs in getattr(
                    getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values()
                for d in defs if d.scope != "function"}
        lists = [getattr(d, "_finalizers", []) for d in self._shared]
        stack = getattr(session._setupstate, "stack", None)
        lists += [entry[0] for entry in stack.values()] if isinstance(stack, dict) else []
        for finalizers in lists:
            first = {}
            for finalizer in finalizers:
                first.setdefault(_what_ends(finalizer) or finalizer, finalizer)
            if len(first) < len(finalizers):
                finalizers[:] = first.values()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        self._driver.warnings.lead()
        if not self._quiet:
            return None
        self._reports = runtestprotocol(item, log=False, nextitem=nextitem)
        # What pytest recorded for its summary of warnings, which keeps them all.
        recorded = getattr(warnings._showwarnmsg_impl, "__self__", None)
        if isinstance(recorded, list):
            del recorded[:]
        return True

    def pytest_runtest_logreport(self, report):
        if self._quiet:
            return
        if report.failed and self._first is None:
            self._first = "%s: %s" % (report.nodeid, _why(report))
        if report.when == "call":
            self._outcomes[report.nodeid] = report.outcome
        elif report.outcome != "passed":
            self._outcomes.setdefault(report.nodeid, report.outcome)


def _what_ends(finalizer):
    """A key of the fixture that this finishes; None: something else."""
    if isinstance(finalizer, functools.partial):
        owner = getattr(finalizer.func, "__self__", None)
        return id(owner) if isinstance(owner, FixtureDef) else None
    code = getattr(finalizer, "__code__", None)
    for cell in getattr(finalizer, "__closure__", None) or ():
        try:
            content = cell.cell_contents
        except ValueError:  # not yet filled
            continue
        if isinstance(content, FixtureDef):
            return code, id(content)
    return None


def _why(report):
    text = getattr(report.longrepr, "reprcrash", None)
    text = getattr(text, "message", None) or str(report.longrepr)
    return text.strip().splitlines()[0] if text.strip() else report.when
