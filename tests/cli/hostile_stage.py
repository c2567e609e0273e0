"""What surrounds a hostile run: the things it is after, and what is looked at when it is over.

A stage plants secrets, sockets and listeners on the machine, a process to be attacked (the victim), and
a checkout with the programs. All names hold one mark, and so does the command line or environment of
each process that a run starts: what is left of it is found, whatever it did to hide.
"""
import ctypes
import glob
import os
import secrets
import selectors
import shutil
import socket
import stat
import subprocess
import threading
import time

GRACE = 1.0  # seconds in which the last of a run must be gone, on a loaded machine
PLACES = ("/home", "/tmp", "/var/tmp", "/run", "/root", "/srv", "/var/lib", "/dev/shm")
TOPS = ("/", "/etc", "/usr", "/usr/bin", "/bin", "/lib", "/home", "/root", "/run", "/var", "/tmp", "/var/tmp",
        "/dev", "/dev/shm", "/dev/mqueue", "/opt", "/srv", "/mnt")
SYSVIPC = ("shm", "sem", "msg")


class Listener(threading.Thread):
    """Answers whoever connects or sends with the word; the mere answer proves that it was reached."""

    def __init__(self, word):
        super().__init__(daemon=True)
        self.word, self.selector = word.encode(), selectors.DefaultSelector()
        self.sockets, self.wake = [], os.pipe()
        self.selector.register(self.wake[0], selectors.EVENT_READ)

    def add(self, family, kind, address, reach=None):
        sock = socket.socket(family, kind)
        sock.bind(address)
        if kind == socket.SOCK_STREAM:
            sock.listen()
        if reach:
            os.chmod(reach, 0o777)
        self.sockets.append(sock)
        self.selector.register(sock, selectors.EVENT_READ)
        return sock.getsockname()

    def answer(self, sock):
        try:
            if sock.type == socket.SOCK_DGRAM:
                sock.sendto(self.word, sock.recvfrom(256)[1])
            else:
                with sock.accept()[0] as peer:
                    peer.settimeout(0.3)
                    peer.recv(256)
                    peer.sendall(self.word)
        except OSError:
            pass  # it went away

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.fileobj == self.wake[0]:
                    return
                self.answer(key.fileobj)

    def close(self):
        os.write(self.wake[1], b"x")
        self.join()
        for sock in self.sockets:
            sock.close()
        self.selector.close()
        for fd in self.wake:
            os.close(fd)


class Reaper(threading.Thread):
    """Makes this process the one that orphans of a control fall to, and lets them go: as zombies of another
    subreaper, or of a careless pid 1, they would use up the machine's pids."""

    started = set()  # those that subprocess waits for
    lock = threading.Lock()  # held while one is started that is not in there yet

    def __init__(self):
        super().__init__(daemon=True)
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER

    def run(self):
        while True:
            time.sleep(0.02)
            with self.lock:
                for task in os.listdir("/proc/self/task"):
                    for pid in map(int, read_file(f"/proc/self/task/{task}/children").split()):
                        self.reap(pid)

    def reap(self, pid):
        if pid in self.started or b") Z " not in read_file(f"/proc/{pid}/stat"):
            return
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            pass


