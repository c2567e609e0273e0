"""The code under test, loaded so that sets and dicts can be put into another order.

A set has no order, and a dict that a function returns has one by accident: what a test expects of
either is more than the code promises. order() chooses, once a run: 0 as they are, 1 the other way.
"""
import ast
import importlib.machinery
import marshal
import os
import sys

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
    def __init__(self):
        self.turned = False

    def set(self, value):
        if not self.turned:
            return value
        if type(value) is set:
            return Turned(value)
        return TurnedFrozen(value) if type(value) is frozenset else value

    def dict(self, value):
        return dict(reversed(list(value.items()))) if self.turned and type(value) is dict else value


class Wrap(ast.NodeTransformer):
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


def compiled(source, path):
    tree = Wrap().visit(ast.parse(source, path))
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


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


def install(order, files):
    if files:
        sys.meta_path.insert(0, Finder(order, files))
