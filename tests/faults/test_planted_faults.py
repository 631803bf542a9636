# SPDX-License-Identifier: Apache-2.0
"""The labs of the faults hold what they say, without the program under test."""
import socket
import time

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.packet import Raw

import test_faults as faults
from lab import oracle
from lab.handmade import Wire
from lab.puppet import silent_kernel


def test_planted_nat_changes_the_quote(lab):
    us, _, _, _ = faults.nat_lab(lab)
    wire = Wire(us, "eth0", "10.20.1.2")
    got = wire.exchange([IP(src="10.20.1.1", dst="10.20.3.2", ttl=t) / UDP(sport=5000 + t, dport=33434)
                         for t in (1, 2, 3)], wait=0.3)
    quotes = {p[IP].src: p[ICMP].payload.src for p in got if ICMP in p}
    assert quotes == {"10.20.1.2": "10.20.1.1", "10.20.2.2": "10.99.0.1", "10.20.3.2": "10.99.0.1"}


@pytest.mark.parametrize("shape", faults.SHAPES)
def test_planted_fragments(lab, shape):
    """The kernel itself merges the good shapes and drops the bad ones (as RFC 5722 for IPv6)."""
    us, peer = faults.two(lab)
    silent_kernel(peer)
    make, whole = faults.SHAPES[shape]
    puppet = faults.fragmenting(faults.eth0(peer), make)
    patience = "1" if whole is False else "10"
    p = us.run("ping", "-c1", "-W", patience, "-s", "1200", "10.9.0.2", check=False)
    assert (", 1 received" in p.out) == (whole is not False)
    assert sum(1 for q in puppet.seen if ICMP in q) == 1


def test_planted_super_frames_and_unset_checksums(lab):
    us, peer = faults.two(lab, offloads=True)
    peer.service("tcp-blob", "7000", "60000")
    cap = faults.eth0(us).capture("tcp", direction="in")
    with us.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.connect(("10.9.0.2", 7000))
        left = 60000
        while left:
            left -= len(s.recv(65536))
    assert max(len(d) for _, d in cap.frames()) > 1514
    assert "0" in {r[0] for r in cap.tshark("tcp.checksum.status")}


def test_planted_firewall_drops_syns_without_options(lab):
    us, dst = lab.hosts("us", "dst")
    r1, = lab.routers("r1")
    lab.chain(us, r1, dst)
    dst.service("tcp-accept", "80")
    faults.option_firewall(r1)
    wire = Wire(us, "eth0", "10.20.1.2")
    got = wire.exchange([IP(src="10.20.1.1", dst="10.20.2.2") / TCP(sport=4000 + i, dport=80, options=o)
                         for i, o in enumerate([[], [("MSS", 1460)]])], wait=0.3)
    assert {p[TCP].dport for p in got if TCP in p} == {4001}


def test_planted_rate_limited_router(lab):
    us, _ = faults.slow_router(lab)
    wire = Wire(us, "eth0", "10.20.1.2")

    def probes(n):
        return [IP(src="10.20.1.1", dst="10.20.3.2", ttl=1) / UDP(sport=5000 + i, dport=33434)
                for i in range(n)]
    assert len([p for p in wire.exchange(probes(20), wait=0.3) if ICMP in p]) < 10
    time.sleep(1)
    assert len([p for p in wire.exchange(probes(4), gap=0.3, wait=0.3) if ICMP in p]) == 4


def test_planted_shaper_queues(lab):
    us, peer = faults.two(lab)
    faults.eth0(us).tbf("1mbit", burst="3000", latency="2s")
    cap = faults.eth0(peer).capture("icmp")
    Wire(us, "eth0", "10.9.0.2").exchange(
        [IP(src="10.9.0.1", dst="10.9.0.2") / ICMP(id=1, seq=i) / Raw(bytes(1372)) for i in range(30)],
        wait=0.6)
    times = sorted(a for a, _ in oracle.echo_times(cap.frames()).values())
    assert len(times) >= 30 and times[-1] - times[0] > 0.2e9