def read_file(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def own_addresses():
    """IPv4 addresses of this machine that are not loopback."""
    text = read_file("/proc/net/fib_trie").decode().split("\n")
    found = {line.split()[1] for line, after in zip(text, text[1:])
             if "|--" in line and "/32 host LOCAL" in after}
    return sorted(address for address in found if not address.startswith("127."))


def find_cgroups():
    own = {line.split(":", 2)[2] for line in read_file("/proc/self/cgroup").decode().split("\n") if line}
    parents = ("", "/*", *own, *(f"/*{path}" for path in own))
    return {os.path.normpath(path) for parent in parents for path in glob.glob(f"/sys/fs/cgroup{parent}/exitpath-*-*-*")}


class Stage:
    def __init__(self, exitpath, programs, uid):
        self.uid, self.mark, self.word = uid, f"exitpath-hostile-{secrets.token_hex(6)}", secrets.token_hex(12)
        self.cgroups_before = find_cgroups()
        self.key = secrets.randbelow(1 << 30) + 1
        self.planted, self.fifos, self.listener, self.victim = [], [], Listener(self.word), None
        try:
            self.plant(exitpath, programs)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def plant(self, exitpath, programs):
        for place in PLACES:
            if os.path.isdir(place) and os.access(place, os.W_OK):
                self.plant_directory(os.path.join(place, self.mark))
        self.root = self.planted[0]
        # What is in /opt may be read. Only root can plant there.
        self.opt = f"/opt/{self.mark}"
        if os.path.isdir("/opt") and os.access("/opt", os.W_OK):
            self.plant_directory(self.opt)
        self.repo, self.sibling, self.home = (f"{self.root}/{name}" for name in ("repo", "sibling", "home"))
        self.readonly, self.scratch = f"{self.root}/readonly", f"{self.root}/scratch"
        for directory in (self.repo, f"{self.repo}/bin", f"{self.repo}/mnt", self.sibling, self.home,
                          self.readonly, self.scratch):
            os.mkdir(directory)
        for directory in (self.sibling, self.home, self.readonly):
            self.plant_secret(directory)
        os.symlink(self.sibling, f"{self.repo}/link")
        os.symlink("../sibling/secret", f"{self.repo}/secret-link")
        for name in programs:
            shutil.copy(name, f"{self.repo}/bin/")
        # Its path holds the mark, and so does the command line of each process of exitpath.
        self.exitpath = f"{self.root}/exitpath"
        shutil.copy(exitpath, self.exitpath)
        self.listen()
        for folder, directories, files in os.walk(self.root):
            for name in [folder] + [os.path.join(folder, name) for name in directories + files]:
                os.chown(name, self.uid, self.uid, follow_symlinks=False)
        self.victim = self.start(["sleep", "60"], env={})

    def plant_directory(self, directory):
        os.mkdir(directory)
        os.chmod(directory, 0o755)
        self.planted.append(directory)
        self.plant_secret(directory)

    def plant_secret(self, directory):
        with open(f"{directory}/secret", "w", encoding="utf-8") as file:
            file.write(f"{self.word}\n")
        os.chown(directory, self.uid, self.uid)
        os.chown(f"{directory}/secret", self.uid, self.uid)
        self.listener.add(socket.AF_UNIX, socket.SOCK_STREAM, f"{directory}/socket", f"{directory}/socket")
        os.mkfifo(f"{directory}/fifo")
        os.chmod(f"{directory}/fifo", 0o666)
        self.fifos.append(os.open(f"{directory}/fifo", os.O_RDWR | os.O_CLOEXEC))

    def listen(self):
        add = self.listener.add
        add(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.mark}")
        self.tcp = add(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0))[1]
        self.udp = add(socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", 0))[1]
        self.ports = [f"tcp:127.0.0.1:{self.tcp}", f"udp:127.0.0.1:{self.udp}"]
        for address in own_addresses():
            self.ports += [f"tcp:{address}:{self.tcp}", f"udp:{address}:{self.udp}"]
        if socket.has_ipv6 and os.path.exists("/proc/net/if_inet6"):
            self.ports.append(f"tcp6:{add(socket.AF_INET6, socket.SOCK_STREAM, ('::1', 0))[1]}")
            self.ports.append(f"udp6:{add(socket.AF_INET6, socket.SOCK_DGRAM, ('::1', 0))[1]}")
        self.listener.start()

    @property
    def hidden(self):
        return [directory for directory in self.planted if directory != self.opt]

    # What a case may name, as {word}, {secrets} … A list becomes several arguments.
    def names(self):
        return {
            "word": self.word, "mark": self.mark, "repo": self.repo, "sibling": self.sibling,
            "readonly": self.readonly, "key": str(self.key), "uid": str(self.uid), "home": self.home,
            "pid": str(self.victim.pid), "hostns": str(os.stat("/proc/self/ns/pid").st_ino),
            "root": self.root, "exitpath": self.exitpath, "ports": self.ports,
            "secrets": [f"{place}/secret" for place in (*self.hidden, self.home, self.sibling)],
            "sockets": [f"{kind}:{place}/{name}" for place in (*self.hidden, self.home, self.sibling)
                        for kind, name in (("unix", "socket"), ("fifo", "fifo"))],
            "abstract": f"abstract:{self.mark}", "opt": self.opt,
        }

    def environment(self):
        return {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin", "HOME": self.home, "LC_ALL": "C.UTF-8",
                "TMPDIR": self.scratch, "HOSTILE_MARK": self.mark}

    def start(self, command, **options):
        if os.getuid() != self.uid:
            options.update(user=self.uid, group=self.uid, extra_groups=[])
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
                   "start_new_session": True, "cwd": self.repo, "env": self.environment(), **options}
        with Reaper.lock:
            process = subprocess.Popen(command, **options)
            Reaper.started.add(process.pid)
        return process

    # --- afterwards

    def processes(self):
        """Pids of all that bear the mark."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if int(pid) in (os.getpid(), self.victim.pid):
                continue
            if self.mark.encode() in read_file(f"/proc/{pid}/cmdline") + read_file(f"/proc/{pid}/environ"):
                found.append(int(pid))
        return found

    def others(self):
        """What a run may have made outside of /proc, by name; without the processes."""
        found = [line for line in read_file("/proc/self/mountinfo").decode().split("\n") if self.mark in line]
        for top in TOPS:
            try:
                found += [os.path.join(top, name) for name in os.listdir(top)
                          if name.startswith("hostile-") or (self.mark in name and name != self.mark)]
            except OSError:
                pass
        for kind in SYSVIPC:
            rows = read_file(f"/proc/sysvipc/{kind}").decode().split("\n")[1:]
            found += [f"SysV {kind} {self.key}" for row in rows if row.split()[:1] == [str(self.key)]]
        queue = ctypes.CDLL(None).mq_open(f"/{self.mark}".encode(), os.O_RDONLY)
        if queue >= 0:
            os.close(queue)
            found.append(f"message queue /{self.mark}")
        return found + self.scratch_left() + self.cgroups()

    def scratch_left(self):
        return [os.path.join(folder, name) for folder, directories, files in os.walk(self.scratch)
                for name in files + [d for d in directories if folder != self.scratch]]

    def cgroups(self):
        """Groups that exitpath made since and did not remove: their names hold the inode of the pid namespace,
        then the pid. Those of others who run at the same time, and who were killed, they remove at their next run.
        """
        deadline = time.monotonic() + 3 * GRACE
        while left := [path for path in find_cgroups() - self.cgroups_before
                       if not os.path.exists(f"/proc/{os.path.basename(path).split('-')[2]}")]:
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        return sorted(left)

    def snapshot(self):
        """Every planted file, but for the checkout's and exitpath's own scratch."""
        found = {}
        for place in self.planted:
            for folder, directories, files in os.walk(place):
                directories[:] = [name for name in directories
                                  if os.path.join(folder, name) not in (self.repo, self.scratch)]
                for path in [os.path.join(folder, name) for name in files + directories]:
                    st = os.lstat(path)
                    content = read_file(path) if stat.S_ISREG(st.st_mode) and st.st_size < 4096 else b""
                    found[path] = (st.st_mode, st.st_uid, st.st_size, st.st_mtime_ns, st.st_nlink, content)
        return found

    def wait_gone(self):
        """Waits until no marked process lives; returns those that do not go, and the seconds it took."""
        start = time.monotonic()
        while True:
            left, passed = self.processes(), time.monotonic() - start
            if not left or passed > GRACE:
                return left, passed
            time.sleep(0.005)

    def kill_marked(self):
        """Ends what the control left, each by its pid."""
        for _ in range(200):
            left = self.processes()
            if not left:
                return
            for pid in left:
                try:
                    os.kill(pid, 9)
                except ProcessLookupError:
                    pass

    def close(self):
        if self.victim:
            self.victim.kill()
            self.victim.wait()
            self.kill_marked()
        for fd in self.fifos:
            os.close(fd)
        if self.listener.is_alive():
            self.listener.close()
        ctypes.CDLL(None).mq_unlink(f"/{self.mark}".encode())
        for directory in self.planted:
            # The tree may be deeper than any path: rm knows how.
            with Reaper.lock:
                subprocess.run(["rm", "-rf", "--", directory], check=False)
        for top in ("/tmp", "/var/tmp", "/dev/shm"):
            for path in glob.glob(f"{top}/*{self.mark}-file") + glob.glob(f"{top}/*{self.mark}"):
                os.unlink(path)
        for kind in SYSVIPC:
            for row in read_file(f"/proc/sysvipc/{kind}").decode().split("\n")[1:]:
                if row.split()[:1] == [str(self.key)]:
                    flag = {"shm": "-m", "sem": "-s", "msg": "-q"}[kind]
                    with Reaper.lock:
                        subprocess.run(["ipcrm", flag, row.split()[1]], check=False)
