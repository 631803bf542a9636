# SPDX-License-Identifier: Apache-2.0
"""A taken-over engine behind the real gate: frames of every kind that guardrails 3
and 4 forbid, random bytes, lying lengths, floods.  What left is judged by a
capture at the peer that shares no code with the gate: 0 forbidden frames."""
import re
import struct
import types

import pytest
from scapy.layers.dns import DNS, DNSQR
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption, fragment
from scapy.layers.inet6 import (ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_RA, ICMPv6ND_Redirect,
                                IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop,
                                IPv6ExtHdrRouting)
from scapy.layers.l2 import ARP, GRE, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw

from lab import oracle
from lab.procs import build_dir

needs_sonde = pytest.mark.sonde
US, PEER, OTHER = "10.9.0.1", "10.9.0.2", "10.9.0.3"
IP4, IP6, ETHER = 4, 6, 1
PROBE, CONN, CLEANUP = 0, 1, 2
LEGAL = IP(src=US, dst=PEER) / UDP(sport=50000, dport=7) / b"legal"


class Scene:
    def __init__(self, lab):
        self.us, self.peer = lab.hosts("us", "peer")
        other = lab.host("other")
        sw = lab.bridge()
        self.a = lab.join(sw, self.us, f"{US}/24 fd00:9::1/64")
        self.b = lab.join(sw, self.peer, f"{PEER}/24 fd00:9::2/64")
        self.c = lab.join(sw, other, f"{OTHER}/24")
        self.peer.service("udp-echo", "7")
        self.peer.service("tcp-accept", "80")
        self.lab = lab
        # All that leaves us, at the first thing that it reaches.
        self.cap = sw.ifaces["eth0"].capture("not dst host ff02::16", direction="in")  # MLD: the kernel's own

    def run(self, mode, *args):
        return self.us.run(str(build_dir() / "tests" / "hostile"), mode, *args, timeout=60).out

    def frames(self, frames, mode="frames"):
        path = self.lab.path("attack.txt")
        with open(path, "w", encoding="ascii") as f:
            for kind, purpose, data in frames:
                f.write(f"{kind} {purpose} {self.a.index if kind == ETHER else 0} {bytes(data).hex()}\n")
        return self.run(mode, path)

    def judge(self):
        rows = self.cap.frames()
        return forbidden(self).judge(rows), rows


def forbidden(s):
    return oracle.Forbidden(s.a.mac, [US, "fd00:9::1"], [PEER, "fd00:9::2"], [s.b.mac], ports={50000, 50001},
                            dports={17: {7}, 6: {80}}, ids={7777})


@pytest.fixture
def scene(request):
    from lab import Lab
    with Lab(request.node.name, ipv6=True) as lab:
        yield Scene(lab)


def ip(**kw):
    return IP(**{"src": US, "dst": PEER, **kw})


def icmp(**kw):
    return ICMP(**{"id": 7777, **kw})


def udp(**kw):
    return UDP(**{"sport": 50000, "dport": 7, **kw})


def tcp(**kw):
    return TCP(**{"sport": 50000, "dport": 80, "flags": "S", **kw})


def eth(scene, **kw):
    return Ether(**{"src": scene.a.mac, "dst": scene.b.mac, **kw})


