# SPDX-License-Identifier: Apache-2.0
"""The labs hold what their builders say: seen with ping and hand-made packets,
before the program under test is asked."""
import os
import random
import re
import statistics

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP
from scapy.packet import Raw

import labs
from lab import oracle
from lab.handmade import Wire


def ping(node, *args, dst="10.20.3.4"):
    out = node.run("ping", *args, dst, check=False).out
    return ([int(n) for n in re.findall(r"icmp_seq=(\d+) ttl", out)],
            [float(t) for t in re.findall(r"time=([\d.]+)", out)])


@pytest.mark.parametrize("jitter", [False, True])
def test_planted_01_three_of_fifty_lost(lab, jitter):
    at = labs.lab_01(lab, jitter)
    seqs, times = ping(at.us, "-c50", "-i0.01", "-W0.3")
    assert sorted(set(range(1, 51)) - set(seqs)) == [5, 17, 18]
    diffs = [abs(a - b) for a, b in zip(times, times[1:])]
    assert statistics.mean(diffs) > 10 if jitter else statistics.median(diffs) < 2


def test_planted_02_large_packets_die_behind_hop_2(lab):
    at = labs.lab_02(lab)
    wire = Wire(at.us, "eth0", at.gateway)
    for size, hops in ((100, [1, 2, 3, 4]), (1400, [1, 2])):
        got = wire.exchange([IP(src="10.255.1.1", dst="10.20.3.4", ttl=t, flags="DF")
                             / TCP(sport=50000 + size + t, dport=443, flags="S", seq=1000)
                             / Raw(bytes(size - 40)) for t in range(1, 5)], wait=0.3)
        froms = {p[IP].src for p in got if IP in p}
        assert froms == {["10.255.1.2", "10.255.2.2", "10.255.3.2", "10.20.3.4"][h - 1]
                         for h in hops}
    answer = [p for p in got if TCP in p]
    assert not answer


def test_planted_03_one_member_of_four_swallows(lab):
    at = labs.lab_03(lab)
    caps = [m.ifaces["eth0"].capture("tcp dst port 8080") for m in at.ms]
    wire = Wire(at.us, "eth0", at.gateway)
    got = wire.exchange([IP(src="10.255.1.1", dst="10.30.0.10") /
                         TCP(sport=p, dport=8080, flags="S", seq=7) for p in range(40000, 40064)],
                        gap=0.002, wait=0.5)
    answered = {p[TCP].dport for p in got if TCP in p and p[TCP].flags == "SA"}
    by_member = [{p[TCP].sport for p in c.packets()} for c in caps]
    assert set.union(*by_member) == set(range(40000, 40064))
    assert all(6 <= len(ports) <= 28 for ports in by_member)
    assert answered == set(range(40000, 40064)) - by_member[2]


def test_planted_04_the_buffer_fills(lab):
    at = labs.lab_04(lab)
    idle = min(ping(at.us, "-c5", "-i0.05", dst="10.40.0.2")[1])
    flood = at.us.start("/usr/bin/python3", "-c", "import socket, time\n"
                        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                        "for i in range(4000):\n"  # 4 to 20 s, at 10 Mbit/s or more
                        "    for k in range(5):\n        s.sendto(bytes(1400), ('10.40.0.2', 9))\n"
                        "    time.sleep(0.001)")
    loaded = 0
    for _ in range(20):
        loaded = max([loaded, *ping(at.us, "-c2", "-i0.1", "-W2", dst="10.40.0.2")[1]])
        if loaded > 200:
            break
    flood.stop()
    assert idle < 15 and 200 < loaded < 1000


def test_planted_05_options_change_at_the_second_router(lab):
    at = labs.lab_05(lab)
    cap = at.dst.ifaces["eth0"].capture("tcp dst port 80")
    wire = Wire(at.us, "eth0", at.gateway)
    wire.exchange([IP(src="10.255.1.1", dst="10.20.9.9") / TCP(sport=40000, dport=80, flags="S", seq=7, options=[
        ("MSS", 1460), ("SAckOK", b""), ("Timestamp", (1, 0)), ("NOP", None), ("WScale", 7)])], wait=0.3)
    got = dict(cap.packets()[0][TCP].options)
    assert got["MSS"] == 1200 and "SAckOK" not in got and got["WScale"] == 7


def test_planted_06_a_name_and_lost_questions(lab):
    at = labs.lab_06(lab)
    out = at.us.run("/usr/bin/python3", "-c", "import socket, struct\n"
                    "q = struct.pack('!6H', 7, 256, 1, 0, 0, 0) + b'\\3www\\4acme\\4corp\\0\\0\\1\\0\\1'\n"
                    "s = socket.create_connection(('10.0.0.53', 53))\n"
                    "s.sendall(struct.pack('!H', len(q)) + q)\nprint(s.recv(512)[-4:].hex())\n"
                    "u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nu.settimeout(0.3)\n"
                    "lost = []\n"
                    "for i in range(1, 13):\n"
                    "    u.sendto(q, ('10.0.0.53', 53))\n"
                    "    try:\n        u.recv(512)\n"
                    "    except TimeoutError:\n        lost.append(i)\n"
                    "print(lost)").out.split("\n")
    assert out[0] == "0a000050" and out[1] == str([n for n in labs.LOST_06 if n < 13])


