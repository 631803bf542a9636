# SPDX-License-Identifier: Apache-2.0
"""The way of a frame through the real gate to a peer and back: bytes, next hops,
stamps, refusals; what the kernel must not do meanwhile."""
import os
import signal
import statistics
import time

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether

from gate_scripts import CLEANUP, IP6, PEER, US, Heard, emit, run, start
from lab import Lab
from lab.procs import family, wait_for

SOFTWARE = "kernel transmit or receive stamp"
RECAPTURE = "recapture of the sent frame"
ICMP_PEER, UDP_PEER, TCP_PEER = f"peer {PEER} 1 - -", f"peer {PEER} 17 7 50000", f"peer {PEER} 6 80 50000"
CLAIM = f"claim 1 1 4660 {US}"
NO_NEIGHBOUR, TOO_LONG, LINK_DOWN, BUDGET = 6, 7, 8, 9


@pytest.fixture
def scene(request):
    with Lab(request.node.name) as lab:
        us, peer = lab.hosts("us", "peer")
        lab.link(us, peer, f"{US}/24", f"{PEER}/24")
        yield us, peer


@pytest.fixture
def scene6(request):
    with Lab(request.node.name, ipv6=True) as lab:
        us, peer = lab.hosts("us", "peer")
        lab.link(us, peer, f"{US}/24 fd00:9::1/64", f"{PEER}/24 fd00:9::2/64")
        yield us, peer


def echo(seq=1, payload=b"hello", **kw):
    return IP(src=US, dst=PEER, id=seq, **kw) / ICMP(id=4660, seq=seq) / payload


def udp(payload=b"x", **kw):
    return IP(src=US, dst=PEER, **kw) / UDP(sport=50000, dport=7) / payload


def test_a_frame_arrives_byte_for_byte_and_its_stamps_are_those_of_the_wire(scene):
    us, peer = scene
    cap = peer.ifaces["eth0"].capture("icmp")
    probes = {i: echo(seq=i, payload=bytes(range(i, i + 40))) for i in range(1, 41)}
    got = run(us, ICMP_PEER, CLAIM, *[line for i, p in probes.items() for line in (emit(i, p), "wait 5")], "end 0")
    assert got.rc == 0, got.text
    at_peer = {p[ICMP].seq: p for p in cap.packets() if p[ICMP].type == 8}
    assert set(got.sent) == set(probes) and len(got.frames) == len(probes)
    for i, p in probes.items():
        seen = at_peer[i]
        assert bytes(seen)[14:] == bytes(p)
        assert (seen.src, seen.dst) == (us.ifaces["eth0"].mac, peer.ifaces["eth0"].mac)
        assert 0 <= seen.ns - got.sent[i][0] < 2_000_000  # it left before it came
    assert [got.sent[i][1] for i in (1, 40)] == [RECAPTURE, SOFTWARE]  # the first ones prove the stamps
    for i in probes:  # SENT before the FRAME that answers it
        tail = bytes([i]) + bytes(range(i + 1, i + 40))
        frame = next(k for k, x in enumerate(got.lines) if x and x[0] == "frame" and x[-1].endswith(tail.hex()))
        assert got.place("sent", str(i)) < frame


def test_the_kernel_stays_out_of_our_handshakes_for_good(scene):
    """Known fault 12: no reset by the kernel during the run, none in the 3 s after."""
    us, peer = scene
    peer.service("tcp-accept", "80")
    cap = us.ifaces["eth0"].capture("tcp or icmp")
    syn = IP(src=US, dst=PEER, id=77) / TCP(sport=50000, dport=80, flags="S", seq=1000)
    got = run(us, TCP_PEER, emit(1, syn), "wait 300",
              emit(2, IP(src=US, dst=PEER, id=78) / TCP(sport=50000, dport=80, flags="R", seq=1001), CLEANUP),
              "settle", "end 0")
    assert got.rc == 0 and set(got.sent) == {1, 2}, got.text
    assert any(f[5][14 + 20 + 13] == 0x12 for f in got.frames)  # the SYN-ACK came up
    assert any("kept from" in n for n in got.notes)
    time.sleep(3)
    ours = [p for p in cap.packets() if IP in p and p[IP].src == US]
    assert [(p[IP].id, str(p[TCP].flags)) for p in ours] == [(77, "S"), (78, "R")]


