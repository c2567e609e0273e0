"""Branches of the modules under test: which of their outcomes were taken.

What counts as a decision, and which outcomes it has, is docs/COVERAGE.md, the same for all
languages. The source is transformed as it is loaded and never written, as in
exitpath_sites.py; a probe stands where an outcome begins, on a line that runs then anyway,
so that lines, frames, locals and tracebacks are as ever:

    if a and b:      if _exitpath_t_(0, a) and _exitpath_t_(2, b):
        f()              f()
    while x:         while x:
        f()              _exitpath_h_[4] = 1
                         f()
                     else:
                         _exitpath_h_[5] = 1

For one test at a time: clear(), run it, taken(). A forked child has tables of its own.
"""
import ast
import builtins
import importlib.machinery

_TEXT = 100  # characters of a condition's text
_NAMES = ("_exitpath_h_", "_exitpath_t_", "_exitpath_v_")


class Decision:
    __slots__ = ("first", "kind", "file", "function", "line", "column", "text", "outcomes",
                 "lines")

    def __init__(self, first, kind, file, function, at, text, outcomes, lines=None):
        self.first = first  # the number of its first outcome
        self.kind = kind  # if while for ternary operand comprehension guard match except
        self.file, self.function = file, function
        self.line, self.column = at.lineno, at.col_offset + 1
        self.text = text
        self.outcomes = outcomes  # ("true", "false"), ("entered", "exhausted"), …
        self.lines = lines or [self.line] * len(outcomes)

    def row(self):
        """For JSON."""
        return [self.first, self.kind, self.line, self.column, self.function, self.text,
                list(self.outcomes)]


class Probes:
    """What the probes write to. Where modules come compiled from another process, this alone
    is needed, with the size that Branches had there."""

    def __init__(self, size=0):
        hits = self._hits = bytearray(size)

        def t(n, value):
            if value:
                hits[n] = 1
                return True
            hits[n + 1] = 1
            return False

        def v(n, value):
            hits[n if value else n + 1] = 1
            return value

        self._gates = hits, t, v

    def install_gates(self):
        for name, gate in zip(_NAMES, self._gates):
            setattr(builtins, name, gate)

    def __len__(self):
        """Outcomes that are known by now: of the modules that are loaded."""
        return len(self._hits)

    def clear(self):
        # In place: the code that runs has this object.
        self._hits[:] = bytes(len(self._hits))

    def snapshot(self):
        """A byte for each outcome, 1 when it was taken since clear()."""
        return bytes(self._hits)

    def restore(self, snapshot):
        """Adds what an earlier snapshot has: of import time, for example."""
        for n in taken_in(snapshot):
            self._hits[n] = 1

    def taken(self):
        return taken_in(self._hits)


class Branches(Probes):
    """wants(path): is that file to be looked at? label(path): what it is called in reports."""

    def __init__(self, wants, label=None):
        super().__init__()
        self._wants, self._label = wants, label or (lambda path: path)
        self._wanted = {}
        self._codes = {}
        self.all = []  # Decision, by number of their first outcome
        self.files = {}  # path → [Decision]
        self.failed = []  # (path, why): these have no branches that are known

    # --- what was taken ----------------------------------------------------------------

    def coverage(self, taken, paths=None):
        """(taken, all) outcomes of these files, or of all."""
        wanted = self.all if paths is None else [
            d for p in paths for d in self.files.get(p, ())]
        taken = set(taken)
        every = [d.first + i for d in wanted for i in range(len(d.outcomes))]
        return sum(n in taken for n in every), len(every)

    def missing(self, taken, paths=None):
        """(Decision, index of an outcome) of what was not taken, in the order of the source."""
        taken = set(taken)
        wanted = self.all if paths is None else [
            d for p in paths for d in self.files.get(p, ())]
        return [(d, i) for d in sorted(wanted, key=lambda d: (d.file, d.line, d.column))
                for i in range(len(d.outcomes)) if d.first + i not in taken]

    # --- loading -----------------------------------------------------------------------

    def wants(self, path):
        known = self._wanted.get(path)
        if known is None:
            known = self._wanted[path] = bool(self._wants(path))
        return known

    def transform(self, tree, path):
        """Puts probes into a tree, which is that of a module; in place."""
        count, size = len(self.all), len(self._hits)
        try:
            _Transform(self, path, self._label(path)).visit(tree)
            ast.fix_missing_locations(tree)
        except BaseException:
            del self.all[count:], self._hits[size:]
            raise
        self.files[path] = self.all[count:]
        return tree

    def compile(self, data, path):
        key = path, bytes(data) if not isinstance(data, str) else data
        if key not in self._codes:  # reload() asks again: the same numbers
            tree = ast.parse(data, path)
            self.transform(tree, path)
            self._codes[key] = compile(tree, path, "exec", dont_inherit=True)
        return self._codes[key]

    def install(self):
        """From now on, modules that are wanted are loaded with probes."""
        self.install_gates()
        kind = importlib.machinery.SourceFileLoader
        plain = kind.get_code
        branches = self

        def get_code(self, fullname):
            path = self.path
            if type(self) is not kind or not isinstance(path, str) or (
                    not branches.wants(path)):
                return plain(self, fullname)
            try:
                return branches.compile(self.get_data(path), path)
            except Exception as e:  # a broken file fails as it does without us
                branches.failed.append((path, "%s: %s" % (type(e).__name__, e)))
                return plain(self, fullname)

        kind.get_code = get_code

    def _add(self, kind, file, function, at, text, outcomes, lines=None):
        decision = Decision(len(self._hits), kind, file, function, at, text, outcomes, lines)
        self.all.append(decision)
        self._hits.extend(bytes(len(outcomes)))
        return decision.first


