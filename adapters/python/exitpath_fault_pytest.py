"""pytest under `exitpath fault`: the first pass is pytest's own; then single tests, quietly."""
import warnings

import pytest

from exitpath_fault import Outcome, activate
from _pytest.runner import runtestprotocol

_DRIVER = activate("pytest " + pytest.__version__)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if _DRIVER is None or hasattr(config, "workerinput"):
        return
    option = config.option
    if getattr(option, "dist", "no") != "no" or getattr(option, "numprocesses", None):
        option.dist, option.numprocesses, option.tx = "no", None, []
        _DRIVER.note("pytest-xdist is turned off: all tests run in one process")
    config.pluginmanager.register(_Plugin(_DRIVER), "exitpath_fault")


class _Plugin:
    def __init__(self, driver):
        self._driver = driver
        self._quiet = False
        self._reports = []
        self._outcomes = {}
        self._first = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, session, config, items):
        items[:] = [i for i in items if self._driver.wants(i.nodeid)]

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
        if self._driver.bare is not None:
            return None
        self._items = {i.nodeid: i for i in session.items}
        if self._driver.first:
            self._be_quiet(session)
            self._driver.explore_first(lambda test: self._again(session, test))
            return True
        self._logged_pass(session)
        passed = [t for t, o in self._outcomes.items() if o == "passed"]
        self._driver.tests(len(passed), len(self._outcomes) - len(passed))
        if session.testsfailed:
            self._driver.failed(self._first or "a test failed")
        elif passed:
            self._be_quiet(session)
            self._driver.explore(passed, lambda test: self._again(session, test))
            self._quiet = False
        return True

    def _be_quiet(self, session):
        self._quiet = True
        session.config.option.tbstyle = "line"  # nobody reads it

    def _logged_pass(self, session):
        items = session.items
        for i, item in enumerate(items):
            self._driver.begin(item.nodeid)
            # The session stands for "nothing follows, but keep what is the session's".
            item.config.hook.pytest_runtest_protocol(
                item=item, nextitem=items[i + 1] if i + 1 < len(items) else session)
            self._driver.end()
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)

    def _again(self, session, test):
        item = self._items[test]
        self._drop_output(session)
        self._reports = []
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=session)
        reports, self._reports = self._reports, []
        failed = [r for r in reports if r.failed]
        text = "".join(r.capstdout + r.capstderr for r in reports[-1:])
        why = _why(failed[0]) if failed else ""
        passed = not failed and any(r.passed and r.when == "call" for r in reports)
        del reports, failed
        # Captured output is kept there for good, and a TestCase keeps what it raised.
        del getattr(item, "_report_sections", [])[:]
        if getattr(item, "_excinfo", None):
            del item._excinfo[:]
        session.shouldfail = session.shouldstop = False
        return Outcome(passed, why, text)

    @staticmethod
    def _drop_output(session):
        """Of a trial that was killed."""
        capture = session.config.pluginmanager.getplugin("capturemanager")
        if capture is not None and capture.is_globally_capturing():
            try:
                capture.read_global_capture()
            except Exception:
                pass

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

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        self._driver.phase("setup")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item):
        self._driver.phase("call")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item, nextitem):
        self._driver.phase("teardown")

    def pytest_runtest_logreport(self, report):
        if self._quiet:
            return
        if report.failed and self._first is None:
            self._first = "%s: %s" % (report.nodeid, _why(report))
        if report.when == "call":
            self._outcomes[report.nodeid] = report.outcome
        elif report.outcome != "passed":
            self._outcomes[report.nodeid] = report.outcome


def _why(report):
    text = getattr(report.longrepr, "reprcrash", None)
    text = getattr(text, "message", None) or str(report.longrepr)
    return text.strip().splitlines()[0] if text.strip() else report.when
