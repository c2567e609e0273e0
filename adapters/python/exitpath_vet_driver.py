"""One test of `exitpath vet`, executed under all that it must stand.

argv, joined, is a JSON object: name, path and source of the file, "only": the test in it, "what". The
last line of our output is what was seen, as an object; nothing here decides about it. Before each
group of executions a line says which, so that whoever ends this process is known.
"""
import ast
import copy
import ctypes
import gc
import hashlib
import json
import linecache
import marshal
import os
import random
import sys
import time
import types
import unittest

import exitpath_vet_asserts as asserts
import exitpath_vet_execute as execute
import exitpath_vet_perturb as perturb
import exitpath_vet_target as target

PLAIN_OF_PYTEST = {"raises", "approx", "fail", "skip", "warns", "importorskip"}
SETUPS = {"setup_module", "teardown_module", "setup_function", "teardown_function", "setup_method", "teardown_method",
          "setup_class", "teardown_class", "setup", "teardown", "setUpModule", "tearDownModule", "pytestmark", "pytest_plugins",
          "pytest_generate_tests", "load_tests"}
RUN_AWAY = 86  # exitpath_vet_mutants
SCRATCH = "/tmp/exitpath-vet"
WATCHED_MUTANTS = 8  # assertions that are changed, at most


class Say:
    """Lines to exitpath, on a descriptor that no test has."""

    def __init__(self):
        self.fd = os.dup(1)
        null = os.open("/dev/null", os.O_RDWR)
        try:
            for fd in range(3):
                os.dup2(null, fd)
        finally:
            os.close(null)

    def __call__(self, **what):
        text = json.dumps(what).encode() + b"\n"
        while text:
            text = text[os.write(self.fd, text):]


def error_text(error):
    text = f"{type(error).__name__}: {error}"
    return text.split("\n")[0][:300]


def line_in(error, path):
    """The line of the test that an exception passed last."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def is_assertion(error):
    return isinstance(error, AssertionError) or type(error).__name__ == "Failed" and type(error).__module__.startswith("_pytest")


def outcome(error, path):
    """The report of an execution that ended by an exception, or by None."""
    if error is None:
        return {"end": "passed"}
    if type(error).__name__ == "Skipped" or isinstance(error, unittest.SkipTest):
        return {"end": "skipped", "error": error_text(error)}
    if isinstance(error, SystemExit):
        return {"end": "left", "error": error_text(error)}
    end = "failed" if is_assertion(error) else "error"
    return {"end": end, "error": error_text(error), "line": line_in(error, path)}


def is_case(node):
    return any("TestCase" in asserts.last_name(base) for base in node.bases)


def tests_of(tree):
    """What is a test by its name, in order; none when the module itself is all there is."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    found = []
    for node in tree.body:
        if is_test(node):
            found.append(node.name)
        elif isinstance(node, ast.ClassDef) and (is_case(node) or node.name.startswith("Test")):
            found += [f"{node.name}::{name}" for name in methods_of(node, classes, set())]
    return list(dict.fromkeys(found))


def methods_of(node, classes, seen):
    """Its own tests and those of its bases in the same file."""
    seen.add(node.name)
    found = [part.name for part in node.body if is_test(part)]
    for base in node.bases:
        other = classes.get(asserts.last_name(base))
        if other is not None and other.name not in seen:
            found += methods_of(other, classes, seen)
    return found


def wants_arguments(function, method):
    args = function.args
    own = args.posonlyargs + args.args
    return len(own) - len(args.defaults) > method or bool(args.vararg and method == 0) or \
        isinstance(function, ast.AsyncFunctionDef)


