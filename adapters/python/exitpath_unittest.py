"""unittest.main(), and so `python3 -m unittest`: the first pass is the runner's own."""
import sys
import unittest

from exitpath_adapter import activate


def patch(module):
    program = module.TestProgram
    create, run_tests = program.createTests, program.runTests
    made = {}

    def createTests(self, *args, **kwargs):
        made[id(self)] = args, kwargs
        return create(self, *args, **kwargs)

    def runTests(self):
        driver = activate("unittest")
        if driver is None:
            return run_tests(self)
        leave, self.exit = self.exit, False
        driver.begin("the first pass")
        succeeded = []
        add_success = unittest.TestResult.addSuccess
        start_test = unittest.TestResult.startTest

        def addSuccess(result, test):
            succeeded.append(1)
            add_success(result, test)

        def startTest(result, test):
            driver.begin(_name(test))
            start_test(result, test)

        # testsRun counts the skipped ones or does not, depending on the version.
        unittest.TestResult.addSuccess = addSuccess
        unittest.TestResult.startTest = startTest
        try:
            run_tests(self)
        except SystemExit as e:
            # Where no test ran, Python 3.12 leaves with 5.
            driver.tests(0)
            raise e
        finally:
            self.exit = leave
            unittest.TestResult.addSuccess = add_success
            unittest.TestResult.startTest = start_test
        result, passed = self.result, len(succeeded)
        driver.tests(passed, len(result.skipped) + len(result.expectedFailures))
        if not result.wasSuccessful():
            first = (list(result.errors) + list(result.failures) + [("a test", "failed")])[0]
            driver.failed("%s: %s" % (first[0], str(first[1]).strip().splitlines()[-1]))
        elif passed > 0:
            args, kwargs = made.pop(id(self), ((), {}))
            driver.measure(lambda: _pass(driver, lambda: _again(self, create, args, kwargs)))
        if leave:
            sys.exit(not result.wasSuccessful())
        return None

    program.createTests, program.runTests = createTests, runTests


def _again(self, create, args, kwargs):
    """New test objects: the runner lets go of those that it ran."""
    create(self, *args, **kwargs)
    test, self.test = self.test, None
    return test


def _pass(driver, make):
    failed = _run_quietly(driver, make(), driver.wants)
    driver.failed_again(
        failed, lambda tests: _run_quietly(driver, make(), tests.__contains__))


def _run_quietly(driver, suite, wants):
    """Test → why, of those that failed."""
    result = _Result(driver)
    result.buffer = True
    _wanted(suite, wants).run(result)
    failed = {}
    for test, text in result.errors + result.failures:
        why = str(text).strip().splitlines()[-1]
        if isinstance(test, unittest.TestCase):
            failed[_name(test)] = why
        else:
            driver.drop(_name(test), why)  # setUpClass and its like, which have no name to run
    return failed


def _name(test):
    return test.id() if hasattr(test, "id") else str(test)


def _wanted(suite, wants):
    if not isinstance(suite, unittest.BaseTestSuite):
        return suite
    kept = [_wanted(t, wants) for t in suite
            if isinstance(t, unittest.BaseTestSuite) or wants(_name(t))]
    return type(suite)(kept)


class _Result(unittest.TestResult):
    def __init__(self, driver):
        super().__init__()
        self._driver = driver

    def startTest(self, test):
        method = getattr(test, getattr(test, "_testMethodName", ""), None)
        self._driver.begin(_name(test), getattr(method, "__code__", None))
        super().startTest(test)
