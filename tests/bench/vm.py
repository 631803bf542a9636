# SPDX-License-Identifier: Apache-2.0
"""Ten million integer additions in the VM, beside Debian's lua5.4."""
import subprocess
import sys
import time

from common import Table, options, scaled

from lab import Lab
from lab.capture import write_pcap
from lab.procs import ROOT, build_dir, run
from lab.sonde import sonde_argv

LUA = """
local clock, s = os.clock, 0
local start = clock()
for i = 0, {last} do s = s + i end
print(clock() - start, s)
"""
PROGRAM = """
s = 0
for i in range({n}):
    s += i
print(s)
"""


def best(measure):
    return min(measure() for _ in range(3))


def main():
    o = options(__doc__)
    t = Table(o.judge)
    n = scaled(10_000_000, o.scale)
    total = n * (n - 1) // 2
    vm = build_dir() / "src/vm/vm_bench"
    if not vm.exists():
        subprocess.run(["ninja", "-C", str(build_dir()), "src/vm/vm_bench"], check=True, cwd=ROOT,
                       stdout=subprocess.DEVNULL)

    def lua():
        seconds, said = run(["lua5.4", "-e", LUA.format(last=n - 1)]).out.split()
        t.must("lua's sum is right", int(said) == total, said)
        return float(seconds)

    with Lab() as lab:
        empty = lab.path("empty.pcap")
        write_pcap(empty, [])

        def whole(times):
            """Seconds of a run of the same program, start and end included."""
            start = time.monotonic()
            out = run(sonde_argv(PROGRAM.format(n=times), args=["--read", empty, "--quiet"])).out
            seconds = time.monotonic() - start
            t.must("the sum is right", int(out) == times * (times - 1) // 2, out)
            return seconds

        mine, yours = best(lambda: float(run([str(vm), str(n)]).out)), best(lua)
        program = best(lambda: whole(n)) - best(lambda: whole(1))
    t.row(f"{n} integer additions in the VM, processor time, best of 3", f"{mine * 1e3:.1f} ms")
    t.row("the same as a program of `sonde run`, without its start", f"{program * 1e3:.1f} ms")
    t.row("lua5.4, the same loop", f"{yours * 1e3:.1f} ms")
    t.row("ratio", f"{mine / yours:.2f}", "<= 3", mine <= 3 * yours)
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
