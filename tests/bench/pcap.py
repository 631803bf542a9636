# SPDX-License-Identifier: Apache-2.0
"""64-byte UDP packets of a capture file: read, decoded, counted by port, beside scapy
and tcpdump.  Each reads the ports, the length and the TTL of every packet; times are of
whole processes, start included."""
import pathlib
import random
import socket
import struct
import sys
import time

from common import Table, options, scaled

from lab import Lab
from lab.capture import write_pcap
from lab.procs import run
from lab.sonde import sonde_argv

PIECES = '''
n = {}
total = 0
while True:
    got = sniff("udp", count=2000, timeout=100)
    for p in got:
        n[p[UDP].dport] = n.get(p[UDP].dport, 0) + 1
        total += p[UDP].sport + p[UDP].len + p.ttl
    if len(got) < 2000:
        break
print(sum(n.values()), total, n[7])
'''
AT_ONCE = '''
n = {}
total = 0
for p in sniff("udp", timeout=100):
    n[p[UDP].dport] = n.get(p[UDP].dport, 0) + 1
    total += p[UDP].sport + p[UDP].len + p.ttl
print(sum(n.values()), total, n[7])
'''
SCAPY = '''
import sys
from scapy.all import IP, UDP, PcapReader
n, total = {}, 0
for p in PcapReader(sys.argv[1]):
    if UDP in p:
        u = p[UDP]
        n[u.dport] = n.get(u.dport, 0) + 1
        total += u.sport + u.len + p[IP].ttl
print(sum(n.values()), total, n[7])
'''
FLOWS = 64


def header_sum(head):
    s = sum(struct.unpack(">10H", head))
    return ~(s + s // 65535 + (s >> 16)) & 0xFFFF if s >> 16 else ~s & 0xFFFF


def frames(n):
    """n frames of 64 bytes of FLOWS flows, 10 us apart."""
    rng = random.Random(1)
    flows = [(socket.inet_aton(f"10.9.0.{i % 16 + 1}"), rng.randrange(1024, 65536), 7 + i % 32) for i in range(FLOWS)]
    for i in range(n):
        src, sport, dport = flows[rng.randrange(FLOWS)]
        head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 50, i & 0xFFFF, 0, 64, 17, 0, src, b"\x0a\x0a\x00\x01")
        head = head[:10] + struct.pack(">H", header_sum(head)) + head[12:]
        yield (1_000_000_000_000 + i * 10_000,
               bytes(6) + b"\x02\0\0\0\0\x01\x08\0" + head + struct.pack(">HHHH", sport, dport, 30, 0) + bytes(22))


def timed(argv, rounds=3):
    """Best of some runs: (seconds, what it printed)."""
    best, out = None, ""
    for _ in range(rounds):
        start = time.monotonic()
        out = run(argv, timeout=300).out
        seconds = time.monotonic() - start
        best = seconds if best is None else min(best, seconds)
    return best, out


def main():
    o = options(__doc__)
    t = Table(o.judge)
    n, few = scaled(200_000, o.scale, 4000), scaled(20_000, o.scale, 1000)
    with Lab() as lab:
        big, small = lab.path("big.pcap"), lab.path("small.pcap")
        write_pcap(big, frames(n))
        write_pcap(small, frames(few))

        def sonde(program, path):
            seconds, out = timed(sonde_argv(program, args=["--read", path, "--quiet"]))
            return seconds, out.split()

        ours, counted = sonde(PIECES, big)
        at_once, counted_at_once = sonde(AT_ONCE, big)
        t.must("every packet is counted", int(counted[0]) == n, counted)
        t.must("either way", counted_at_once == counted, counted_at_once)
        script = pathlib.Path(lab.path("count.py"))
        script.write_text(SCAPY)
        scapy, said = timed(["/usr/bin/python3", str(script), small])
        t.must("scapy counts the same", said.split() == sonde(PIECES, small)[1], said)
        dump, lines = timed(["tcpdump", "-nn", "-r", big])
        t.must("tcpdump has a line for each", lines.count("\n") == n)
        dump, _ = timed(["sh", "-c", f"exec tcpdump -nn -r {big} > /dev/null"])
        rate, at_once_rate, scapy_rate, dump_rate = n / ours, n / at_once, few / scapy, n / dump
        t.row(f"sonde run --read, {n} UDP packets of 64 bytes, in pieces; best of 3", f"{rate:,.0f}/s")
        t.row("the same, one list of all", f"{at_once_rate:,.0f}/s")
        t.row(f"scapy's PcapReader, {few} packets", f"{scapy_rate:,.0f}/s")
        t.row("tcpdump -nn -r > /dev/null", f"{dump_rate:,.0f}/s")
        t.row("ratio to scapy", f"{rate / scapy_rate:.0f}", ">= 100", rate >= 100 * scapy_rate)
        t.row("ratio to tcpdump", f"{rate / dump_rate:.2f}", ">= 0.5", rate >= dump_rate / 2)
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
