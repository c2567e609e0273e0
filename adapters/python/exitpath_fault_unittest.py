"""unittest under `exitpath fault`: the first pass is the runner's own; then single tests."""
import sys
import unittest

from exitpath_child import capture_output
from exitpath_fault import Outcome, activate


def patch(module):
    program = module.TestProgram
    create, run_tests = program.createTests, program.runTests
    made = {}

    def createTests(self, *args, **kwargs):
        made[id(self)] = args, kwargs
        create(self, *args, **kwargs)

    def runTests(self):
        driver = activate("unittest")
        if driver is None or driver.bare is not None:
            return run_tests(self)
        args, kwargs = made.pop(id(self), ((), {}))

        def again(test):
            create(self, *args, **kwargs)
            suite, self.test = self.test, None
            return _run(driver, suite, test)

        leave, self.exit = self.exit, False
        if driver.first:
            driver.explore_first(again)
            sys.exit(0)
        passed = []
        restore = _follow(driver, passed)
        try:
            run_tests(self)
        except SystemExit:
            driver.tests(0)
            raise
        finally:
            self.exit = leave
            restore()
        result = self.result
        driver.tests(len(passed), len(result.skipped) + len(result.expectedFailures))
        if not result.wasSuccessful():
            first = (list(result.errors) + list(result.failures) + [("a test", "failed")])[0]
            driver.failed("%s: %s" % (first[0], str(first[1]).strip().splitlines()[-1]))
        elif passed:
            driver.explore(passed, again)
        if leave:
            sys.exit(not result.wasSuccessful())
        return None

    program.createTests, program.runTests = createTests, runTests


def _follow(driver, passed):
    """Tells of each test as it begins and ends."""
    case = unittest.TestCase
    run, success = case.run, unittest.TestResult.addSuccess

    def followed(self, result=None):
        driver.begin(self.id())
        try:
            return run(self, result)
        finally:
            driver.end()

    def addSuccess(self, test):
        passed.append(_name(test))
        success(self, test)

    case.run, unittest.TestResult.addSuccess = followed, addSuccess

    def restore():
        case.run, unittest.TestResult.addSuccess = run, success

    return restore


def _name(test):
    return test.id() if hasattr(test, "id") else str(test)


def _only(suite, name):
    if not isinstance(suite, unittest.BaseTestSuite):
        return suite
    return type(suite)([_only(t, name) for t in suite
                        if isinstance(t, unittest.BaseTestSuite) or _name(t) == name])


class _Result(unittest.TestResult):
    def __init__(self, driver):
        super().__init__()
        self._driver, self.ok = driver, 0

    def startTest(self, test):
        self._driver.warnings.lead()
        self._driver.phase("call")
        super().startTest(test)

    def addSuccess(self, test):
        self.ok += 1
        super().addSuccess(test)


def _run(driver, suite, name):
    result = _Result(driver)
    with capture_output() as text:
        _only(suite, name).run(result)
    bad = result.errors + result.failures + [(t, "unexpected") for t in
                                             result.unexpectedSuccesses]
    why = str(bad[0][1]).strip().splitlines()[-1] if bad else ""
    return Outcome(not bad and result.ok > 0, why, text.getvalue())
