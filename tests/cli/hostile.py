#!/usr/bin/env python3
"""Runs one hostile program free, where it must reach what it is after, and then in the sandbox, where it
must not; afterwards nothing may be left and nothing of the machine changed.

hostile.py CASE      a name of CASES; exit 77 and a reason: this machine cannot show it
hostile.py --list

HOSTILE_PROGRAMS  directory of the compiled programs and the scripts
HOSTILE_FIGURES   file that takes a line for each run that met its deadline
EXITPATH_BIN      what is tested

Run by root, each case is run as root and as an ordinary user, else as who we are.
"""
import base64
import fcntl
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import termios
import time
from dataclasses import dataclass, field
from typing import Callable, Optional

from hostile_stage import Reaper, Stage

USER = 23456  # has no name and no home
SLACK = 1500  # milliseconds beyond its deadline that a run may take on a loaded machine
PYTHON = "/usr/bin/python3"


@dataclass
class Result:
    """How a run ended: from the JSON of exitpath, or of the control."""
    verdict: str = ""
    exit: Optional[int] = None
    signal: Optional[int] = None
    wall_ms: float = 0
    text: str = ""
    record: dict = field(default_factory=dict)


def says(word, result):
    return [line for line in result.text.split("\n") if line.startswith(f"{word}: ")]


# --- what the control must show

def escaped(_, result, __):
    return bool(says("escaped", result))


def all_escaped(_, result, __):
    return escaped(_, result, __) and not says("contained", result)


def lives_on(stage, _, __):
    return bool(stage.processes())


def changed(stage, _, before):
    return stage.snapshot() != before


def left_something(stage, _, __):
    return bool(stage.others())


def does_not_end(_, result, __):
    return result.verdict == "still running"


def victim_dies(stage, result, _):
    return stage.victim.poll() is not None and escaped(stage, result, _)


def has_signal(number):
    return lambda _, result, __: result.signal == number


@dataclass
class Case:
    """argv: words with the names of Stage.names(); a word that is one name of a list becomes the list."""
    argv: str
    verdict: str  # those that are right, by |
    flags: str = ""
    exit: Optional[int] = None
    signal: Optional[int] = None
    # What shows that the program is what it says: control(stage, result, snapshot before).
    control: Optional[Callable] = escaped
    how: str = "free"  # the control: by exitpath without isolation (none), or by us (free)
    free: str = ""  # argv of the control, where it differs
    seconds: float = 8  # that the control may take
    cannot: str = ""  # why there is no control
    speaks: bool = True  # it says "contained: …" when it is
    may_say: tuple = ()  # "escaped" lines that are no escape, and are documented
    after: Optional[Callable] = None  # after(stage, result): what else is wrong, or None
    tty: bool = False
    who: str = "both"  # root: not as an ordinary user
    root_control: bool = False  # only root can show what the program does outside
    prepare: Optional[Callable] = None
    polling: str = ""  # verdicts that are right, too, where no cgroup counts; escapes are no escapes then
    deadline: int = 0  # milliseconds, of those in flags, that must be met

    def programs(self):
        return sorted(set(re.findall(r"\{bin\}([\w.]+)", f"{self.argv} {self.free}")))


def none_left(*paths):
    """The files that a run made in its own checkout went with it."""
    def check(stage, _):
        left = [path for path in paths if os.path.exists(f"{stage.repo}/{path}")]
        return f"left {left}" if left else None
    return check


def kept(path):
    return lambda stage, _: None if os.path.exists(f"{stage.repo}/{path}") else f"{path} was not written"


def make_setuid(stage):
    """Of another user than who runs it."""
    path = f"{stage.repo}/bin/setuid"
    os.chown(path, USER if stage.uid == 0 else 0, 0)
    os.chmod(path, 0o4755)


def says_what(word):
    return lambda _, result: None if word in result.text else f"does not say: {word}"


def byte_for_byte(_, result):
    """Bytes that are no text came through."""
    every = bytes(range(256)).decode(errors="surrogateescape")
    return None if "new\nline" in result.text and every in result.text else "output is not as it was written"


def fast(milliseconds):
    return lambda _, result: None if result.wall_ms < milliseconds else f"took {result.wall_ms} ms"


SMALL = "--wall 10s"
CONTROLS = ("/proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/kernel/modprobe /proc/sysrq-trigger "
            "/proc/sys/vm/drop_caches /proc/sys/fs/binfmt_misc/register /sys/kernel/uevent_helper "
            "/sys/kernel/mm/ksm/run /sys/power/state /proc/irq/0/smp_affinity")
