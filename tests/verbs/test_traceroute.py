# SPDX-License-Identifier: Apache-2.0
"""traceroute, each parameter and field, through real Linux routers."""
import collections

import pytest
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import Ether

from lab.puppet import Puppet
from ways import Way, flow, table, tos, total, ttl

pytestmark = pytest.mark.sonde

KINDS = {"udp": "port-unreachable", "icmp": "echo-reply", "tcp": "rst"}


def probes_of(cap, us):
    return [p for p in cap.packets() if p.src == us.ifaces["eth0"].mac]


@pytest.mark.parametrize("proto", KINDS)
def test_each_probe_is_as_asked(both, version, proto):
    """size, df, tos, sport, dport, min_ttl, probes: as they are seen on the wire; the flow is constant."""
    way = Way(both, version, 3)
    cap = way.first.capture("ip6" if way.v6 else "ip", direction="in")
    sport = "" if proto == "icmp" else ", sport=40123, dport=40999"
    run = way.us.sonde(f'budget(syn=200, syn_rate=100)\n'
                       f'for h in traceroute("{way.dst}", proto="{proto}", size=200, df=True, tos=0x28, min_ttl=2, '
                       f'probes=4{sport}):\n'
                       '    print(h.ttl, h.addr, h.sent, h.received, h.loss, h.icmp, len(h.rtts), h.median > 0, h.addrs, h.note)').ok()
    assert table(run) == [
        [str(i + 1), hop, "4", "4", "0.0", "time-exceeded" if i < 3 else KINDS[proto], "4", "True", f"[{hop}]", "-"]
        for i, hop in enumerate(way.hops) if i >= 1]
    sent = [p for p in probes_of(cap, way.us) if total(p) == 200]
    counts = collections.Counter(ttl(p) for p in sent)
    assert [counts[t] for t in (2, 3, 4)] == [4, 4, 4] and not counts[1]
    assert {tos(p) for p in sent} == {0x28}
    assert len({flow(p) for p in sent}) == 1, "not one flow"
    if proto != "icmp":
        assert flow(sent[0]) == (40123, 40999)
    if version == 4:
        assert all("DF" in p[IP].flags for p in sent)


def diamond(lab, version):
    """us - r1 - (a | b) - r2 - dst: r1 shares flows out by ports."""
    us, dst = lab.hosts("us", "dst")
    r1, a, b, r2 = lab.routers("r1", "a", "b", "r2")
    v6 = version == 6
    at = (lambda net, host: f"fd00:{net}::{host}") if v6 else (lambda net, host: f"10.{net}.0.{host}")
    bits = "/64" if v6 else "/24"
    for net, left, right in ((1, us, r1), (2, r1, a), (3, r1, b), (4, a, r2), (5, b, r2), (6, r2, dst)):
        lab.link(left, right, at(net, 1) + bits, at(net, 2) + bits)
    everything = "fd00::/16" if v6 else "10.0.0.0/8"
    us.route(everything, at(1, 2))
    r1.route(everything, at(2, 2), at(3, 2))
    a.route(everything, at(4, 2))
    b.route(everything, at(5, 2))
    a.route(at(1, 0).removesuffix("0") + "/64" if v6 else "10.1.0.0/24", at(2, 1))
    b.route(at(1, 0).removesuffix("0") + "/64" if v6 else "10.1.0.0/24", at(3, 1))
    r2.route(everything, at(4, 1))
    dst.route(everything, at(6, 1))
    return us, a, b, at


@pytest.mark.parametrize("proto", ["udp", "tcp"])
def test_flows_find_parallel_routers_and_say_whose_is_which(both, version, proto):
    us, a, b, at = diamond(both, version)
    caps = {at(2, 2): a.ifaces["eth0"].capture(proto, direction="in"),
            at(3, 2): b.ifaces["eth0"].capture(proto, direction="in")}
    run = us.sonde(f'budget(syn=400, syn_rate=100)\n'
                   f'hops = traceroute("{at(6, 2)}", proto="{proto}", flows=8, probes=2)\n'
                   'print(len(hops), len(hops[1].addrs), hops[1].sent, len(hops[0].addrs), hops[3].loss)\n'
                   'for port in hops[1].by_flow:\n    print(port, hops[1].by_flow[port])\n'
                   f'one = traceroute("{at(6, 2)}", proto="{proto}", probes=8)\n'
                   'print("one", len(one[1].addrs), one[1].by_flow)').ok()
    rows = table(run)
    assert rows[0] == ["4", "2", "16", "1", "0.0"]
    assert rows[-1] == ["one", "1", "{}"]
    true = collections.defaultdict(set)
    for hop, cap in caps.items():
        for p in cap.packets():
            true[flow(p)[0]].add(f"[{hop}]")
    told = {int(r[0]): r[1] for r in rows[1:-1]}
    assert len(told) == 8 and len(set(told.values())) == 2
    assert all(true[port] == {hop} for port, hop in told.items())


def test_a_firewall_in_the_middle_does_not_end_the_trace(lab):
    """r2 prohibits what has a TTL of 1 left: the third probe; the others go on to the peer."""
    way = Way(lab, 4, 3)
    way.routers[1].nft("table ip fw { chain f { type filter hook forward priority 0; "
                       "ip ttl 1 ip protocol udp reject with icmp type admin-prohibited; }; }")
    run = way.us.sonde(f'for h in traceroute("{way.dst}", probes=2):\n    print(h.ttl, h.addr, h.icmp, h.loss)').ok()
    assert table(run) == [["1", way.hops[0], "time-exceeded", "0.0"], ["2", way.hops[1], "time-exceeded", "0.0"],
                          ["3", way.hops[1], "prohibited", "0.0"], ["4", way.dst, "port-unreachable", "0.0"]]


