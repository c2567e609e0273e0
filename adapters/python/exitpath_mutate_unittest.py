"""unittest under `exitpath mutate`."""
import sys
import unittest

from exitpath_mutate import activate


def patch(module):
    program = module.TestProgram
    create, run_tests = program.createTests, program.runTests
    made = []

    def createTests(self, *args, **kwargs):
        if not made:
            made.append(activate("unittest"))
        self._exitpath = args, kwargs
        create(self, *args, **kwargs)

    def runTests(self):
        driver = made[0] if made else None
        if driver is None:
            return run_tests(self)
        args, kwargs = self._exitpath
        suite, self.test = self.test, None
        names = list(dict.fromkeys(_names(suite)))

        def run(name):
            # A suite forgets the tests that it has run.
            create(self, *args, **kwargs)
            made_again, self.test = self.test, None
            result = unittest.TestResult()
            result.failfast = True
            _only(made_again, name).run(result)
            bad = result.errors + result.failures
            if result.unexpectedSuccesses:
                return "unexpected success"
            return str(bad[0][1]).strip().splitlines()[-1] if bad else None

        if driver.mode == "warm":
            driver.explore(run)
        else:
            driver.run_all(names, run)
        sys.exit(0)

    program.createTests, program.runTests = createTests, runTests


def _names(suite):
    if not isinstance(suite, unittest.BaseTestSuite):
        return [suite.id()]
    return [name for t in suite for name in _names(t)]


def _only(suite, name):
    if not isinstance(suite, unittest.BaseTestSuite):
        return suite
    return type(suite)([_only(t, name) for t in suite
                        if isinstance(t, unittest.BaseTestSuite) or t.id() == name])
