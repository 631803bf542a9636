# SPDX-License-Identifier: Apache-2.0
"""Each layer around each process, tried from within (engine) or read from the
kernel (gate, netd), and what is left when any of them is killed."""
import os
import shutil
import signal
import time

import pytest

from gate_scripts import PEER, US, Heard, driver, emit, run, script, start
from lab import Lab
from lab.procs import family, wait_for
from scapy.layers.inet import ICMP, IP
from test_gate import CLAIM, ICMP_PEER, UDP_PEER

FORBIDDEN = ["open", "socket", "exec", "ptrace", "fork", "clock", "clock_call", "rdtsc", "stdin", "stderr",
             "kill", "mmap", "sendmsg"]


@pytest.fixture(scope="module")
def scene():
    with Lab("sandbox") as lab:
        us, peer = lab.hosts("us", "peer")
        lab.link(us, peer, f"{US}/24", f"{PEER}/24")
        yield us, peer


@pytest.mark.parametrize("what", FORBIDDEN)
def test_the_engine_dies_of_trying(scene, what):
    us, _ = scene
    got = run(us, ICMP_PEER, f"try {what}", "end 0")
    if what == "rdtsc" and us.run(driver(), "--tsc").out != "closed\n":
        # a bare process that asked for it reads the counter too: the machine ignores CR4.TSD, and
        # then every result must say so
        assert "rdtsc" in us.sonde("print(1)").ok().stats_text()
        return
    assert f"trying {what}" in got.text and "survived" not in got.text
    assert got.rc == 5 and "killed by signal" in got.text


def status(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def caps(pid):
    s = status(pid)
    return {k: int(s[k], 16) for k in ("CapInh", "CapPrm", "CapEff", "CapAmb")}


def test_gate_and_engine_have_no_capability_at_any_time(scene):
    """Watched from their first appearance on: only cmd (before) and the opener ever have one.  The engine
    is born with those of a user namespace that holds nothing, and drops them before it reads a message."""
    us, _ = scene
    for _ in range(5):
        proc = start(us, UDP_PEER, ICMP_PEER, "wait 150", "end 0")
        seen = {}
        while proc.rc is None:
            for pid in family(proc.pid):
                try:
                    s, user = status(pid), os.readlink(f"/proc/{pid}/ns/user")
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if s["Name"] == "gate_driver":
                    mask = int(s["CapEff"], 16) | int(s["CapPrm"], 16)
                    here = user == os.readlink("/proc/self/ns/user")
                    seen.setdefault(pid, []).append((mask if here else 0, 0 if here else mask, s["NoNewPrivs"]))
        able = [pid for pid, rows in seen.items() if any(mask for mask, _, _ in rows)]
        apart = [pid for pid, rows in seen.items() if any(mask for _, mask, _ in rows)]
        assert len(able) <= 2 and len(apart) <= 1 and len(seen) >= 4, seen  # cmd and opener; the engine
        assert all(seen[pid][-1][1] == 0 for pid in apart), seen
        assert all(n == "1" for pid, rows in seen.items() if pid not in able for _, _, n in rows)


def test_what_each_process_may(scene):
    us, _ = scene
    proc = start(us, UDP_PEER, ICMP_PEER, "now", "wait 1500", "end 0")
    proc.until("go ")
    pids = [p for p in family(proc.pid) if status(p)["Name"] == "gate_driver"]
    netd = [p for p in pids if caps(p)["CapEff"]]
    assert len(netd) == 1 and set(caps(netd[0]).values()) == {0, 1 << 12}  # CAP_NET_ADMIN
    others = [p for p in pids if p not in netd]
    assert not any(any(caps(p).values()) for p in others)
    assert all(int(status(p)["CapBnd"], 16) == 0 for p in pids)
    assert len([p for p in pids if status(p)["Seccomp"] == "2"]) == 3  # all but cmd
    engine = [p for p in pids if os.readlink(f"/proc/{p}/ns/net") != os.readlink(f"/proc/{proc.pid}/ns/net")]
    assert len(engine) == 1
    for kind in ("user", "mnt", "pid", "net", "ipc", "uts"):
        assert os.readlink(f"/proc/{engine[0]}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}")
    assert len(os.listdir(f"/proc/{engine[0]}/fd")) == 2
    assert all(status(p)["Uid"].split()[0] != "0" for p in pids)
    proc.wait(10)


def nothing_left(us, pids):
    def gone(pid):
        try:
            return status(pid)["State"].startswith("Z")
        except (FileNotFoundError, ProcessLookupError):
            return True
    wait_for(lambda: all(gone(p) for p in pids), 5, why="all processes end")
    wait_for(lambda: "sonde" not in us.run("nft", "list", "tables").out, 2, why="the table goes")


@pytest.mark.parametrize("victim", range(4))
@pytest.mark.parametrize("how", ["spin", "wait 20000"])
def test_a_killed_process_takes_all_with_it(scene, victim, how):
    us, _ = scene
    proc = start(us, UDP_PEER, ICMP_PEER, CLAIM, how, "end 0")
    proc.until("claimed 1")
    pids = sorted(p for p in family(proc.pid) if status(p)["Name"] == "gate_driver")
    assert len(pids) == 4 and "sonde" in us.run("nft", "list", "tables").out
    os.kill(pids[victim], signal.SIGKILL)
    nothing_left(us, pids)
    proc.wait(10)
    assert proc.rc != 0


@pytest.mark.parametrize("after", [0.0, 0.002, 0.004, 0.006, 0.008, 0.012, 0.016, 0.02, 0.03, 0.05])
def test_killed_at_its_start(scene, after):
    us, _ = scene
    proc = start(us, UDP_PEER, ICMP_PEER, CLAIM, "spin", "end 0")
    wait_for(lambda: len(family(proc.pid)) >= 1, 2)
    time.sleep(after)
    pids = family(proc.pid)
    os.kill(pids[-1], signal.SIGKILL)
    if pids[0] == pids[-1] or "claimed" not in proc.out:
        time.sleep(0.05)
        for p in pids[:-1]:
            try:
                os.kill(p, signal.SIGKILL)
            except ProcessLookupError:
                pass
    nothing_left(us, pids)


def test_without_a_right_it_says_which_and_how_to_get_it(scene):
    us, _ = scene
    path = script(us, ICMP_PEER, "end 0")
    os.chmod(us.lab.dir, 0o755)
    p = us.run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", driver(), path,
               check=False)
    assert p.rc == 5 and "CAP_NET_RAW" in p.out and "CAP_NET_ADMIN" in p.out and "setcap cap_net_raw" in p.out


def test_file_capabilities_are_enough_for_an_ordinary_user(scene):
    us, peer = scene
    os.chmod(us.lab.dir, 0o755)
    exe = us.lab.path("driver-caps")
    shutil.copy(driver(), exe)
    us.run("setcap", "cap_net_raw,cap_net_admin+ep", exe)
    path = script(us, UDP_PEER, ICMP_PEER, CLAIM,
                  emit(1, IP(src=US, dst=PEER, id=1) / ICMP(id=4660, seq=1) / b"user"), "wait 100", "end 0")
    p = us.run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", exe, path, check=False)
    got = Heard(p.out, p.rc)
    assert p.rc == 0 and 1 in got.sent and got.frames, p.out + p.err
    assert "sonde" not in us.run("nft", "list", "tables").out


def test_what_is_no_message_ends_the_run(scene):
    us, _ = scene
    for bad in ("00000001ff", "0000000702000000010000", "00", "ffffffff02"):
        got = run(us, ICMP_PEER, "now", f"raw {bad}", "wait 100", "end 0")
        assert got.rc == 3, got.text
