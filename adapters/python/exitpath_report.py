"""The report: a line of JSON each, behind the run's token. The file is opened for each
record, so that no descriptor of ours stands among those that are counted, and a test that
closes all descriptors does not close it."""
import atexit
import json
import os
import sys

# A test may replace those of the module.
_open, _write, _close = os.open, os.write, os.close


class Report:
    def __init__(self, settings, runner):
        self._token = settings["token"]
        self._pid = os.getpid()
        self._path = os.path.join(settings["dir"], "report.%d" % self._pid)
        self._current = os.path.join(settings["dir"], "current.%d" % self._pid)
        self._getpid = os.getpid
        self.add(
            "start",
            pid=self._pid,
            runner=runner,
            python="%d.%d.%d" % sys.version_info[:3],
            implementation=sys.implementation.name,
        )
        atexit.register(self.add, "exit")

    def add(self, event, **fields):
        """A forked child has a copy of this object, and nothing to say."""
        if self._getpid() != self._pid:
            return
        fields["event"] = event
        text = json.dumps(fields, ensure_ascii=True, sort_keys=True)
        self._put(self._path, os.O_APPEND, "%s %s\n" % (self._token, text))

    def at(self, test):
        """Where the process stands: says after a forced exit who forced it."""
        # Truncating a file for each test costs a hundred times what writing does: the
        # first line counts.
        self._put(self._current, 0, test.replace("\n", " ") + "\n")

    def _put(self, path, how, text):
        fd = _open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | how, 0o600)
        try:
            data = text.encode("utf-8", "replace")
            while data:
                data = data[_write(fd, data):]
        finally:
            _close(fd)
