# SPDX-License-Identifier: Apache-2.0
"""Two hundred runs at a time, each with a client of its own, and what is left when half of these hang up."""
import pytest

from lab.procs import wait_for
from served import IDLE, POLICY, Served, cut, runs, streams, tables, two
from stdio import descendants

pytestmark = pytest.mark.sonde
STREAMS = 200


@pytest.fixture
def lab():
    with two(POLICY.replace("packets=20000", "packets=1000")) as made:
        yield made


def test_two_hundred_streams_of_which_a_hundred_are_cut(lab):
    """Each cut ends its run, its processes and its table: within a second on a machine that does nothing else (tests/bench/mcp.py),
    within a few beside what `make check` does."""
    with Served(lab.us, "--max-runs", 256, "--max-runs-caller", 256) as s:
        open_ones = streams(s, STREAMS)
        assert runs(s) == STREAMS
        assert cut(s, open_ones[::2]) < 10
        assert runs(s) == STREAMS // 2 == tables(lab.us)
        cut(s, open_ones[1::2])
        wait_for(lambda: len(descendants(s.proc.pid)) == IDLE, 60, 0.1, "the end of all")
        assert runs(s) == tables(lab.us) == 0
