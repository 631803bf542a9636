# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of any process at any moment, and every ordinary end, leave nothing:
no nft table, no process, no packet socket, no namespace."""
import os
import signal
import time

import pytest

from lab import oracle
from lab.procs import Deadline, family, parents, wait_for

pytestmark = pytest.mark.sonde
LONG = '''
ans, unans = sr([IP(dst="10.9.0.2")/UDP(sport=47000 + i, dport=9)/b"x" for i in range(10)], timeout=0.1)
send(IP(dst="10.9.0.2")/TCP(sport=47100, dport=80, flags="S"))
print(ping("10.9.0.2", count=1000, interval=0.01).received)
'''


def name_of(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            caps = next(x for x in f if x.startswith("CapEff")).split()[1]
        with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
            return f"{f.read().strip()}({caps.lstrip('0') or '0'})"
    except OSError:
        return "gone"


def alive(pid, started):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            rest = f.read().rsplit(")", 1)[1].split()
        return rest[0] != "Z" and rest[19] == started
    except (FileNotFoundError, ProcessLookupError):
        return False


def start_time(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        return f.read().rsplit(")", 1)[1].split()[19]


def has_table(node):
    return "table" in node.run("nft", "list", "tables").out


@pytest.fixture
def running(lab):
    """A run in full swing: (us, process, {pid: start time} of all its processes)."""
    us, peer = lab.hosts("us", "peer")
    lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
    peer.service("tcp-accept", "80")
    before = namespaces()

    def start():
        proc = us.sonde(LONG, background=True)
        wait_for(lambda: has_table(us) or proc.rc is not None, 5, why="the run's nft table")
        time.sleep(0.3)
        assert proc.rc is None, proc.out + proc.err
        return proc, {p: start_time(p) for p in family(proc.pid)}
    return us, start, before


def namespaces():
    """Identities of all namespaces in which a process lives."""
    return namespaces_of(parents())


def namespaces_of(pids):
    seen = set()
    for pid in pids:
        for kind in ("net", "mnt", "user", "pid"):
            try:
                seen.add(os.readlink(f"/proc/{pid}/ns/{kind}"))
            except OSError:
                pass
    return seen


def nothing_left(us, procs):
    wait_for(lambda: not any(alive(p, s) for p, s in procs.items()), 5, why="all processes end")
    wait_for(lambda: not has_table(us), 3, why="the nft table goes")
    wait_for(lambda: oracle.residue(us) == [], 3, why="packet sockets close")


def test_each_process_of_a_run_can_be_killed(running):
    us, start, before = running
    proc, procs = start()
    count, seen = len(procs), namespaces_of(procs) - before
    names = [name_of(p) for p in procs]
    assert count >= 4, names  # cmd, netd, gate, engine
    proc.kill()
    nothing_left(us, procs)
    for k in range(count):
        proc, procs = start()
        victim = sorted(procs)[k % len(procs)]
        os.kill(victim, signal.SIGKILL)
        try:
            nothing_left(us, procs)
        except Deadline as e:
            raise AssertionError(f"after SIGKILL of {k}: {names}: {e}") from None
        assert proc.wait(5) != 0
    # Ours had at most these, and all are gone.  Labs beside us may have got such a number again, but not for ever.
    wait_for(lambda: not seen & namespaces(), 60, why="the run's namespaces go")
    assert us.sonde('print(ping("10.9.0.2", count=2, interval=0.05).received)').ok().lines == ["2"]


@pytest.mark.parametrize("delay", [0.001, 0.003, 0.006, 0.01, 0.02, 0.05])
def test_kill_during_the_start(running, delay):
    """cmd is killed `delay` after its start, whatever it was doing."""
    us, _, _ = running
    for _ in range(3):
        proc = us.sonde(LONG, background=True)
        time.sleep(delay)
        procs = {}
        for p in family(proc.pid):
            try:
                procs[p] = start_time(p)
            except FileNotFoundError:
                pass
        proc.kill()
        nothing_left(us, procs)


def test_frames_stop_when_the_engine_is_killed(running):
    """Deny is the resting state: nothing is sent after the end."""
    us, start, _ = running
    proc, procs = start()
    cap = us.ifaces["eth0"].capture("ip src 10.9.0.1 and icmp")
    for p in sorted(procs)[1:]:
        try:
            os.kill(p, signal.SIGKILL)
        except ProcessLookupError:
            pass
    wait_for(lambda: not any(alive(p, s) for p, s in procs.items()), 5, why="all processes end")
    ended = time.time_ns()
    time.sleep(0.3)
    assert not [1 for ns, _ in cap.frames() if ns > ended]
    nothing_left(us, procs)


def test_interrupt_prints_what_is_known_and_cleans_up(running):
    us, _, _ = running
    proc = us.sonde('for i in range(50):\n    print("round", i, ping("10.9.0.2", count=1).received)\n'
                    '    sleep(0.1)\n', background=True)
    wait_for(lambda: "round 2" in proc.out, 5, why="program output")
    procs = {p: start_time(p) for p in family(proc.pid)}
    os.kill(proc.pid, signal.SIGINT)
    assert proc.wait(5) == 130
    assert "| round 1 1" in proc.out and "stats:" in proc.out
    nothing_left(us, procs)


def test_ordinary_end_leaves_nothing(running):
    us, _, _ = running
    for program in ('print(ping("10.9.0.2", count=1))', "print(1 // randint(0, 0))\nping('10.9.0.2')",
                    'budget(packets=3)\nping("10.9.0.2", count=10, interval=0.01)'):
        us.sonde(program)
        assert not has_table(us)
        wait_for(lambda: oracle.residue(us) == [], 3, why="packet sockets close")