CASES = {
    # Processes that do not want to go.
    "ignores-signals": Case("{bin}ignores_term", "wall", "--wall 500ms", control=does_not_end, seconds=1,
                            speaks=False, deadline=500),
    "daemon": Case("{bin}daemon", "exit", SMALL, exit=0, control=lives_on, speaks=False, after=fast(5000)),
    "holds-stdout": Case("{bin}holds_stdout", "exit", SMALL, exit=0, control=does_not_end, seconds=1,
                         speaks=False, after=fast(5000)),
    "respawns": Case("{bin}respawns 20", "wall|pids", "--wall 700ms --pids 200", control=does_not_end, seconds=0.5,
                     free="{bin}respawns 2", speaks=False, deadline=700),
    "stops-itself": Case(f"{{bin}}raises {int(signal.SIGSTOP)}", "wall", "--wall 500ms", control=does_not_end,
                         seconds=1, speaks=False, deadline=500),
    "regex": Case(f"{PYTHON} {{bin}}regex.py", "cpu", "--cpu 1s --wall 10s", control=does_not_end, seconds=2,
                  speaks=False),
    "regex-wall": Case(f"{PYTHON} {{bin}}regex.py", "wall", "--wall 700ms", control=does_not_end, seconds=2,
                       speaks=False, deadline=700),
    "os-exit": Case(f"{PYTHON} {{bin}}os_exit.py", "exit", SMALL, exit=0, control=does_not_end, seconds=2,
                    speaks=False, after=fast(5000)),
    # Too much of everything.
    "fork-bomb": Case("{bin}fork_bomb process 500", "pids", "--pids 64 --wall 5s", seconds=12, polling="exit",
                      speaks=False),
    "thread-bomb": Case("{bin}fork_bomb thread 500", "pids", "--pids 64 --wall 5s", seconds=12, polling="exit",
                      speaks=False),
    "fork-bomb-shell": Case("sh -c '{bin}fork_bomb process 500; exit 0'", "pids", "--pids 64 --wall 5s", cannot="fork-bomb is",
                            control=None, polling="exit", speaks=False),
    "memory": Case("{bin}hog 300", "oom", "--memory 64M --wall 10s", speaks=False),
    "memory-shell": Case("sh -c '{bin}hog 300; exit 0'", "oom", "--memory 64M --wall 10s", speaks=False),
    "memory-tmpfs": Case("{bin}fills /dev/shm 304", "oom|disk", "--memory 64M --wall 10s", speaks=False),
    "memory-memfd": Case("{bin}shm_hog memfd 300", "oom", "--memory 64M --disk 1G --wall 10s", speaks=False),
    "memory-sysv": Case("{bin}shm_hog sysv 300", "oom", "--memory 64M --wall 10s", speaks=False),
    "memory-shared": Case("{bin}shm_hog anonymous 300", "oom", "--memory 64M --wall 10s", speaks=False,
                          polling="exit"),
    "disk-tmp": Case("{bin}fills /tmp 256", "disk|oom", "--disk 32M --memory 128M --wall 20s", speaks=False),
    "disk-var-tmp": Case("{bin}fills /var/tmp 256", "disk|oom", "--disk 32M --memory 128M --wall 20s",
                         speaks=False),
    "disk-shm": Case("{bin}fills /dev/shm 256", "disk|oom", "--disk 32M --memory 128M --wall 20s", speaks=False),
    "disk-checkout": Case("{bin}fills {repo}/mnt 256", "disk", "--disk 32M --wall 20s", seconds=20, speaks=False),
    "disk-discard": Case("{bin}fills {repo}/mnt 256", "disk|oom", "--disk 32M --memory 128M --wall 20s --discard",
                         seconds=20, speaks=False, after=none_left("mnt/fill-0")),
    "output": Case("{bin}floods", "output", "--output 1M --wall 10s", speaks=False,
                   free="sh -c '{bin}floods >/dev/null'"),
    "output-stderr": Case("{bin}floods 2", "output", "--output 1M --wall 10s", speaks=False, control=None,
                          cannot="output is"),
    "files": Case("{bin}fds 1024", "exit", "--files 1024 --wall 10s", exit=0),
    "sockets": Case("{bin}sockets", "oom", "--memory 64M --files 8192 --wall 10s", speaks=False, polling="exit"),
    "deep-tree": Case("{bin}deep_tree {repo}/mnt 3000", "exit|disk", SMALL + " --discard", speaks=False,
                      control=None, cannot="nothing to reach",
                      after=none_left("mnt/hostile-directory")),
    "deep-tree-tmp": Case("{bin}deep_tree /tmp 3000", "exit|disk", SMALL, speaks=False,
                          control=None, cannot="nothing to reach"),
    "odd-names": Case("{bin}odd_names {repo}/mnt", "exit", SMALL + " --discard", exit=0, speaks=False,
                      control=None, cannot="nothing to reach", after=byte_for_byte),
    # How it ended, whoever was pid 1.
    "abort": Case("{bin}raises 6", "signal", SMALL, signal=6, control=has_signal(6), speaks=False),
    "terminates-itself": Case("{bin}raises 15", "signal", SMALL, signal=15, control=has_signal(15), speaks=False),
    "kills-itself": Case("{bin}raises 9", "signal", SMALL + " --memory 64M", signal=9, control=has_signal(9),
                         speaks=False),
    "exit-139": Case("sh -c 'exit 139'", "exit", SMALL, exit=139, control=None, cannot="nothing to reach",
                     speaks=False),
    "exit-134": Case("sh -c '{bin}raises 6; exit 134'", "exit", SMALL, exit=134, control=None,
                     cannot="nothing to reach", speaks=False),
    # Files.
    "writes-outside": Case("{bin}writes {sibling} {sibling}/secret {repo}/.. {repo}/link {repo}/secret-link "
                           "../sibling ../../tmp {home} {readonly} {readonly}/secret /proc/1/root{sibling} "
                           "/proc/self/root{sibling} /proc/self/cwd/../sibling /proc/1/cwd/../sibling / /etc /usr "
                           "/usr/bin /etc/passwd /bin/sh /opt /sys /proc /run /home /root /var /dev /lib",
                           "exit", SMALL + " --read {readonly}", exit=0, control=changed, how="none",
                           free="{bin}writes {sibling} {sibling}/secret {repo}/link {readonly}/secret"),
    "writes-checkout": Case("sh -c 'echo kept >mnt/kept'", "exit", SMALL, exit=0, control=None,
                            cannot="it may", speaks=False, after=kept("mnt/kept")),
    "writes-discarded": Case("sh -c '{bin}daemon; echo gone >mnt/gone; rm -r bin'", "exit", SMALL + " --discard",
                             control=None, cannot="nothing to reach", speaks=False,
                             after=lambda s, r: none_left("mnt/gone")(s, r) or kept("bin/daemon")(s, r)),
    "reads-secrets": Case("{bin}reads {word} {secrets} {repo}/secret-link {repo}/link/secret ../sibling/secret "
                          "../../../../../../{sibling}/secret /proc/1/root{sibling}/secret "
                          "/proc/self/root{sibling}/secret /proc/self/cwd/../sibling/secret "
                          "/proc/1/cwd/../sibling/secret", "exit", SMALL, exit=0, how="none"),
    "reads-exposed": Case("{bin}reads {word} {readonly}/secret", "exit", SMALL + " --read {readonly}", exit=0,
                          speaks=False, may_say=("readonly/secret",), control=None, cannot="it may",
                          after=says_what("escaped: ")),
    "reads-shadow": Case("{bin}reads : /etc/shadow /etc/gshadow /proc/kcore /proc/kmsg "
                         "/sys/kernel/debug/sleep_time /proc/1/environ /proc/1/mem /proc/1/maps", "exit", SMALL,
                         exit=0, who="root", control=escaped, free="{bin}reads : /etc/shadow"),
    "devices": Case("{bin}devices {repo}/mnt", "exit", SMALL, exit=0, root_control=True),
    "setuid": Case("{bin}setuid {uid}", "exit", SMALL, exit=0, prepare=make_setuid, root_control=True),
    "makes-setuid": Case("{bin}makes_setuid {repo}/mnt/made", "exit", SMALL, exit=0),
    "unix-system": Case("{bin}connects {word} unix:{opt}/socket", "exit", SMALL, exit=0, how="none", who="root",
                        speaks=False, may_say=("unix:",)),
    "inherited": Case("{bin}inherited", "exit", SMALL, exit=0, free="sh -c 'exec {bin}inherited 9</dev/null'"),
    # Sockets.
    "unix-sockets": Case("{bin}connects {word} {sockets} {abstract}", "exit", SMALL, exit=0, control=all_escaped,
                         how="none"),
    "unix-readonly": Case("{bin}connects {word} unix:{readonly}/socket fifo:{readonly}/fifo", "exit",
                          SMALL + " --read {readonly}", exit=0, how="none"),
    "network-none": Case("{bin}connects {word} {ports} {abstract}", "exit", SMALL + " --network none", exit=0,
                         control=all_escaped, how="none"),
    "network-loopback": Case("{bin}connects {word} {ports} {abstract}", "exit", SMALL + " --network loopback",
                             exit=0, control=all_escaped, how="none"),
    "families": Case("{bin}families", "exit", SMALL, exit=0, how="none"),
    # The kernel.
    "system-calls": Case("{bin}syscalls {repo}/mnt", "exit", SMALL, exit=0, how="none"),
    "other-abi": Case("{bin}abi32", "exit", SMALL, exit=0, how="none"),
    "controls": Case(f"{{bin}}controls {CONTROLS}", "exit", SMALL, exit=0, root_control=True),
    "terminal": Case("{bin}types", "exit", SMALL, exit=0, tty=True),
    # Other processes.
    "invades": Case("{bin}invades {pid} 1 0", "exit", SMALL, exit=0, control=victim_dies, how="none",
                    free="{bin}invades {pid}"),
    "kills-all": Case("{bin}kills {hostns} all", "exit", SMALL, exit=7, control=None, cannot="it would"),
    "kills-near": Case("{bin}kills {hostns} near", "exit", SMALL, exit=7, control=None, cannot="it would"),
    "kills-init": Case("{bin}kills {hostns} init", "exit", SMALL, exit=7, control=None, cannot="it would"),
    "kills-parent": Case("{bin}kills {hostns} parent", "exit", SMALL, exit=7, control=None, cannot="it would"),
    "kills-group": Case("{bin}kills {hostns} group", "signal", SMALL, signal=9, control=None, cannot="it would",
                        speaks=False),
    "leaves-ipc": Case("{bin}leaves_ipc /{mark} {key}", "exit", SMALL, exit=0, control=left_something, speaks=False),
}