def needs_pytest(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and asserts.last_name(node.value) == "pytest" and node.attr not in PLAIN_OF_PYTEST:
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("pytest", "_pytest", "hypothesis") and \
                not {alias.name for alias in node.names} <= PLAIN_OF_PYTEST:
            return True
        if isinstance(node, ast.ImportFrom) and node.level:
            return True
        if getattr(node, "name", None) in SETUPS or isinstance(node, ast.Name) and node.id in SETUPS:
            return True
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test") and wants_arguments(node, 0):
            return True
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test") and not is_case(node):
            if node.bases or any(isinstance(part, ast.AsyncFunctionDef) or isinstance(part, ast.FunctionDef) and
                                 part.name.startswith("test") and wants_arguments(part, 1) for part in node.body):
                return True
    return False


class Normal(ast.NodeTransformer):
    """A test without its name, its comments and docstrings and the names of its own variables."""

    def __init__(self):
        self.names = {}

    def visit_FunctionDef(self, node):
        if node.name.startswith("test"):
            node.name = "test"
        if node.body and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant):
            node.body = node.body[1:] or [ast.Pass()]
        return self.generic_visit(node)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Store) or node.id in self.names:
            node.id = self.names.setdefault(node.id, f"v{len(self.names)}")
        return node


def shape_of(tree, only):
    """A digest of what the test says."""
    first, _, second = only.partition("::")
    for node in tree.body:
        if only and getattr(node, "name", None) == first:
            tree = next((part for part in node.body if second and getattr(part, "name", None) == second), node)
    return hashlib.sha256(ast.dump(Normal().visit(copy.deepcopy(tree))).encode()).hexdigest()[:16]


def alone(tree, source, only):
    """The file without its other tests."""
    first, _, second = only.partition("::")
    gone = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and (is_case(node) or node.name.startswith("Test")):
            if node.name != first:
                gone.append(node)
            else:
                gone += [part for part in node.body if is_test(part) and part.name != second]
        elif is_test(node) and node.name != first:
            gone.append(node)
    lines = source.splitlines(True)
    for node in gone:
        begin = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        lines[begin - 1:node.end_lineno] = [""] * (node.end_lineno - begin + 1)
    return "".join(lines)


def is_test(node):
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test")


class Plain:
    """Functions without arguments and unittest's cases, each time in a new module."""

    def __init__(self, job):
        self.job = job

    def session(self, body):
        return body(self)

    def child(self, only, first):
        """Executes the tests in first, then only; returns how that ended."""
        for test in first:
            self.one(self.load(), test)
        try:
            module = self.load()
        except BaseException as error:
            script = not only and not isinstance(error, ImportError)
            return error, "test" if script else "import"
        return self.one(module, only), "test"

    def load(self):
        name = os.path.basename(self.job.path)[:-3]
        module = types.ModuleType(name)
        module.__file__ = self.job.path
        module.__dict__[asserts.NAME] = self.job.watch
        sys.modules[name] = module
        exec(self.job.code, module.__dict__)
        return module

    def one(self, module, test):
        first, _, second = test.partition("::")
        try:
            if not test:
                return None
            thing = getattr(module, first)
            if second and issubclass(thing, unittest.TestCase):
                return of_unittest(thing, second)
            getattr(thing(), second)() if second else thing()
        except BaseException as error:
            return error
        return None


def of_unittest(case, method):
    seen = []

    class Result(unittest.TestResult):
        def addError(self, test, error):
            seen.append(error[1])

        addFailure = addError

        def addSubTest(self, test, subtest, error):
            if error:
                seen.append(error[1])

        def addSkip(self, test, reason):
            seen.append(unittest.SkipTest(reason))

        def addUnexpectedSuccess(self, test):
            seen.append(AssertionError("passes, and was expected to fail"))

    unittest.TestSuite([case(method)]).run(Result())
    return seen[0] if seen else None