def ip_attacks():
    """(name, kind, packet) as IP packets."""
    big = ip(id=5) / udp() / Raw(bytes(3000))
    yield from (
        ("foreign peer", IP4, ip(dst=OTHER) / icmp()),
        ("foreign source", IP4, ip(src=OTHER) / icmp()),
        ("source 0.0.0.0", IP4, ip(src="0.0.0.0") / icmp()),
        ("loopback", IP4, ip(dst="127.0.0.1") / icmp()),
        ("ourselves", IP4, ip(dst=US) / icmp()),
        ("metadata", IP4, ip(dst="169.254.169.254") / icmp()),
        ("multicast", IP4, ip(dst="224.0.0.1") / icmp()),
        ("broadcast", IP4, ip(dst="255.255.255.255") / icmp()),
        ("directed broadcast", IP4, ip(dst="10.9.0.255") / icmp()),
        ("ICMP id not ours", IP4, ip() / icmp(id=1)),
        ("echo reply", IP4, ip() / icmp(type=0)),
        ("unreachable", IP4, ip() / icmp(type=3, code=1) / Raw(bytes(ip() / udp()))),
        ("redirect", IP4, ip() / icmp(type=5, gw=OTHER) / Raw(bytes(28))),
        ("router advertisement", IP4, ip() / icmp(type=9) / Raw(bytes(8))),
        ("time exceeded", IP4, ip() / icmp(type=11) / Raw(bytes(28))),
        ("UDP port", IP4, ip() / udp(dport=9)),
        ("TCP port", IP4, ip() / tcp(dport=81)),
        ("source port", IP4, ip() / udp(sport=50002)),
        ("kernel's port", IP4, ip() / tcp(sport=22)),
        ("UDP to the TCP port", IP4, ip() / udp(dport=80)),
        ("TCP to the UDP port", IP4, ip() / tcp(dport=7)),
        ("DNS without zone", IP4, ip() / udp(dport=53) / DNS(qd=DNSQR(qname="a.b"))),
        ("SNMP", IP4, ip() / udp(dport=161) / b"x"),
        ("DHCP", IP4, ip() / udp(dport=67) / b"x"),
        ("VXLAN", IP4, ip() / udp(dport=4789) / VXLAN() / Ether() / ip() / icmp()),
        ("GRE", IP4, ip() / GRE() / ip(dst=OTHER) / icmp()),
        ("IP in IP", IP4, ip(proto=4) / ip(dst=OTHER) / icmp()),
        ("OSPF", IP4, ip(proto=89) / Raw(bytes(24))),
        ("VRRP", IP4, ip(proto=112) / Raw(bytes(20))),
        ("SCTP", IP4, ip(proto=132) / Raw(bytes(32))),
        ("ESP", IP4, ip(proto=50) / Raw(bytes(32))),
        ("IP option", IP4, ip(options=[IPOption(b"\x83\x07\x04\x0a\x09\x00\x03")]) / icmp()),
        ("short IHL", IP4, ip(ihl=4) / icmp()),
        ("long IHL", IP4, ip(ihl=15) / icmp()),
        ("version 6 in 4", IP4, ip(version=6) / icmp()),
        ("version 5", IP4, ip(version=5) / icmp()),
        ("total length above", IP4, ip(len=200) / icmp()),
        ("total length below", IP4, ip(len=22) / icmp()),
        ("hidden bytes", IP4, Raw(bytes(ip() / icmp()) + b"hidden")),
        ("first fragment", IP4, ip(flags="MF") / udp() / Raw(bytes(16))),
        ("middle fragment", IP4, ip(flags="MF", frag=100) / Raw(bytes(16))),
        ("last fragment", IP4, fragment(big)[-1]),
        ("tiny fragment", IP4, ip(flags="MF", proto=6) / Raw(bytes(8))),
        ("above MTU, DF", IP4, ip(flags="DF") / udp() / Raw(bytes(1600))),
        ("UDP length below", IP4, ip() / udp(len=7)),
        ("UDP length above", IP4, ip() / udp(len=100)),
        ("TCP offset below", IP4, ip() / tcp(dataofs=4)),
        ("TCP offset above", IP4, ip() / tcp(dataofs=15)),
        ("cut UDP", IP4, ip(proto=17) / Raw(b"\xc3\x50\x00\x07")),
        ("cut TCP", IP4, ip(proto=6) / Raw(bytes(19))),
        ("cut IP", IP4, Raw(bytes(ip())[:12])),
        ("nothing", IP4, Raw(b"")),
        ("4 as 6", IP6, ip() / icmp()),
        ("IPv6 peer", IP6, IPv6(src="fd00:9::1", dst="fd00:9::3") / ICMPv6EchoRequest(id=7777)),
        ("v4-mapped", IP6, IPv6(src="fd00:9::1", dst=f"::ffff:{PEER}") / ICMPv6EchoRequest(id=7777)),
        ("NAT64", IP6, IPv6(src="fd00:9::1", dst=f"64:ff9b::{PEER}") / ICMPv6EchoRequest(id=7777)),
        ("6to4", IP6, IPv6(src="fd00:9::1", dst="2002:a09:2::1") / ICMPv6EchoRequest(id=7777)),
        ("v6 loopback", IP6, IPv6(src="fd00:9::1", dst="::1") / ICMPv6EchoRequest(id=7777)),
        ("v6 multicast", IP6, IPv6(src="fd00:9::1", dst="ff02::1") / ICMPv6EchoRequest(id=7777)),
        ("RA", IP6, IPv6(src="fd00:9::1", dst="ff02::1") / ICMPv6ND_RA()),
        ("NA", IP6, IPv6(src="fd00:9::1", dst="fd00:9::2") / ICMPv6ND_NA(tgt="fd00:9::3")),
        ("v6 redirect", IP6, IPv6(src="fd00:9::1", dst="fd00:9::2") / ICMPv6ND_Redirect()),
        ("hop by hop", IP6, IPv6(src="fd00:9::1", dst="fd00:9::2") / IPv6ExtHdrHopByHop() / ICMPv6EchoRequest(id=7777)),
        ("routing header", IP6, IPv6(src="fd00:9::1", dst="fd00:9::2") /
         IPv6ExtHdrRouting(addresses=["fd00:9::3"]) / ICMPv6EchoRequest(id=7777)),
        ("v6 fragment", IP6, IPv6(src="fd00:9::1", dst="fd00:9::2") / IPv6ExtHdrFragment(m=1) / Raw(bytes(16))),
        ("long chain", IP6, IPv6(src="fd00:9::1", dst="fd00:9::2") / IPv6ExtHdrDestOpt() / IPv6ExtHdrDestOpt() /
         IPv6ExtHdrDestOpt() / IPv6ExtHdrDestOpt() / ICMPv6EchoRequest(id=7777)),
    )


