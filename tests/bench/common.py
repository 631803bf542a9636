# SPDX-License-Identifier: Apache-2.0
"""What all benches share: options, the table line, the verdict.

A bench measures Sonde and its peers side by side in one run, since absolute
times of a machine mean nothing.  --scale 1 is the size that the bars are set
for; smaller scales only show that the bench works, so they do not judge."""
import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))


class Table:
    """One line a figure: name, value, bar, verdict."""

    def __init__(self, judge):
        self.judge, self.missed = judge, 0

    def row(self, name, value, bar="", good=None):
        verdict = "" if good is None else "ok" if good else "MISSED"
        self.missed += good is False
        print(f"| {name:<72} | {value:>14} | {bar:<14} | {verdict:<6} |", flush=True)

    def must(self, name, good, detail=""):
        """What must hold at any scale; no matter of speed."""
        if not good:
            print(f"{name}: does not hold {detail}", flush=True)
            sys.exit(1)

    def end(self):
        return 1 if self.judge and self.missed else 0


def options(doc):
    p = argparse.ArgumentParser(description=doc)
    p.add_argument("--scale", type=float, default=1.0, help="size (1: full, 0.05: quick)")
    p.add_argument("--judge", action="store_true", help="exit status 1 if a bar is missed")
    p.add_argument("--sonde", help="the binary (default: $SONDE, build/sonde)")
    o = p.parse_args()
    if o.sonde:
        os.environ["SONDE"] = os.path.abspath(o.sonde)
    return o


def scaled(n, scale, least=1):
    return max(least, round(n * scale))


def us(seconds):
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


def quantile(values, q):
    v = sorted(values)
    return v[min(len(v) - 1, int(q * len(v)))]


WIDE = ('budget(packets=4000000, bytes=4000MB, rate=4000000, byte_rate=4000MB, syn=1000, syn_rate=100, '
        'time=300)\nreach("10.0.0.0/8", udp=[7, 9], icmp=True)\n')
