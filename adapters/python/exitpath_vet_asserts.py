"""The assertions of a test, as places that can be watched and changed.

rewrite() puts calls of a Watch around what the test asserts. In a run without a change they only
count; with one, chosen before the run begins, an assertion is turned round ("negate"), its expected
value is another ("perturb"), or it is left out ("delete"). So one compiled module serves all of them.
"""
import ast
import importlib.machinery
import re

NAME = "__exitpath_watch__"
CALLED = re.compile(r"_?assert", re.I)
EQUAL = re.compile(r"_?assert_?(_?(equals?|(count|list|dict|set|tuple|sequence|multi_?line|almost|array|frame|series|"
                   r"array_almost)_?equal|allclose|is|is_?instance|items_?equal|regex|greater|less|greater_?equal|less_?equal))_?$", re.I)
FIRST = re.compile(r"assert_?(in|raises|raises_?regex|warns)$|assert_(called_with|called_once_with|"
                   r"any_call|has_calls|awaited_with|awaited_once_with|any_await)$", re.I)
TRUTH = re.compile(r"assert_?(true|_)?_?$", re.I)
CONTEXTS = re.compile(r"(raises|warns|deprecated_call|assert_?(Raises|Warns|Logs|NoLogs|RaisesRegexp?|WarnsRegex))$", re.I)
CLOSE = ("isclose", "allclose", "array_equal")
FAILS = re.compile(r"_?fail$")


def last_name(node):
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_constant(node):
    return not any(isinstance(n, (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.Await)) for n in ast.walk(node))


def same(a, b):
    return ast.dump(a) == ast.dump(b)


def always_fails(stmt):
    """`assert False`, `raise AssertionError`, `self.fail()`: reached only when something went wrong."""
    if isinstance(stmt, ast.Assert):
        return isinstance(stmt.test, ast.Constant) and not stmt.test.value
    if isinstance(stmt, ast.Raise) and stmt.exc is not None:
        return last_name(stmt.exc.func if isinstance(stmt.exc, ast.Call) else stmt.exc) == "AssertionError"
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and bool(FAILS.match(last_name(stmt.value.func)))


