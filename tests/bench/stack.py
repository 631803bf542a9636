# SPDX-License-Identifier: Apache-2.0
"""Our TCP beside the Linux kernel's on the same links, both with offloads off and with CUBIC
(a kernel's default may be another: BBR takes random loss for no sign at all), and what the
code costs without a kernel."""
import json
import pathlib
import sys

from common import Table, options, scaled

from lab import Lab, tool
from lab.procs import run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from transfers import PORT, QUIET, told  # noqa: E402


class Line:
    """host == shaper == sink: tbf in both directions in the middle, or the bad cable."""

    def __init__(self, rate=None, latency="50ms", burst="32k", faults=()):
        self.lab = Lab("line")
        self.us, self.peer = self.lab.hosts("us", "peer")
        self.src, self.dst = "10.9.1.1", "10.9.2.2"
        if faults:
            self.dst = "10.9.1.2"
            self.near, far, _ = self.lab.cable(self.us, self.peer, "10.9.1.1/24", "10.9.1.2/24", *faults)
        else:
            mid = self.lab.router("shaper")
            self.near, far = self.lab.link(self.us, mid, "10.9.1.1/24", "10.9.1.2/24")
            out, _ = self.lab.link(mid, self.peer, "10.9.2.1/24", "10.9.2.2/24")
            self.us.route("default", "10.9.1.2")
            self.peer.route("default", "10.9.2.1")
            far.tbf(rate, burst, latency)
            out.tbf(rate, burst, latency)
        self.mac = far.mac
        self.lab.warm()

    def stack(self, verb, *args):
        return self.us.start(tool("stack_host"), verb, f"iface={self.near.name}", f"mac={self.mac}", f"src={self.src}",
                             f"dst={self.dst}", f"port={PORT}", *args)

    def kernel(self, node, verb, *args):
        where = (f"dst={self.dst}",) if node is self.us else ()
        return node.start(tool("kernel_host"), verb, *where, f"port={PORT}", "cc=cubic", *args)

    def quiet(self, on):
        self.us.nft(QUIET if on else "delete table inet quiet")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.lab.close()


def mbits(line, t, ours, up, size, limit):
    """Goodput of one transfer as the receiver saw it, from its first byte to its last."""
    sends = f"send={size}"
    sink = line.kernel(line.peer, "listen", *(() if up else (sends,)), f"time={limit}")
    sink.until("ready", 10)
    if ours:
        line.quiet(True)
    host = (line.stack if ours else lambda *a: line.kernel(line.us, *a))("connect", *((sends,) if up else ()), f"time={limit}")
    host.wait(limit + 10), sink.wait(limit + 10)
    if ours:
        line.quiet(False)
    (a,), (b,) = told(host), told(sink)
    t.must("all bytes arrive", b["complete"] and a["sent_sha"] == b["received_sha"] and b["sent_sha"] == a["received_sha"],
           (host.out, host.err, sink.out))
    rx = b if up else a
    return size * 8 / rx["received_ns"] * 1e3


def compare(t, name, make, size, least, rounds=3, limit=120):
    """make(round) -> a Line: each transfer has one of its own, so that both see the same losses."""
    def one(ours, up, i):
        with make(i) as line:
            return mbits(line, t, ours, up, size, limit)
    for up in (True, False):
        mine, theirs = (sorted(one(ours, up, i) for i in range(rounds))[rounds // 2] for ours in (True, False))
        ratio = mine / theirs
        way = "up" if up else "down"
        t.row(f"{name}, {way}: ours / the kernel's", f"{mine:.1f} / {theirs:.1f} Mbit/s")
        t.row(f"{name}, {way}: ratio", f"{ratio:.2f}", f">= {least}", ratio >= least)


def alone(t, o):
    size = str(scaled(2000, o.scale, 100))
    both = [max(json.loads(run([tool("two_stacks"), "bulk", size, *x], timeout=120).out)["gbit"] for _ in range(3))
            for x in ((), ("trust",))]
    t.row("two stacks back to back in one process, one core, checksums verified", f"{both[0]:.2f} Gbit/s", ">= 3 Gbit/s",
          both[0] >= 3)
    t.row("the same, checksums trusted as a local peer's", f"{both[1]:.2f} Gbit/s")
    n = 10000
    mb = json.loads(run([tool("two_stacks"), "idle", str(n)], timeout=60).out)["bytes"] / 1e6
    t.row(f"memory of a stack with {n} idle connections", f"{mb:.1f} MB", "< 20 MB", mb < 20)


def main():
    o = options(__doc__)
    t = Table(o.judge)
    alone(t, o)
    rounds = 3 if o.scale >= 1 else 1
    for rate, mbit, least in (("10mbit", 10, 0.9), ("100mbit", 100, 0.9), ("1gbit", 1000, 0.5)):
        compare(t, f"tbf, {mbit} Mbit/s", lambda i, r=rate, m=mbit: Line(r, burst="256k" if m == 1000 else "32k"),
                scaled(min(mbit, 400) * 500_000, o.scale, 500_000), least, rounds)
    compare(t, "1 % loss, 50 ms round trip", lambda i: Line(faults=("loss=0.01", "delay=25ms", f"seed={i + 1}")),
            scaled(3_000_000, o.scale, 200_000), 0.9, 5 if o.scale >= 1 else 1, 200)
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
