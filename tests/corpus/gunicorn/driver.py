"""A fork lands while the control server's thread still starts up: it must be stopped, with
its event loop and socket."""
import os
import tempfile
import time
import unittest

from gunicorn.ctl.server import ControlSocketServer


class Log:
    def info(self, *args):
        pass

    error = warning = debug = info


class Arbiter:
    """What the server needs of it."""

    log = Log()
    cfg = None
    WORKERS = {}


class Slow(ControlSocketServer):
    """Its thread comes to nothing before the fork: else the race is lost only now and then."""

    def _run_loop(self):
        time.sleep(0.2)
        super()._run_loop()


class Fork(unittest.TestCase):
    def test_stop_at_once(self):
        with tempfile.TemporaryDirectory() as directory:
            server = Slow(Arbiter(), os.path.join(directory, "control"))
            server.start()
            server._stop_for_fork()
            server.stop()