def expand(stage, text):
    """The words of text; a word that is the name of a list becomes its items."""
    names, words = {**stage.names(), "bin": f"{stage.repo}/bin/"}, []
    for word in shlex.split(text):
        if isinstance(names.get(word[1:-1]), list):
            words += names[word[1:-1]]
        else:
            words.append(word.format(**{k: v for k, v in names.items() if isinstance(v, str)}))
    return words


def terminal():
    """A pseudo-terminal that the command starts with as its controlling one; options of Popen."""
    master, slave = pty.openpty()
    def take():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    return master, slave, {"stdin": slave, "start_new_session": False, "preexec_fn": take}


def wait_for(stage, command, seconds, tty=False):
    """Runs command; its Result knows the streams, and says "still running" after that many seconds."""
    fds, options = [], {}
    if tty:
        *fds, options = terminal()
    start = time.monotonic()
    process = stage.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    try:
        out, err = process.communicate(timeout=seconds)
        verdict = "ended"
    except subprocess.TimeoutExpired:
        verdict, out, err = "still running", b"", b""
    finally:
        for fd in fds:
            os.close(fd)
    result = Result(verdict, wall_ms=(time.monotonic() - start) * 1000)
    if verdict == "still running":
        # The pipes stay open as long as what it left lives.
        stage.kill_marked()
        process.communicate(timeout=30)
    elif process.returncode < 0:
        result.signal = -process.returncode
    else:
        result.exit = process.returncode
    result.record = {"stdout": out.decode(errors="replace"), "stderr": err.decode(errors="replace")}
    result.text = result.record["stdout"] + result.record["stderr"]
    return result