def taken_in(snapshot):
    found, at = [], snapshot.find(1)
    while at >= 0:
        found.append(at)
        at = snapshot.find(1, at + 1)
    return found


def describe(decision, index):
    """In words, of an outcome that no test takes: "`x > 3` is never false"."""
    what = decision.outcomes[index]
    if decision.kind in ("match", "except"):
        if what == "none":
            return "no value gets past all cases of `%s`" % decision.text
        return "`%s` is never %s" % (
            decision.text if decision.kind == "except" else what,
            "entered" if decision.kind == "except" else "chosen")
    if what == "entered":
        return "the body of `%s` never runs" % decision.text
    if what == "exhausted":
        return "`%s` never comes to its end" % decision.text
    return "`%s` is never %s" % (decision.text, what)


def _text(node):
    try:
        return ast.unparse(node)[:_TEXT]
    except Exception:
        return type(node).__name__


def _is_fixed(node):
    """Known before the program runs."""
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node = node.operand
    if isinstance(node, ast.Attribute):
        return node.attr == "TYPE_CHECKING"
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.Name) and node.id in ("TYPE_CHECKING", "__debug__"))


def _negates_operator(node):
    """not (a and b)"""
    negated = False
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node, negated = node.operand, True
    return negated and isinstance(node, ast.BoolOp)


def _takes_all(case):
    pattern = case.pattern
    if case.guard is not None:
        return False
    if type(pattern).__name__ == "MatchOr":
        pattern = pattern.patterns[-1]
    while type(pattern).__name__ == "MatchAs" and pattern.pattern is not None:
        pattern = pattern.pattern
    return type(pattern).__name__ == "MatchAs"


