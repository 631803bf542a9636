# SPDX-License-Identifier: Apache-2.0
"""From exec to the first packet at the peer, and to the end of a one-packet run, beside
what scapy needs to be loaded."""
import statistics
import sys
import time

from common import Table, options, scaled, us

from lab import Lab
from lab.sonde import sonde_argv


def timed(node, argv):
    start = time.monotonic()
    p = node.start(*argv)
    rc = p.wait(60)
    seconds = time.monotonic() - start
    if rc != 0:
        raise RuntimeError(p.out + p.err)
    return seconds


def to_first_packet(node, argv):
    """When it was executed, in ns since the epoch, by the shell that then became it."""
    p = node.start("bash", "-c", 'echo "$EPOCHREALTIME" >&2; exec "$@"', "bash", *argv)
    if p.wait(60) != 0:
        raise RuntimeError(p.out + p.err)
    seconds, micros = p.err.split()[0].split(".")
    return int(seconds) * 10**9 + int(micros) * 1000


def main():
    o = options(__doc__)
    t = Table(o.judge)
    rounds = scaled(20, o.scale, 3)
    with Lab() as lab:
        a, b = lab.hosts("us", "peer")
        lab.link(a, b, "10.9.0.1/24", "10.9.0.2/24")
        sonde = sonde_argv('ping("10.9.0.2", count=1)')
        scapy = ["/usr/bin/python3", "-c", "from scapy.all import *"]
        timed(a, sonde), timed(a, scapy)  # file caches
        ours, theirs, bare = [], [], []
        for _ in range(rounds):
            ours.append(timed(a, sonde))
            theirs.append(timed(a, scapy))
            bare.append(timed(a, ["true"]))
            t.must("no table is left", "table" not in a.run("nft", "list", "tables").out)
        cap = b.ifaces["eth0"].capture("icmp[0] == 8", snaplen=64)
        execs = [to_first_packet(a, sonde) for _ in range(rounds)]
        stamps = [ns for ns, _ in cap.frames()]
        t.must("each run sent one packet", len(stamps) == rounds, str(len(stamps)))
        first = [(ns - start) / 1e9 for start, ns in zip(execs, stamps)]
        mine, yours = statistics.median(ours), statistics.median(theirs)
        t.row(f"sonde run -e 'ping(..., count=1)', median of {rounds}", us(mine))
        t.row('python3 -c "from scapy.all import *"', us(yours))
        t.row(f"from exec to the first packet at the peer, median of {rounds}", us(statistics.median(first)))
        t.row("starting `true` the same way, into the lab's namespaces", us(statistics.median(bare)))
        net = min(first) - min(bare)
        t.row("to the first packet, best, without that", us(net), "< 20 ms", net < 0.02)
        t.row("ratio", f"{mine / yours:.3f}", "< 0.1", mine < yours / 10)
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
