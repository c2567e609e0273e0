"""Changes of the code under test that a good test notices, all compiled into it.

One is chosen before a run: `x < y` becomes `(x <= y if m(3) else x < y)`, where m(n) says whether n is
the chosen one, and notes that it was reached. Operators have their usual names: ROR, AOR, LCR, COI,
CRCR, RVR, SDL, ASR. Three for a line at most; none in what only logs, asserts or annotates.
"""
import ast
import copy
import os

PER_LINE = 3
RUN_AWAY = 86  # exit status of a mutant that goes on and on
LOGS = {"log", "logger", "logging", "warnings", "_log", "_logger", "LOG", "LOGGER"}

RELATIONS = {ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
             ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
             ast.NotIn: (ast.In,)}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
              ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr, ast.LShift: ast.RShift,
              ast.RShift: ast.LShift}


def is_text(node):
    return isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))


def with_(node, **fields):
    changed = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def variants(node):
    """(operator, changed expression) of an expression whose parts are as they were."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in RELATIONS[type(node.ops[0])]:
            yield "ROR", with_(node, ops=[other()])
    elif isinstance(node, ast.BoolOp):
        yield "LCR", with_(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)) and not isinstance(node.operand, ast.Constant):
        yield "COI" if isinstance(node.op, ast.Not) else "UOD", copy.deepcopy(node.operand)
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not is_text(node.left) and not is_text(node.right):
        yield "AOR", with_(node, op=ARITHMETIC[type(node.op)]())
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "CRCR", with_(node, value=not node.value)
        elif isinstance(node.value, (int, float)):
            yield "CRCR", with_(node, value=node.value + 1)
        elif isinstance(node.value, str) and node.value:
            yield "CRCR", with_(node, value=node.value + "~")


class Plain(ast.NodeTransformer):
    """As it was written, for people."""

    def visit_IfExp(self, node):
        ours = isinstance(node.test, ast.Call) and is_ours(node.test.func)
        return self.visit(node.orelse) if ours else self.generic_visit(node)

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(getattr(node.func, "value", None), "id", "")
        return node.args[-1] if str(name).startswith(("_exitpath_", "__exitpath_")) else node


def words(node):
    return ast.unparse(Plain().visit(copy.deepcopy(node))).split("\n")[0][:80]


def is_ours(node):
    return any(isinstance(n, ast.Name) and n.id.startswith(("_exitpath_", "__exitpath_")) for n in ast.walk(node))


class Mutator(ast.NodeTransformer):
    """name: of the global that has m()."""

    def __init__(self, path, name, found):
        self.path, self.name = path, name
        self.found = found  # (path, function, line, key, words) of each
        self.names, self.depth, self.lines = [], 0, {}

    def new(self, operator, node, before, after):
        """A call of m(), or None: this line has enough."""
        count = self.lines[node.lineno] = self.lines.get(node.lineno, 0) + 1
        if not self.depth or count > PER_LINE:
            return None
        key = f"{os.path.basename(self.path)}:{node.lineno}:{node.col_offset}:{operator}:{count}"
        self.found.append((self.path, ".".join(self.names), node.lineno, key, f"`{before}` became `{after}`"))
        call = ast.Call(ast.Attribute(ast.Name(self.name, ast.Load()), "m", ast.Load()), [ast.Constant(len(self.found) - 1)], [])
        for part in ast.walk(call):
            ast.copy_location(part, node)
        return call

    # ---- expressions ----

    def visit(self, node):
        if not isinstance(node, ast.expr) or isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            return super().visit(node)
        if isinstance(node, (ast.JoinedStr, ast.Name)) or not self.depth:
            return node
        if isinstance(node, ast.Call) and is_ours(node.func):
            node.args = [*node.args[:-1], self.visit(node.args[-1])]
            return node
        before = copy.deepcopy(node)
        node = self.generic_visit(node)
        for operator, changed in variants(before):
            choice = self.new(operator, before, words(before), words(changed))
            if choice:
                node = ast.copy_location(ast.IfExp(choice, changed, node), before)
        return node

    def visit_keyword(self, node):
        node.value = self.visit(node.value)
        return node

    def condition(self, test):
        """`if f(x)`: what is no comparison has no variant of its own."""
        before, plain = copy.deepcopy(test), isinstance(test, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        test = self.visit(test)
        if plain:
            changed = ast.copy_location(ast.UnaryOp(ast.Not(), before), before)
            choice = self.new("COI", before, words(before), words(changed))
            if choice:
                return ast.copy_location(ast.IfExp(choice, changed, test), before)
        return test

    # ---- statements ----

    def either(self, node, operator, after, text):
        """The statement, or another in its place; None: nothing."""
        choice = self.new(operator, node, words(node), text)
        if not choice:
            return node
        made = ast.If(choice, [after], [node]) if after else \
            ast.If(ast.copy_location(ast.UnaryOp(ast.Not(), choice), node), [node], [])
        return ast.copy_location(made, node)

    def visit_If(self, node):
        node.test = self.condition(node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    visit_While = visit_If

    def block(self, body):
        return [self.visit(part) for part in body]

    def visit_Return(self, node):
        if node.value is None:
            return node
        before = node.value
        text = words(before)
        node.value = self.visit(node.value)
        if not (isinstance(before, ast.Constant) and before.value is None):
            choice = self.new("RVR", before, f"return {text}", "return None")
            if choice:
                node.value = ast.copy_location(ast.IfExp(choice, ast.copy_location(ast.Constant(None), before), node.value), before)
        return node

    def visit_AugAssign(self, node):
        before = copy.deepcopy(node)
        node.value = self.visit(node.value)
        if type(node.op) not in ARITHMETIC or is_text(node.value):
            return node
        other = with_(before, op=ARITHMETIC[type(node.op)]())
        return self.either(node, "ASR", other, words(other))

    def visit_Assign(self, node):
        if is_ours(node.targets[0]):
            return node
        stored = isinstance(node.targets[0], (ast.Attribute, ast.Subscript))
        node.value = self.visit(node.value)
        return self.either(node, "SDL", None, "nothing") if stored else node

    def visit_Expr(self, node):
        if not isinstance(node.value, ast.Call):
            return node
        first = node.value.func
        while isinstance(first, (ast.Attribute, ast.Call)):
            first = first.value if isinstance(first, ast.Attribute) else first.func
        if isinstance(first, ast.Name) and (first.id in LOGS or first.id == "print"):
            return node
        node.value = self.generic_visit(node.value)
        return self.either(node, "SDL", None, "nothing")

    def visit_Raise(self, node):
        return self.either(node, "SDL", None, "nothing")

    visit_Delete = visit_Raise

    def visit_Break(self, node):
        return self.either(node, "LCO", ast.copy_location(ast.Continue(), node), "continue")

    def visit_Continue(self, node):
        return self.either(node, "LCO", ast.copy_location(ast.Break(), node), "break")

    # ---- what is left alone ----

    def function_(self, node):
        self.names.append(node.name)
        self.depth += 1
        node.body = self.block(node.body)
        self.depth -= 1
        self.names.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = function_

    def visit_ClassDef(self, node):
        self.names.append(node.name)
        node.body = self.block(node.body)
        self.names.pop()
        return node

    def visit_AnnAssign(self, node):
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def same(self, node):
        return node

    visit_Assert = visit_MatchValue = visit_MatchMapping = visit_MatchClass = same


class Choice:
    """m(), and what it has seen."""

    def __init__(self, count):
        self.reached = bytearray(count)
        self.calls = 0
        self.m = self.note

    def note(self, n):
        self.reached[n] = 1
        self.calls += 1
        return False

    def clear(self):
        self.reached[:] = bytes(len(self.reached))
        self.calls = 0

    def choose(self, chosen, fuel):
        """A mutant that loops for ever is stopped by what it counts, and so always the same."""
        left = fuel

        def m(n):
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(RUN_AWAY)
            return n == chosen

        self.m = m
