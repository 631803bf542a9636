# SPDX-License-Identifier: Apache-2.0
"""ping, each parameter and field."""
import pytest
from scapy.layers.inet import IP, UDP

from ways import Way, tos, total, ttl

pytestmark = pytest.mark.sonde


def requests(cap, way):
    return [p for p in cap.packets() if p.src == way.us.ifaces["eth0"].mac]


def test_each_request_is_as_asked(both, version):
    way = Way(both, version, 1)
    way.us.ifaces["eth0"].addr(way.addr(0, 77) + way.bits)
    cap = way.first.capture("icmp6 and ip6[40] == 128" if way.v6 else "icmp[0] == 8", direction="in")
    run = way.us.sonde(f'p = ping("{way.dst}", count=4, size=300, interval=0.2, ttl=33, df=True, tos=0xb8, src="{way.addr(0, 77)}")\n'
                       'print(p.sent, p.received, p.loss, len(p.rtts), p.min <= p.median <= p.max, p.min <= p.avg <= p.max, '
                       'p.jitter >= 0, p.ttls, p.duplicates, p.reordered, p.corrupted, p.errors, p.lost_runs)').ok()
    assert run.lines == ["4 4 0.0 4 True True True [63, 63, 63, 63] 0 0 0 {} []"]
    sent = requests(cap, way)
    assert [(total(p), ttl(p), tos(p)) for p in sent] == [((40 if way.v6 else 20) + 8 + 300, 33, 0xB8)] * 4
    layer = "IPv6" if way.v6 else "IP"
    assert {p[layer].src for p in sent} == {way.addr(0, 77)}
    if not way.v6:
        assert all("DF" in p[IP].flags for p in sent)
    gaps = [(b.ns - a.ns) / 1e9 for a, b in zip(sent, sent[1:])]
    assert all(0.1 < g < 0.5 for g in gaps) and 0.5 < sum(gaps) < 0.9


def test_what_is_no_reply_is_an_error_with_its_sender(both, version):
    way = Way(both, version, 2)
    run = way.us.sonde(f'p = ping("{way.dst}", count=2, interval=0.05, ttl=1, timeout=0.5)\n'
                       'print(p.sent, p.received, p.loss, p.min, p.errors, p.lost_runs, p.jitter, p.ttls)').ok()
    assert run.lines == [f"2 0 1.0 - {{'time-exceeded from {way.hops[0]}': 2}} [] - []"]


def test_longer_than_the_link_with_df_is_not_sent(lab):
    way = Way(lab, 4, 0)
    run = way.us.sonde('for df in [True, False]:\n'
                       f'    p = ping("{way.dst}", count=2, interval=0.05, size=2000, df=df)\n'
                       '    print(p.sent, p.received, p.loss)').ok()
    assert run.lines == ["0 0 -", "2 2 0.0"]
    assert run.warned("not_sent", "too long")


def test_losses_copies_damage_and_order(lab):
    """What the bad cable does is what is told: requests 2 and 3 lost, reply 1 twice, one reply damaged, one late."""
    way = Way(lab, 4, 0, cable={0: ["ab.drop=3,4", "ba.twice=2"]})
    lab.warm()
    run = way.us.sonde(f'p = ping("{way.dst}", count=6, interval=0.05)\n'
                       'print(p.sent, p.received, round(p.loss, 3), p.duplicates, p.lost_runs)').ok()
    assert run.lines == ["6 4 0.333 1 [2]"]


def test_a_name_and_a_count_of_none(lab):
    way = Way(lab, 4, 0)
    run = way.us.sonde(f'p = ping("{way.dst}", count=0)\nprint(p.sent, p.loss, p.avg, p.rtts, bool(p.loss > 0))').ok()
    assert run.lines == ["0 - - [] False"]