def ether_attacks(s):
    e = lambda **kw: eth(s, **kw)  # noqa: E731
    inner = ip() / icmp()
    yield from (
        ("VLAN tag", e() / Dot1Q(vlan=5) / inner),
        ("QinQ", e(type=0x88A8) / Dot1Q(vlan=5) / Dot1Q(vlan=6) / inner),
        ("MPLS", Raw(bytes(e(type=0x8847)) + b"\0\x01\x01\x40" + bytes(inner))),
        ("LLDP", e(type=0x88CC) / Raw(bytes(46))),
        ("STP", Raw(bytes.fromhex("0180c2000000") + bytes.fromhex(s.a.mac.replace(":", "")) + b"\0\x26\x42\x42\x03" + bytes(35))),
        ("PPPoE", e(type=0x8864) / Raw(bytes(46))),
        ("EtherType 0", e(type=0) / Raw(bytes(46))),
        ("foreign source MAC", e(src=s.c.mac) / inner),
        ("foreign next hop", e(dst=s.c.mac) / inner),
        ("broadcast MAC", e(dst="ff:ff:ff:ff:ff:ff") / inner),
        ("multicast MAC", e(dst="01:00:5e:00:00:01") / inner),
        ("EtherType 6, version 4", e(type=0x86DD) / Raw(bytes(inner))),
        ("EtherType ARP, IP inside", e(type=0x0806) / Raw(bytes(inner))),
        ("ARP claim", e() / ARP(op=2, hwsrc=s.a.mac, psrc=US, hwdst=s.b.mac, pdst=PEER)),
        ("ARP claim of another", e() / ARP(op=2, hwsrc=s.a.mac, psrc=OTHER, hwdst=s.b.mac, pdst=PEER)),
        ("gratuitous ARP", e(dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=s.a.mac, psrc=US, pdst=US)),
        ("ARP of another source", e(dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=s.a.mac, psrc=OTHER, pdst=PEER)),
        ("ARP of another MAC", e(dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=s.c.mac, psrc=US, pdst=PEER)),
        ("ARP for another", e(dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=s.a.mac, psrc=US, pdst=OTHER)),
        ("RARP", e(type=0x8035, dst="ff:ff:ff:ff:ff:ff") / ARP(op=3, hwsrc=s.a.mac, psrc=US, pdst=PEER)),
        ("short ARP", Raw(bytes(e(type=0x0806)) + bytes(20))),
        ("runt", Raw(b"\1\2\3")),
        ("foreign peer", e() / ip(dst=OTHER) / icmp()),
        ("padding with text", Raw(bytes(e() / inner) + b"secret")),
        ("jumbo", e() / ip() / udp() / Raw(bytes(9000))),
    )


def test_planted_oracle_calls_each_attack_forbidden():
    """So a frame that came through would be seen."""
    s = types.SimpleNamespace(a=types.SimpleNamespace(mac="02:00:00:00:00:01"),
                              b=types.SimpleNamespace(mac="02:00:00:00:00:02"),
                              c=types.SimpleNamespace(mac="02:00:00:00:00:03"))
    f = forbidden(s)
    assert [n for n, p in ether_attacks(s) if not f.offences(bytes(p))] == []
    heads = {k: bytes(eth(s, type=t)) for k, t in ((IP4, 0x800), (IP6, 0x86DD))}
    assert [n for n, k, p in ip_attacks() if not f.offences(heads[k] + bytes(p))] == []
    assert f.offences(heads[IP4] + bytes(LEGAL)) == []


def in_batches(attacks, size=12):
    rows = list(attacks)
    return [rows[i:i + size] for i in range(0, len(rows), size)]


def outcome(out):
    return {int(m[1]): m[2] for m in re.finditer(r"^(\d+) (sent|notsent)", out, re.M)}


@needs_sonde
def test_every_forbidden_ip_packet_is_refused(scene):
    """Each batch ends with a legal packet, which shows that the gate still sends."""
    legal = 0
    for batch in in_batches(ip_attacks()):
        out = scene.frames([(kind, PROBE, p) for _, kind, p in batch] + [(IP4, PROBE, LEGAL)])
        got = outcome(out)
        assert [n for i, (n, _, _) in enumerate(batch, 1) if got.get(i) != "notsent"] == [], out
        assert got[len(batch) + 1] == "sent", out
        legal += 1
    seen, rows = scene.judge()
    assert not seen, seen
    assert sum(1 for _, d in rows if b"legal" in d) == legal


