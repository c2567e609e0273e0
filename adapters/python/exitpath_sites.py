"""Call sites of the project's own modules: each gets a number as its module is loaded.

`f(a)` becomes `_exitpath_c_(n, f)(a, **_exitpath_b_(n))`: the call stays where it is, so that
frames, locals, super() and tracebacks are as ever, and what is raised instead of the call is
raised when the arguments have been evaluated. Calls after whose effect a failure is tried are
wrapped once more, `_exitpath_a_(n, …)`. `with m:` becomes `with _exitpath_w_(n, m):`, which
fails at the end of the block.

The source is transformed as it is loaded and never written: no .pyc is read or made. What
other loaders load (pytest rewrites assertions of tests and conftest.py) is left alone, as is
what is loaded already, and what cannot be transformed.
"""
import ast
import builtins
import hashlib
import importlib.machinery
import os
import re

from exitpath_callees import AFTER, LOGGING, NEVER, QUIET_NAMES, STATEMENTS
from exitpath_places import Places

_TEST_DIRS = ("tests", "test", "testing")
_TEST_FILE = re.compile(r"(test_.*|.*_tests?|tests?|conftest|setup|noxfile)\.py$")
_TEXT = 120  # characters of a callee's text in a key


def is_test(path):
    """path: below the root of the project."""
    parts = path.split("/")
    return bool(_TEST_FILE.match(parts[-1])) or any(p in _TEST_DIRS for p in parts[:-1])


class FaultPlaces(Places):
    """What pip has put below the root is not the project's."""

    def __init__(self, root):
        super().__init__(root)
        self._installed = {}  # directory → does it hold what pip installed

    def below(self, path):
        return self._below(path)

    def is_project(self, path):
        known = self._project.get(path)
        if known is None:
            known = super().is_project(path) and not self._is_installed(path)
            self._project[path] = known
        return known

    def _is_installed(self, path):
        """By pip install --target: it has no name that would tell."""
        at = os.path.dirname(self._below(path))
        while at:
            if at not in self._installed:
                try:
                    names = os.listdir(os.path.join(self._root, at))
                except OSError:
                    names = ()
                self._installed[at] = any(n.endswith(".dist-info") for n in names)
            if self._installed[at]:
                return True
            at = os.path.dirname(at)
        return False


class Site:
    __slots__ = ("number", "file", "function", "text", "nth", "line", "after")

    def __init__(self, number, file, function, text, nth, line, after):
        self.number, self.file, self.function, self.text = number, file, function, text
        self.nth, self.line, self.after = nth, line, after

    def key(self, variant):
        """The same as long as the function makes its calls in the same order."""
        words = (self.file, self.function, self.text, str(self.nth), variant)
        return hashlib.blake2b("\0".join(words).encode("utf-8", "replace"),
                               digest_size=8).hexdigest()


class Handler:
    """An except clause, or a `with suppress(…)`."""
    __slots__ = ("first", "last", "types", "tells")

    def __init__(self, first, last, types, tells):
        self.first, self.last, self.types, self.tells = first, last, types, tells