def test_udp_answers_cause_no_port_unreachable(scene):
    us, peer = scene
    peer.service("udp-echo", "7")
    cap = us.ifaces["eth0"].capture("udp or icmp")
    got = run(us, UDP_PEER, *[emit(i, udp(bytes([i]) * 20)) for i in range(1, 6)], "end 0")
    assert len(got.sent) == 5 or got.rc == 0, got.text
    time.sleep(3)
    assert not [p for p in cap.packets() if ICMP in p]


def test_a_silent_next_hop_is_asked_three_times_and_never_replaced_by_a_broadcast(scene):
    us, _ = scene
    cap = us.ifaces["eth0"].capture()
    ghost = "10.9.0.77"
    got = run(us, f"peer {ghost} 17 7 50000", f"peer {PEER} 1 - -", CLAIM,
              emit(1, IP(src=US, dst=ghost) / UDP(sport=50000, dport=7) / b"x"), emit(2, echo()),
              "wait 50", "settle", "end 0")
    assert got.notsent[1][0] == NO_NEIGHBOUR and ghost in got.notsent[1][1] and "eth0" in got.notsent[1][1]
    assert got.place("sent", "2") < got.place("notsent", "1")  # only that destination's frames waited
    asked = [p for p in cap.packets() if ARP in p and p[ARP].pdst == ghost]
    assert len(asked) == 3 and got.stat["probes"] in ("3", "4")
    assert all(b.ns - a.ns > 0.9e9 for a, b in zip(asked, asked[1:]))
    assert not [p for p in cap.packets() if IP in p and p.dst == "ff:ff:ff:ff:ff:ff"]
    assert us.run("ip", "neigh", "show", ghost).out == ""  # nothing was written


def test_above_the_mtu(scene):
    us, peer = scene
    cap = peer.ifaces["eth0"].capture("ip")
    got = run(us, UDP_PEER, emit(1, udp(b"d" * 2000, flags="DF")), emit(2, udp(bytes(3000), id=9)), "settle", "wait 50",
              "end 0")
    assert got.notsent[1][0] == TOO_LONG
    pieces = [p[IP] for p in cap.packets() if p[IP].id == 9 and p[IP].src == US]
    assert [(p.frag * 8, p.len - 20) for p in pieces] == [(0, 1480), (1480, 1480), (2960, 48)]
    assert 2 in got.sent and int(got.stat["packets"]) == 3


def test_link_down_before_and_during(scene):
    us, peer = scene
    us.ip("neigh", "replace", PEER, "lladdr", peer.ifaces["eth0"].mac, "dev", "eth0", "nud", "permanent")
    proc = start(us, ICMP_PEER, CLAIM, emit(1, echo(1)), "settle", "wait 2000", emit(2, echo(2)), "settle", "end 0")
    proc.until("sent 1")
    peer.ifaces["eth0"].set("down")
    proc.wait(10)
    got = Heard(proc.out, proc.rc)
    assert got.notsent[2][0] == LINK_DOWN and "eth0" in got.notsent[2][1], got.text
    again = run(us, ICMP_PEER, CLAIM, emit(1, echo(1)), "settle", "end 0")
    assert again.notsent[1][0] == LINK_DOWN


