# SPDX-License-Identifier: Apache-2.0
"""sr() of 20,000 probes at 20,000 a second over three routers: all matched, none
dropped by ourselves."""
import sys

from common import WIDE, Table, options, scaled

from lab import Lab


def main():
    o = options(__doc__)
    t = Table(o.judge)
    n = scaled(20000, o.scale, 1000)
    with Lab() as lab:
        us, dst = lab.hosts("us", "dst")
        lab.chain(us, *lab.routers("r1", "r2", "r3"), dst)
        lab.warm()
        cap = dst.ifaces["eth0"].capture("icmp[0] == 8", snaplen=64)
        run = us.sonde(f'budget(packets={n + 10}, bytes=20MB, rate=20000, byte_rate=100MB, time=60)\n'
                       f'res = sr([IP(dst="10.20.4.2")/ICMP()/b"12345678" for i in range({n})], timeout=2, rate=20000)\n'
                       'print(res.sent, res.received, res.duplicates, res.ambiguous)',
                       installed=WIDE, json=True, timeout=90).ok()
        sent, received, twice, ambiguous = map(int, run.lines[0].split())
        gate = run.json["stats"]["gate"]
        stamps = [ns for ns, _ in cap.frames()]
        rate = (len(stamps) - 1) / ((stamps[-1] - stamps[0]) / 1e9)
        drops = gate["capture_drops"] + gate["backlog_drops"]
        t.must("what it says it sent came", sent == len(stamps) == n, f"{sent} {len(stamps)}")
        t.row(f"sr() of {n} over 3 routers: answers matched", f"{received}", f"{n}", received == n)
        t.row("own drops", f"{drops}", "0", drops == 0)
        t.row("duplicates, ambiguous", f"{twice}, {ambiguous}", "0, 0", twice == ambiguous == 0)
        t.row("rate on the wire at the destination", f"{rate:,.0f}/s", ">= 19,000/s", rate >= 19000)
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