class _Transform(ast.NodeTransformer):
    def __init__(self, branches, path, file):
        self._branches, self._path, self._file = branches, path, file
        self._names = []

    def _new(self, kind, at, text, outcomes=("true", "false"), lines=None):
        return self._branches._add(kind, self._file, ".".join(self._names) or "<module>",
                                   at, text, outcomes, lines)

    # --- probes ------------------------------------------------------------------------

    @staticmethod
    def _hit(n, at):
        """_exitpath_h_[n] = 1"""
        target = ast.Subscript(ast.Name(_NAMES[0], ast.Load()), ast.Constant(n), ast.Store())
        node = ast.Assign([target], ast.Constant(1))
        for part in (node, target, target.value, target.slice, node.value):
            part.lineno = part.end_lineno = at.lineno
            part.col_offset = part.end_col_offset = at.col_offset
        return node

    @staticmethod
    def _gate(name, n, node):
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Constant(n), node], [])
        for part in (call, call.func, call.args[0]):
            ast.copy_location(part, node)
        return call

    def _begin(self, n, body):
        body.insert(0, self._hit(n, body[0]))

    def _test(self, kind, node):
        """An expression of which only the truth matters."""
        if isinstance(node, ast.BoolOp):
            node.values = [self._test("operand", v) for v in node.values]
            return node
        if _negates_operator(node):
            node.operand = self._test(kind, node.operand)
            return node
        if _is_fixed(node):
            return self.visit(node)
        n = self._new(kind, node, _text(node))
        return self._gate(_NAMES[1], n, self.visit(node))

    def _operand(self, node):
        """The left side of an operator: its truth decides, and it may be the value."""
        if isinstance(node, ast.BoolOp):
            node.values = [self._operand(v) for v in node.values]
            return node
        if _negates_operator(node):
            return self._test("operand", node)
        if _is_fixed(node):
            return self.visit(node)
        n = self._new("operand", node, _text(node))
        return self._gate(_NAMES[2], n, self.visit(node))

    # --- decisions ---------------------------------------------------------------------

    def _condition(self, kind, node):
        """if and while. A probe in each arm is cheaper than a call."""
        test = node.test
        simple = not isinstance(test, ast.BoolOp) and not _negates_operator(test)
        n = None
        if simple and not _is_fixed(test):
            n = self._new(kind, test, _text(test))
        node.test = self.visit(test) if simple else self._test(kind, test)
        node.body = self._block(node.body)
        node.orelse = self._block(node.orelse)
        if n is not None:
            self._begin(n, node.body)
            if node.orelse:
                self._begin(n + 1, node.orelse)
            else:
                node.orelse = [self._hit(n + 1, test)]
        return node

    def _block(self, body):
        return [self.visit(n) for n in body]

    def visit_If(self, node):
        return self._condition("if", node)

    def visit_While(self, node):
        return self._condition("while", node)

    def visit_IfExp(self, node):
        node.test = self._test("ternary", node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def _for(self, node):
        n = self._new("for", node, "for %s in %s" % (_text(node.target), _text(node.iter)),
                      ("entered", "exhausted"))
        node.iter = self.visit(node.iter)
        node.target = self.visit(node.target)
        node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        self._begin(n, node.body)
        if node.orelse:
            self._begin(n + 1, node.orelse)
        else:
            node.orelse = [self._hit(n + 1, node)]
        return node

    visit_For = visit_AsyncFor = _for

    def visit_comprehension(self, node):
        node.iter = self.visit(node.iter)
        node.ifs = [self._test("comprehension", n) for n in node.ifs]
        return node

    def visit_BoolOp(self, node):
        """Its value is wanted, and so the last operand is not tested."""
        node.values = [self._operand(v) for v in node.values[:-1]] + [
            self.visit(node.values[-1])]
        return node

    def visit_Match(self, node):
        names = ["case " + _text(c.pattern) for c in node.cases]
        lines = [c.pattern.lineno for c in node.cases]
        last = _takes_all(node.cases[-1])
        if not last:
            names.append("none")
            lines.append(node.lineno)
        n = self._new("match", node, "match " + _text(node.subject), tuple(names), lines)
        node.subject = self.visit(node.subject)
        for i, case in enumerate(node.cases):
            if case.guard is not None:
                case.guard = self._test("guard", case.guard)
            case.body = self._block(case.body)
            self._begin(n + i, case.body)
        if not last:
            nothing = ast.match_case(ast.MatchAs(), None,
                                     [self._hit(n + len(names) - 1, node)])
            ast.copy_location(nothing.pattern, node)
            node.cases.append(nothing)
        return node

    def visit_ExceptHandler(self, node):
        text = "except" if node.type is None else "except " + _text(node.type)
        n = self._new("except", node, text, ("caught",))
        if node.type is not None:
            node.type = self.visit(node.type)
        node.body = self._block(node.body)
        self._begin(n, node.body)
        return node

    # --- what is left alone ------------------------------------------------------------

    def _function(self, node):
        """Annotations stay as they are: who asks for them gets their text."""
        node.decorator_list = self._block(node.decorator_list)
        args = node.args
        args.defaults = self._block(args.defaults)
        args.kw_defaults = [d and self.visit(d) for d in args.kw_defaults]
        self._names.append(node.name)
        node.body = self._block(node.body)
        self._names.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def visit_ClassDef(self, node):
        node.decorator_list = self._block(node.decorator_list)
        node.bases = self._block(node.bases)
        self._names.append(node.name)
        node.body = self._block(node.body)
        self._names.pop()
        return node

    def visit_AnnAssign(self, node):
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Assert(self, node):
        """An assertion reports; it is no branch of the program."""
        return node

    def _untouched(self, node):
        return node

    # Before 3.12, what is within an f-string has no position of its own.
    visit_JoinedStr = visit_TypeAlias = visit_TemplateStr = _untouched