class Rewriter(ast.NodeTransformer):
    def __init__(self, source, found):
        self.lines = source.split("\n")
        self.found = found  # of each: line, text, perturb: can its expectation be changed, constant: why it says nothing
        self.function = [""]

    def new(self, node, text=None):
        part = text or node
        line = self.lines[part.lineno - 1].encode()  # ast.get_source_segment() splits all of it each time
        line = line[part.col_offset:part.end_col_offset if part.end_lineno == part.lineno else None]
        self.found.append({"line": node.lineno, "text": line.decode("utf-8", "replace")[:120], "perturb": False, "constant": None,
                           "in": self.function[-1]})
        return len(self.found) - 1

    def call(self, what, k, *args, keywords=()):
        watch = ast.Attribute(ast.Name(NAME, ast.Load()), what, ast.Load())
        return ast.Call(watch, [ast.Constant(k), *args], list(keywords))

    def other(self, k, node, what="other"):
        self.found[k]["perturb"] = True
        return self.call(what, k, node)

    def points(self, k, node):
        """Wraps expected values where a different one must make the whole false."""
        if isinstance(node, ast.BoolOp):
            node.values = [self.points(k, value) for value in node.values]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            op, right = node.ops[0], node.comparators[0]
            if isinstance(op, ast.In):
                node.left = self.other(k, node.left, "never")
            elif isinstance(op, (ast.Eq, ast.Is)) and is_constant(node.left) > is_constant(right):
                node.left = self.other(k, node.left)
            elif isinstance(op, (ast.Eq, ast.Is)):
                node.comparators = [self.other(k, right)]
        elif isinstance(node, ast.Call) and not any(isinstance(arg, ast.Starred) for arg in node.args):
            name = last_name(node.func)
            if name in CLOSE and len(node.args) > 1:
                node.args[1] = self.other(k, node.args[1])
            elif name in ("all", "bool") and len(node.args) == 1:
                node.args[0] = self.points(k, node.args[0])
        elif isinstance(node, (ast.GeneratorExp, ast.ListComp)):
            node.elt = self.points(k, node.elt)
        return node

    def note_constant(self, k, test):
        if is_constant(test):
            self.found[k]["constant"] = "is the same whatever the code does"
        elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.Is, ast.LtE, ast.GtE)) \
                and same(test.left, test.comparators[0]) and not any(isinstance(n, ast.Call) for n in ast.walk(test)):
            self.found[k]["constant"] = "compares a value with itself"
        elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) and \
                any(isinstance(v, ast.Constant) and v.value for v in test.values):
            self.found[k]["constant"] = "is true whatever the code does"

    def visit_Assert(self, node):
        if always_fails(node):
            return node
        k = self.new(node)
        self.note_constant(k, node.test)
        node.test = self.call("check", k, self.points(k, node.test))
        return node

    def visit_Expr(self, node):
        call = node.value
        if not isinstance(call, ast.Call) or not CALLED.match(last_name(call.func)):
            return self.generic_visit(node)
        k, name = self.new(node), last_name(call.func)
        args, starred = call.args, any(isinstance(arg, ast.Starred) for arg in call.args)
        if TRUTH.match(name) and args and not starred:
            self.note_constant(k, args[0])
            args[0] = self.points(k, args[0])
        elif EQUAL.match(name) and len(args) > 1 and not starred:
            if is_constant(args[0]) and is_constant(args[1]):
                self.found[k]["constant"] = "is the same whatever the code does"
            elif same(args[0], args[1]) and not any(isinstance(n, ast.Call) for n in ast.walk(args[0])):
                self.found[k]["constant"] = "compares a value with itself"
            if "greater" not in name.lower() and "less" not in name.lower():
                at = 0 if is_constant(args[0]) and not is_constant(args[1]) else 1
                args[at] = self.other(k, args[at])
        elif FIRST.match(name) and args and not starred:
            args[0] = self.other(k, args[0], "never" if name.lower().endswith("in") else "other")
        node.value = self.call("call", k, call.func, *args, keywords=call.keywords)
        return node

    def with_(self, node):
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and CONTEXTS.match(last_name(call.func)):
                k = self.new(node, call)
                if call.args and not isinstance(call.args[0], ast.Starred) and "log" not in last_name(call.func).lower():
                    call.args[0] = self.other(k, call.args[0])
                item.context_expr = self.call("context", k, call)
        return self.generic_visit(node)

    visit_With = visit_AsyncWith = with_

    def visit_If(self, node):
        if len(node.body) == 1 and always_fails(node.body[0]) and not node.orelse:
            k = self.new(node, node.test)
            self.note_constant(k, node.test)
            node.test = self.call("guard", k, node.test)
            return node
        return self.generic_visit(node)

    def visit_Try(self, node):
        inner = node.orelse or node.body
        if node.handlers and always_fails(inner[-1]):
            for handler in node.handlers:
                k = self.new(handler, inner[-1])
                handler.body.insert(0, ast.Expr(self.call("reached", k)))
        return self.generic_visit(node)

    def function_(self, node):
        self.function.append(node.name)
        node = self.generic_visit(node)
        self.function.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = function_


def rewrite(tree, source, found=None):
    """Changes the tree; returns what was found, behind what is in found."""
    rewriter = Rewriter(source, [] if found is None else found)
    rewriter.visit(tree)
    ast.fix_missing_locations(tree)
    return rewriter.found


