"""The code under test, loaded so that we see what is executed, and can put sets and dicts into another order.

A set has no order, and a dict that a function returns has one by accident: what a test expects of
either is more than the code promises. Branches have the probes of exitpath_branches; each function
notes that it was entered. All of it is compiled once, for all tests.
"""
import ast
import importlib.machinery
import marshal
import os
import sys

import exitpath_branches
import exitpath_vet_mutants

NAME = "__exitpath_order__"


class Turned(set):
    """Iterates the other way round."""

    __slots__ = ()

    def __iter__(self):
        return reversed(list(set.__iter__(self)))

    def __repr__(self):
        return "{" + ", ".join(map(repr, self)) + "}" if self else "set()"

    def pop(self):
        value = next(iter(self))
        self.remove(value)
        return value

    def __reduce__(self):
        return set, (list(self),)


class TurnedFrozen(frozenset):
    __slots__ = ()

    def __iter__(self):
        return reversed(list(frozenset.__iter__(self)))

    def __repr__(self):
        return "frozenset({" + ", ".join(map(repr, self)) + "})" if self else "frozenset()"

    def __reduce__(self):
        return frozenset, (list(self),)


def keep_kind(name):
    def method(self, *others):
        result = getattr(set, name)(self, *others)
        return result if result is NotImplemented else Turned(result)
    method.__name__ = name
    return method


for operation in ("union", "intersection", "difference", "symmetric_difference", "copy", "__or__", "__and__", "__sub__", "__xor__"):
    setattr(Turned, operation, keep_kind(operation))


class Order:
    """What the code calls; it is `__exitpath_order__` in its modules."""

    def __init__(self):
        self.turned = False
        self.entered = bytearray()
        self.m = None

    def set(self, value):
        if not self.turned:
            return value
        if type(value) is set:
            return Turned(value)
        return TurnedFrozen(value) if type(value) is frozenset else value

    def dict(self, value):
        return dict(reversed(list(value.items()))) if self.turned and type(value) is dict else value


class Wrap(ast.NodeTransformer):
    def __init__(self, path, functions):
        self.path, self.functions, self.names = path, functions, []

    def function_(self, node):
        number = len(self.functions)
        self.names.append(node.name)
        self.functions.append((self.path, ".".join(self.names), node.lineno))
        self.generic_visit(node)
        self.names.pop()
        entered = ast.Attribute(ast.Name(NAME, ast.Load()), "entered", ast.Load())
        note = ast.Assign([ast.Subscript(entered, ast.Constant(number), ast.Store())], ast.Constant(1))
        first = node.body[0]
        has_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
        for part in ast.walk(note):
            part.lineno = part.end_lineno = first.lineno
            part.col_offset = part.end_col_offset = 0
        node.body.insert(1 if has_text else 0, note)
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = function_

    def visit_ClassDef(self, node):
        self.names.append(node.name)
        self.generic_visit(node)
        self.names.pop()
        return node

    def wrap(self, what, node):
        return ast.copy_location(ast.Call(ast.Attribute(ast.Name(NAME, ast.Load()), what, ast.Load()), [node], []), node)

    def set_(self, node):
        return self.wrap("set", self.generic_visit(node))

    visit_Set = visit_SetComp = set_

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset"):
            return self.wrap("set", node)
        return node

    def visit_Return(self, node):
        self.generic_visit(node)
        if isinstance(node.value, ast.Dict) and len(node.value.keys) > 1 and \
                all(isinstance(key, ast.Constant) for key in node.value.keys):
            node.value = self.wrap("dict", node.value)
        return node


def compile_all(paths):
    """What a process that runs a test needs, as plain data."""
    branches = exitpath_branches.Branches(lambda path: True)
    codes, functions, mutants = {}, [], []
    for path in paths:
        with open(path, "rb") as file:
            tree = branches.transform(ast.parse(file.read(), path), path)
        tree = exitpath_vet_mutants.Mutator(path, NAME, mutants).visit(Wrap(path, functions).visit(tree))
        tree = ast.fix_missing_locations(tree)
        codes[path] = marshal.dumps(compile(tree, path, "exec", dont_inherit=True))
    decisions = [(d.first, len(d.outcomes), d.file, d.function, d.line, [exitpath_branches.describe(d, n) for n in range(len(d.outcomes))])
                 for d in branches.all]
    return {"codes": codes, "functions": functions, "decisions": decisions, "outcomes": len(branches),
            "mutants": mutants}


class Target:
    """In the process that runs a test."""

    def __init__(self, data):
        self.data, self.order = data, Order()
        self.order.entered = bytearray(len(data["functions"]))
        self.probes = exitpath_branches.Probes(data["outcomes"])
        self.choice = exitpath_vet_mutants.Choice(len(data["mutants"]))
        self.order.m = self.choice.m

    def install(self):
        self.probes.install_gates()
        if self.data["codes"]:
            sys.meta_path.insert(0, Finder(self.order, self.data["codes"]))

    def clear(self):
        self.probes.clear()
        self.order.entered[:] = bytes(len(self.order.entered))
        self.choice.clear()

    def choose(self, mutant, fuel):
        self.choice.choose(mutant, fuel)
        self.order.m = self.choice.m

    def seen(self):
        return {"entered": exitpath_branches.taken_in(self.order.entered), "taken": self.probes.taken(),
                "reached": exitpath_branches.taken_in(self.choice.reached), "calls": self.choice.calls}

    def mutants(self, reached, functions):
        """Numbers of those that a test reaches in the functions that it is about."""
        return [n for n in reached if tuple(self.data["mutants"][n][:2]) in functions]

    def coverage(self, seen, named):
        """Of the functions that a test is about: those that its assertions name, else all that it enters."""
        entered = [self.data["functions"][n] for n in seen["entered"]]
        about = [f for f in entered if f[1].rpartition(".")[2] in named] or entered
        keys = {(path, name) for path, name, _ in about}
        taken, missing, hit, count = set(seen["taken"]), [], [], 0
        for first, outcomes, path, function, line, words in self.data["decisions"]:
            if (path, function) not in keys:
                continue
            count += outcomes
            for n in range(outcomes):
                if first + n in taken:
                    hit.append(first + n)
                else:
                    missing.append([os.path.basename(path), line, function, words[n]])
        self.about = keys
        return {"functions": [name for _, name, _ in about], "taken": len(hit), "all": count, "missing": missing[:20],
                "branches": sorted({*hit, *(-1 - n for n in seen["entered"])})}


class Finder:
    """Stands first in sys.meta_path for the files of the target."""

    def __init__(self, order, files):
        self.order = order
        self.files = files  # path: its code, marshalled
        self.names = {os.path.basename(os.path.dirname(path)) if path.endswith("/__init__.py") else
                      os.path.basename(path)[:-3] for path in files}

    def find_spec(self, name, path=None, target=None):
        if name.rpartition(".")[2] not in self.names:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or spec.origin not in self.files:
            return None
        spec.loader = Loader(name, spec.origin, self)
        spec.cached = None
        return spec


class Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name, path, finder):
        super().__init__(name, path)
        self.finder = finder

    def get_code(self, name):
        return marshal.loads(self.finder.files[self.path])

    def exec_module(self, module):
        module.__dict__[NAME] = self.finder.order
        super().exec_module(module)


def root_of(path):
    """The directory that a module of this file is imported from."""
    folder = os.path.dirname(path)
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return folder


def module_of(path):
    name = os.path.relpath(path, root_of(path))[:-3].replace(os.sep, ".")
    return name[:-len(".__init__")] if name.endswith(".__init__") else name