@needs_sonde
def test_every_forbidden_frame_is_refused(scene):
    legal = eth(scene) / LEGAL
    n = 0
    for batch in in_batches(ether_attacks(scene)):
        out = scene.frames([(ETHER, PROBE, p) for _, p in batch] + [(IP4, PROBE, LEGAL), (ETHER, PROBE, legal)])
        got = outcome(out)
        assert [name for i, (name, _) in enumerate(batch, 1) if got.get(i) != "notsent"] == [], out
        n += 1
    seen, rows = scene.judge()
    assert not seen, seen
    assert sum(1 for _, d in rows if b"legal" in d) >= n


@needs_sonde
def test_purposes_and_kinds_that_do_not_exist(scene):
    out = scene.frames([(k, p, LEGAL) for k in (0, 2, 3, 5, 7, 255) for p in (PROBE, 3, 200)])
    seen, _ = scene.judge()
    assert not seen, (seen, out)


@needs_sonde
def test_sixteen_refused_frames_end_the_run(scene):
    out = scene.frames([(IP4, PROBE, ip(dst=OTHER) / icmp(seq=i)) for i in range(40)] + [(IP4, PROBE, LEGAL)])
    assert re.search(r"^exit 3", out, re.M), out
    seen, rows = scene.judge()
    assert not seen and not any(b"legal" in d for _, d in rows)


@needs_sonde
def test_syn_flood_stops_at_the_budget(scene):
    """The default budget is 100 connection attempts."""
    out = scene.frames([(IP4, PROBE, ip() / tcp(seq=i)) for i in range(400)])
    seen, rows = scene.judge()
    syns = [d for _, d in rows if d[23] == 6 and d[47] & 2]
    assert not seen and 0 < len(syns) <= 100, out[-500:]
    assert re.search(r"^exit 4", out, re.M), out[-500:]


@needs_sonde
def test_flood_stops_at_the_budget_and_keeps_the_rate(scene):
    """Defaults: 2,000 packets, 500 a second."""
    out = scene.frames([(IP4, PROBE, ip() / udp() / struct.pack("!I", i)) for i in range(2500)])
    seen, rows = scene.judge()
    sent = [ns for ns, d in rows if d[12:14] == b"\x08\x00" and d[23] == 17]
    assert not seen and len(sent) <= 2000, out[-500:]
    assert re.search(r"^exit 4", out, re.M), out[-500:]
    span = (sent[-1] - sent[0]) / 1e9
    assert (len(sent) - 50) / span < 510


@needs_sonde
def test_cleanup_frames_are_no_way_around(scene):
    """Resets of flows that nobody opened, and what is no reset, count like any probe."""
    out = scene.frames([(IP4, CLEANUP, ip() / tcp(flags="R", seq=i)) for i in range(14)])
    out += scene.frames([(IP4, CLEANUP, ip() / udp() / b"x")] * 14)
    seen, rows = scene.judge()
    assert not seen
    counted = sum(int(n) for n in re.findall(r"^gate packets (\d+)", out, re.M))
    assert counted == len([d for _, d in rows if d[12:14] == b"\x08\x00"]), out


@needs_sonde
def test_claims_of_foreign_ports_are_refused(scene):
    path = scene.lab.path("claims.txt")
    with open(path, "w", encoding="ascii") as f:
        f.write(f"17 53 {US}\n6 22 {US}\n6 1023 {US}\n17 0 {OTHER}\n6 0 10.9.0.77\n200 5 {US}\n17 0 {US}\n")
    out = scene.run("claims", path)
    said = re.findall(r"^claim \d+ (\w+)", out, re.M)
    assert said[:6] == ["refused"] * 6 and said[6:] == ["ok"], out
    seen, _ = scene.judge()
    assert not seen


@needs_sonde
def test_frames_before_the_manifest_do_not_leave(scene):
    scene.frames([(IP4, PROBE, LEGAL)] * 5, mode="early")
    seen, rows = scene.judge()
    assert not seen and not any(b"legal" in d for _, d in rows)


@needs_sonde
@pytest.mark.parametrize("seed", range(4))
def test_noise_sends_nothing_forbidden(scene, seed):
    out = scene.run("noise", str(seed), "2000")
    seen, _ = scene.judge()
    assert not seen, seen
    assert re.search(r"^exit [1-9]", out, re.M), out
    assert oracle.residue(scene.us) == []


@needs_sonde
def test_lying_lengths(scene):
    out = scene.run("lengths")
    seen, _ = scene.judge()
    assert not seen, seen
    assert re.search(r"^exit [1-9]", out, re.M), out
