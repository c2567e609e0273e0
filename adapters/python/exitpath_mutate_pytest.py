"""pytest under `exitpath mutate`."""
import pytest

from exitpath_mutate import activate
from _pytest.runner import runtestprotocol

_DRIVER = activate("pytest " + pytest.__version__)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if _DRIVER is None or hasattr(config, "workerinput"):
        return
    option = config.option
    if getattr(option, "dist", "no") != "no" or getattr(option, "numprocesses", None):
        option.dist, option.numprocesses, option.tx = "no", None, []
    config.pluginmanager.register(_Plugin(_DRIVER), "exitpath_mutate")


class _Plugin:
    def __init__(self, driver):
        self._driver = driver
        self._quick = False

    def pytest_assertrepr_compare(self, config, op, left, right):
        """Differences of large objects take longer than the test."""
        return ["differs"] if self._quick else None

    def pytest_runtest_logreport(self, report):
        """Of a part of a test: the others tell nothing new."""
        if self._quick and report.failed:
            self._driver.fails(report.nodeid, _why(report))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        option, driver = session.config.option, self._driver
        option.tbstyle = "line"  # nobody reads it
        items = {i.nodeid: i for i in session.items}

        def run(test, last=session):
            reports = runtestprotocol(items[test], log=False, nextitem=last)
            failed = [r for r in reports if r.failed]
            session.shouldfail = session.shouldstop = False
            return _why(failed[0]) if failed else None

        self._quick = True
        if driver.mode == "warm":
            driver.explore(run)
            return True
        if session.testsfailed and not option.continue_on_collection_errors:
            driver.failed_early("a test file cannot be loaded")
        # Nothing is kept for the next test, so that it is seen what each needs by itself.
        driver.run_all(list(items), run if driver.mode == "fresh" else lambda test: run(test, None))
        return True


def _why(report):
    text = getattr(report.longrepr, "reprcrash", None)
    text = getattr(text, "message", None) or str(report.longrepr)
    return text.strip().splitlines()[0] if text.strip() else report.when
