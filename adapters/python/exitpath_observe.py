"""What this process holds: a snapshot is a dict from (resource, what) to the things of that
kind. `what` is the same in every cycle: no number of a descriptor, no random name."""
import gc
import os
import re
import socket as _socket_module
import sys
import tempfile
import threading
import weakref

# A test may replace those of the modules.
_listdir, _readlink, _dup, _close, _open, _read = (
    os.listdir, os.readlink, os.dup, os.close, os.open, os.read)
_getpid, _scandir, _exists = os.getpid, os.scandir, os.path.exists
_enumerate = threading.enumerate
_Socket = _socket_module.socket.__mro__[1]  # _socket.socket: says nothing when it goes
_MODULES = sys.modules

_HAVE_GC = 1 << 14  # Py_TPFLAGS_HAVE_GC
_RANDOM = re.compile(r"[a-z0-9_]{8}$")
_PATH_FILES = 20000  # entries of the directory of temporary files


def _read_file(path, cap=1 << 20):
    try:
        fd = _open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return _read(fd, cap).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        _close(fd)


class Names:
    """Names without what changes from cycle to cycle."""

    def __init__(self):
        self.tmp = os.path.realpath(tempfile.gettempdir())

    def path(self, path):
        deleted = path.endswith(" (deleted)")
        if deleted:
            path = path[:-10]
        for tmp in (self.tmp, "/tmp", "/var/tmp", "/dev/shm"):
            if path.startswith(tmp + "/"):
                path = path[len(tmp):]
                # The runner numbers its directories, and names them after tests.
                change = self.word if path.startswith("/pytest-of-") else self._random
                path = "$TMPDIR" + "/".join(change(p) for p in path.split("/"))
                break
        else:
            path = re.sub(r"\d{4,}", "*", path)
        return path + (" (deleted)" if deleted else "")

    @staticmethod
    def _random(name):
        """tempfile adds eight of [a-z0-9_], mkstemp() of C six letters and digits. Two names
        that become one still count; one that becomes two looks like a leak."""
        stem, dot, ending = name.partition(".")
        if len(stem) >= 8 and _RANDOM.search(stem):
            stem = stem[:-8] + "*"
        elif re.search(r"[a-z0-9][A-Z]|[A-Z][0-9]|[a-z][0-9][a-z]", stem[-6:]):
            stem = stem[:-6] + "*"
        if re.search(r"^(?=.*[a-z])(?=.*[A-Z])\w{6}$", ending):
            ending = "*"
        return re.sub(r"\d+", "*", stem) + dot + re.sub(r"\d+", "*", ending)

    @staticmethod
    def word(name):
        return re.sub(r"0x[0-9a-f]+|\d+", "*", name)


def _address(address):
    if isinstance(address, tuple) and len(address) >= 2:
        host, port = address[0], address[1]
        return "%s:%s" % (host, port if port < 32768 else "*")
    if isinstance(address, bytes):
        address = address.decode("utf-8", "replace").replace("\0", "@", 1)
    return str(address)


def describe_socket(fd, names):
    """"tcp socket to 127.0.0.1:5432", "unix socket listening at …"."""
    copy = _dup(fd)
    try:
        s = _Socket(fileno=copy)
    except OSError:
        _close(copy)
        return "socket"
    try:
        family = s.family
        kind = {_socket_module.SOCK_STREAM: "tcp", _socket_module.SOCK_DGRAM: "udp"}.get(
            s.type, "raw")
        if family == _socket_module.AF_UNIX:
            kind = "unix"
        elif family not in (_socket_module.AF_INET, _socket_module.AF_INET6):
            return "socket of family %d" % family
        try:
            peer = s.getpeername()
            if family == _socket_module.AF_UNIX:
                return "unix socket connected" + (
                    " to " + names.path(_address(peer)) if peer else "")
            return "%s socket to %s" % (kind, _address(peer))
        except OSError:
            pass
        try:
            here = s.getsockname()
        except OSError:
            return kind + " socket"
        where = names.path(_address(here)) if family == _socket_module.AF_UNIX else (
            _address(here))
        if s.getsockopt(_socket_module.SOL_SOCKET, _socket_module.SO_ACCEPTCONN):
            return "%s socket listening at %s" % (kind, where)
        return "%s socket, not connected" % kind
    except OSError:
        return "socket"
    finally:
        s.close()


