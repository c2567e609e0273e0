"""What a call is, by what is called: can it fail, how, and must its failure be reported."""
import builtins
import contextlib
import errno
import io
import os
import sys
import types

LOGGING = ("debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log")

# By name alone: builtins that do not fail for a reason outside of the program, or whose frame
# matters.
NEVER = frozenset("""super locals globals vars dir eval exec len isinstance issubclass id hash
str repr int float complex bool bytes bytearray list dict set frozenset tuple range enumerate
zip map filter reversed sorted min max sum any all abs round pow divmod type object getattr
setattr hasattr delattr callable iter next slice memoryview print format ord chr hex oct bin
ascii property staticmethod classmethod breakpoint cast TypeVar namedtuple""".split())
QUIET_NAMES = frozenset("""append extend items keys values setdefault startswith endswith strip
lstrip rstrip lower upper title capitalize splitlines partition rpartition isdigit isalpha
isalnum isspace ljust rjust zfill casefold format_map popleft appendleft is_set done cancelled
add_done_callback __new__ __init__ __init_subclass__ __setattr__ __getattribute__""".split())
# Their first argument says whether they write.
STATEMENTS = ("execute", "executemany", "executescript", "exec_driver_sql", "scalar", "scalars")
_WRITING = ("INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "COPY")

# Who loses data when nobody is told.
_REPORTED = frozenset("commit flush write writelines truncate fsync fdatasync rename renames "
                      "replace link symlink write_text write_bytes move copyfile copy copy2 "
                      "copytree dump close aclose".split())
# What lets go of something: they do so, and then report a failure. That they do not let go
# would be no fault of the caller.
RELEASING = frozenset("close aclose release rollback shutdown disconnect dispose terminate kill "
                      "wait_closed putconn stop cleanup unlink remove rmtree rmdir removedirs "
                      "unlock detach expunge expunge_all server_close logout quit "
                      "abort invalidate __exit__ __aexit__ exit unregister join".split())
AFTER = RELEASING | _REPORTED | frozenset(STATEMENTS)
_AFTER_TOO = ("commit",)  # before the call, and after its effect
# What `with` commits at its end: connections of these modules, and transactions of any.
_COMMITTING = ("sqlite3", "psycopg", "psycopg2")
_TRANSACTION = "Transaction"
_COMMITTING_FUNCTIONS = ("begin", "begin_nested", "transaction", "psycopg_pool.connection")

_BUILTIN_TYPES = (str, bytes, bytearray, int, float, complex, bool, list, dict, set, frozenset,
                  tuple, range, slice, memoryview, type(None), types.MappingProxyType,
                  types.GeneratorType, types.CoroutineType, types.SimpleNamespace,
                  io.StringIO, io.BytesIO)
_QUIET_MODULES = frozenset("""logging warnings time math cmath operator itertools functools copy
types typing typing_extensions collections enum inspect abc contextlib datetime uuid random
string textwrap platform sys gc weakref hashlib hmac secrets dataclasses traceback re _sre sre
posixpath genericpath ntpath fnmatch contextvars _contextvars decimal fractions numbers
statistics bisect heapq array numpy zoneinfo calendar locale gettext argparse optparse builtins
unicodedata html colorsys keyword token tokenize ast dis shlex pprint reprlib graphlib
faulthandler atexit signal _signal _collections _functools _operator _weakref _random _abc
_struct struct binascii base64 urllib.parse ipaddress mimetypes email.utils ast symtable
_datetime _decimal _uuid _io.text exitpath_gates""".split())
_QUIET_FUNCTIONS = frozenset("""os.getpid os.getppid os.fspath os.fsencode os.fsdecode os.getenv
os.putenv os.unsetenv os.cpu_count os.getuid os.geteuid os.getgid os.getegid os.umask
os.environ os.WIFEXITED os.WEXITSTATUS os.WIFSIGNALED os.WTERMSIG os.strerror
os.urandom os._exit os.abort os.get_exec_path os.uname os.times os.isatty os.device_encoding
threading.current_thread threading.get_ident threading.Lock threading.RLock threading.Event
threading.Condition threading.Semaphore threading.BoundedSemaphore threading.local
threading.Thread threading.Timer threading.enumerate threading.main_thread
threading.active_count threading.allocate_lock threading.get_native_id
asyncio.get_event_loop asyncio.get_running_loop asyncio.create_task asyncio.ensure_future
asyncio.current_task asyncio.iscoroutine asyncio.iscoroutinefunction asyncio.Lock asyncio.Event
asyncio.Queue asyncio.Semaphore asyncio.Future asyncio.shield asyncio.gather asyncio.sleep
asyncio.all_tasks asyncio.set_event_loop asyncio._get_running_loop
queue.Queue queue.LifoQueue queue.PriorityQueue queue.SimpleQueue socket.htons socket.ntohs
socket.htonl socket.ntohl socket.inet_aton socket.inet_ntoa socket.inet_pton socket.inet_ntop
os.path tempfile.gettempdir tempfile.gettempprefix subprocess.list2cmdline pathlib.Path
pathlib.PurePath pathlib.PosixPath pathlib.PurePosixPath select.poll
concurrent.futures.ThreadPoolExecutor json.dumps json.JSONEncoder json.JSONDecoder
sqlite3.Row os.PathLike asyncio.Condition asyncio.timeout asyncio.run asyncio.wait_for
asyncio.wait asyncio.as_completed asyncio.iscoroutine""".split())
_QUIET_METHODS = frozenset("""Event.set Event.is_set Event.clear Event.wait Condition.notify
Condition.notify_all Condition.wait Lock.locked Thread.is_alive Thread.setDaemon
Future.set_result Future.set_exception Future.cancel Future.done Task.cancel Task.done
Queue.put_nowait Queue.task_done Queue.qsize Queue.empty Queue.full Queue.put
Handle.cancel TimerHandle.cancel _Environ.get _Environ.setdefault _Environ.copy
BaseEventLoop.call_soon BaseEventLoop.call_later BaseEventLoop.call_at BaseEventLoop.time
BaseEventLoop.create_future BaseEventLoop.create_task BaseEventLoop.is_running
BaseEventLoop.is_closed BaseEventLoop.call_soon_threadsafe BaseEventLoop.get_debug
StreamWriter.write BaseTransport.close BaseTransport.is_closing Popen.poll
Timer.cancel Local.get socket.fileno socket.getsockname socket.setblocking socket.settimeout
_IOBase.fileno _IOBase.readable _IOBase.writable _IOBase.seekable _IOBase.isatty
PurePath.joinpath PurePath.with_suffix PurePath.with_name PurePath.relative_to PurePath.as_posix
PurePath.is_absolute PurePath.match PurePath.is_relative_to PurePath.with_stem PurePath.as_uri
Path.expanduser Path.cwd Path.home Path.exists Path.is_file Path.is_dir Path.absolute""".split())
_NET = frozenset("socket ssl http urllib requests httpx httpcore aiohttp redis urllib3 smtplib "
                 "ftplib imaplib poplib websockets paramiko pymongo kafka pika boto3 botocore "
                 "aioredis grpc telnetlib select selectors".split())
_FILE = frozenset("os posix io _io pathlib shutil tempfile fcntl mmap gzip bz2 lzma zipfile "
                  "tarfile glob csv _csv pickle _pickle configparser linecache".split())
_SAFE = None


class Injected(RuntimeError):
    """Raised by exitpath in place of a call."""


class Callee:
    """What was found at one call."""
    __slots__ = ("label", "names", "group", "error", "must", "releasing", "variants")

    def __init__(self, label, names, group, error, must, releasing, variants):
        self.label = label  # "Session.commit"
        self.names = names  # what --call may say
        self.group = group  # "db", "file", "net", "process", "other"
        self.error = error  # () → an exception, or None: by what the callers catch
        self.must = must  # lost data, when nobody is told
        self.releasing = releasing
        self.variants = variants  # of "before", "after"


def writes(statement):
    """Does the statement of an execute() change data? A text, or an object of SQLAlchemy."""
    if not isinstance(statement, (str, bytes)):
        kind = type(statement).__name__
        if kind in ("Insert", "Update", "Delete"):
            return True
        statement = getattr(statement, "text", "")
        if not isinstance(statement, (str, bytes)):
            return False
    if isinstance(statement, bytes):
        statement = statement.decode("utf-8", "replace")
    words = statement.lstrip(" \t\r\n(").split(None, 1)
    return bool(words) and words[0].upper() in _WRITING


class Callees:
    """is_project(path): is that file's code the project's own, whose calls are sites?"""

    def __init__(self, is_project):
        self._is_project = is_project
        self._files = {}

    def look(self, site, callee, writing=False):
        """A Callee, or None for what cannot fail, or is the project's own."""
        callee = getattr(callee, "func", callee) if type(callee).__name__ == "partial" else (
            callee)
        receiver = getattr(callee, "__self__", None)
        if isinstance(receiver, types.ModuleType):
            receiver = None
        if self._is_own(callee, receiver):
            return _SAFE
        if isinstance(callee, type):
            return self._of_class(site, callee)
        if receiver is not None and not isinstance(receiver, type):
            return self._of_method(site, callee, receiver, writing)
        return self._of_function(site, callee, receiver)

    def look_at_end(self, site, manager):
        """Of what `with manager:` does at its end: a database's, and a file's that was written
        to. None for all others, whose end cannot fail or loses nothing."""
        end = getattr(manager, "__exit__", None) or getattr(manager, "__aexit__", None)
        kind = type(manager)
        if isinstance(manager, contextlib._GeneratorContextManagerBase):
            return self._of_generator(site, manager.func)
        if kind.__module__ == "contextlib" and kind.__name__ in ("closing", "aclosing"):
            manager = manager.thing
            end = getattr(manager, "close", None) or getattr(manager, "aclose", None)
        if end is None or self._is_own(end, manager) or self._is_own(type(manager), None):
            return None
        found = self._of_method(site, end, manager, False)
        if found is None or found.group not in ("db", "file"):
            return None
        if found.group == "file":
            found.must = _written(manager)
            return found if found.must else None
        found.releasing, found.variants = True, ("after",)
        return _with_commit(found, end.__name__ not in ("close", "aclose") and _commits(manager))

    def _of_generator(self, site, func):
        """A function of another project that @contextmanager made one: Engine.begin()."""
        if self._is_project(func.__code__.co_filename):
            return None
        found = self._make(site, func.__qualname__, (func.__qualname__, func.__name__), (),
                           "__exit__", None, module=func.__module__)
        if found.group != "db":
            return None
        found.releasing, found.variants = True, ("after",)
        name = "%s.%s" % (_root(func.__module__), func.__name__)
        return _with_commit(found, func.__name__ in _COMMITTING_FUNCTIONS or (
            name in _COMMITTING_FUNCTIONS))

    # --- the project's own -------------------------------------------------------------

    def _is_own(self, callee, receiver):
        for _ in range(8):
            code = getattr(callee, "__code__", None)
            code = code or getattr(getattr(callee, "__func__", None), "__code__", None)
            if code is not None and (self._is_project(code.co_filename) or
                                     code.co_name == "<lambda>"):
                return True
            inner = getattr(callee, "__wrapped__", None)
            if inner is None or inner is callee or isinstance(callee, type) or not (
                    isinstance(inner, types.FunctionType)):
                break
            callee = inner
        if isinstance(callee, type):
            return self._is_of_project(callee)
        if getattr(callee, "__code__", None) is None and not isinstance(
                callee, (types.BuiltinFunctionType, types.MethodType)):
            kind = type(callee)
            return "__call__" in kind.__dict__ and self._is_of_project(kind)
        return False

    def _is_of_project(self, kind):
        path = self._file_of(kind.__module__)
        return path != "" and self._is_project(path)

    def _file_of(self, name):
        found = self._files.get(name)
        if found is None:
            module = sys.modules.get(name)
            found = getattr(module, "__file__", None) or ""
            self._files[name] = found if isinstance(found, str) else ""
        return self._files[name]

    # --- kinds -------------------------------------------------------------------------

    def _of_class(self, site, kind):
        module, name = kind.__module__, kind.__name__
        if issubclass(kind, BaseException) or kind in _BUILTIN_TYPES or (
                _root(module) in _QUIET_MODULES) or module in _QUIET_MODULES:
            return _SAFE
        label = "%s.%s" % (_root(module).lstrip("_"), name)
        if label in _QUIET_FUNCTIONS or "%s.%s" % (module, name) in _QUIET_FUNCTIONS:
            return _SAFE
        return self._make(site, label, (label, name), kind.__mro__, name, None)

    def _of_method(self, site, callee, receiver, writing):
        kind = type(receiver)
        name = getattr(callee, "__name__", None) or site.text.rpartition(".")[2]
        if isinstance(receiver, (Exception,) + _BUILTIN_TYPES) or (
                kind.__module__ in _QUIET_MODULES or _root(kind.__module__) in _QUIET_MODULES):
            return _SAFE
        names = ["%s.%s" % (k.__name__, name) for k in kind.__mro__ if k is not object]
        if any(n in _QUIET_METHODS for n in names):
            return _SAFE
        if name in ("write", "writelines", "flush", "close") and _is_standard(receiver):
            return _SAFE
        label = names[0]
        return self._make(site, label, tuple(names) + (name,), kind.__mro__, name, receiver,
                          writing)

    def _of_function(self, site, callee, receiver):
        name = getattr(callee, "__name__", None) or site.text.rpartition(".")[2]
        module = getattr(callee, "__module__", None) or getattr(
            getattr(callee, "__self__", None), "__name__", None) or type(callee).__module__
        mocked = _root(type(callee).__module__) == "unittest"
        if mocked:  # it stands for what the text says
            module, _, name = site.text.rpartition(".")
            owner = ""
        elif isinstance(receiver, type):
            module, owner = receiver.__module__, receiver.__name__ + "."
        else:
            owner = ""
        module = {"posix": "os", "io": "", "_io": "", "builtins": "", "_socket": "socket",
                  "_sqlite3": "sqlite3", "_thread": "threading"}.get(module, module)
        root = _root(module)
        label = ("%s.%s%s" % (module if root in ("os", "concurrent") else root, owner, name)
                 ).lstrip(".")
        if module in _QUIET_MODULES or root in _QUIET_MODULES or label in _QUIET_FUNCTIONS or (
                name in NEVER and root in ("", "builtins")):
            return _SAFE
        label = site.text if mocked else label
        return self._make(site, label, (label, name), (receiver,) if owner else (), name, None,
                          module=module or "io")

    def _make(self, site, label, names, mro, name, receiver, writing=False, module=None):
        modules = [module] if module else [k.__module__ for k in mro if k is not None]
        group, error = _error_of(modules, mro, label, name)
        releasing = name in RELEASING
        must = name in _REPORTED and group in ("db", "file") and not (
            name in ("close", "aclose", "flush") and group == "file" and not _written(receiver))
        if name == "write" and label == "os.write":
            must = True
        if name in ("close", "aclose") and group == "db":
            must = False
        if name in STATEMENTS:
            must = group == "db" and writing
        variants = ("after",) if releasing else ("before",)
        if name in _AFTER_TOO and group == "db":
            variants = ("before", "after")
        return Callee(label, frozenset(names) | {site.text}, group, error, must, releasing,
                      variants)


def _root(module):
    return (module or "").partition(".")[0]


def _is_standard(stream):
    if stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        return True
    try:
        return stream.fileno() <= 2
    except Exception:
        return False


def _written(stream):
    try:
        return bool(stream.writable())
    except Exception:
        return False


def _with_commit(callee, commits):
    callee.must = commits
    if commits:
        callee.variants = ("before", "after")
    return callee


def _commits(manager):
    for kind in type(manager).__mro__:
        if kind.__name__.endswith(_TRANSACTION) or kind.__name__.lower() == "connection" and (
                _root(kind.__module__) in _COMMITTING):
            return True
    return False


# --- how it fails ----------------------------------------------------------------------


def _error_of(modules, mro, label, name):
    """(group, () → exception or None)"""
    roots = [_root(m) for m in modules]
    for root in roots:
        found = _database_error(root, name)
        if found is not None:
            return "db", found
    for root in roots:
        if root == "subprocess":
            return "process", lambda: OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        if root in _NET:
            return "net", _net_error(root)
        if root in _FILE:
            if name in ("fork", "forkpty", "posix_spawn", "posix_spawnp", "execv", "execve"):
                return "process", _os_error(errno.EAGAIN)
            writing = name in _REPORTED or name in ("mkdir", "makedirs", "mkstemp", "mkdtemp")
            return "file", _os_error(errno.ENOSPC if writing and name not in (
                "close", "fsync", "rename", "replace") else errno.EIO)
    if label == "open":
        return "file", _os_error(errno.EMFILE)
    if label.endswith("Thread.start") or name == "start_new_thread":
        return "process", lambda: RuntimeError("can't start new thread")
    if "json" in roots:
        return ("file" if name == "dump" else "other"), None
    return "other", None


def _os_error(number):
    return lambda: OSError(number, os.strerror(number))


def _database_error(root, name):
    module = sys.modules.get(root)
    if module is None:
        return None
    if root == "sqlalchemy":
        return _sqlalchemy_error(name)
    kind = getattr(module, "OperationalError", None)
    if hasattr(module, "apilevel") and isinstance(kind, type):
        return lambda: kind("exitpath: the connection to the server was lost")
    if root == "asyncpg":
        kind = module.exceptions.ConnectionDoesNotExistError
        return lambda: kind("exitpath: connection was closed in the middle of operation")
    if root in ("aiopg", "aiosqlite", "psycopg_pool", "asyncpg", "aiomysql"):
        inner = {"aiopg": "psycopg2", "aiosqlite": "sqlite3", "psycopg_pool": "psycopg",
                 "aiomysql": "pymysql"}.get(root)
        return _database_error(inner, name) if inner in sys.modules else None
    return None


def _sqlalchemy_error(name):
    # What only builds a statement or a model does not fail.
    if name not in _SQLALCHEMY:
        return None
    kind = sys.modules["sqlalchemy.exc"].OperationalError
    return lambda: kind(name.upper(), {}, Exception("exitpath: the server gave up"))


_SQLALCHEMY = frozenset("""commit rollback flush execute executemany exec_driver_sql scalar scalars
connect begin begin_nested close aclose refresh merge get get_one all first one one_or_none
scalar_one scalar_one_or_none fetchall fetchone fetchmany delete bulk_save_objects count exists
bulk_insert_mappings bulk_update_mappings prepare raw_connection create_all drop_all reflect
dispose run_sync stream stream_scalars update query_all invalidate remove connection __exit__
__aexit__""".split())


def _net_error(root):
    module = sys.modules.get(root)
    for path in ("exceptions.ConnectionError", "ConnectError", "ClientConnectionError",
                 "error.URLError", "exceptions.ConnectionClosedError"):
        kind = module
        for part in path.split("."):
            kind = getattr(kind, part, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            return lambda: kind("exitpath: the connection was reset")
    return lambda: ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))


def caught_by(handlers, frame):
    """The first type that one of the try statements catches and that says something."""
    for clause in handlers:
        for handler in clause:
            for text in handler.types:
                kind = _resolve(text, frame)
                if isinstance(kind, type) and issubclass(kind, Exception) and kind not in (
                        Exception, StopIteration, StopAsyncIteration, AssertionError):
                    return kind
    return None


def _resolve(text, frame):
    first, _, rest = text.partition(".")
    found = frame.f_locals.get(first, frame.f_globals.get(first, getattr(builtins, first, None)))
    for part in rest.split(".") if rest else ():
        if not isinstance(found, (types.ModuleType, type)):
            return None
        found = getattr(found, part, None)
    return found


def make(kind):
    """An instance, whatever its constructor wants."""
    for args in (("exitpath: made to fail",), (), ("exitpath: made to fail", None, None)):
        try:
            return kind(*args)
        except Exception:
            continue
    try:
        return kind.__new__(kind)
    except Exception:
        return Injected("exitpath: made to fail")
