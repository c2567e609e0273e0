"""ResourceWarnings: what only a destructor closed. Descriptors come back to their level then,
so nothing else shows it."""
import re
import sys
import warnings

_NOTHING = re.compile(r"")


def _subject(text):
    """"unclosed <socket.socket fd=5, …>" → "socket.socket"."""
    if "unclosed" in text and "<" in text:
        name = re.match(r"[\w.]+", text.partition("<")[2])
        if name:
            return name.group(0).rpartition(".")[2] if "_io." in name.group(0) else (
                name.group(0))
    return re.sub(r"0x[0-9a-f]+|\d+|<.*>|'.*'|\".*\"", "*", text)[:80]


class Watch:
    """While it is on, warnings of the category are counted wherever filters stand; what a
    test records on purpose it still gets."""

    def __init__(self, places, trace):
        self._places = places
        self._trace = trace  # object → stack of its allocation, or ()
        self._show = self._plain = None
        self.seen = {}  # (what, stack) → count
        self.paused = False
        self._on = False

    def start(self):
        self._show = warnings._showwarnmsg
        warnings._showwarnmsg = self._record
        self._on = True
        self.lead()

    def lead(self):
        """Puts our filter first: tests and runners put theirs before it. What records
        warnings now is the runner's, and wants none of these."""
        if self._on:
            self._plain = getattr(warnings, "_showwarnmsg_impl", None)
            warnings.filterwarnings("always", category=ResourceWarning)

    def stop(self):
        warnings._showwarnmsg = self._show
        self._on = False
        self.seen = {}

    def take(self):
        seen, self.seen = self.seen, {}
        return seen

    def _record(self, message):
        if not (isinstance(message.category, type) and
                issubclass(message.category, ResourceWarning)):
            return self._show(message)
        if not self.paused:
            stack = self._trace(message.source) if message.source is not None else ()
            if not self._places.has_project(stack):
                stack = self._places.from_frame(sys._getframe(1)) or stack
            key = _subject(str(message.message)), stack
            self.seen[key] = self.seen.get(key, 0) + 1
        if warnings._showwarnmsg_impl is not self._plain:
            self._show(message)  # into the list of catch_warnings(record=True)
        return None
