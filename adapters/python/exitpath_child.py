"""Forked children of `exitpath fault`, and the files through which they speak. Every file is
opened for one write: a descriptor of ours would be counted."""
import contextlib
import io
import json
import os
import select
import signal
import sys

_CAP = 4 << 20
# A test may replace those of the module.
_open, _write, _close = os.open, os.write, os.close


@contextlib.contextmanager
def capture_output():
    """What Python code prints."""
    text, old = io.StringIO(), (sys.stdout, sys.stderr)
    sys.stdout = sys.stderr = text
    try:
        yield text
    finally:
        sys.stdout, sys.stderr = old


def put(path, text):
    fd = _open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    data = text.encode("utf-8", "replace")
    while data:
        data = data[_write(fd, data):]
    _close(fd)


def get(path):
    try:
        with open(path, "rb") as f:
            return f.read(_CAP).decode("utf-8", "replace")
    except OSError:
        return ""


def forget(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def after_crash(text):
    try:
        return json.loads(text)
    except ValueError:
        return {"fired": False}


def wait(pid, seconds):
    """("exit", status), ("signal", number) or ("hang", 0)."""
    fd = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    late = not poll.poll(int(seconds * 1000))
    if late:
        # faulthandler says where it stands.
        for number in (signal.SIGABRT, signal.SIGKILL):
            try:
                os.kill(pid, number)
            except OSError:
                break
            if poll.poll(1000):
                break
    _close(fd)
    _, status = os.waitpid(pid, 0)
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        pass
    if late:
        return "hang", 0
    if os.WIFSIGNALED(status):
        return "signal", os.WTERMSIG(status)
    return "exit", os.WEXITSTATUS(status)
