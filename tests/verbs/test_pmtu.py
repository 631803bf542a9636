# SPDX-License-Identifier: Apache-2.0
"""pmtu: steps, black holes there and back, answers in pieces, silence."""
import pytest

from ways import Way

pytestmark = pytest.mark.sonde

SAY = '''
p = pmtu("{}"{})
print(p.mtu, p.blackhole, p.reporter, p.reported_mtu, p.return_mtu, p.last_hop)
print(p.tried[0], len(p.tried))
'''


def ask(way, more=""):
    run = way.us.sonde(SAY.format(way.dst, more)).ok()
    return run.lines[0].split(), [int(x) for x in run.lines[1].split()]


def mute(node):
    """The router says nothing about packets that are too big."""
    node.nft("table inet mute { chain out { type filter hook output priority 0; "
             "icmp type destination-unreachable icmp code frag-needed drop; "
             "icmpv6 type packet-too-big drop; }; }")


@pytest.mark.parametrize("more", ["", ', proto="udp", dport=9999', ', proto="tcp", dport=80'], ids=["icmp", "udp", "tcp"])
def test_a_step_is_reported_and_verified(both, version, more):
    way = Way(both, version, 2, mtus=[None, 1400, None])
    cap = way.first.capture("ip6" if way.v6 else "ip", direction="in")
    told, tried = ask(way, more)
    assert told == ["1400", "False", way.hops[0], "1400", "-", "-"]
    assert tried == [1500, 3]  # 1,500, the 1,400 that was named, and one byte more
    sizes = {len(p) - 14 for p in cap.packets() if p.src == way.us.ifaces["eth0"].mac}
    assert {1500, 1400} <= sizes


def test_a_black_hole_on_the_way_there(both, version):
    """r2 takes 1,500 bytes, cannot send them on and does not say so."""
    way = Way(both, version, 3, mtus=[None, None, 1350, None])
    mute(way.routers[1])
    told, tried = ask(way)
    assert told == ["1350", "True", "-", "-", "-", way.hops[1]]
    assert tried[0] == 1500 and tried[1] < 28  # of IPv4 the timestamps search too


def large_answers_vanish(way, size):
    way.routers[-1].nft("table inet narrow { chain f { type filter hook forward priority 0; "
                        f"iifname eth1 meta length > {size} drop; }}; }}")


def test_a_black_hole_on_the_way_back(lab):
    """What is above 1,300 bytes comes back from nowhere; the peer's short answers show that it got there."""
    way = Way(lab, 4, 2)
    large_answers_vanish(way, 1300)
    told, _ = ask(way)
    assert told == ["1500", "True", "-", "-", "1300", "-"]


def test_a_step_there_and_a_black_hole_back(lab):
    way = Way(lab, 4, 2, mtus=[None, 1400, None])
    large_answers_vanish(way, 1300)
    told, _ = ask(way)
    assert told == ["1400", "True", way.hops[0], "1400", "1300", "-"]


def test_the_way_back_of_ipv6_by_udp(both, version):
    """No timestamps in ICMPv6: a port unreachable is short enough, if a port is given."""
    way = Way(both, version, 2)
    large_answers_vanish(way, 1300)
    if version == 4:
        way.end.nft("table ip no { chain in { type filter hook input priority 0; icmp type timestamp-request drop; }; }")
    told, _ = ask(way, ", dport=9")
    assert told == ["1500", "True", "-", "-", "1300", "-"]
    told, _ = ask(way)
    assert told == ["1300", "True", "-", "-", "-", way.hops[1]]


def test_answers_in_pieces_tell_the_way_back(lab):
    """Two links between r1 and r2: 1,500 bytes there, 1,300 back."""
    way = Way(lab, 4, 2)
    r1, r2 = way.routers
    lab.link(r1, r2, "10.30.0.1/24", "10.30.0.2/24", mtu=1300)
    r2.route("10.20.1.0/24", "10.30.0.1")
    told, tried = ask(way)
    assert told == ["1500", "False", "-", "-", "1300", "-"]
    assert tried == [1500, 1]


def test_silence_is_no_black_hole(both, version):
    way = Way(both, version, 1)
    way.end.nft("table inet q { chain in { type filter hook input priority 0; icmp type echo-request drop; "
                "icmpv6 type echo-request drop; }; }")
    told, tried = ask(way)
    assert told[:5] == ["-", "False", "-", "-", "-"]
    assert tried[1] < 6


def test_max_and_our_own_link(both, version):
    way = Way(both, version, 1, mtus=[1450, None])
    assert ask(way)[0][0] == "1450"
    told, tried = ask(way, ", max=1300")
    assert (told[0], tried) == ("1300", [1300, 1])
    told, tried = ask(way, ", max=9000")
    assert told[:2] == ["1450", "False"] and tried[0] == (1450 if way.v6 else 9000)
