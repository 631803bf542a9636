# SPDX-License-Identifier: Apache-2.0
"""Two hundred runs at a time, each with a client of its own, and what is left when half of these hang up."""
import time

import pytest

from lab import Lab
from lab.procs import wait_for
from lab.state import ledger_init
from served import LONG, PEER, POLICY, US, Served, runs, tables
from stdio import descendants

pytestmark = pytest.mark.sonde
STREAMS = 200


@pytest.fixture
def lab():
    with Lab() as made:
        made.us, made.peer = made.hosts("us", "peer")
        made.link(made.us, made.peer, f"{US}/24", f"{PEER}/24")
        made.us.policy(POLICY.replace("packets=20000", "packets=1000"))
        ledger_init(made.us)
        yield made


def test_two_hundred_streams_of_which_a_hundred_are_cut(lab):
    """Each cut ends its run: its processes within seconds of a machine that is busy with the other hundred, its table with it."""
    with Served(lab.us, "--max-runs", 256, "--max-runs-caller", 256) as s:
        idle = len(descendants(s.proc.pid))
        streams = []
        while len(streams) < STREAMS:  # twenty at a time: starting is what costs
            streams += [s.stream("tools/call", name="run_program", arguments={"source": LONG}, _meta={"progressToken": "p"}) for _ in range(20)]
            for c in streams[-20:]:
                assert b" 200 OK" in c.recv(65536)  # told while it runs
        assert runs(s) == STREAMS
        cut = time.monotonic()
        for c in streams[::2]:
            c.close()
        wait_for(lambda: runs(s) <= STREAMS // 2, 30, 0.05, "the end of the hundred")
        print(f"100 runs ended in {time.monotonic() - cut:.2f} s")
        assert runs(s) == STREAMS // 2 == tables(lab.us)
        for c in streams[1::2]:
            c.close()
        wait_for(lambda: runs(s) == 0 and len(descendants(s.proc.pid)) == idle, 60, 0.1, "the end of all")
        assert tables(lab.us) == 0
