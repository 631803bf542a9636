# SPDX-License-Identifier: Apache-2.0
"""Time to check a program of 1,000 lines, process included."""
import statistics
import sys
import time

from common import Table, options, scaled

from lab import Lab
from lab.procs import run
from lab.sonde import sonde_argv

BLOCK = '''def probe{i}(dst: ip, n):
    ok = 0
    for k in range(n):
        r = sr1(IP(dst=dst, ttl={ttl})/UDP(sport={port} + k, dport=33434)/bytes([k % 256]), timeout=0.5)
        if r:
            if ICMP in r and r[ICMP].type == 11:
                ok += 1
            print("hop", k, r.src, f"{{r.rtt.ms:.2f}} ms")
    return ok
total{i} = probe{i}("10.0.0.{host}", 3)
print("total", total{i}, [x * 2 for x in range({i}) if x % 3 == 0][:4])
'''


def program(lines):
    out = ["budget(packets=20000, time=600)\n"]
    i = 0
    while sum(b.count("\n") for b in out) + BLOCK.count("\n") <= lines:
        i += 1
        out.append(BLOCK.format(i=i, ttl=i % 30 + 1, port=20000 + i * 10, host=i % 250 + 1))
    text = "".join(out)
    return text + "# filler\n" * (lines - text.count("\n"))


def main():
    o = options(__doc__)
    t = Table(o.judge)
    rounds = scaled(20, o.scale, 3)
    with Lab() as lab:
        path = lab.path("long.sonde")
        with open(path, "w", encoding="utf-8") as f:
            f.write(program(1000))
        times, bare = [], []
        for _ in range(rounds):
            start = time.monotonic()
            run(["true"])
            bare.append(time.monotonic() - start)
            start = time.monotonic()
            p = run(sonde_argv(path, command="check"), check=False)
            times.append(time.monotonic() - start)
            t.must("it checks clean", p.rc == 0, p.out[-1500:] + p.err[-1500:])
        idle = statistics.median(bare)
        ms, best = (statistics.median(times) - idle) * 1e3, (min(times) - idle) * 1e3
        t.row("starting `true` the same way", f"{idle * 1e3:.1f} ms")
        t.row(f"sonde check of 1,000 lines, without that, median of {rounds}", f"{ms:.1f} ms", "< 50 ms", ms < 50)
        t.row("the same, best: labels and all facts", f"{best:.1f} ms", "< 80 ms", best < 80)
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