def test_vlan_tags_are_put_back_and_are_nobody_s_own_flow(scene):
    us, peer = scene
    got = start(us, "capture", "now", "wait 1000", "end 0")
    got.until("go ")
    s = peer.raw("eth0")
    tagged = Ether(src=peer.ifaces["eth0"].mac, dst="02:00:00:00:00:99") / Dot1Q(vlan=10, prio=5) / \
        IP(src="10.1.0.1", dst="10.1.0.2") / UDP(sport=1, dport=2) / b"tagged"
    double = Ether(src=peer.ifaces["eth0"].mac, dst="02:00:00:00:00:99", type=0x88a8) / Dot1Q(vlan=7, type=0x8100) / \
        Dot1Q(vlan=8) / IP(src="10.1.0.1", dst="10.1.0.3") / UDP(sport=1, dport=2) / b"double"
    time.sleep(0.2)
    for p in (tagged, double):
        s.send(bytes(p))
    got.wait(10)
    heard = Heard(got.out, got.rc)
    assert [f[5] for f in heard.frames if f[3] & 4] == [bytes(tagged), bytes(double)], heard.text
    assert all(f[4] == len(f[5]) for f in heard.frames)


def test_checksums_that_the_sender_left_open_are_told_apart(request):
    with Lab(request.node.name) as lab:
        us, peer = lab.hosts("us", "peer")
        lab.link(us, peer, f"{US}/24", f"{PEER}/24", offloads=True)
        peer.service("udp-echo", "7")
        got = run(us, UDP_PEER, ICMP_PEER, CLAIM, emit(1, udp(b"partial")), emit(2, echo()), "wait 100", "end 0")
        kinds = {f[5][14 + 9]: f[2] for f in got.frames}
        assert kinds[17] == 2  # not computed: the peer's stack offloads UDP
        assert kinds[1] != 2   # ICMP is always computed


def test_frames_larger_than_the_mtu_come_up_whole(request):
    with Lab(request.node.name) as lab:
        us, peer = lab.hosts("us", "peer")
        lab.link(us, peer, f"{US}/24", f"{PEER}/24", offloads=True)
        peer.service("udp-gso", "7")
        got = run(us, UDP_PEER, emit(1, udp(b"go")), "wait 200", "end 0")
        assert max((f[4] for f in got.frames), default=0) > 9000, got.text


def gate_of(proc):
    """The gate: no capability, packet sockets."""
    for pid in family(proc.pid):
        try:
            fds = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        except FileNotFoundError:
            continue
        if "anon_inode:[timerfd]" in fds:
            return pid
    return None


def test_our_own_drops_are_counted_and_told(scene):
    us, peer = scene
    peer.service("udp-flood", "7", "1400", "30000")
    proc = start(us, "bound packets 10", UDP_PEER, emit(1, udp(b"go")), "settle", "wait 1500", "end 0")
    proc.until("sent 1")
    gate = gate_of(proc)
    os.kill(gate, signal.SIGSTOP)
    time.sleep(0.5)
    os.kill(gate, signal.SIGCONT)
    proc.wait(20)
    got = Heard(proc.out, proc.rc)
    assert int(got.stat["drops"]) > 0 and got.all("drops"), got.text[-2000:]
    assert int(got.all("drops")[-1][0]) == int(got.stat["drops"])


def test_rates_pace_and_totals_stop(scene):
    us, _ = scene
    paced = run(us, "bound rate 100", ICMP_PEER, CLAIM, *[emit(i, echo(i)) for i in range(1, 41)], "settle", "end 0")
    times = [t for t, *_ in paced.sent.values()]
    assert len(times) == 40 and 0.25e9 < max(times) - min(times) < 1e9  # burst of 10, then 100/s
    assert int(paced.stat["held"]) >= 29 and any("paced by rate=100" in n for n in paced.notes)
    assert max(p for *_, p in paced.sent.values()) > 0.2e9
    spent = run(us, "bound packets 5", ICMP_PEER, CLAIM, *[emit(i, echo(i)) for i in range(1, 9)], "settle", "end 0")
    assert len(spent.sent) == 5 and spent.rc == 4 and spent.all("stop")[0] == ["2", "packets"]
    assert spent.notsent[6][0] == BUDGET


def middle_gap(us):
    """Of ten frames, asked for 2 ms apart in reverse order: ns between two departures, the median."""
    got = run(us, ICMP_PEER, CLAIM, emit(1, echo(1)), "settle", "now",
              *[emit(i, echo(i), delay=200_000 + 2000 * (12 - i)) for i in range(2, 12)], "settle", "end 0")
    order = [i for i, _ in sorted(got.sent.items(), key=lambda kv: kv[1][0])]
    assert order == [1, *range(11, 1, -1)]
    times = sorted(t for i, (t, *_) in got.sent.items() if i > 1)
    return statistics.median(b - a for a, b in zip(times, times[1:]))


