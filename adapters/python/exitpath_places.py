"""Where in the source something happened: stacks as lists of frames, innermost first."""
import ast
import os

_OWN = os.path.dirname(__file__)
_RUNNERS = ("/_pytest/", "/pluggy/", "/unittest/", "/pytest/__main__.py", "/runpy.py",
            "/pytest_asyncio/", "/concurrent/futures/thread.py", "/threading.py")
_LIBRARY = ("/site-packages/", "/dist-packages/", "/.venv/", "/venv/", "/.tox/", "/.nox/")
MOST_FRAMES = 25
_LIBRARY_FRAMES = 3


class Places:
    def __init__(self, root):
        self._root = root.rstrip("/") + "/"
        self._cwd = os.getcwd()
        self._files, self._project = {}, {}

    def is_project(self, path):
        known = self._project.get(path)
        if known is None:
            below = self._below(path)
            known = self._project[path] = below is not None and not any(
                part in "/" + below for part in _LIBRARY)
        return known

    @staticmethod
    def is_runner(path):
        return path.startswith(_OWN) or any(part in path for part in _RUNNERS)

    def _below(self, path):
        if path.startswith("<"):
            return None
        path = os.path.join(self._cwd, path)
        return path[len(self._root):] if path.startswith(self._root) else None

    def from_traceback(self, traceback):
        """Of a tracemalloc.Traceback, which has the oldest frame first."""
        if traceback is None:
            return ()
        return self._trim([(f.filename, f.lineno) for f in reversed(list(traceback))])

    def project_of(self, frames):
        """The project's part of it alone."""
        return tuple(f for f in frames if self.is_project(f[0]))

    def from_frame(self, frame):
        stack = []
        while frame is not None and len(stack) < 100:
            stack.append((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back
        return self._trim(stack)

    def _trim(self, stack):
        """Without the adapter's own frames, and the runner's around the test."""
        stack = [f for f in stack if not f[0].startswith(_OWN)]
        while stack and not self.is_project(stack[-1][0]) and (
                any(part in stack[-1][0] for part in _RUNNERS) or
                stack[-1][0].startswith("<frozen ")):
            stack.pop()
        return tuple(stack[:MOST_FRAMES])

    def has_project(self, stack):
        return any(self.is_project(f[0]) for f in stack)

    def project_part(self, stack):
        return tuple(f for f in stack if self.is_project(f[0]))

    def describe(self, stack):
        """As the report has them: of the libraries' frames the last before the project's,
        for eight make a signature."""
        first = next((i for i, f in enumerate(stack) if self.is_project(f[0])), None)
        if first is not None:
            stack = stack[max(0, first - _LIBRARY_FRAMES):]
        return [
            {
                "file": self._below(f[0]) or f[0],
                "line": f[1],
                "function": self._function(f[0], f[1]),
                "project": self.is_project(f[0]),
            }
            for f in stack
        ]

    def _function(self, path, line):
        if path not in self._files:
            self._files[path] = _functions(os.path.join(self._cwd, path))
        found = "<module>"
        for start, end, name in self._files[path]:
            if start <= line <= end:
                found = name
        return found


def _functions(path):
    """(first line, last line, qualified name), outer before inner."""
    try:
        with open(path, "rb") as f:
            tree = ast.parse(f.read(4 << 20))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    found = []

    def walk(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = prefix + child.name
                first = min([child.lineno] + [d.lineno for d in child.decorator_list])
                if not isinstance(child, ast.ClassDef):
                    found.append((first, child.end_lineno, name))
                walk(child, name + ".")
            else:
                walk(child, prefix)

    walk(tree, "")
    return found
