"""A mutant's text becomes code: of the file, where that is loaded anew, or of the functions that are
there already. Only the statement of the top level around it is compiled again."""
import ast
import gc
import os
import sys
import types
import __future__

_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag
_FUNCTION = 0x1  # CO_OPTIMIZED: neither a module nor the body of a class
_OWN = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_argcount",
        "co_posonlyargcount", "co_kwonlyargcount", "co_name", "co_exceptiontable")


class File:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.text = f.read()
        self.flags, self.parts, self._codes = 0, [], {}
        try:
            tree = ast.parse(self.text, path)
            self.flags = compile(tree, path, "exec", dont_inherit=True).co_flags & _FUTURE
            self.text.decode("utf-8")
        except (SyntaxError, ValueError):
            return
        starts = [0]
        for line in self.text.split(b"\n"):
            starts.append(starts[-1] + len(line) + 1)
        for node in tree.body:
            first = min([node.lineno] + [d.lineno for d in getattr(node, "decorator_list", ())])
            self.parts.append((first, starts[first - 1], min(starts[node.end_lineno], len(self.text))))

    def part(self, start, end):
        """(first line, start, end) of the only statement there, or None."""
        around = [p for p in self.parts if p[1] <= start and end <= p[2]]
        return around[0] if len(around) == 1 else None

    def code(self, part, path):
        if part not in self._codes:
            self._codes[part] = self.compile(part, self.text[part[1]:part[2]], path)
        return self._codes[part]

    def compile(self, part, text, path):
        return compile(b"\n" * (part[0] - 1) + text, path, "exec", flags=self.flags, dont_inherit=True)


def _constant(value):
    if isinstance(value, (tuple, frozenset)):
        return type(value), tuple(map(_constant, value)) if isinstance(value, tuple) else \
            frozenset(map(_constant, value))
    return type(value), repr(value)


def _nested(code):
    return [c for c in code.co_consts if isinstance(c, types.CodeType)]


def _is_same_itself(a, b):
    """But for places in the text, and for what is nested in them."""
    return all(getattr(a, n, None) == getattr(b, n, None) for n in _OWN) and [
        isinstance(c, types.CodeType) or _constant(c) for c in a.co_consts] == [
        isinstance(c, types.CodeType) or _constant(c) for c in b.co_consts]


def _is_same(a, b):
    return _is_same_itself(a, b) and all(map(_is_same, _nested(a), _nested(b)))


def _key(code):
    return code.co_filename, code.co_name, code.co_firstlineno, getattr(code, "co_qualname", "")


class Codes:
    def __init__(self, paths):
        self._files = {p: File(p) for p in paths}
        self._functions = {}
        self.changed = None  # (path, text) of this process

    def is_loaded(self, path):
        return any(os.path.realpath(getattr(m, "__file__", None) or "/") == path
                   for m in list(sys.modules.values()) if isinstance(getattr(m, "__file__", None), str))

    def index(self):
        """The functions that are there."""
        names = {}
        for o in gc.get_objects():
            if type(o) is not types.FunctionType:
                continue
            name = o.__code__.co_filename
            if name not in names:
                names[name] = os.path.realpath(name) in self._files
            if names[name]:
                code = o.__code__
                key = (os.path.realpath(name),) + _key(code)[1:]
                self._functions.setdefault(key, []).append(o)

    def text_with(self, mutant):
        text = self._files[mutant.path].text
        return text[:mutant.start] + mutant.text + text[mutant.end:]

    def compare(self, mutant):
        """("invalid" | "equivalent" | "static" | "functions", [(old code, new code)])"""
        file = self._files[mutant.path]
        part = file.part(mutant.start, mutant.end)
        try:
            if part is None:
                new = compile(self.text_with(mutant), mutant.path, "exec", dont_inherit=True)
                old = compile(file.text, mutant.path, "exec", dont_inherit=True)
                return ("equivalent" if _is_same(old, new) else "static"), ()
            text = file.text[part[1]:mutant.start] + mutant.text + file.text[mutant.end:part[2]]
            new = file.compile(part, text, mutant.path)
        except (SyntaxError, ValueError, OverflowError):
            return "invalid", ()
        old = file.code(part, mutant.path)
        if _is_same(old, new):
            return "equivalent", ()
        pairs = []
        return ("functions" if self._differ(old, new, pairs) else "static"), pairs

    def _differ(self, old, new, pairs):
        """False: code that is no function's differs by itself."""
        if not _is_same_itself(old, new):
            if not old.co_flags & _FUNCTION:
                return False
            pairs.append((old, new))
            if len(_nested(old)) != len(_nested(new)):
                return True  # one is gone: if it was made at import, so did this run, and is loaded anew
        elif old.co_flags & _FUNCTION:
            pairs.append((old, new))
        # Functions within may have been made at import, and classes within functions, too.
        return all(_is_same(x, y) or self._differ(x, y, pairs) for x, y in zip(_nested(old), _nested(new)))

    def put_in(self, pairs):
        """False: it cannot be told that all of it is changed."""
        for old, new in pairs:
            for function in self._functions.get(_key(old), ()):
                if not _is_same(function.__code__, old):
                    return False
                try:
                    function.__code__ = new
                except ValueError:  # other free variables
                    return False
        return True
