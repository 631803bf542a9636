# SPDX-License-Identifier: Apache-2.0
"""What the kernel says of the processes of a run, seen from outside: capabilities,
seccomp, namespaces, descriptors."""
import os
import pathlib
import time

import pytest

from lab.procs import family, wait_for
from test_kill import has_table

pytestmark = pytest.mark.sonde
CAP_NET_ADMIN = 1 << 12


class Seen:
    def __init__(self, pid):
        root = pathlib.Path(f"/proc/{pid}")
        self.pid = pid
        status = dict(x.split(":\t", 1) for x in (root / "status").read_text().splitlines() if ":\t" in x)
        self.caps = {k: int(status[f"Cap{k}"], 16) for k in ("Inh", "Prm", "Eff", "Bnd", "Amb")}
        self.seccomp, self.no_new_privs = int(status["Seccomp"]), int(status["NoNewPrivs"])
        self.ns = {k: os.readlink(root / "ns" / k) for k in ("net", "mnt", "user", "pid")}
        self.fds = {fd.name: os.readlink(fd) for fd in (root / "fd").iterdir()}
        self.environ = (root / "environ").read_bytes()


@pytest.fixture
def scene(lab):
    us, peer = lab.hosts("us", "peer")
    lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
    proc = us.sonde('print(ping("10.9.0.2", count=300, interval=0.01).received)', background=True)
    wait_for(lambda: has_table(us) or proc.rc is not None, 5, why="the run's table")
    time.sleep(0.3)
    assert proc.rc is None, proc.out + proc.err
    pids = family(proc.pid)
    return proc.pid, [Seen(p) for p in pids]


def test_only_one_process_has_a_capability(scene):
    _, procs = scene
    able = [p for p in procs if p.caps["Eff"] or p.caps["Prm"]]
    assert len(able) == 1 and able[0].caps["Eff"] == able[0].caps["Prm"] == CAP_NET_ADMIN
    assert not any(p.caps["Inh"] or p.caps["Amb"] for p in procs)
    assert all(p.no_new_privs for p in procs)


def test_engine_and_gate_are_filtered(scene):
    cmd, procs = scene
    children = [p for p in procs if p.pid != cmd and not p.caps["Eff"]]
    assert len(children) >= 2 and all(p.seccomp == 2 for p in children)


def test_the_engine_has_namespaces_of_its_own_and_nearly_no_descriptor(scene):
    cmd, procs = scene
    host = next(p for p in procs if p.pid == cmd).ns
    apart = [p for p in procs if all(p.ns[k] != host[k] for k in ("net", "mnt", "user"))]
    assert len(apart) >= 1
    assert any(len(p.fds) <= 3 for p in apart), [p.fds for p in apart]
    for p in apart:
        assert not any(t.startswith("/") for t in p.fds.values() if t != "/dev/null"), p.fds


def test_netd_holds_no_packet_socket_and_children_no_environment(scene):
    cmd, procs = scene
    packet = set()
    for p in procs:
        if p.caps["Eff"]:
            rows = pathlib.Path(f"/proc/{p.pid}/net/packet").read_text().splitlines()[1:]
            packet = {f"socket:[{r.split()[-1]}]" for r in rows}
            assert not packet & set(p.fds.values())
    assert packet  # the gate's are there
    assert all(not p.environ.strip(b"\0") for p in procs if p.pid != cmd)