def descriptors():
    """fd → target, above the standard ones."""
    found = {}
    for name in _listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                found[int(name)] = _readlink("/proc/self/fd/" + name)
            except OSError:
                pass  # that of the listing itself
    return found


def _add_descriptors(held, names):
    for fd, target in descriptors().items():
        if target.startswith("socket:"):
            key = "socket", describe_socket(fd, names)
        elif target.startswith("/"):
            key = "fd", names.path(target)
        else:
            kind, _, rest = target.partition(":")  # pipe:[12], anon_inode:[eventpoll]
            key = "fd", rest.strip("[]") if kind == "anon_inode" else kind
        held.setdefault(key, []).append((fd, target))


def _add_locks(held):
    """File locks of this process (/proc/locks: kind, mode, pid)."""
    me = str(_getpid())
    for line in _read_file("/proc/locks").splitlines():
        words = line.split()
        if len(words) >= 6 and words[4] == me:
            key = "lock", "%s %s lock" % (words[1].lower(), words[3].lower())
            held.setdefault(key, []).append((words[1], words[5]))


def _target_of(thread):
    """A thread is known by what it runs; its name is often a number."""
    target = getattr(thread, "_target", None) or type(thread).run
    target = getattr(target, "func", target)
    target = getattr(target, "__func__", target)
    return "%s.%s" % (getattr(target, "__module__", "?"),
                      getattr(target, "__qualname__", type(thread).__name__))


def _add_threads(held, labels):
    for thread in _enumerate():
        if thread is threading.main_thread() or isinstance(thread, threading._DummyThread):
            continue
        if thread not in labels:
            # Once it ends, the target is gone.
            labels[thread] = _target_of(thread)
        held.setdefault(("thread", labels[thread]), []).append(id(thread))


def _children():
    """(pid, text of its stat)."""
    pids, listed = [], False
    for tid in _listdir("/proc/self/task"):
        path = "/proc/self/task/%s/children" % tid
        # Not on every kernel (CONFIG_PROC_CHILDREN); a file without a word is none.
        listed = listed or _exists(path)
        pids += _read_file(path).split()
    for pid in pids if listed else [p for p in _listdir("/proc") if p.isdigit()]:
        yield pid, _read_file("/proc/%s/stat" % pid, 4096)


def _add_children(held, names):
    me = str(_getpid())
    for pid, text in _children():
        # pid (comm) state ppid; comm may hold anything
        head, _, rest = text.rpartition(")")
        words = rest.split()
        if len(words) < 2 or words[1] != me:
            continue
        kind = "zombie" if words[0] in "ZX" else "child"
        held.setdefault((kind, names.word(head.partition("(")[2])), []).append(int(pid))


def _add_files(held, names):
    """What lies in the directory of temporary files; pytest cleans up its own."""
    left = _PATH_FILES
    todo = [names.tmp]
    while todo and left > 0:
        try:
            entries = list(_scandir(todo.pop()))
        except OSError:
            continue
        for entry in entries:
            left -= 1
            if entry.name.startswith(("pytest-of-", "pymp-", "exitpath-")):
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
            except OSError:
                continue
            held.setdefault(("tempfile", names.path(entry.path)), []).append(entry.path)


# --- objects ---------------------------------------------------------------------------

def _sqlite_open(c):
    try:
        c.total_changes
    except Exception:
        return None
    return "sqlite3 connection" + (", in a transaction" if c.in_transaction else "")


def _psycopg2_open(c):
    return None if c.closed else "psycopg2 connection" + (
        ", in a transaction" if c.status == 2 else "")


