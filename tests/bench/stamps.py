# SPDX-License-Identifier: Apache-2.0
"""Round-trip times against the truth of the peer's side, with both cores loaded;
beside them scapy's two ways on the same veth."""
import json
import statistics
import sys

from common import WIDE, Table, options, quantile, scaled, us

from lab import Lab, oracle

SCAPY = r'''
import json, sys, time
from scapy.config import conf
conf.verb = 0
from scapy.layers.inet import IP, ICMP
from scapy.sendrecv import sr
n, stamps, clocks = int(sys.argv[1]), [], []
for i in range(n):
    p = IP(dst="10.9.0.2") / ICMP(id=0x5ca9, seq=i)
    t = time.time()
    ans, _ = sr(p, timeout=1)
    clocks.append(time.time() - t)
    if ans:
        stamps.append((i, float(ans[0][1].time) - float(ans[0][0].sent_time)))
    else:
        clocks.pop()
print(json.dumps([stamps, clocks]))
'''


def wire(lab):
    a, b = lab.hosts("us", "peer")
    lab.link(a, b, "10.9.0.1/24", "10.9.0.2/24")
    a.service("burn", "2")
    return a, b


def sonde_errors(a, b, n, table):
    cap = b.ifaces["eth0"].capture("icmp")
    run = a.sonde(f'budget(packets={n + 100}, bytes=10MB, rate=2000, time=200)\n'
                  f'print(ping("10.9.0.2", count={n}, interval=0.002))',
                  installed=WIDE, json=True, timeout=240).ok()
    rtts = run.result("Ping")["rtts"]
    true = oracle.echo_rtts(cap.frames())
    table.must("all probes answered", len(rtts) == n and len(true) == n, f"{len(rtts)} {len(true)}")
    return [abs(x - y) for x, y in zip(rtts, true)]


def scapy_errors(a, b, n):
    cap = b.ifaces["eth0"].capture("icmp")
    p = a.start("/usr/bin/python3", "-c", SCAPY, str(n))
    p.wait(60 + n)
    if p.rc != 0:
        raise RuntimeError(p.err)
    stamps, clocks = json.loads(p.out)
    truth = {key[1]: (y - x) / 1e9 for key, (x, y) in oracle.echo_times(cap.frames()).items()
             if key[0] == 0x5CA9}
    return ([abs(v - truth[i]) for i, v in stamps],
            [abs(c - statistics.median(truth.values())) for c in clocks])


def main():
    o = options(__doc__)
    t = Table(o.judge)
    n, m = scaled(10000, o.scale, 100), scaled(500, o.scale, 20)
    with Lab() as lab:
        a, b = wire(lab)
        e = sonde_errors(a, b, n, t)
        t.row(f"|rtt - true| of ping, {n} probes, median", us(statistics.median(e)), "< 5 us",
              statistics.median(e) < 5e-6)
        t.row("|rtt - true| of ping, p99", us(quantile(e, 0.99)), "< 50 us", quantile(e, 0.99) < 50e-6)
        stamps, clocks = scapy_errors(a, b, m)
        for name, v in (("scapy r.time - s.sent_time", stamps), ("time.time() around scapy's sr1", clocks)):
            t.row(f"|rtt - true| of {name}, {len(v)} probes, median", us(statistics.median(v)))
            t.row(f"|rtt - true| of {name}, p99", us(quantile(v, 0.99)))
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
