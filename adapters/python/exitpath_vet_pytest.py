"""The tests of one file as pytest runs them: collected once, executed in forks."""
import importlib.machinery
import os
import sys

import exitpath_vet_asserts as asserts


class Rewritten(importlib.machinery.SourceFileLoader):
    def __init__(self, name, path, job):
        super().__init__(name, path)
        self.job = job

    def get_code(self, name):
        return self.job.code

    def exec_module(self, module):
        module.__dict__[asserts.NAME] = self.job.watch
        super().exec_module(module)


class Pytest:
    def __init__(self, job):
        self.job = job
        self.items, self.body, self.error, self.failure = [], None, None, None

    def find_spec(self, name, path=None, target=None):
        if name.rpartition(".")[2] != os.path.basename(self.job.path)[:-3]:
            return None
        spec = importlib.machinery.ModuleSpec(name, Rewritten(name, self.job.path, self.job), origin=self.job.path)
        spec.has_location = True
        return spec

    def session(self, body):
        import pytest
        self.body = body
        made = not os.path.exists(self.job.path)
        if made:
            with open(self.job.path, "w", encoding="utf-8") as file:
                file.write(self.job.source)
        sys.meta_path.insert(0, self)
        job = self.job
        try:
            pytest.main(["-q", "-s", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-o", "addopts=",
                         f"--rootdir={job.config['root']}", f"--basetemp={os.path.dirname(job.config['scratch'])}/basetemp", job.path],
                        plugins=[self])
        except SystemExit as error:
            self.error = f"SystemExit: {error}"
        if self.failure:
            raise self.failure
        if self.body is not None:
            job.seen["run"] = {"end": "error", "where": "import", "error": (self.error or "pytest collects nothing")[:300]}

    def pytest_collectreport(self, report):
        if report.failed:
            text = str(report.longrepr).strip().split("\n")[-1]
            self.error = text[2:].strip() if text.startswith("E ") else text

    def pytest_runtestloop(self, session):
        body, self.body = self.body, None
        if session.testsfailed or self.error:
            self.body = body
            return True
        self.items = session.items
        try:
            body(self)
        except BaseException as error:
            self.failure = error  # pytest would only print it
        return True

    def of(self, test):
        """The items of a test: one for each of its parameters."""
        end = f"::{test}"
        return [item for item in self.items if item.nodeid.partition("[")[0].endswith(end)]

    def child(self, only, first):
        for test in first:
            self.one(self.of(test), last=False)
        items = self.of(only)
        if not items:
            return LookupError("pytest does not collect it"), "import"
        return self.one(items, last=True), "test"

    def one(self, items, last):
        from _pytest.runner import call_and_report
        from _pytest.outcomes import Skipped
        error = None
        for number, item in enumerate(items):
            # Of a test that comes again all is taken down but its module.
            following = items[number + 1] if number + 1 < len(items) else (None if last else item.parent)
            error = error or run_item(item, following, call_and_report, Skipped)
        return error


def run_item(item, following, call_and_report, skipped):
    """The first exception of the phases of an item."""
    seen = []

    class Note:
        @staticmethod
        def pytest_exception_interact(node, call, report):
            seen.append(call.excinfo.value)

    manager = item.config.pluginmanager
    manager.register(Note, "exitpath-vet-note")
    try:
        if hasattr(item, "_request") and not item._request:
            item._initrequest()
        reports = [call_and_report(item, "setup", log=True)]
        if reports[0].passed:
            reports.append(call_and_report(item, "call", log=True))
        reports.append(call_and_report(item, "teardown", log=True, nextitem=following))
        if hasattr(item, "_request"):
            item._request = False
            item.funcargs = None
    finally:
        manager.unregister(Note)
    for report in reports:
        if report.failed:
            return seen[0] if seen else AssertionError(str(report.longrepr).strip().split("\n")[-1])
        if report.skipped:
            return skipped(str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr))
    return None
