# SPDX-License-Identifier: Apache-2.0
"""Packets a second through language, engine and gate, with stamps and recapture,
beside a bare sendto() loop in C and scapy's send(list), on one veth."""
import sys
import time

from common import WIDE, Table, options, scaled

from lab import Lab, tool

SCAPY = r'''
import sys, time
from scapy.config import conf
conf.verb = 0
from scapy.layers.inet import IP, UDP
from scapy.sendrecv import send
n = int(sys.argv[1])
p = [IP(dst="10.9.0.2") / UDP(sport=5000, dport=9) / bytes(64)] * n
t = time.monotonic()
send(p)
print(n / (time.monotonic() - t))
'''


def sonde_rate(a, iface, n, table):
    """Packets a second between the first and the last at the peer's interface."""
    chunk = min(n, 20000)
    program = (f"budget(packets={n + 10}, bytes=2000MB, rate=4000000, byte_rate=2000MB, time=120)\n"
               f'p = [IP(dst="10.9.0.2")/UDP(sport=50000, dport=9)/bytes(64)] * {chunk}\n'
               f"for i in range({n // chunk}):\n    send(p)\nsleep(0.2)\n")
    base = iface.counter("rx_packets")
    path = f"/proc/{iface.node._hold.pid}/net/dev"

    def seen():
        with open(path, encoding="ascii") as f:
            line = next(x for x in f if x.strip().startswith(iface.name + ":"))
        return int(line.split(":")[1].split()[1]) - base
    proc = a.sonde(program, installed=WIDE, background=True)
    total, first, last, marks = n // chunk * chunk, None, None, (0, 0)
    while proc.rc is None or last is None:
        now, count = time.monotonic(), seen()
        if first is None and count > 100:
            first, low = now, count
        if count != marks[1]:
            marks = (now, count)
        if count >= total:
            last = now
            break
        if proc.rc is not None and count < total:
            raise RuntimeError(f"{count} of {total}: {proc.out}{proc.err}")
        time.sleep(0.002)
    proc.wait(60)
    table.must("exit 0", proc.rc == 0, proc.out + proc.err)
    return (marks[1] - low) / (marks[0] - first)


def main():
    o = options(__doc__)
    t = Table(o.judge)
    n = scaled(400000, o.scale, 20000)
    with Lab() as lab:
        a, b = lab.hosts("us", "peer")
        lab.link(a, b, "10.9.0.1/24", "10.9.0.2/24")
        lab.warm()
        b.nft("table inet sink { chain in { type filter hook input priority 0; udp dport 9 drop; }; }")
        bare = [float(a.run(tool("sendto_loop"), "10.9.0.2", "9", str(n), "64").out) for _ in range(3)]
        ours = [sonde_rate(a, b.ifaces["eth0"], n, t) for _ in range(3)]
        m = scaled(5000, o.scale, 500)
        scapy = float(a.run("/usr/bin/python3", "-c", SCAPY, str(m), timeout=120).out)
        loop, mine = sorted(bare)[1], sorted(ours)[1]
        t.row("bare sendto() loop in C, 64 bytes of UDP payload", f"{loop:,.0f}/s")
        t.row("Sonde send(list), through the gate, stamped, recaptured", f"{mine:,.0f}/s")
        t.row("ratio to the bare loop", f"{mine / loop:.2f}", ">= 0.35", mine >= 0.35 * loop)
        t.row("scapy send(list)", f"{scapy:,.0f}/s")
        t.row("ratio to scapy", f"{mine / scapy:.0f}")
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