def number_of(name):
    return signal.Signals[name].value if isinstance(name, str) else name


def stream(record, name):
    """What is no text comes as base64."""
    if f"{name}_base64" in record:
        return base64.b64decode(record[f"{name}_base64"]).decode(errors="surrogateescape")
    return record.get(name, "")


def run_exitpath(stage, words, flags, seconds=60, tty=False):
    """One `exitpath run --json`; verdict "no JSON" when it does not do its part."""
    whole = wait_for(stage, [stage.exitpath, "run", "--json", *flags, "--", *words], seconds, tty)
    try:
        record = json.loads(whole.record["stdout"])
        return Result(record["verdict"], record.get("exit"), number_of(record.get("signal")), record["wall_ms"],
                      f"{stream(record, 'stdout')}\n{stream(record, 'stderr')}", record)
    except (ValueError, KeyError, TypeError):
        return Result("no JSON", whole.exit, whole.signal, whole.wall_ms, whole.text)


def short(result):
    text = str(result.record or result)
    return text if len(text) < 4000 else f"{text[:2000]} … {text[-2000:]}"


def control_of(case, exitpath, programs):
    """Runs the program free; returns what is wrong with it, or None."""
    with Stage(exitpath, programs, os.getuid()) as stage:
        if case.prepare:
            case.prepare(stage)
        before = stage.snapshot()
        words = expand(stage, case.free or case.argv)
        if case.how == "none":
            result = run_exitpath(stage, words, ["--isolation", "none", "--wall", "20s"])
            stage.wait_gone()
        else:
            result = wait_for(stage, words, case.seconds, case.tty)
        if case.control(stage, result, before):
            return None
        return f"the program does not do outside what it is for ({case.control.__name__}): {short(result)}"