class Sites:
    """All sites of this process, and the try statements around them."""

    def __init__(self, places):
        self._places = places
        self.all = []
        self._on_add = None
        self.tries = {}  # path → [(first line, last line, [Handler])], outer before inner
        self.failed = []  # (path, why)
        self._codes = {}
        self._loaded = {}  # path → is it one of ours

    def add(self, file, function, text, nth, line, after):
        site = Site(len(self.all), file, function, text, nth, line, after)
        self.all.append(site)
        if self._on_add is not None:
            self._on_add(site)
        return site.number

    def on_add(self, tell):
        """tell(site), of those that are there and all that come."""
        self._on_add = tell
        for site in self.all:
            tell(site)

    def wants(self, path):
        known = self._loaded.get(path)
        if known is None:
            known = self._loaded[path] = self._places.is_project(path) and not is_test(
                self._places.below(path))
        return known

    def has(self, path):
        return path in self.tries

    def handlers(self, path, line):
        """Of the try statements around a line, innermost first."""
        around = [t for t in self.tries.get(path, ()) if t[0] <= line <= t[1]]
        return [t[2] for t in sorted(around, key=lambda t: (t[1] - t[0], -t[0]))]

    def handler_at(self, path, line):
        found = None
        for _, _, handlers in self.tries.get(path, ()):
            for h in handlers:
                if h.first <= line <= h.last and (
                        found is None or h.last - h.first <= found.last - found.first):
                    found = h
        return found

    def compile(self, data, path, main=False):
        """As the loader would, with numbered sites. main: the script itself, whose top level
        is what runs."""
        key = path, main, hashlib.blake2b(data).digest()
        if key in self._codes:  # runpy and reload() ask again: the same numbers
            return self._codes[key]
        tree = ast.parse(data, path)
        tries = []
        count = len(self.all)
        try:
            _Transform(self, self._places.below(path) or path, tries, main).visit(tree)
            ast.fix_missing_locations(tree)
            code = compile(tree, path, "exec", dont_inherit=True)
        except BaseException:
            del self.all[count:]
            raise
        self.tries[path] = tries
        self._codes[key] = code
        return code

    def install(self, gates):
        """gates: of exitpath_gates, whose functions the code calls."""
        for name in ("_exitpath_a_", "_exitpath_b_", "_exitpath_c_", "_exitpath_q_", "_exitpath_w_"):
            setattr(builtins, name, getattr(gates, name[10]))
        kind = importlib.machinery.SourceFileLoader
        plain = kind.get_code
        sites = self

        def get_code(self, fullname):
            path = self.path
            if type(self) is not kind or not isinstance(path, str) or not sites.wants(path):
                return plain(self, fullname)
            try:
                return sites.compile(self.get_data(path), path)
            except Exception as e:  # a broken file fails as it does without us
                sites.failed.append((path, "%s: %s" % (type(e).__name__, e)))
                return plain(self, fullname)

        kind.get_code = get_code


def _unparse(node):
    try:
        return ast.unparse(node)[:_TEXT]
    except Exception:
        return type(node).__name__


def _last_name(node):
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _is_logging(func):
    """log.info(…), self._logger.error(…), logging.warning(…)"""
    if not isinstance(func, ast.Attribute) or func.attr not in LOGGING:
        return False
    name = _last_name(func.value)
    if isinstance(func.value, ast.Call):
        name = _last_name(func.value.func)
    return name is not None and "log" in name.lower()


def _writes_nothing(name, node):
    """f.write(b""): asks what kind of file it is."""
    return name == "write" and len(node.args) == 1 and (
        isinstance(node.args[0], ast.Constant) and not node.args[0].value)


