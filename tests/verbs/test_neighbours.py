# SPDX-License-Identifier: Apache-2.0
"""arp() over ARP and neighbour discovery, and probes to everybody, against Linux kernels."""
import pytest
from scapy.layers.inet6 import ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPv6

from lab import Lab

pytestmark = pytest.mark.sonde


@pytest.fixture
def lab6(request):
    with Lab(request.node.name, ipv6=True) as made:
        yield made


def shared(lab, *hosts):
    """us and two more on one switch; both others claim .7 (::7), only b has .8 (::8)."""
    us, a, b = lab.hosts("us", "a", "b")
    br = lab.bridge()
    for node, addrs in zip((us, a, b), hosts):
        lab.join(br, node, addrs)
    return us, a, b


def words(run):
    return [line.split() for line in run.lines]


ASK = '''
for a in [{0}]:
    r = arp(a, count=2)
    print(a, len(r.rtts), r.mac == (r.macs[0] if r.macs else None), " ".join(sorted([str(m) for m in r.macs])))
'''


def test_arp_finds_owners_and_conflicts(lab):
    us, a, b = shared(lab, "10.9.0.1/24", "10.9.0.7/24", "10.9.0.7/24 10.9.0.8/24")
    run = us.sonde(ASK.format('"10.9.0.7", "10.9.0.8", "10.9.0.9"')).ok()
    macs = sorted([a.ifaces["eth0"].mac, b.ifaces["eth0"].mac])
    assert words(run) == [["10.9.0.7", "4", "True", *macs],
                          ["10.9.0.8", "2", "True", b.ifaces["eth0"].mac],
                          ["10.9.0.9", "0", "True"]]
    assert run.warned("duplicate-address", "10.9.0.7")


def test_arp_of_ipv6_solicits_neighbours(lab6):
    us, a, b = shared(lab6, "fd00:9::1/64", "fd00:9::7/64", "fd00:9::7/64 fd00:9::8/64")
    cap = a.ifaces["eth0"].capture("icmp6")
    run = us.sonde(ASK.format('"fd00:9::7", "fd00:9::8", "fd00:9::9"')).ok()
    macs = sorted([a.ifaces["eth0"].mac, b.ifaces["eth0"].mac])
    assert words(run) == [["fd00:9::7", "4", "True", *macs],
                          ["fd00:9::8", "2", "True", b.ifaces["eth0"].mac],
                          ["fd00:9::9", "0", "True"]]
    asked = [p for p in cap.packets() if ICMPv6ND_NS in p and p.src == us.ifaces["eth0"].mac
             and p[ICMPv6ND_NS].tgt == "fd00:9::9"]
    assert len(asked) == 2
    assert {(p[IPv6].dst, p.dst, p[IPv6].hlim, p[IPv6].src, p[ICMPv6NDOptSrcLLAddr].lladdr) for p in asked} == \
        {("ff02::1:ff00:9", "33:33:ff:00:00:09", 255, "fd00:9::1", us.ifaces["eth0"].mac)}


def test_directed_broadcast_is_answered_by_all(lab):
    us, a, b = shared(lab, "10.9.0.1/24", "10.9.0.7/24", "10.9.0.8/24")
    for node in (a, b):
        node.sysctl(**{"net.ipv4.icmp_echo_ignore_broadcasts": 0})
    word = 'reach("10.9.0.255", broadcast=True)\n'
    run = us.sonde(word + 'res = sr(IP(dst="10.9.0.255")/ICMP(), timeout=0.5)\n'
                   'print(res.received, res.unsolicited, len(res.unsolicited_all))\n'
                   'for s, rs in res.answers_all:\n    print(" ".join(sorted([str(r.src) for r in rs])))',
                   installed=word + 'reach("10.9.0.0/24")').ok()
    assert run.lines == ["1 0 0", "10.9.0.7 10.9.0.8"]