def _psycopg_open(c):
    if c.closed:
        return None
    status = c.info.transaction_status.name
    return "psycopg connection" + (", in a transaction" if status != "IDLE" else "")


def _fairy_open(f):
    connection = getattr(f, "dbapi_connection", None) or getattr(f, "connection", None)
    return None if connection is None else "connection checked out of SQLAlchemy's pool"


def _unless(attribute, what):
    def look(o):
        state = getattr(o, attribute)
        return None if (state() if callable(state) else state) else what
    return look


def _task_open(t):
    if t.done():
        return None
    code = getattr(t.get_coro(), "__qualname__", "?")
    return "asyncio task %s" % code


# (module that defines it, attribute, resource, what it is while open or None)
_TYPES = (
    ("sqlite3", "Connection", "db_connection", _sqlite_open),
    ("psycopg2.extensions", "connection", "db_connection", _psycopg2_open),
    ("psycopg", "Connection", "db_connection", _psycopg_open),
    ("psycopg", "AsyncConnection", "db_connection", _psycopg_open),
    ("pymysql.connections", "Connection", "db_connection",
     lambda c: "pymysql connection" if c.open else None),
    ("asyncpg.connection", "Connection", "db_connection",
     _unless("is_closed", "asyncpg connection")),
    ("sqlalchemy.pool.base", "_ConnectionFairy", "pool_slot", _fairy_open),
    ("requests.sessions", "Session", "session", lambda s: "requests session"),
    ("httpx", "Client", "session", _unless("is_closed", "httpx client")),
    ("httpx", "AsyncClient", "session", _unless("is_closed", "httpx client")),
    ("aiohttp.client", "ClientSession", "session", _unless("closed", "aiohttp session")),
    ("asyncio.tasks", "Task", "task", _task_open),
    ("asyncio.tasks", "_PyTask", "task", _task_open),
    ("asyncio.base_events", "BaseEventLoop", "event_loop",
     _unless("is_closed", "asyncio event loop")),
)


class Canary:
    """An object of a resource's kind, planted to be found."""


def _loaded_types():
    found = {Canary: ("canary", lambda o: "object")}
    for module, name, resource, look in _TYPES:
        loaded = _MODULES.get(module)
        kind = getattr(loaded, name, None) if loaded is not None else None
        if isinstance(kind, type):
            found[kind] = resource, look
    return found


def resources(kinds=None):
    """(object, resource, what) of each open one. Nothing is kept."""
    known = kinds or _loaded_types()
    cache = {}
    objects = gc.get_objects()
    if not all(t.__flags__ & _HAVE_GC for t in known):
        # Those that the collector does not know hang in what it does.
        seen = set()
        untracked = tuple(t for t in known if not t.__flags__ & _HAVE_GC)
        for o in gc.get_referents(*objects):
            if isinstance(o, untracked) and id(o) not in seen:
                seen.add(id(o))
                objects.append(o)
    for o in objects:
        kind = type(o)
        try:
            entry = cache[kind]
        except KeyError:
            entry = None
            for base in kind.__mro__ if isinstance(kind, type) else ():
                if base in known:
                    entry = known[base]
                    break
            cache[kind] = entry
        if entry is None:
            continue
        try:
            what = entry[1](o)
        except Exception:
            continue
        if what is not None:
            yield o, entry[0], what


def _add_objects(held):
    for o, resource, what in resources():
        held.setdefault((resource, what), []).append(id(o))


class Observer:
    def __init__(self):
        self.names = Names()
        self._threads = weakref.WeakKeyDictionary()

    def running(self):
        """The part of a snapshot that may end by itself."""
        held = {}
        _add_threads(held, self._threads)
        _add_children(held, self.names)
        return held

    def outside(self):
        """All of a snapshot but the objects."""
        held = self.running()
        _add_descriptors(held, self.names)
        _add_locks(held)
        _add_files(held, self.names)
        return held

    def snapshot(self):
        held = self.outside()
        _add_objects(held)
        return held


def blocks():
    """Blocks of Python's own allocator that are in use."""
    return sys.getallocatedblocks()