class _Transform(ast.NodeTransformer):
    def __init__(self, sites, file, tries, main):
        self._sites, self._file, self._tries = sites, file, tries
        self._names = []
        self._counts = {}
        self._inside = main  # of a function: what a module does as it is imported is left

    # --- scopes ------------------------------------------------------------------------

    def _function(self, node):
        """Decorators, defaults and annotations stay as they are."""
        inside, self._inside = self._inside, True
        self._names.append(node.name)
        node.body = [self.visit(n) for n in node.body]
        self._names.pop()
        self._inside = inside
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def visit_ClassDef(self, node):
        inside, self._inside = self._inside, False
        self._names.append(node.name)
        node.body = [self.visit(n) for n in node.body]
        self._names.pop()
        self._inside = inside
        return node

    def visit_Lambda(self, node):
        inside, self._inside = self._inside, True
        node.body = self.visit(node.body)
        self._inside = inside
        return node

    def visit_AnnAssign(self, node):
        node.target = self.visit(node.target)
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def _untouched(self, node):
        return node

    visit_JoinedStr = visit_TypeAlias = visit_TemplateStr = _untouched

    # --- handlers ----------------------------------------------------------------------

    def _try(self, node):
        handlers = [Handler(h.lineno, h.end_lineno, _types(h.type), _tells(h))
                    for h in node.handlers]
        if handlers:
            self._tries.append((node.body[0].lineno, node.body[-1].end_lineno, handlers))
        return self.generic_visit(node)

    visit_Try = visit_TryStar = _try

    def _with(self, node):
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and _last_name(call.func) == "suppress":
                types = [t for a in call.args for t in _types(a)]
                first, last = node.body[0].lineno, node.body[-1].end_lineno
                self._tries.append((first, last, [Handler(0, 0, types, False)]))
        texts = [_unparse(item.context_expr) for item in node.items]
        self.generic_visit(node)
        for item, text in zip(node.items, texts):
            item.context_expr = self._leave(text, item.context_expr)
        return node

    def _leave(self, text, node):
        """What the block does at its end is a site, too."""
        if not self._inside:
            return node
        site = self._add(text + ".__exit__", node, False)
        return self._gate("w", node, site, node)

    visit_With = visit_AsyncWith = _with

    # --- calls -------------------------------------------------------------------------

    def visit_Await(self, node):
        if isinstance(node.value, ast.Call):
            site, node.value = self._call(node.value)
            return self._after(site, node)
        return self.generic_visit(node)

    def visit_Call(self, node):
        site, node = self._call(node)
        return self._after(site, node)

    def _call(self, node):
        """(number or None, the node)"""
        func = node.func
        name = _last_name(func)
        if not self._inside or (isinstance(func, ast.Name) and name in NEVER) or (
                isinstance(func, ast.Attribute) and name in QUIET_NAMES) or (
                _is_logging(func) or _writes_nothing(name, node)):
            return None, self.generic_visit(node)
        site = self._add(_unparse(func), node, name in AFTER)
        self.generic_visit(node)
        args = list(node.args)
        if name in STATEMENTS and args and not isinstance(args[0], ast.Starred):
            args[0] = self._gate("q", node, site, args[0])
        guard = ast.keyword(arg=None, value=self._gate("b", node, site))
        call = ast.Call(func=self._gate("c", node, site, node.func), args=args,
                        keywords=node.keywords + [guard])
        return site, ast.copy_location(call, node)

    def _add(self, text, node, after):
        function = ".".join(self._names) or "<module>"
        nth = self._counts[function, text] = self._counts.get((function, text), 0) + 1
        return self._sites.add(self._file, function, text, nth, node.lineno, after)

    def _after(self, site, node):
        if site is None or not self._sites.all[site].after:
            return node
        return self._gate("a", node, site, node)

    @staticmethod
    def _gate(letter, at, site, *more):
        call = ast.Call(func=ast.Name("_exitpath_%s_" % letter, ast.Load()),
                        args=[ast.Constant(site)] + list(more), keywords=[])
        for n in (call, call.func, call.args[0]):
            ast.copy_location(n, at)
        return call


def _types(node):
    """The dotted names of what is caught; [] for all."""
    if node is None:
        return []
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    return [_unparse(n) for n in nodes if isinstance(n, (ast.Name, ast.Attribute))]


def _tells(handler):
    """May the clause hand the error on by other means than raising or logging: it uses the
    exception, or stores something that outlasts it?"""
    for node in handler.body:
        for n in ast.walk(node):
            if isinstance(n, (ast.Attribute, ast.Subscript)) and isinstance(n.ctx, ast.Store):
                return True
            if isinstance(n, ast.Name) and n.id == handler.name:
                if not _only_logged(handler, n):
                    return True
    return False


def _only_logged(handler, name):
    for node in handler.body:
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and _is_logging(call.func) and any(
                    n is name for n in ast.walk(call)):
                return True
    return False