def test_departures_follow_the_engine_s_schedule(scene):
    us, _ = scene
    run(us, ICMP_PEER, CLAIM, emit(1, echo(1)), "settle", "end 0")  # the neighbour is known then
    # whoever else works on this machine may make one run late, not each
    assert any(abs(middle_gap(us) - 2_000_000) < 300_000 for _ in range(16))


def test_local_queueing_is_told_apart(scene):
    us, _ = scene
    run(us, ICMP_PEER, CLAIM, emit(1, echo(1)), "settle", "end 0")
    us.ifaces["eth0"].tbf("1mbit", burst="2k", latency="2s")
    got = run(us, ICMP_PEER, CLAIM, *[emit(i, echo(i, b"q" * 1000)) for i in range(1, 11)], "settle", "wait 300", "end 0")
    queued = [q for _, (_, _, q, _) in sorted(got.sent.items())]
    assert len(queued) == 10 and queued[9] > 50_000_000 > queued[0], got.text


def test_a_frame_that_the_local_queue_dropped_was_not_sent(scene):
    us, _ = scene
    run(us, ICMP_PEER, CLAIM, emit(1, echo(1)), "settle", "end 0")
    us.ifaces["eth0"].tbf("100kbit", burst="1600", latency="10ms")
    got = run(us, ICMP_PEER, CLAIM, *[emit(i, echo(i, b"q" * 1000)) for i in range(1, 9)], "settle", "end 0")
    assert got.notsent and all(r == 10 for r, _ in got.notsent.values()), got.text
    assert set(got.sent) | set(got.notsent) == set(range(1, 9))


def test_ipv6_with_neighbour_solicitation(scene6):
    us, peer = scene6
    cap = peer.ifaces["eth0"].capture("ip6")
    probe = IPv6(src="fd00:9::1", dst="fd00:9::2") / ICMPv6EchoRequest(id=99, seq=1, data=b"six")
    got = run(us, "peer fd00:9::2 58 - -", "claim 1 58 99 fd00:9::1", emit(1, probe, kind=IP6), "settle", "wait 500", "end 0")
    assert 1 in got.sent and any(f[5][14 + 40] == 129 for f in got.frames), got.text
    asked = [p for p in cap.packets() if p.dst.startswith("33:33:ff")]
    assert asked and int(got.stat["probes"]) == 1


def test_claims_hold_ports_that_the_kernel_then_refuses_to_others(scene):
    us, _ = scene
    with us.socket(2, 2, 0) as taken:
        taken.bind((US, 50123))
        proc = start(us, UDP_PEER, f"claim 1 17 50123 {US}", f"claim 2 17 50124 {US}", f"claim 3 17 0 {US}",
                     "claim 4 17 50125 10.9.0.99", f"claim 5 6 80 {US}", f"claim 6 1 77 {US}", "wait 1500", "end 0")
        proc.until("claimed 6")
        with us.socket(2, 2, 0) as other, pytest.raises(OSError):
            other.bind((US, 50124))
        again = run(us, ICMP_PEER, f"claim 6 1 77 {US}", "end 0")
    got = Heard(proc.out, 0)
    ok = {c[0]: c[1] for c in got.all("claimed")}
    assert ok == {"1": "0", "2": "1", "3": "1", "4": "0", "5": "0", "6": "1"}
    assert int(next(c for c in got.all("claimed") if c[0] == "3")[2]) >= 61000
    assert again.all("claimed")[0][1] == "0"  # two runs never share an ICMP id


def test_a_source_port_that_another_program_holds_is_named(scene):
    us, _ = scene
    with us.socket(2, 2, 0) as taken:
        taken.bind((US, 50000))
        got = run(us, UDP_PEER, emit(1, udp()), "end 0")
    assert got.rc == 5 and "source port 50000" in got.text and "sent 1" not in got.text


