"""Which tests leak: one pass with a look after each, so that only those are traced."""
import gc

from exitpath_observe import blocks, resources


class Suspects:
    def __init__(self, observer, keys, warnings):
        self._observer, self._warnings = observer, warnings
        self._keys = set(keys)
        self._last, self._came = {}, {}
        self._test = None
        self.found = {}  # key → {test: how many}
        self.places = {}  # test → its frame

    def start(self):
        gc.collect()
        gc.disable()
        # What is there already is not looked at again: new objects alone are listed.
        gc.freeze()
        self._warnings.take()
        self._last = self._count()

    def stop(self):
        self.end()
        self._warnings.take()
        gc.unfreeze()

    def begin(self, test, place):
        self.end()
        self._test = test
        if place is not None:
            self.places[test] = place

    def end(self):
        if self._test is None:
            return
        now = self._count()
        for key in self._keys:
            more = now.get(key, 0) - self._last.get(key, 0)
            if more > 0:
                tests = self.found.setdefault(key, {})
                tests[self._test] = tests.get(self._test, 0) + more
        self._last, self._test = now, None

    def _count(self):
        """The level of what the system counts; of objects and warnings, how many came."""
        counts = {key: len(things) for key, things in self._observer.outside().items()}
        for _, resource, what in resources():
            self._came[resource, what] = self._came.get((resource, what), 0) + 1
        gc.freeze()
        for (what, _), n in self._warnings.take().items():
            self._came["unclosed", what] = self._came.get(("unclosed", what), 0) + n
        counts.update(self._came)
        return counts


class Growing:
    """Which tests leave blocks of memory behind."""

    def __init__(self):
        self.found = {}  # test → how many
        self._test, self._last = None, 0

    def start(self):
        gc.collect()
        gc.disable()
        gc.freeze()  # else each look would go through all that there is
        self._last = blocks()

    def stop(self):
        self.end()
        gc.unfreeze()
        gc.collect()

    def begin(self, test, _place):
        self.end()
        self._test = test

    def end(self):
        gc.collect()
        now = blocks()
        if self._test is not None:
            self.found[self._test] = self.found.get(self._test, 0) + now - self._last
        self._test = None
        gc.freeze()
        self._last = blocks()
