# SPDX-License-Identifier: Apache-2.0
"""--write keeps all traffic as a pcapng that others can read and that we read back;
--read runs a program's sniff on it."""
import os
import stat

import pytest

from lab.capture import tshark

pytestmark = pytest.mark.sonde


def test_written_traffic_is_what_was_on_the_wire(lab):
    us, peer = lab.hosts("us", "peer")
    lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
    cap = peer.ifaces["eth0"].capture()
    path = lab.path("run.pcapng")
    us.sonde('print(ping("10.9.0.2", count=10, interval=0.02).received)', args=["--write", path]).ok()
    mode = os.stat(path)
    assert stat.S_ISREG(mode.st_mode) and mode.st_mode & 0o022 == 0
    fields = ("frame.len", "icmp.type", "icmp.seq", "icmp.ident")
    ours = sorted(tuple(r) for r in tshark(path, *fields, flt="icmp"))
    true = sorted(tuple(r) for r in cap.tshark(*fields, flt="icmp"))
    assert ours == true and len(ours) == 20
    stamps = [float(r[0]) for r in tshark(path, "frame.time_epoch", flt="icmp")]
    theirs = [float(r[0]) for r in tshark(cap.path, "frame.time_epoch", flt="icmp")]
    assert abs(min(stamps) - min(theirs)) < 0.005
    assert stamps == sorted(stamps)


def test_what_was_written_can_be_read(lab):
    us, peer = lab.hosts("us", "peer")
    lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
    path = lab.path("run.pcapng")
    us.sonde('ping("10.9.0.2", count=5, interval=0.02)', args=["--write", path]).ok()
    run = us.sonde('n = [p for p in sniff("icmp", timeout=1) if p[ICMP].type == 0]\n'
                   'print(len(n), {str(p.src) for p in n})', args=["--read", path], user=65534).ok()
    assert run.lines[0].startswith("5 ") and "10.9.0.2" in run.lines[0]
