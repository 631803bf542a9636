# SPDX-License-Identifier: Apache-2.0
"""Known faults 8 and 9: what a trace says of loss, of parallel routers and of errors on the way.
What each lab plants is proved without Sonde first (`test_planted_*`)."""
import time

import pytest
from scapy.layers.inet import ICMP, IP, UDP

from lab.handmade import Wire


def udp_probes(dst, ttl, n, sport=5000, dport=33434):
    return [IP(src="10.20.1.1", dst=dst, ttl=ttl) / UDP(sport=sport + i, dport=dport) for i in range(n)]


def answers(us, probes, gap=0.0):
    """(source, type, code) of each ICMP answer to the probes."""
    got = Wire(us, "eth0", "10.20.1.2").exchange(probes, gap=gap, wait=0.5)
    return [(p[IP].src, p[ICMP].type, p[ICMP].code) for p in got if ICMP in p]


# ---- case 8: loss, and who only seems to lose ----

def lossy_way(lab, *faults):
    """us - r1 - cable - r2 - dst: what the cable does lies between r1 and r2."""
    us, dst = lab.hosts("us", "dst")
    r1, r2 = lab.routers("r1", "r2")
    lab.link(us, r1, "10.20.1.1/24", "10.20.1.2/24")
    lab.cable(r1, r2, "10.20.2.1/24", "10.20.2.2/24", *faults)
    lab.link(r2, dst, "10.20.3.1/24", "10.20.3.2/24")
    us.route("10.20.0.0/16", "10.20.1.2")
    r1.route("10.20.3.0/24", "10.20.2.2")
    r2.route("10.20.1.0/24", "10.20.2.1")
    dst.route("10.20.0.0/16", "10.20.3.1")
    return us, r1, r2, dst


def limit_errors(node, kind, rate=5):
    """The node sends at most `rate` ICMP errors of that type a second."""
    node.nft(f"table inet slow {{ chain out {{ type filter hook output priority 0; "
             f"icmp type {kind} limit rate over {rate}/second burst 1 packets drop; }}; }}")


EVERY_THIRD = "ab.drop=" + ",".join(str(n) for n in range(3, 400, 3))
TRACE = '''
for h in traceroute("10.20.3.2", probes=8, timeout=0.3):
    print(h.ttl, h.addr, h.loss)
'''


def losses(run):
    """{address of the hop: loss} of TRACE's lines."""
    return {addr: float(loss) for _, addr, loss in (x.split() for x in run.lines)}


def test_planted_every_third_frame_is_lost(lab):
    us, _, _, _ = lossy_way(lab, EVERY_THIRD)
    assert len(answers(us, udp_probes("10.20.3.2", 2, 9), gap=0.05)) == 6
    assert len(answers(us, udp_probes("10.20.3.2", 1, 9), gap=0.05)) == 9


def test_planted_limits_of_errors(lab):
    us, r1, _, dst = lossy_way(lab)
    limit_errors(dst, "destination-unreachable")
    limit_errors(r1, "time-exceeded")
    for ttl in (1, 9):
        assert len(answers(us, udp_probes("10.20.3.2", ttl, 20))) < 10
        time.sleep(1)
        assert len(answers(us, udp_probes("10.20.3.2", ttl, 3), gap=0.5)) == 3


@pytest.mark.sonde
def test_case_08_a_last_hop_that_limits_its_errors_has_no_forward_loss(lab):
    """The destination itself sends few port unreachables."""
    us, _, _, dst = lossy_way(lab)
    limit_errors(dst, "destination-unreachable")
    run = us.sonde(TRACE).ok()
    assert losses(run) == {"10.20.1.2": 0, "10.20.2.2": 0, "10.20.3.2": 0}
    assert run.warned("rate_limited")


@pytest.mark.sonde
def test_case_08_real_loss_is_told_as_loss(lab):
    """Every third frame is lost behind r1: it shows from the second hop to the end, and nobody
    is called rate-limited."""
    us, _, _, _ = lossy_way(lab, EVERY_THIRD)
    run = us.sonde(TRACE).ok()
    got = losses(run)
    assert got["10.20.1.2"] == 0
    assert got["10.20.2.2"] > 0.1 and got["10.20.3.2"] > 0.1
    assert not run.warned("rate_limited")


@pytest.mark.sonde
def test_case_08_limit_and_loss_are_told_apart(lab):
    """r1 sends one error a second and every third frame is lost behind it: the first is no loss,
    the second is."""
    us, r1, _, _ = lossy_way(lab, EVERY_THIRD)
    limit_errors(r1, "time-exceeded", rate=1)
    run = us.sonde(TRACE).ok()
    got = losses(run)
    assert got["10.20.1.2"] == 0
    assert got["10.20.3.2"] > 0.1
    assert run.warned("rate_limited")


