# SPDX-License-Identifier: Apache-2.0
"""The oracles see what they are to see: an oracle that is blind passes anything."""
import os
import subprocess
import sys

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_RR
from scapy.layers.inet6 import (ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, IPv6,
                                IPv6ExtHdrHopByHop)
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

from lab import oracle
from lab.capture import read_pcap, write_pcap
from lab.procs import wait_for

US, HOP = "02:00:00:00:00:01", "02:00:00:00:00:02"
ETH = Ether(src=US, dst=HOP)
OUT = IP(src="10.9.0.1", dst="10.9.0.2")
OUT6 = IPv6(src="fd00::1", dst="fd00::2")


def judge(frame):
    f = oracle.Forbidden(US, ["10.9.0.1", "fd00::1"], ["10.9.0.2", "fd00::2"], [HOP],
                         ports={61000}, dports={17: {7}, 6: {80}})
    return sorted(f.judge([(0, bytes(frame))]))


@pytest.mark.parametrize("frame", [
    ETH / OUT / ICMP(), ETH / OUT / UDP(sport=61000, dport=7) / b"x",
    ETH / OUT / TCP(sport=61000, dport=80, flags="S", chksum=1),
    Ether(src=US, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=US, psrc="10.9.0.1", pdst="10.9.0.2"),
    ETH / OUT6 / ICMPv6EchoRequest(), Ether(src=US, dst="33:33:ff:00:00:02") / OUT6 / ICMPv6ND_NS(),
    Raw(bytes(ETH / OUT / ICMP()) + bytes(18))])
def test_what_may_leave_passes(frame):
    assert judge(frame) == []


@pytest.mark.parametrize("kind, frame", [
    ("source MAC", Ether(src=HOP, dst=HOP) / OUT / ICMP()),
    ("next hop", Ether(src=US, dst="ff:ff:ff:ff:ff:ff") / OUT / ICMP()),
    ("EtherType 8100", ETH / Dot1Q(vlan=1) / OUT / ICMP()),
    ("EtherType 88cc", Ether(src=US, dst=HOP, type=0x88CC) / Raw(bytes(40))),
    ("version", Ether(src=US, dst=HOP, type=0x86DD) / Raw(bytes(OUT / ICMP()))),
    ("source address", ETH / IP(src="10.9.0.3", dst="10.9.0.2") / ICMP()),
    ("peer", ETH / IP(src="10.9.0.1", dst="10.9.0.9") / ICMP()),
    ("multicast or broadcast", ETH / IP(src="10.9.0.1", dst="224.0.0.1") / ICMP()),
    ("IP option", ETH / IP(src="10.9.0.1", dst="10.9.0.2", options=[IPOption_RR()]) / ICMP()),
    ("fragment", ETH / IP(src="10.9.0.1", dst="10.9.0.2", flags="MF") / ICMP()),
    ("IP lengths", ETH / IP(src="10.9.0.1", dst="10.9.0.2", len=999) / ICMP()),
    ("padding", Raw(bytes(ETH / OUT / ICMP()) + b"hidden")),
    ("above MTU", ETH / OUT / UDP(sport=61000, dport=7) / Raw(bytes(1500))),
    ("ICMP type", ETH / OUT / ICMP(type=3)), ("ICMP type", ETH / OUT / ICMP(type=5)),
    ("ICMP type", ETH / IPv6(src="fd00::1", dst="fd00::2", nh=58) / Raw(b"\x86" + bytes(15))),
    ("protocol 47", ETH / IP(src="10.9.0.1", dst="10.9.0.2", proto=47) / Raw(bytes(8))),
    ("port not owned", ETH / OUT / UDP(sport=5, dport=7)),
    ("remote port", ETH / OUT / UDP(sport=61000, dport=9)),
    ("UDP length", ETH / OUT / UDP(sport=61000, dport=7, len=4)),
    ("TCP offset", ETH / OUT / TCP(sport=61000, dport=80, dataofs=15)),
    ("ARP claim", Ether(src=US, dst=HOP) / ARP(op=2, hwsrc=US, psrc="10.9.0.1", pdst="10.9.0.2")),
    ("ARP source", Ether(src=US, dst=HOP) / ARP(hwsrc=HOP, psrc="10.9.0.1", pdst="10.9.0.2")),
    ("ND claim", ETH / OUT6 / ICMPv6ND_NA()),
    ("extension header", ETH / OUT6 / IPv6ExtHdrHopByHop() / ICMPv6EchoRequest()),
    ("multicast", ETH / IPv6(src="fd00::1", dst="ff02::1") / ICMPv6EchoRequest()),
    ("runt", Raw(b"123"))])
def test_what_may_not_is_named(kind, frame):
    assert kind in judge(frame)


def test_times_and_pairs():
    a = [(1000, bytes(ETH / OUT / ICMP(id=1, seq=1))), (2000, bytes(ETH / OUT / ICMP(id=1, seq=2))),
         (5000, bytes(ETH / IP(src="10.9.0.2", dst="10.9.0.1") / ICMP(type=0, id=1, seq=1)))]
    assert oracle.echo_rtts(a) == [4e-6]
    out = [(0, bytes(ETH / OUT / UDP(sport=5, dport=7) / b"abc"))]
    back = [(10**6, bytes(ETH / IP(src="10.9.0.2", dst="10.9.0.1") / UDP(sport=7, dport=5) / b"abc"))]
    assert oracle.round_trips(out, back, 7) == {(5, 3): 1e-3}
    assert oracle.udp_one_way(out, [(500, out[0][1])], 7) == {(5, 3): 5e-7}


def test_pcap_round_trip(tmp_path):
    frames = [(10**18 + 123456789, b"x" * 60), (10**18 + 999999999, b"y" * 1514)]
    write_pcap(tmp_path / "a.pcap", frames, unit=1)
    assert [(ns, d) for ns, d, _ in read_pcap(tmp_path / "a.pcap")] == frames
    cut = (tmp_path / "a.pcap").read_bytes()[:-1]
    (tmp_path / "b.pcap").write_bytes(cut)
    assert len(read_pcap(tmp_path / "b.pcap")) == 1


def test_a_killed_lab_leaves_nothing():
    code = ("import sys, os, time; sys.path.insert(0, sys.argv[1])\n"
            "from lab import Lab\nlab = Lab(); a = lab.host('a'); a.service('udp-echo', '7')\n"
            "print(a._hold.pid, a.start('sleep', '1000').pid, flush=True)\ntime.sleep(60)\n")
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    p = subprocess.Popen([sys.executable, "-c", code, here], stdout=subprocess.PIPE)
    pids = p.stdout.readline().split()
    assert len(pids) == 2 and all(os.path.exists(f"/proc/{int(x)}") for x in pids)
    p.kill()
    p.wait()

    def gone(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                return f.read().rsplit(")", 1)[1].split()[0] == "Z"
        except FileNotFoundError:
            return True
    wait_for(lambda: all(gone(int(x)) for x in pids), 5, why="the lab's processes end")


def test_the_host_is_not_touched(lab):
    us = lab.host("us")
    us.policy("x")
    assert us.read("/etc/sonde/policy.sonde") == "x"
    assert not os.path.exists("/etc/sonde/policy.sonde") or \
        open("/etc/sonde/policy.sonde", encoding="utf-8").read() != "x"
    assert us.run("ls", "/sys/class/net").out.split() == ["lo"]
