"""Other conditions under which a good test does the same. Each is put in place in a forked child."""
import os
import random
import time

# With these the first random.random() is below 0.001, above 0.999, in the middle: the same verdict for the
# same test, which real chance would not give.
LOW, HIGH, MIDDLE = 4278, 7266, 10


def place(scratch):
    """Another working directory, umask and directory for temporary files."""
    import tempfile
    for name in ("elsewhere", "other-temporary.files"):
        os.makedirs(f"{scratch}/{name}", exist_ok=True)
    os.chdir(f"{scratch}/elsewhere")
    temporary(scratch)
    os.umask(0o077)
    tempfile.tempdir = None


def directory(scratch):
    os.makedirs(f"{scratch}/elsewhere", exist_ok=True)
    os.chdir(f"{scratch}/elsewhere")


def temporary(scratch):
    import tempfile
    os.makedirs(f"{scratch}/other-temporary.files", exist_ok=True)
    os.environ["TMPDIR"] = f"{scratch}/other-temporary.files"
    tempfile.tempdir = None


def mask(scratch):
    os.umask(0o077)


def zone(scratch):
    os.environ["TZ"] = "XPT-13:45"
    time.tzset()


def language(scratch):
    import locale
    for name in ("tr_TR.UTF-8", "de_DE.UTF-8", "C"):
        try:
            locale.setlocale(locale.LC_ALL, name)
            break
        except locale.Error:
            pass
    os.environ["LANG"] = os.environ["LC_ALL"] = "tr_TR.UTF-8"


def low(scratch):
    random.seed(LOW)


def high(scratch):
    random.seed(HIGH)


def processors(scratch):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.cpu_count = lambda: 1


def addresses(scratch):
    kept.append([object() for _ in range(5000)])
    kept.append([bytearray(n * 16) for n in range(1, 200)])


kept = []

# Of each run its parts; when it fails, each of them alone tells which it was.
RUNS = {
    "place": {"working directory": directory, "umask": mask, "place of temporary files": temporary},
    "time": {"time zone": zone, "locale": language, "random numbers": low},
    "machine": {"number of processors": processors, "random numbers": high, "addresses": addresses},
}