def test_a_small_link_is_told_with_its_mtu(both, version):
    """Behind a link of 1,300 bytes nothing comes through whole; the trace says who says so and ends there."""
    way = Way(both, version, 3, mtus=[None, 1300, None, None])
    run = way.us.sonde(f'for h in traceroute("{way.dst}", probes=1, size=1400, df=True):\n'
                       '    print(h.ttl, h.addr, h.icmp, h.mtu)').ok()
    rows = table(run)
    assert rows[0] == ["1", way.hops[0], "time-exceeded", "-"]
    assert rows[1] == ["2", way.hops[0], "fragmentation-needed", "1300"]
    assert len(rows) < 10 and all(r[1:] == rows[1][1:] for r in rows[1:])


def test_a_router_without_route_ends_it_after_four(lab):
    way = Way(lab, 4, 3)
    way.routers[1].ip("route", "del", way.net(3))
    run = way.us.sonde(f'for h in traceroute("{way.dst}", probes=1):\n    print(h.ttl, h.addr, h.icmp)').ok()
    assert table(run)[2] == ["3", way.hops[1], "net-unreachable"]
    assert len(run.lines) in (8, 12)  # after a few it says so once a second


def lsr(iface, labels):
    """The router behind iface answers UDP of TTL 1 as RFC 4950 says, with a stack of labels."""
    def answer(p):
        if UDP not in p or p[IP].ttl != 1:
            return []
        quote = bytes(p[IP])[:128].ljust(128, b"\0")
        stack = b"".join(bytes(MPLS(label=label, s=int(i == len(labels) - 1), ttl=1, cos=0))
                         for i, label in enumerate(labels))
        ext = bytes([0x20, 0, 0, 0]) + (4 + len(stack)).to_bytes(2, "big") + b"\1\1" + stack
        total_sum = sum(int.from_bytes(ext[i:i + 2], "big") for i in range(0, len(ext), 2))
        while total_sum >> 16:
            total_sum = (total_sum & 0xffff) + (total_sum >> 16)
        ext = ext[:2] + (0xffff - total_sum).to_bytes(2, "big") + ext[4:]
        return [Ether(src=p.dst, dst=p.src) / IP(src="10.20.1.2", dst=p[IP].src) /
                ICMP(type=11, code=0, length=32) / (quote + ext)]
    return Puppet(iface, answer)


def test_mpls_labels_are_told(lab):
    way = Way(lab, 4, 2)
    way.routers[0].nft("table ip quiet { chain out { type filter hook output priority 0; "
                       "icmp type time-exceeded drop; }; }")
    lsr(way.first, [16001, 24, 3])
    run = way.us.sonde(f'for h in traceroute("{way.dst}", probes=2):\n    print(h.ttl, h.addr, h.received, h.mpls)').ok()
    assert run.lines == ["1 10.20.1.2 2 [16001, 24, 3]", "2 10.20.2.2 2 []", f"3 {way.dst} 2 []"]


# ---- known fault 8: whose silence is loss ----

ASK = '''
for h in traceroute("{}", probes={}, proto="{}"):
    print(h.ttl, h.loss, h.note, h.received < h.sent)
'''


def limited(node, per_second_ms=1000):
    node.sysctl(**{"net.ipv4.icmp_ratelimit": per_second_ms, "net.ipv6.icmp.ratelimit": per_second_ms})


@pytest.mark.parametrize("which", [0, 1, 2])
def test_case_08_a_kernel_that_limits_its_errors_loses_nothing(both, version, which):
    """The kernel's own limit (one error a second to a peer, a few at once) at the first, the second
    router, or the destination itself."""
    way = Way(both, version, 2)
    limited([*way.routers, way.end][which])
    run = way.us.sonde(ASK.format(way.dst, 16, "udp")).ok()
    rows = table(run)
    assert [r[1] for r in rows] == ["0.0"] * 3
    assert [r[2] for r in rows] == ["rate-limited" if i == which else "-" for i in range(3)]
    assert rows[which][3] == "True"  # it did fall silent
    assert run.warned("rate_limited_responder", way.hops[which])


def test_case_08_forward_loss_stays_loss(lab):
    """Half of what leaves r1 towards r2 is lost: from hop 2 to the end that is loss, and nobody is called limited."""
    drops = ",".join(str(n) for n in range(1, 400) if n * 7919 % 13 < 6)
    way = Way(lab, 4, 3, cable={1: [f"ab.drop={drops}"]})
    lab.warm(way.us)
    run = way.us.sonde(ASK.format(way.dst, 12, "icmp")).ok()
    rows = table(run)
    assert rows[0][1:3] == ["0.0", "-"]
    assert all(float(r[1]) > 0.15 for r in rows[1:]), rows
    assert not run.warned("rate_limited_responder")


def test_walk_tells_a_limit_too(lab):
    way = Way(lab, 4, 2)
    limited(way.routers[0])
    run = way.us.sonde(f'for h in walk(IP(dst="{way.dst}")/UDP(dport=9)/b"x", probes=16):\n'
                       '    print(h.ttl, h.addr, h.loss, h.note)').ok()
    assert table(run) == [["1", way.hops[0], "0.0", "rate-limited"], ["2", way.hops[1], "0.0", "-"],
                          ["3", way.dst, "0.0", "-"]]
