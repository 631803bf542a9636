# SPDX-License-Identifier: Apache-2.0
"""Kinds of links and paths: with and without Ethernet, bridges, IPv6 routers,
several flows over ECMP, small MTUs; and what the verbs say of them."""
import re

import pytest
from scapy.layers.inet import ICMP, IP

from lab import Lab

needs_sonde = pytest.mark.sonde


def tun_lab(lab):
    us = lab.host("us")

    def answer(packet):
        p = IP(packet) if packet[0] >> 4 == 4 else None
        if p is None or ICMP not in p or p[ICMP].type != 8:
            return []
        return [IP(src=p.dst, dst=p.src) / ICMP(type=0, id=p[ICMP].id, seq=p[ICMP].seq) / p[ICMP].payload]
    return us, lab.tun(us, "10.6.0.1", "10.6.0.2/32", answer)


def test_planted_tun_answers(lab):
    us, tun = tun_lab(lab)
    assert ", 2 received" in us.run("ping", "-c2", "-i0.05", "-W10", "10.6.0.2", check=False).out
    assert len(tun.seen) == 2


@needs_sonde
def test_ping_over_a_link_without_ethernet(lab):
    us, tun = tun_lab(lab)
    run = us.sonde('p = ping("10.6.0.2", count=5, interval=0.02)\nprint(p.received, p.corrupted)').ok()
    assert run.lines == ["5 0"]
    assert sum(1 for p in tun.seen if p[0] == 0x45) == 5


@needs_sonde
def test_ping_over_a_bridge(lab):
    sw = lab.bridge()
    us, peer = lab.hosts("us", "peer")
    lab.join(sw, us, "10.9.0.1/24")
    lab.join(sw, peer, "10.9.0.2/24")
    us.ip("link", "add", "name", "br1", "type", "bridge")
    us.ip("link", "set", "br1", "up")
    us.ip("addr", "del", "10.9.0.1/24", "dev", "eth0")
    us.ip("link", "set", "eth0", "master", "br1")
    us.ip("addr", "add", "10.9.0.1/24", "dev", "br1")
    run = us.sonde('p = ping("10.9.0.2", count=5, interval=0.02)\nprint(p.received, p.duplicates)').ok()
    assert run.lines == ["5 0"]


@needs_sonde
def test_ipv6_routers():
    with Lab("v6", ipv6=True) as lab:
        us, dst = lab.hosts("us", "dst")
        r1, r2 = lab.routers("r1", "r2")
        lab.link(us, r1, "fd00:1::1/64", "fd00:1::2/64")
        lab.link(r1, r2, "fd00:2::1/64", "fd00:2::2/64")
        lab.link(r2, dst, "fd00:3::1/64", "fd00:3::2/64", mtu=1280)
        us.ip("-6", "route", "add", "default", "via", "fd00:1::2")
        r1.ip("-6", "route", "add", "fd00:3::/64", "via", "fd00:2::2")
        r2.ip("-6", "route", "add", "fd00:1::/64", "via", "fd00:2::1")
        dst.ip("-6", "route", "add", "default", "via", "fd00:3::1")
        dst.service("tcp-accept", "80")
        run = us.sonde('for h in traceroute("fd00:3::2", probes=2):\n    print(h.ttl, h.addr, h.received)\n'
                       'print(pmtu("fd00:3::2").mtu)\n'
                       'print(ping("fd00:3::2", count=3, interval=0.02).received)').ok()
        assert run.lines == ["1 fd00:1::2 2", "2 fd00:2::2 2", "3 fd00:3::2 2", "1280", "3"]


@needs_sonde
def test_traceroute_shows_both_members_by_flow(lab):
    us, dst = lab.hosts("us", "dst")
    r1, a, b, r2 = lab.routers("r1", "a", "b", "r2")
    lab.link(us, r1, "10.1.0.1/24", "10.1.0.2/24")
    for i, m in ((1, a), (2, b)):
        lab.link(r1, m, f"10.2.{i}.1/24", f"10.2.{i}.2/24")
        lab.link(m, r2, f"10.3.{i}.1/24", f"10.3.{i}.2/24")
        m.route("10.4.0.0/24", f"10.3.{i}.2")
        m.route("10.1.0.0/24", f"10.2.{i}.1")
    lab.link(r2, dst, "10.4.0.1/24", "10.4.0.2/24")
    us.route("10.4.0.0/24", "10.1.0.2")
    r1.route("10.4.0.0/24", "10.2.1.2", "10.2.2.2")
    r2.route("10.1.0.0/24", "10.3.1.1")
    dst.route("10.1.0.0/24", "10.4.0.1")
    run = us.sonde('h = traceroute("10.4.0.2", flows=16)\nprint(h[1].addrs)\n'
                   'one = traceroute("10.4.0.2", probes=6)\nprint(len(one[1].addrs), one[3].addr)').ok()
    assert set(re.findall(r"10\.2\.\d\.2", run.lines[0])) == {"10.2.1.2", "10.2.2.2"}
    assert run.lines[1] == "1 10.4.0.2"