def test_planted_07_a_kernel_answers_what_is_out_of_its_window(lab):
    at = labs.lab_07(lab)
    at.us.nft("table inet t { chain c { type filter hook output priority 0; tcp flags & rst == rst drop; }; }")
    wire = Wire(at.us, "eth0", at.gateway)
    got = wire.exchange([IP(src="10.20.5.1", dst="10.20.5.5") / TCP(sport=4000, dport=5432, flags="S", seq=99)],
                        wait=0.3)
    ack = got[0][TCP].seq + 1
    wire.exchange([IP(src="10.20.5.1", dst="10.20.5.5") / TCP(sport=4000, dport=5432, flags="A", seq=100, ack=ack)],
                  wait=0.1)
    got = wire.exchange([IP(src="10.20.5.1", dst="10.20.5.5") / TCP(sport=4000, dport=5432, flags="A",
                                                                   seq=1000000100, ack=ack) / Raw(b"x")], wait=0.3)
    assert [p[TCP].ack for p in got if TCP in p and p[TCP].flags == "A"] == [100]


def test_planted_08_return_path_cuts_replies_at_1400(lab):
    at = labs.lab_08(lab)
    wire = Wire(at.us, "eth0", at.gateway)
    for flags in ("DF", 0):
        got = wire.exchange([IP(src="10.255.1.1", dst="10.20.3.4", flags=flags) / ICMP(id=7, seq=1)
                             / Raw(os.urandom(1472))], wait=0.3)
        pieces = [(len(p[IP]), p[IP].ttl, str(p[IP].flags), p[IP].frag) for p in got
                  if IP in p and p[IP].src == "10.20.3.4"]
        assert pieces == [(1396, 60, "MF", 0), (124, 60, "", 172)]
    assert ping(at.us, "-c2", "-i0.05", "-M", "do", "-s", "1472")[0] == [1, 2]


def test_planted_09_two_macs_answer(lab):
    at = labs.lab_09(lab)
    cap = at.us.ifaces["eth0"].capture("arp")
    at.us.ip("neigh", "flush", "all")
    at.us.run("ping", "-c1", "-W1", "10.20.7.7", check=False)
    assert {p[ARP].hwsrc for p in cap.packets() if p[ARP].op == 2} == set(labs.MACS_09)


def test_planted_10_loss_only_if_both_are_busy(lab):
    at = labs.lab_10(lab)
    wire = Wire(at.us, "eth0", at.gateway)

    def packets(ports):
        return [IP(src="10.20.8.1", dst="10.20.8.8") / UDP(sport=20000 + i, dport=p) /
                Raw(random.randbytes(1400)) for i, p in enumerate(ports)]

    def echoed(got):
        return sum(1 for p in got if UDP in p and p[UDP].sport == 7)
    quiet = sum(echoed(wire.exchange([p], wait=0.2, until=echoed)) for p in packets([7] * 30))
    assert quiet == 30
    assert echoed(wire.exchange(packets([7 if i % 10 == 0 else 9 for i in range(400)]),
                                gap=0.00025, wait=0.3)) == 40
    assert at.cable.proc.rc is None
    both = echoed(wire.exchange(packets([7] * 400), gap=0.00025, wait=0.3))
    assert 100 < both < 330
    stats = at.cable.stats
    assert stats["ab"]["collided"] + stats["ba"]["collided"] == 400 - both


def test_planted_11_every_tenth_is_three_late(lab):
    at = labs.lab_11(lab)
    wire = Wire(at.us, "eth0", at.gateway)
    got = wire.exchange([IP(src="10.255.1.1", dst="10.50.1.1") / UDP(sport=40000, dport=7) /
                         Raw(bytes([i])) for i in range(200)], gap=0.002, wait=0.4)
    order = [p[UDP].load[0] for p in got if UDP in p]
    late = [(hi, q) for i, q in enumerate(order) if (hi := max(order[:i], default=-1)) > q]
    assert len(order) == 200 and len(late) == 19 and {hi - q for hi, q in late} == {3}


def test_planted_12_answers_to_the_claimed_source_come_by_r2(lab):
    at = labs.lab_12(lab)
    seg = at.r1.ifaces["eth0"].capture("udp", direction="in")
    back = at.r2.ifaces["eth0"].capture("udp", direction="out")
    wire = Wire(at.us, "eth0", at.gateway)
    got = wire.exchange([IP(src="10.20.4.1", dst="10.100.0.50") / UDP(sport=20000 + i, dport=9999)
                         / Raw(random.randbytes(n)) for n in labs.SIZES_12 for i in range(50)],
                        gap=0.002, wait=0.4)
    seen = {n: {p[UDP].dport - 20000 for p in got if UDP in p and len(p[UDP].load) == n
                and p[IP].dst == "10.20.4.1"} for n in labs.SIZES_12}
    assert {n: sorted(set(range(50)) - s) for n, s in seen.items()} == labs.LOST_12
    times = oracle.round_trips(seg.frames(), back.frames(), 9999)
    for n in labs.SIZES_12:
        want = 0.013 + (n + 28) * 2e-6
        got_n = [t for (_, size), t in times.items() if size == n]
        assert want <= min(got_n) < want + 0.001, n


def test_programs_are_the_twelve_examples():
    folder = os.path.join(os.path.dirname(__file__), "programs")
    names = sorted(os.listdir(folder))
    assert len(names) == 12 and [n[:2] for n in names] == [f"{i:02}" for i in range(1, 13)]
