# SPDX-License-Identifier: Apache-2.0
"""Every system call of a run's start fails once, injected by strace: a run ends with a sentence or goes on
whole, never without a layer of its sandbox; nothing that was not asked for is on the wire, and nothing stays.

strace counts in each process by itself, so what the dynamic linker calls first can't be told from what our
processes call as often: those numbers are left out."""
import collections
import os
import re
import signal

import pytest
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import ARP

from lab import Lab, oracle, sonde_binary
from lab.procs import Deadline, Proc, family, wait_for

pytestmark = pytest.mark.sonde
PROGRAM = 'print("got", ping("10.9.0.2", count=1).received)'
MOST = 10  # of one kind in one process: what comes later is the loop of the run

# What fails, and how.  A run goes on only if what failed was a wish.
CALLS = {
    "socketpair": "EMFILE", "clone": "EAGAIN", "pidfd_open": "ENOSYS", "close_range": "ENOSYS", "prlimit64": "EPERM",
    "unshare": "EPERM", "seccomp": "EINVAL", "capset": "EPERM", "capget": "EPERM", "landlock_create_ruleset": "EOPNOTSUPP",
    "landlock_restrict_self": "EPERM", "setresgid": "EPERM", "setresuid": "EPERM", "setgroups": "EPERM",
    "openat": "EMFILE", "read": "EIO", "write": "EPIPE",
    "socket": "ENOBUFS", "bind": "EADDRINUSE", "setsockopt": "ENOPROTOOPT", "getsockopt": "ENOPROTOOPT",
    "getsockname": "ENOBUFS", "ioctl": "ENODEV", "sendmsg": "ECONNREFUSED", "recvmsg": "ECONNRESET", "sendto": "ENOBUFS",
    "recvfrom": "ENOBUFS", "sendmmsg": "ENOBUFS", "recvmmsg": "ENETDOWN", "epoll_create1": "EMFILE", "epoll_ctl": "ENOSPC",
    "timerfd_create": "EMFILE", "timerfd_settime": "EINVAL", "ppoll": "EINTR", "poll": "EINTR", "getrandom": "EINTR",
}
# Without them a layer is missing.  libseccomp asks first, with a filter of NULL, what the kernel can do.
LAYERS = re.compile(r"^\d+ +(?:unshare\(|landlock_restrict_self\(|capset\(|seccomp\(SECCOMP_SET_MODE_FILTER, \w+, \{)")



@pytest.fixture(scope="module")
def scene():
    with Lab("start-faults") as lab:
        us, peer = lab.hosts("us", "peer")
        _, end = lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
        yield us, end


def traced(us, call, *more, args=("run", "-e", PROGRAM)):
    path = us.lab.path(f"trace-{call}")
    proc = Proc(us.argv("strace", "-f", "--seccomp-bpf", "-o", path, "-e", f"trace={call}", *more,
                        str(sonde_binary()), *args))
    try:
        wait_for(lambda: proc.rc is not None, 20, why=f"{call} {more}: the run ends")
    except Deadline:
        for pid in family(proc.pid)[1:]:  # what is traced outlives its tracer
            os.kill(pid, signal.SIGKILL)
        raise
    finally:
        proc.wait(5)
    with open(path, encoding="utf-8", errors="replace") as f:
        return proc, f.read().splitlines()


def most(lines, call):
    """The most calls that one process made."""
    pids = collections.Counter(m[1] for m in (re.match(rf"(\d+) +{call}\(", line) for line in lines) if m)
    return min(max(pids.values(), default=0), MOST)


def fault_of(proc, failed):
    """What is wrong with how a run took it, or None."""
    if proc.rc < 0:
        return f"killed by signal {-proc.rc}"
    if proc.rc and not proc.err.strip() and not any(" write(2, " in line for line in failed):
        return f"exit {proc.rc} without a sentence"
    if proc.rc == 0 and any(LAYERS.match(line) for line in failed):
        return "went on without a layer"
    if proc.rc == 0 and "| got " not in proc.out:
        return "exit 0 without a result"
    return None


@pytest.mark.parametrize("call", CALLS)
def test_call_fails(scene, call):
    us, end = scene
    whole, lines = traced(us, call)
    assert whole.rc == 0 and "| got 1" in whole.out
    _, loading = traced(us, call, args=("version",))
    capture, wrong, hits = end.capture("not ip6"), [], 0
    for k in range(most(loading, call) + 1, most(lines, call) + 1):
        proc, lines = traced(us, call, "-e", f"inject={call}:error={CALLS[call]}:when={k}")
        failed = [line for line in lines if "INJECTED" in line]
        fault = fault_of(proc, failed)
        hits += bool(failed)
        if fault:
            wrong.append(f"{call} number {k}: {fault}\n  " + "\n  ".join([*failed, proc.out[-300:], proc.err[-300:]]))
        if oracle.residue(us):
            wrong.append(f"{call} number {k}: stays: {oracle.residue(us)}")
    assert not wrong, "\n".join(wrong)
    assert hits, "no call failed"
    for p in capture.packets():
        assert ARP in p or (ICMP in p and {p[IP].src, p[IP].dst} == {"10.9.0.1", "10.9.0.2"}), p.summary()
