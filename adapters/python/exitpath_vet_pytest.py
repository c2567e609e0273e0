"""The tests of one file as pytest runs them: collected once, executed in forks."""
import gc
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
        gc.freeze()
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
            items = self.of(test)
            # Parameters may be objects that can be used once.
            if not any(hasattr(item, "callspec") for item in items):
                self.one(items, last=False)
        items = self.of(only)
        if not items:
            return LookupError("pytest does not collect it"), "import"
        return self.one(items, last=True), "test"

    def one(self, items, last):
        error = None
        for number, item in enumerate(items):
            # Of a test that comes again all is taken down but its module.
            following = items[number + 1] if number + 1 < len(items) else (None if last else item.parent)
            error = error or run_item(item, following)
        return error


def run_item(item, following):
    """The first exception of the phases of an item. No reports are made: they cost more than the test."""
    if hasattr(item, "_request") and not item._request:
        item._initrequest()
    error = phase(item, "setup")
    if error is None:
        error = phase(item, "call")
    after = phase(item, "teardown", nextitem=following)
    if hasattr(item, "_request"):
        item._request = False
        item.funcargs = None
    error = error or after
    if item.get_closest_marker("xfail"):
        from _pytest.outcomes import Skipped
        return Skipped("it is expected to fail")
    return error


def phase(item, when, **more):
    from _pytest.runner import CallInfo
    call = CallInfo.from_call(lambda: getattr(item.ihook, f"pytest_runtest_{when}")(item=item, **more), when=when)
    of_unittest = item.__dict__.pop("_excinfo", None)
    if of_unittest:
        return of_unittest[0].value
    return call.excinfo.value if call.excinfo else None