def test_an_interface_that_is_not_there(scene):
    us, _ = scene
    got = run(us, ICMP_PEER, "now", "end 0", args=("--iface", "eth9"))
    assert got.rc == 5 and "no interface eth9" in got.text
    assert run(us, ICMP_PEER, "iface eth8", "now", "end 0").rc == 5


def test_facts_of_the_host(scene):
    us, _ = scene
    us.ip("route", "add", "10.50.0.0/16", "via", PEER)
    got = run(us, ICMP_PEER, "ask routes", "ask neighbors", "ask route 10.50.1.1", "route 3 10.50.0.9", "route 4 8.8.8.8",
              "end 0")
    rows = got.all("route_row")
    assert ["10.50.0.0", "16", PEER] == next(r for r in rows if r[0] == "10.50.0.0")[:3]
    assert ["10.50.1.1", "32", PEER] == next(r for r in rows if r[0] == "10.50.1.1")[:3]
    assert [r[:2] for r in got.all("route_ok")] == [["3", "1"], ["4", "0"]]
    assert got.all("route_ok")[0][3:6] == [US, PEER, "1500"]
    assert any(i[1] == "eth0" and i[2] == us.ifaces["eth0"].mac.replace(":", "") for i in got.all("iface"))


def test_ping_to_ourselves_on_a_tunnel_without_ethernet(scene):
    """A link without a header: the frame is the IP packet."""
    us, _ = scene
    us.ip("tuntap", "add", "dev", "tun0", "mode", "tun")
    tun = Tun(us)
    us.ip("addr", "add", "10.77.0.1/24", "dev", "tun0")
    us.ip("link", "set", "tun0", "up")
    probe = IP(src="10.77.0.1", dst="10.77.0.2", id=5) / ICMP(id=21, seq=1) / b"bare"
    proc = start(us, "peer 10.77.0.2 1 - -", "claim 1 1 21 10.77.0.1", emit(1, probe), "wait 500", "end 0")
    tun.answer_one()
    proc.wait(10)
    got = Heard(proc.out, proc.rc)
    assert tun.seen == bytes(probe) and 1 in got.sent, got.text
    assert got.frames and got.frames[0][5][:1] == b"\x45" and got.frames[0][5][20] == 0
    tun.close()


class Tun:
    def __init__(self, node):
        import fcntl
        import struct
        with node.inside():
            self.fd = os.open("/dev/net/tun", os.O_RDWR)
            fcntl.ioctl(self.fd, 0x400454CA, struct.pack("16sH", b"tun0", 0x1001))
        self.seen = None

    def answer_one(self):
        import select
        end = time.monotonic() + 5
        while time.monotonic() < end:
            if not select.select([self.fd], [], [], 0.2)[0]:
                continue
            data = os.read(self.fd, 2000)
            if data[0] >> 4 == 4 and data[9] == 1:
                self.seen = data
                p = IP(data)
                reply = IP(src=p.dst, dst=p.src) / ICMP(type=0, id=p[ICMP].id, seq=p[ICMP].seq) / bytes(p[ICMP].payload)
                os.write(self.fd, bytes(reply))
                return

    def close(self):
        os.close(self.fd)


def test_interrupt_tells_the_engine_and_ends_with_130(scene):
    us, _ = scene
    proc = start(us, ICMP_PEER, CLAIM, emit(1, echo()), "settle", "wait 20000", "end 0")
    proc.until("sent 1")
    cmd = next(p for p in family(proc.pid) if open(f"/proc/{p}/comm").read().strip() == "gate_driver")
    os.kill(cmd, signal.SIGINT)
    began = time.monotonic()
    assert proc.wait(10) == 130 and time.monotonic() - began < 4.5
    got = Heard(proc.out, proc.rc)
    assert got.all("stop")[0][0] == "1" and got.stat["packets"] == "1"
    wait_for(lambda: "sonde" not in us.run("nft", "list", "tables").out, 2, why="the table goes")
