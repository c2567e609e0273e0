"""Any other program under `exitpath fault`, `python3 -c CODE`, `-m MODULE` or a script: it counts
as one test, and runs again and again as __main__."""
import os
import runpy
import sys
import traceback
import types

from exitpath_child import capture_output
from exitpath_fault import Outcome, activate


def _runner(driver, kind, name):
    """The argument that follows the kind, and how to run it."""
    if kind == "-m":
        def run():
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        return run
    code = None

    def run():
        nonlocal code
        if code is None:
            code = compile(name, "<string>", "exec") if kind == "-c" else (
                driver.compile_main(name))
        module, old = types.ModuleType("__main__"), sys.modules["__main__"]
        module.__dict__["__builtins__"] = __builtins__
        if kind != "-c":
            module.__file__ = name
        sys.modules["__main__"] = module
        try:
            exec(code, module.__dict__)
        finally:
            sys.modules["__main__"] = old
    return run


def _status(run):
    """(exit status as the interpreter's, why); the traceback is printed."""
    try:
        run()
    except SystemExit as e:
        if e.code is None or isinstance(e.code, int):
            return e.code or 0, "exit %s" % e.code
        print(e.code, file=sys.stderr)
        return 1, str(e.code)
    except BaseException as e:
        traceback.print_exc()
        return 1, "%s: %s" % (type(e).__name__, e)
    return 0, ""


def main():
    kind = sys.argv[1]
    if kind in ("-c", "-m"):
        name, rest = sys.argv[2], sys.argv[3:]
        sys.path[0] = "" if kind == "-c" else os.getcwd()
        sys.argv = [kind] + rest
    else:
        name, rest = kind, sys.argv[2:]
        sys.path[0] = os.path.dirname(os.path.realpath(name))
        sys.argv = [name] + rest
    driver = activate("python3 %s" % (kind if kind[0] == "-" else os.path.basename(name)))
    target = "python3 " + " ".join(([kind] if kind[0] == "-" else []) + [name])
    argv = list(sys.argv)
    if driver is None:
        return runpy.run_path(name, run_name="__main__") and 0 if kind[0] != "-" else 1
    run = _runner(driver, kind, name)

    def again(test):
        sys.argv = list(argv)
        driver.warnings.lead()
        driver.phase("call")
        with capture_output() as text:
            status, why = _status(run)
        return Outcome(status == 0, why, text.getvalue())

    if driver.bare is not None:
        return _status(run)[0]
    if driver.first:
        driver.explore_first(again)
        return 0
    driver.begin(target)
    status, why = _status(run)
    driver.tests(0 if status else 1)
    if status:
        driver.failed("%s: %s" % (target, why))
        return status

    driver.explore([target], again)
    return 0


if __name__ == "__main__":
    sys.exit(main())
