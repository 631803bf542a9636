# SPDX-License-Identifier: Apache-2.0
"""All 200 transfers between our stack and the kernel, side by side (10 minutes at most).

  /usr/bin/python3 tests/peers/all.py [--workers 12] [--only TEXT]

Ends with "N passed, N failed"."""
import argparse
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from transfers import matrix, side_by_side  # noqa: E402


def tell(r, n):
    rate = r.case.path.size * 8 / max(r.seconds, 1e-6) / 1e6
    print(f"{n:3} {'ok    ' if not r.wrong else 'FAILED'} {r.case.name:<60} {r.seconds:6.1f} s {rate:8.2f} Mbit/s  {r.wrong}",
          flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--workers", type=int, default=12)
    p.add_argument("--only", default="", help="only cases whose name has this text")
    o = p.parse_args()
    began = time.monotonic()
    cases = [c for c in matrix() if o.only in c.name]
    results = side_by_side(sorted(cases, key=lambda c: -("300" in c.path.name or "20 %" in c.path.name)), o.workers, tell)
    bad = [r for r in results.values() if r.wrong]
    print(f"{time.monotonic() - began:.0f} s")
    print(f"{len(results) - len(bad)} passed, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
