# SPDX-License-Identifier: Apache-2.0
"""Processes of a lab: each with a deadline, each gone when its lab is.

A background child dies with us (setpriv --pdeathsig; a preexec_fn would make
Python fork all of itself), so that a killed pytest leaves nothing behind, and is
ended by its own pid only.  Output goes to files: no pipe can fill up and block a
test."""
import functools
import os
import pathlib
import shutil
import select
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIE_WITH_US = ["setpriv", "--pdeathsig", "KILL", "--"]


class Deadline(Exception):
    """Something took longer than the test allowed."""


def parents():
    """{pid: parent} of all processes that are not zombies."""
    out = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                    state, ppid = f.read().rsplit(")", 1)[1].split()[:2]
                if state != "Z":
                    out[int(name)] = int(ppid)
            except (FileNotFoundError, ProcessLookupError):
                pass
    return out


def family(pid):
    """pid and its descendants."""
    tree, out = parents(), [pid]
    for p in out:
        out += [c for c, parent in tree.items() if parent == p]
    return [p for p in out if p in tree]


def wait_for(what, timeout=5.0, step=0.005, why="condition"):
    """Polls what() until it is true; returns its value.  Deadline otherwise."""
    end = time.monotonic() + timeout
    while True:
        got = what()
        if got:
            return got
        if time.monotonic() > end:
            raise Deadline(f"{why}: not within {timeout} s")
        time.sleep(step)


class Proc:
    """A started process with its output in files."""

    def __init__(self, argv, stdin=None, env=None, cwd=None, name=None, guard=True):
        self.argv = [str(a) for a in argv]
        self.name = name or self.argv[0]
        self._out = tempfile.TemporaryFile()
        self._err = tempfile.TemporaryFile()
        self.started = time.monotonic()
        self.popen = subprocess.Popen(
            (DIE_WITH_US if guard else []) + self.argv, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=self._out, stderr=self._err, env=env, cwd=cwd)
        if stdin is not None:
            self.popen.stdin.write(stdin if isinstance(stdin, bytes) else stdin.encode())
            self.popen.stdin.close()
        self.seconds = None

    @property
    def pid(self):
        return self.popen.pid

    @staticmethod
    def _text(f):
        size = os.fstat(f.fileno()).st_size
        return os.pread(f.fileno(), size, 0).decode("utf-8", "replace")

    @property
    def out(self):
        return self._text(self._out)

    @property
    def err(self):
        return self._text(self._err)

    @property
    def rc(self):
        return self.popen.poll()

    def _ends_within(self, timeout):
        """By a pidfd: Popen.wait(timeout) looks only each 50 ms."""
        if self.rc is not None:
            return True
        fd = os.pidfd_open(self.pid)
        try:
            ended = bool(select.select([fd], [], [], timeout)[0])
        finally:
            os.close(fd)
        if ended:
            self.popen.wait()
        return ended

    def wait(self, timeout=30):
        if not self._ends_within(timeout):
            self.kill()
            raise Deadline(f"{' '.join(self.argv)}: over {timeout} s\n"
                           f"stdout: {self.out[-2000:]}\nstderr: {self.err[-2000:]}")
        self.seconds = time.monotonic() - self.started
        return self.rc

    def signal(self, sig):
        if self.rc is None:
            self.popen.send_signal(sig)

    def stop(self, timeout=5):
        """SIGTERM, then SIGKILL; returns the exit code."""
        self.signal(signal.SIGTERM)
        if not self._ends_within(timeout):
            self.kill()
        return self.rc

    def kill(self):
        self.signal(signal.SIGKILL)
        self.popen.wait(10)

    def until(self, text, timeout=5, stream="out"):
        """Waits until `text` is in the output."""
        def seen():
            if text in getattr(self, stream):
                return True
            if self.rc is not None:
                raise Deadline(f"{self.name} ended ({self.rc}) before it said {text!r}: "
                               f"{self.out[-500:]}{self.err[-500:]}")
            return False
        wait_for(seen, timeout, why=f"{self.name} says {text!r}")
        return self


def run(argv, timeout=20, check=True, stdin=None, env=None):
    """Runs to the end; the ended Proc."""
    p = Proc(argv, stdin=stdin, env=env, guard=False)
    rc = p.wait(timeout)
    if check and rc != 0:
        raise RuntimeError(f"{' '.join(p.argv)}: exit {rc}\n{p.out}{p.err}")
    return p


def build_dir():
    return pathlib.Path(os.environ.get("SONDE_BUILD", ROOT / "build"))


@functools.lru_cache(maxsize=None)
def tool(name):
    """The path of one of our C helpers (cable, sendto_loop ...): the one that meson built
    if it is newer than its source, otherwise one compiled now for this process."""
    source = next((ROOT / "tests").glob(f"*/{name}.c"))
    built = build_dir() / "tests" / name
    if built.exists() and built.stat().st_mtime >= source.stat().st_mtime:
        return str(built)
    folder = tempfile.mkdtemp(prefix="sonde-tool-")
    import atexit
    atexit.register(shutil.rmtree, folder, True)
    out = os.path.join(folder, name)
    subprocess.run(["cc", "-std=c17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra",
                    "-o", out, str(source), "-lm"], check=True, timeout=60)
    return out
