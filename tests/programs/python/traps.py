"""What Python code acquires, and lets go of unless told to leak: one function a trap."""
import asyncio
import concurrent.futures
import fcntl
import gc
import os
import select
import socket
import sqlite3
import subprocess
import tempfile
import threading
import warnings

KEPT, CACHE = [], {}


class Cycle:
    """Only the garbage collector frees it."""

    def __init__(self):
        self.me = self


def descriptor(leak, path):
    fd = os.open("/dev/null", os.O_RDONLY)
    if not leak:
        os.close(fd)


def pipe(leak, path):
    r, w = os.pipe()
    os.close(w)
    if not leak:
        os.close(r)


def an_epoll():
    return select.epoll()


def another_epoll():
    return select.epoll()


def epolls(leak, path):
    """Of the same name, from two places; no object and no event tells who has which."""
    first, second = an_epoll(), another_epoll()
    if leak:
        KEPT.append((first, second))
    else:
        first.close()
        second.close()


def connection(leak, path):
    db = sqlite3.connect(path)
    db.execute("create table t(x)")
    if leak:
        KEPT.append(db)
    else:
        db.close()


def connection_cycle(leak, path):
    cycle = Cycle()
    cycle.db = sqlite3.connect(":memory:")
    if not leak:
        cycle.db.close()


def unclosed(leak, path):
    """Reference counting closes it at once: the level of descriptors stays."""
    s = socket.socket()
    if not leak:
        s.close()


def socket_cycle(leak, path):
    """Never closed, but by a collection."""
    cycle = Cycle()
    cycle.sock = socket.socket(socket.AF_UNIX)
    if not leak:
        cycle.sock.close()


def listener(leak, path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen()
    if leak:
        KEPT.append(s)
    else:
        s.close()


def wait(event):
    event.wait()


def thread(leak, path):
    event = threading.Event()
    t = threading.Thread(target=wait, args=[event], daemon=True)
    t.start()
    if leak:
        KEPT.append(event)
    else:
        event.set()
        t.join()


def child(leak, path):
    p = subprocess.Popen(["sleep", "30"])
    if leak:
        KEPT.append(p)
    else:
        p.kill()
        p.wait()


def zombie(leak, path):
    """It ended, and nobody asked how."""
    pid = os.posix_spawn("/bin/true", ["true"], {})
    if not leak:
        os.waitpid(pid, 0)


def executor(leak, path):
    """Its threads wait for work."""
    pool = concurrent.futures.ThreadPoolExecutor(1)
    pool.submit(int).result()
    if leak:
        KEPT.append(pool)
    else:
        pool.shutdown()


def tempfile_left(leak, path):
    fd, name = tempfile.mkstemp()
    os.close(fd)
    if not leak:
        os.unlink(name)


def lock(leak, path):
    f = open(path, "w")
    fcntl.flock(f, fcntl.LOCK_EX)
    if leak:
        KEPT.append(f)
    else:
        f.close()


def event_loop(leak, path):
    loop = asyncio.new_event_loop()
    loop.run_until_complete(asyncio.sleep(0))
    if leak:
        KEPT.append(loop)
    else:
        loop.close()


def task(leak, path):
    """It never ends, in a loop that all tests share."""
    global LOOP
    if "LOOP" not in globals():
        LOOP = asyncio.new_event_loop()

    async def start():
        t = asyncio.ensure_future(asyncio.sleep(1000))
        await asyncio.sleep(0)
        if not leak:
            t.cancel()

    LOOP.run_until_complete(start())
    LOOP.run_until_complete(asyncio.sleep(0))


def memory(leak, path):
    block = [bytearray(100) for _ in range(200)]
    if leak:
        KEPT.append(block)


def memory_cycle(leak, path):
    """Garbage of reference cycles is no leak."""
    for _ in range(1000):
        Cycle()


def cache(leak, path):
    """It fills up for a while, and grows no more: there is no slope."""
    CACHE.update((len(CACHE) + i, bytearray(100)) for i in range(0 if len(CACHE) > 700 else 200))


def saves_garbage(leak, path):
    """What the collector finds is kept from now on, in gc.garbage."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    Cycle()
    gc.collect()
    assert any(isinstance(o, Cycle) for o in gc.garbage)


def state(leak, path):
    """It passes once and not again."""
    if leak:
        assert not KEPT
        KEPT.append(1)


def warned(leak, path):
    """A test that asks for the warning still gets it."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        socket.socket().__del__()
    assert len(seen) == 1


def forced_exit(leak, path):
    if leak:
        os._exit(0)


def forced_exit_of_child(leak, path):
    """What a forked child does by good practice."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def closes_environment(leak, path):
    os.environ["PYTHONPATH"] = "x"
    assert "exitpath" not in os.environ.get("PYTEST_PLUGINS", "")
    assert not any(name.startswith("EXITPATH_PYTHON") for name in os.environ)
    os.environ.pop("PYTHONPATH")


ALL = [descriptor, pipe, epolls, connection, connection_cycle, unclosed, socket_cycle, listener,
       thread, child, zombie, executor, tempfile_left, lock, event_loop, task, memory,
       memory_cycle, cache, saves_garbage, state, warned, forced_exit, forced_exit_of_child,
       closes_environment]
