"""One execution of a test: in a fork of the process that has loaded what it needs.

The child reports through a pipe and leaves without any clean-up; what it left behind is killed. A
child that says nothing has ended in a way of its own, and how it ended is the report.
"""
import errno
import gc
import json
import os
import select
import signal
import sys
import threading
import time
import warnings

REPORT_CAP = 1 << 20
SETTLE = 0.05  # seconds for threads that are about to end


class Ledger:
    """What a test holds and changes, before against after. For one execution: hooks cannot be taken out."""

    def __init__(self, tests, ignored):
        self.tests = tests  # path of the test's own file
        self.ignored = ignored  # directories that belong to the runner
        self.made, self.network, self.unclosed = {}, [], []
        self.mine = threading.get_ident()
        self.on = True
        self.fds, self.threads, self.env, self.cwd = descriptors(), set(threading.enumerate()), dict(os.environ), os.getcwd()
        self.modules = {}
        sys.addaudithook(self.hook)
        warnings.simplefilter("always", ResourceWarning)
        self.show = warnings.showwarning
        warnings.showwarning = self.warned

    def watch_modules(self, names):
        for name in names:
            module = sys.modules.get(name)
            if module is not None:
                self.modules[name] = {key: value for key, value in vars(module).items() if callable(value)}

    def hook(self, event, args):
        if not self.on:
            return
        try:
            if event == "open":
                path, mode, flags = args
                if isinstance(path, (str, bytes)) and isinstance(flags, int) and flags & os.O_CREAT:
                    self.may_make(path)
            elif event in ("os.mkdir", "sqlite3.connect"):
                self.may_make(args[0])
            elif event in ("os.rename", "os.link", "os.symlink"):
                self.may_make(args[1])
            elif event in ("socket.connect", "socket.sendto") and isinstance(args[1], tuple):
                self.network.append(f"{args[1][0]}:{args[1][1]}")
            elif event in ("socket.getaddrinfo", "socket.gethostbyname") and args[0] not in (None, "", "localhost"):
                self.network.append(str(args[0]))
        except Exception:
            pass

    def may_make(self, path):
        path = os.path.abspath(os.fsdecode(path))
        if not path.startswith(("/dev/", "/proc/")) and not path.endswith(".pyc") and path not in self.made and \
                not os.path.lexists(path):
            self.made[path] = None

    def warned(self, message, category, filename, lineno, file=None, line=None):
        if issubclass(category, ResourceWarning):
            if filename == self.tests:
                self.unclosed.append(f"line {lineno}: {message}")
        else:
            self.show(message, category, filename, lineno, file, line)

    def left(self):
        """In words, each with its kind."""
        gc.collect()
        self.on = False
        threads = [t for t in threading.enumerate() if t not in self.threads]
        if threads:
            time.sleep(SETTLE)
        found = [("thread", t.name) for t in threads if t.is_alive()]
        found += [("descriptor", target) for fd, target in descriptors().items() if self.fds.get(fd) != target]
        found += [("file", path) for path in self.made if os.path.lexists(path) and not path.startswith(self.ignored)]
        found += [("unclosed", text) for text in self.unclosed]
        found += [("environment", name) for name in sorted({*os.environ, *self.env})
                  if os.environ.get(name) != self.env.get(name) and name != "PYTEST_CURRENT_TEST"]
        if not same_directory(self.cwd):
            found.append(("directory", "the working directory is another"))
        for name, before in self.modules.items():
            now = vars(sys.modules.get(name) or object) if name in sys.modules else {}
            found += [("patched", f"{name}.{key}") for key, value in before.items()
                      if now.get(key) is not value and self.is_foreign(now.get(key))]
        return [list(pair) for pair in found[:20]]

    def is_foreign(self, value):
        """Not what the target itself has put there, once it was needed."""
        return getattr(value, "__module__", None) not in self.modules


def same_directory(path):
    try:
        return os.getcwd() == path
    except OSError:
        return False


def descriptors():
    found = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            found[fd] = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            pass  # that of listdir()
    return found


def children():
    with open("/proc/thread-self/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


def sweep():
    """Kills what an execution has left; returns how many. It became ours when its parent ended."""
    count = 0
    for _ in range(100):
        there = children()
        if not there:
            break
        for pid in there:
            count += 1
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except OSError:
                pass
    return count


class Executor:
    def __init__(self, libc):
        self.libc = libc
        self.count = 0

    def run(self, child, seconds):
        """child() returns a dict. What came of it, with "end" in any case."""
        self.count += 1
        here, there = os.pipe()
        begin = time.monotonic()
        pid = os.fork()
        if not pid:
            os.close(here)
            self.in_child(child, there)
        os.close(there)
        text, late = receive(here, pid, begin + seconds)
        os.close(here)
        if late:
            os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        left = sweep()
        result = result_of(text, late, status)
        result["ms"] = round((time.monotonic() - begin) * 1000, 1)
        result["kib"] = usage.ru_maxrss
        if left:
            result.setdefault("left", []).append(["process", f"{left} still running"])
        return result

    def in_child(self, child, pipe):
        code = 1
        try:
            os.setsid()
            self.libc.prctl(4, 1)  # PR_SET_DUMPABLE: the parent is not
            report = child()
            text = json.dumps(report).encode()
            os.write(pipe, len(text).to_bytes(8, "big"))
            at = 0
            while at < len(text):
                at += os.write(pipe, text[at:at + 65536])
            code = 0
        except BaseException:
            pass
        finally:
            os._exit(code)


def receive(pipe, pid, until):
    """The bytes of a report and whether it was too late."""
    text, size = b"", None
    ended = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    poll.register(ended, select.POLLIN)
    try:
        while size is None or len(text) < size:
            wait = until - time.monotonic()
            ready = poll.poll(wait * 1000) if wait > 0 else []
            if not ready:
                return None, True
            if not any(fd == pipe for fd, _ in ready):
                return None, False  # it has ended, and the pipe is empty
            chunk = os.read(pipe, 65536)
            if not chunk:
                return None, False if wait_ended(poll, pipe, until) else True
            text += chunk
            if size is None and len(text) >= 8:
                size, text = int.from_bytes(text[:8], "big"), text[8:]
                if size > REPORT_CAP:
                    return None, True
        poll.unregister(pipe)
        if not poll.poll(max(until - time.monotonic(), 0) * 1000):
            return text[:size], True
        return text[:size], False
    finally:
        os.close(ended)


def wait_ended(poll, pipe, until):
    poll.unregister(pipe)
    return bool(poll.poll(max(until - time.monotonic(), 0) * 1000))


def result_of(text, late, status):
    if text is not None and not late:
        try:
            report = json.loads(text)
            if isinstance(report, dict) and isinstance(report.get("end"), str):
                return report
        except ValueError:
            pass
    if late:
        return {"end": "timeout"}
    if os.WIFSIGNALED(status):
        return {"end": "killed", "signal": os.WTERMSIG(status)}
    return {"end": "exited", "status": os.WEXITSTATUS(status)}