def problems_of(case, stage, before):
    """Runs the program in the sandbox; returns what is wrong, and the milliseconds beyond its deadline."""
    flags = expand(stage, case.flags)
    result = run_exitpath(stage, expand(stage, case.argv), flags, tty=case.tty)
    left, seconds = stage.wait_gone()
    problems = [f"left process {pid}" for pid in left]
    counted = result.record.get("tier") not in (None, "polling")
    may_say = case.may_say if counted or not case.polling else ("",)
    if result.verdict not in case.verdict.split("|") + ([] if counted else case.polling.split("|")):
        problems.append(f"verdict {result.verdict}, expected {case.verdict}")
    for name in ("exit", "signal"):
        if getattr(case, name) is not None and getattr(result, name) != getattr(case, name):
            problems.append(f"{name} {getattr(result, name)}, expected {getattr(case, name)}")
    problems += [line for line in says("escaped", result) if not any(word in line for word in may_say)]
    if case.speaks and not says("contained", result):
        problems.append("the program does not say that it was contained")
    if case.deadline and result.wall_ms > case.deadline + SLACK:
        problems.append(f"ended after {result.wall_ms} ms, the deadline was {case.deadline} ms")
    problems += [f"left {name}" for name in stage.others()]
    after = stage.snapshot()
    problems += [f"changed {path}" for path in sorted(before.keys() | after.keys())
                 if before.get(path) != after.get(path)]
    if stage.victim.poll() is not None:
        problems.append("a process of the machine was killed")
    if wrong := case.after and case.after(stage, result):
        problems.append(wrong)
    if problems:
        problems.append(f"result: {short(result)}")
    return problems, result.wall_ms + seconds * 1000 - case.deadline


def run_case(name, case, exitpath, directory):
    programs = [os.path.join(directory, program) for program in case.programs()]
    who = {"root": os.getuid(), "user": USER if os.getuid() == 0 else os.getuid()}
    if (case.who == "root" or case.root_control) and os.getuid() != 0:
        print("only root can show what it does outside")
        return 77
    failed = False
    if case.control and (wrong := control_of(case, exitpath, programs)):
        print(f"control of {name}: {wrong}")
        failed = True
    for role in ("root",) if case.who == "root" else dict.fromkeys(("root", "user")):
        if role == "user" and who["user"] == who["root"]:
            continue
        with Stage(exitpath, programs, who[role]) as stage:
            if case.prepare:
                case.prepare(stage)
            problems, beyond = problems_of(case, stage, stage.snapshot())
        for problem in problems:
            print(f"{name} as {role} (uid {who[role]}): {problem}")
        failed |= bool(problems)
        if case.deadline and os.environ.get("HOSTILE_FIGURES"):
            with open(os.environ["HOSTILE_FIGURES"], "a", encoding="utf-8") as file:
                file.write(f"{beyond:.0f} {name} {role}\n")
    return int(failed)


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(CASES))
        return 0
    Reaper().start()
    exitpath, directory = os.environ["EXITPATH_BIN"], os.environ["HOSTILE_PROGRAMS"]
    return max(run_case(name, CASES[name], exitpath, directory) for name in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