class Job:
    def __init__(self, spec, config, say):
        self.say, self.config = say, config
        self.name, self.source, self.path = spec["name"], spec["source"], spec["path"]
        self.only, self.what = spec.get("only"), spec["what"]
        self.limit = config["limit_ms"] / 1000
        self.until = time.monotonic() + config["budget_ms"] / 1000
        self.target = target.Target({"codes": {}, "functions": [], "decisions": [], "outcomes": 0, "mutants": []})
        self.libc = ctypes.CDLL(None)
        self.executor = execute.Executor(self.libc)
        self.seen = {"name": self.name, "what": self.what}

    def parse(self):
        try:
            self.tree = ast.parse(self.source, self.path)
            compile(self.source, self.path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.seen["syntax"] = {"line": getattr(error, "lineno", None), "text": error_text(error)}
            return False
        self.tests = tests_of(self.tree)
        self.pytest = needs_pytest(self.tree) or has_conftest(self.path, self.config["root"])
        self.seen["pytest"] = self.pytest
        if self.only is None:
            if len(self.tests) > 1:
                self.seen["tests"] = self.tests
                return False
            self.only = self.tests[0] if self.tests else ""
        self.seen["only"] = self.only
        self.seen["shape"] = shape_of(self.tree, self.only)
        if len(self.tests) > 1 and self.what == "judge":
            self.seen["alone"] = alone(self.tree, self.source, self.only)
        self.imports = [alias.name for node in self.tree.body if isinstance(node, ast.Import) for alias in node.names] + \
            [node.module for node in self.tree.body if isinstance(node, ast.ImportFrom) and not node.level]
        self.named = asserts.named(self.tree, self.only)
        self.found = asserts.rewrite(self.tree, self.source)
        self.watch = asserts.Watch(self.found)
        self.code = compile(self.tree, self.path, "exec", dont_inherit=True)
        linecache.cache[self.path] = (len(self.source), None, self.source.splitlines(True), self.path)
        return True

    def open(self):
        """The target, and what the test imports of others, once for all executions."""
        sys.argv[1:] = []
        for path in reversed(self.config["paths"]):
            if path not in sys.path:
                sys.path.insert(1, path)
        if self.what == "judge":
            with open(self.config["code"], "rb") as file:
                self.target = target.Target(marshal.load(file))
            self.target.install()
        for name in self.config["modules"]:
            __import__(name)
        sys.meta_path.insert(0, asserts.Helpers(self.config["root"], self.path, self.watch))
        for name in self.imports:
            try:
                __import__(name)
            except BaseException:
                pass  # the test will say
        os.makedirs(SCRATCH, exist_ok=True)
        self.libc.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
        self.libc.prctl(4, 0)  # PR_SET_DUMPABLE: no test looks into this process
        gc.disable()
        gc.freeze()  # a collection in a fork would copy all pages

    def runner(self):
        if not self.pytest:
            return Plain(self)
        import exitpath_vet_pytest
        return exitpath_vet_pytest.Pytest(self)

    def execute(self, runner, prepare=None, seconds=None, first=(), ledger=False):
        def child():
            os.close(self.say.fd)
            gc.enable()
            random.seed(perturb.MIDDLE)
            book = None
            if prepare:
                prepare()
            if ledger:
                book = execute.Ledger(self.path, (SCRATCH,))
                book.watch_modules(self.config["modules"])
            self.target.clear()
            begin = time.monotonic()
            error, where = runner.child(self.only, first)
            report = outcome(error, self.path)
            report["ms_test"] = round((time.monotonic() - begin) * 1000, 2)
            report["where"] = where
            report["counts"] = self.watch.counts
            if book:
                report["left"] = book.left()
                report["network"] = book.network[:5]
                report.update(self.target.seen())
            return report
        return self.executor.run(child, seconds or self.limit)

    def late(self):
        return time.monotonic() > self.until

    # ---- the stages ----

    def judge(self, runner):
        seen = self.seen
        self.say(stage="run")
        seen["run"] = run = self.execute(runner, ledger=True)
        counts = run.get("counts") or [0] * len(self.found)
        if self.only:  # what stands outside of all functions is executed once, for all tests of the file
            counts = [count if found["in"] else 0 for found, count in zip(self.found, counts)]
        seen["asserts"] = [{**found, "executed": count} for found, count in zip(self.found, counts)]
        if run["end"] != "passed" or not any(counts) or run["ms_test"] > self.config["time_ms"]:
            return
        what = {key: run.pop(key) for key in ("entered", "taken", "reached", "calls")}
        seen["coverage"] = self.target.coverage(what, self.named)
        self.quick = min(self.limit, max(1.0, run["ms"] / 1000 * 20))
        self.say(stage="repeat")
        self.repeat(runner)
        if all(r["end"] == "passed" for r in seen["repeats"]):
            self.say(stage="order")
            self.reorder(runner)
            self.say(stage="asserts")
            self.change_asserts(runner)
            self.say(stage="kills")
            self.kill(runner, what)

    def repeat(self, runner):
        seen = self.seen["repeats"] = []
        for name, parts in perturb.RUNS.items():
            seen.append(self.perturbed(runner, name, parts))
        again = self.execute(runner, first=[self.only], seconds=self.quick)  # others would make their faults its own
        seen.append({"name": "order", "end": again["end"], "error": again.get("error")})
        if any(r["end"] != "passed" for r in seen):
            self.seen["plain"] = [self.execute(runner, seconds=self.quick)["end"] for _ in range(3)]

    def perturbed(self, runner, name, parts):
        def all_of(parts):
            def prepare():
                for part in parts:
                    part(SCRATCH)
            return prepare

        run = self.execute(runner, all_of(parts.values()), seconds=self.quick)
        result = {"name": name, "end": run["end"], "error": run.get("error")}
        if run["end"] != "passed":
            result["causes"] = [cause for cause, part in parts.items()
                                if self.execute(runner, all_of([part]), seconds=self.quick)["end"] != "passed"]
        return result

    def reorder(self, runner):
        def turn():
            self.target.order.turned = True

        run = self.execute(runner, turn, seconds=self.quick)
        self.seen["reordered"] = {"end": run["end"], "error": run.get("error")}

    def change_asserts(self, runner):
        done = 0
        for k, entry in enumerate(self.seen["asserts"]):
            if not entry["executed"] or entry["constant"] or done >= WATCHED_MUTANTS or self.late():
                continue
            done += 1
            mode = "perturb" if entry["perturb"] else "negate"
            entry[mode] = self.execute(runner, lambda: self.watch.choose(mode, k), seconds=self.quick)["end"]
            if mode == "perturb" and entry[mode] == "passed":
                entry["negate"] = self.execute(runner, lambda: self.watch.choose("negate", k), seconds=self.quick)["end"]

    def kill(self, runner, what):
        found = self.target.mutants(what["reached"], self.target.about)
        step = max(1, -(-len(found) // self.config["mutants"]))
        self.seen["mutants"] = seen = []
        for n in found[::step]:
            if self.late():
                break
            run = self.execute(runner, lambda: self.target.choose(n, 100 * what["calls"] + 100000), seconds=self.quick)
            path, function, line, key, words = self.target.data["mutants"][n]
            away = run["end"] == "timeout" or run["end"] == "exited" and run["status"] == RUN_AWAY
            end = "undecided" if away else "survived" if run["end"] == "passed" else "killed"
            seen.append({"key": key, "file": os.path.basename(path), "line": line, "in": function, "text": words, "end": end})

    def once(self, runner):
        """In this very process: nothing is executed after it."""
        self.say(stage="run")
        gc.enable()
        random.seed(perturb.MIDDLE)
        error, where = runner.child(self.only, ())
        self.seen["run"] = {**outcome(error, self.path), "where": where}
        self.executor.count = 1

    def work(self):
        if self.parse():
            self.open()
            (self.runner()).session(self.judge if self.what == "judge" else self.once)
        self.seen["executions"] = self.executor.count
        self.say(seen=self.seen)


def has_conftest(path, root):
    folder = os.path.dirname(path)
    while folder.startswith(root):
        if os.path.exists(f"{folder}/conftest.py"):
            return True
        folder = os.path.dirname(folder)
    return False


def main():
    say = Say()
    spec = json.loads("".join(sys.argv[1:]))
    with open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    random.seed()
    try:
        Job(spec, config, say).work()
    except BaseException as error:
        say(broken=error_text(error), line=error.__traceback__.tb_next and error.__traceback__.tb_next.tb_lineno)
        os._exit(1)
    os._exit(0)
