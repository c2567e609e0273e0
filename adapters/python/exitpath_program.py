"""Any other program, `python3 -c CODE`, `-m MODULE` or a script: run again and again as
__main__. One pass counts as one test."""
import os
import runpy
import sys
import traceback

from exitpath_adapter import activate


def _runner(kind, name):
    """The argument that follows the kind, and how to run it."""
    if kind == "-c":
        code = compile(name, "<string>", "exec")

        def run():
            exec(code, {"__name__": "__main__", "__builtins__": __builtins__})
    elif kind == "-m":
        def run():
            runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        def run():
            runpy.run_path(name, run_name="__main__")
    return run


def _status(run):
    """As the interpreter would exit; the traceback is printed."""
    try:
        run()
    except SystemExit as e:
        if e.code is None or isinstance(e.code, int):
            return e.code or 0
        print(e.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


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
    run = _runner(kind, name)
    argv = list(sys.argv)
    if driver is None:
        return _status(run)
    driver.begin(target)
    status = _status(run)
    driver.tests(0 if status else 1)
    if status:
        driver.failed("%s: exit %d" % (target, status))
        return status

    def once(_=None):
        driver.begin(target)
        sys.argv = list(argv)
        status = _status(run)
        return {target: "exit %d" % status} if status else {}

    def one_pass():
        if not driver.wants(target):
            return
        driver.failed_again(once(), once)

    driver.measure(one_pass)
    return 0


if __name__ == "__main__":
    sys.exit(main())