@needs_sonde
@pytest.mark.parametrize("silent", [False, True])
def test_pmtu_with_and_without_the_routers_word(lab, silent):
    """A black hole is told from a path whose router says what it wants."""
    us, dst = lab.hosts("us", "dst")
    r1, r2 = lab.routers("r1", "r2")
    lab.chain(us, r1, r2, dst, mtus=[1500, 1400, 1500])
    if silent:
        r1.nft("table inet m { chain o { type filter hook output priority 0; "
               "icmp type destination-unreachable drop; }; }")
    run = us.sonde('p = pmtu("10.20.3.2")\nprint(p.mtu, p.blackhole, p.reporter, p.reported_mtu)').ok()
    want = "1400 True - -" if silent else "1400 False 10.20.1.2 1400"
    assert run.lines == [want]


@needs_sonde
def test_tracebox_names_the_hop_that_strips(lab):
    us, dst = lab.hosts("us", "dst")
    r1, r2, r3 = lab.routers("r1", "r2", "r3")
    lab.chain(us, r1, r2, r3, dst)
    dst.service("tcp-accept", "80")
    r2.nft("table inet m { chain f { type filter hook forward priority 0; "
           "tcp flags syn reset tcp option sack-perm; tcp flags syn tcp option maxseg size set 1300; }; }")
    run = us.sonde('for h in tracebox("10.20.4.2", dport=80):\n    print(h.ttl, h.addr, h.changed)').ok()
    rows = [x.split(None, 2) for x in run.lines]
    assert [r[1] for r in rows] == ["10.20.1.2", "10.20.2.2", "10.20.3.2", "10.20.4.2"]
    assert "1300" not in rows[0][2] + rows[1][2]
    assert "1300" in rows[2][2] and re.search("SAck|options", rows[2][2])


@needs_sonde
def test_resolve_from_dnsmasq(lab):
    us, srv = lab.hosts("us", "srv")
    lab.link(us, srv, "10.9.0.1/24", "10.9.0.53/24")
    srv.start("dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--user=root",
              "--listen-address=10.9.0.53", "--bind-interfaces", "--pid-file=",
              "--address=/www.acme.corp/10.9.0.80", "--txt-record=t.acme.corp,hello")
    us.write("/etc/resolv.conf", "nameserver 10.9.0.53\n")
    srv.run("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do ss -lun | grep -q :53 && exit 0; sleep 0.1; done; exit 1")
    run = us.sonde('r = resolve("www.acme.corp", server="10.9.0.53")\nprint(r.rcode, [a.rdata for a in r.answers], r.received)\n'
                   'print([a.rdata for a in resolve("t.acme.corp", type="TXT", server="10.9.0.53").answers])\n'
                   'print(resolve("no.example", server="10.9.0.53").rcode)\n'
                   'print(resolve("www.acme.corp").received)').ok()
    assert "10.9.0.80" in run.lines[0] and run.lines[0].endswith(" 1")
    assert "hello" in run.lines[1]
    assert run.lines[3] == "1"


@needs_sonde
def test_name_as_destination_is_pinned_and_printed(lab):
    us, srv = lab.hosts("us", "srv")
    lab.link(us, srv, "10.9.0.1/24", "10.9.0.53/24")
    srv.start("dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--user=root",
              "--listen-address=10.9.0.53", "--bind-interfaces", "--pid-file=",
              "--address=/www.acme.corp/10.9.0.53")
    us.write("/etc/resolv.conf", "nameserver 10.9.0.53\n")
    srv.run("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do ss -lun | grep -q :53 && exit 0; sleep 0.1; done; exit 1")
    program = 'print(ping("www.acme.corp", count=2, interval=0.05).received)'
    run = us.sonde(program).ok()
    assert run.lines == ["2"] and "10.9.0.53" in run.said
    cap = srv.ifaces["eth0"].capture("udp port 53")
    assert us.sonde(program, installed='reach("www.acme.corp")\nzone("other.corp")\n').rc == 3
    us.sonde(program, command="check").ok()
    assert cap.frames() == []  # outside the zones, and in `check`: no look-up
