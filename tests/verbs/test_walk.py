# SPDX-License-Identifier: Apache-2.0
"""walk and tracebox: where exactly this packet dies, and what is changed before each hop."""
import pytest

from ways import Way, table

pytestmark = pytest.mark.sonde


def test_where_exactly_this_packet_dies(both, version):
    """r2 drops SYNs to port 81 only: they die behind r1's far side; those to port 80 arrive."""
    way = Way(both, version, 3)
    way.end.service("tcp-accept", "80/::" if way.v6 else "80")
    way.routers[1].nft("table inet fw { chain f { type filter hook forward priority 0; tcp dport 81 drop; }; }")
    head = "IPv6" if way.v6 else "IP"
    run = way.us.sonde(f'for port in [80, 81]:\n    for h in walk({head}(dst="{way.dst}")/TCP(dport=port), max_ttl=8, timeout=0.4):\n'
                       '        print(port, h.ttl, h.addr, h.icmp, h.loss)').ok()
    rows = table(run)
    assert rows[:4] == [["80", str(i + 1), hop, "time-exceeded" if i < 3 else "syn-ack", "0.0"] for i, hop in enumerate(way.hops)]
    assert [r[2] for r in rows[4:]] == [*way.hops[:2]] + ["-"] * 6
    assert all(r[4] == "1.0" for r in rows[6:])


def test_walk_of_a_function_and_of_any_protocol(both, version):
    way = Way(both, version, 1)
    way.end.service("udp-echo", "7", "::" if way.v6 else "0.0.0.0")
    head, hop = ("IPv6", "hlim") if way.v6 else ("IP", "ttl")
    run = way.us.sonde(f'for h in walk(lambda ttl: {head}(dst="{way.dst}", {hop}=ttl)/UDP(dport=7)/bytes([ttl] * 20), probes=2):\n'
                       '    print(h.ttl, h.addr, h.icmp, h.sent, h.received, len(h.rtts))\n'
                       f'for h in walk(L3("{way.dst}")/Echo()/b"ping"):\n    print(h.ttl, h.addr, h.icmp)').ok()
    assert table(run) == [["1", way.hops[0], "time-exceeded", "2", "2", "2"], ["2", way.dst, "answer", "2", "2", "2"],
                          ["1", way.hops[0], "time-exceeded"], ["2", way.dst, "echo-reply"]]


def test_tracebox_sees_what_routers_rewrite(both, version):
    """r1 clears DSCP and clamps the MSS: r2 and what is behind it tell; r1 saw the SYN as it was sent."""
    way = Way(both, version, 3)
    way.end.service("tcp-accept", "80/::" if way.v6 else "80")
    family = "ip6" if way.v6 else "ip"
    way.routers[0].nft(f"table {family} box {{ chain f {{ type filter hook forward priority 0; "
                       f"tcp flags syn / syn,ack {family} dscp set cs0 tcp option maxseg size set 1200; }}; }}")
    run = way.us.sonde(f'for h in tracebox("{way.dst}"):\n    print(h.ttl, h.addr, h.icmp, h.changed)').ok()
    rows = [line.split(None, 3) for line in run.lines]
    assert [r[:3] for r in rows] == [[str(i + 1), hop, "time-exceeded" if i < 3 else "syn-ack"] for i, hop in enumerate(way.hops)]
    assert rows[0][3] == "[]"
    for r in rows[1:3]:
        assert ("IPv6.tc: 40 -> 0" if way.v6 else "IP.tos: 40 -> 0") in r[3].replace('"', ""), r
        assert "MSS 1460 -> 1200" in r[3], r
    assert run.warned("dscp_changed") and (run.warned("tcp_options_changed") or run.warned("mss_rewritten"))