# ---- case 9: parallel routers, and errors on the way ----

def ecmp_lab(lab):
    """us - r1 =(ra | rb)= r2 - dst: r1 and r2 choose by the flow's ports."""
    us, dst = lab.hosts("us", "dst")
    r1, ra, rb, r2 = lab.routers("r1", "ra", "rb", "r2")
    lab.link(us, r1, "10.20.1.1/24", "10.20.1.2/24")
    for n, r in ((2, ra), (3, rb)):
        lab.link(r1, r, f"10.20.{n}.1/24", f"10.20.{n}.2/24")
        lab.link(r, r2, f"10.20.{n + 10}.1/24", f"10.20.{n + 10}.2/24")
        r.route("10.20.9.0/24", f"10.20.{n + 10}.2")
        r.route("10.20.1.0/24", f"10.20.{n}.1")
    lab.link(r2, dst, "10.20.9.1/24", "10.20.9.2/24")
    us.route("10.20.0.0/16", "10.20.1.2")
    dst.route("10.20.0.0/16", "10.20.9.1")
    r1.sysctl(**{"net.ipv4.fib_multipath_hash_policy": 1})
    r1.ip("route", "add", "10.20.9.0/24", "nexthop", "via", "10.20.2.2", "nexthop", "via", "10.20.3.2")
    r2.route("10.20.1.0/24", "10.20.12.1")
    return us, dst


def test_planted_parallel_routers(lab):
    us, _ = ecmp_lab(lab)
    many = answers(us, udp_probes("10.20.9.2", 2, 24))
    assert {a for a, _, _ in many} == {"10.20.2.2", "10.20.3.2"} and len(many) == 24
    one = answers(us, udp_probes("10.20.9.2", 2, 1) * 6)
    assert len({a for a, _, _ in one}) == 1


@pytest.mark.sonde
def test_case_09_parallel_routers_are_told_by_flow(lab):
    """One flow sees one router a hop, however often it asks; sixteen see both."""
    us, _ = ecmp_lab(lab)
    run = us.sonde('''
budget(packets=2000)
print([len(h.addrs) for h in traceroute("10.20.9.2", probes=6)])
h = traceroute("10.20.9.2", flows=16, probes=1)[1]
print(sorted(h.addrs), h.loss)
''').ok()
    assert run.lines == ["[1, 1, 1, 1]", "[10.20.2.2, 10.20.3.2] 0.0"]


@pytest.mark.sonde
def test_case_09_prohibited_in_the_middle_does_not_end_the_trace(lab):
    """r1 prohibits every other probe to the destination: the trace goes on behind it to the end,
    and the hop says so."""
    us, r1, _, _ = lossy_way(lab)
    r1.nft("table ip fw { chain f { type filter hook forward priority 0; "
           "ip daddr 10.20.3.2 meta l4proto udp numgen inc mod 2 == 0 "
           "reject with icmp type admin-prohibited; }; }")
    run = us.sonde('''
for h in traceroute("10.20.3.2", probes=4, max_ttl=6):
    print(h.ttl, h.addrs, h.icmp)
''').ok()
    assert [x.split()[0] for x in run.lines] == ["1", "2", "3"]
    assert "10.20.1.2" in run.lines[0]
    assert "10.20.1.2" in run.lines[1] and "10.20.2.2" in run.lines[1]
    assert "10.20.3.2" in run.lines[2]
    assert any("prohibited" in x for x in run.lines[1:])


@pytest.mark.sonde
def test_case_09_a_small_mtu_is_found_by_its_own_pass(lab):
    """The way behind r1 carries 1000 bytes: pmtu says so, large probes with DF are told "too big"
    by r1 on every hop behind it without ending the trace, and the usual ones lose nothing."""
    us, dst = lab.hosts("us", "dst")
    r1, r2 = lab.routers("r1", "r2")
    lab.chain(us, r1, r2, dst, mtus=[1500, 1000, 1500])
    run = us.sonde('''
print(pmtu("10.20.3.2").mtu)
print([h.loss for h in traceroute("10.20.3.2", probes=4)])
print([(h.addr, h.mtu) for h in traceroute("10.20.3.2", probes=1, size=1400, df=True, max_ttl=4)])
''').ok()
    assert run.lines == ["1000", "[0.0, 0.0, 0.0]",
                         "[(10.20.1.2, None), (10.20.1.2, 1000), (10.20.1.2, 1000), (10.20.1.2, 1000)]"]