class Helpers:
    """Finds modules that help the project's tests: their assertions count, too."""

    def __init__(self, root, path, watch):
        self.root, self.path, self.watch = root + "/", path, watch

    def find_spec(self, name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or not spec.has_location or not self.helps(spec.origin):
            return None
        spec.loader = HelperLoader(name, spec.origin)
        spec.loader.watch = self.watch
        return spec

    def helps(self, path):
        if not path.startswith(self.root) or not path.endswith(".py") or path == self.path or "/site-packages/" in path:
            return False
        parts = path[len(self.root):].split("/")
        return bool({"test", "tests", "testing"} & set(parts[:-1])) or parts[-1].startswith(("test_", "conftest.")) or \
            parts[-1] in ("helpers.py", "utils.py", "common.py") and path.rpartition("/")[0] == self.path.rpartition("/")[0]


class HelperLoader(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        source = self.get_data(self.path).decode("utf-8", "replace")
        try:
            tree = ast.parse(source, self.path)
        except SyntaxError:
            return super().get_code(name)
        rewrite(tree, source, self.watch.found)
        self.watch.counts += [0] * (len(self.watch.found) - len(self.watch.counts))
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module):
        module.__dict__[NAME] = self.watch
        super().exec_module(module)


def called(node):
    return {last_name(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)} | \
        {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def variables(node):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def part_of(tree, only):
    """The definition of a test, without the rest of its file; the file when there is none."""
    for name in only.split("::") if only else ():
        tree = next((node for node in ast.walk(tree) if getattr(node, "name", None) == name), tree)
    return tree


def named(tree, only):
    """Names of what a test is about: called in its assertions, or what gave a variable in them its value."""
    names, wanted, given = set(), set(), []
    for node in ast.walk(part_of(tree, only)):
        if isinstance(node, ast.Assert):
            names |= called(node.test)
            wanted |= variables(node.test)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and CALLED.match(last_name(node.value.func)):
            for arg in [*node.value.args, *(k.value for k in node.value.keywords)]:
                names |= called(arg)
                wanted |= variables(arg)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            if any(isinstance(i.context_expr, ast.Call) and CONTEXTS.match(last_name(i.context_expr.func)) for i in node.items):
                for part in node.body:
                    names |= called(part)
        elif isinstance(node, ast.Try) and node.handlers and always_fails((node.orelse or node.body)[-1]):
            for part in node.body:
                names |= called(part)
        elif isinstance(node, ast.Assign):
            given.append(node)
    for node in given:
        if any(variables(t) & wanted for t in node.targets):
            names |= called(node.value)
    return names


class Never:
    """Equal to nothing, in nothing."""

    def __repr__(self):
        return "<another value>"


class Unexpected(BaseException):
    """No code raises it."""


def another(value):
    """A value of the same type near by, that is not equal."""
    kind = type(value)
    if value is None:
        return Never()
    if kind is bool:
        return not value
    if kind is int:
        return value + 1
    if kind is float:
        return value + max(1.0, abs(value) / 2) if value == value and abs(value) != float("inf") else 0.0
    if kind is complex:
        return value + 1
    if kind is str:
        return value + "~"
    if kind is bytes:
        return value + b"~"
    if kind in (list, tuple):
        if not value:
            return kind([Never()])
        return kind([another(value[0]), *value[1:]])
    if kind in (set, frozenset):
        return kind([*value, Never()])
    if kind is dict:
        return {**value, "~": Never()}
    if kind is type:
        return Unexpected if issubclass(value, BaseException) else Never
    return another_of_kind(value, kind)


def another_of_kind(value, kind):
    if kind.__module__.startswith("_pytest") and hasattr(value, "expected"):  # approx()
        try:
            return kind(another(value.expected), rel=value.rel, abs=value.abs, nan_ok=value.nan_ok)
        except Exception:
            return Never()
    if kind.__module__.partition(".")[0] in ("numpy", "decimal", "fractions", "datetime"):
        try:
            return value + (kind.resolution if kind.__module__ == "datetime" and kind.__name__ != "date" else 1)
        except Exception:
            return Never()
    return Never()


class Watch:
    """What the rewritten test calls."""

    def __init__(self, found):
        self.found, self.counts = found, [0] * len(found)
        self.mode, self.at = None, -1  # of one run; at -1: all

    def choose(self, mode, at):
        self.mode, self.at = mode, at

    def is_(self, mode, k):
        return self.mode == mode and self.at in (k, -1)

    def check(self, k, value):
        self.counts[k] += 1
        if self.is_("negate", k):
            return not value
        return True if self.is_("delete", k) else value

    def guard(self, k, value):
        self.counts[k] += 1
        if self.is_("negate", k):
            return not value
        return False if self.is_("delete", k) else value

    def reached(self, k):
        self.counts[k] += 1
        if self.is_("negate", k) or self.is_("perturb", k):
            raise AssertionError("turned round")

    def other(self, k, value):
        if not self.is_("perturb", k):
            return value
        if isinstance(value, tuple) and value and all(isinstance(v, type) for v in value):
            return Unexpected  # of raises((A, B))
        if isinstance(value, type):
            return Unexpected if issubclass(value, BaseException) else Never
        return another(value)

    def never(self, k, value):
        """What is in no container: a value near by might be."""
        return Never() if self.is_("perturb", k) else value

    def call(self, k, function, *args, **keywords):
        if self.is_("delete", k):
            self.counts[k] += 1
            return None
        result = function(*args, **keywords)
        self.counts[k] += 1
        if self.is_("negate", k):
            raise AssertionError("turned round")
        return result

    def context(self, k, inner):
        return Context(self, k, inner)


class Context:
    """`with pytest.raises(…)`, watched."""

    def __init__(self, watch, k, inner):
        self.watch, self.k, self.inner = watch, k, inner

    def __enter__(self):
        return self.inner.__enter__()

    def __exit__(self, *what):
        if self.watch.is_("delete", self.k):
            self.watch.counts[self.k] += 1
            return what[0] is not None and issubclass(what[0], Exception)
        done = self.inner.__exit__(*what)
        self.watch.counts[self.k] += 1
        if self.watch.is_("negate", self.k) and (done or what[0] is None):
            raise AssertionError("turned round")
        return done

    async def __aenter__(self):
        return self.__enter__()

    async def __aexit__(self, *what):
        return self.__exit__(*what)
