# SPDX-License-Identifier: Apache-2.0
"""What an agent was shown of one peer decides where its next runs may send."""
import json

import pytest

from lab import Lab
from lab.state import ledger_init
from stdio import Stdio

A, B = "10.9.0.2", "10.9.0.3"  # nobody is B: what is sent there tells nothing
POLICY = 'budget(packets=20000, time=120)\nreach("10.9.0.0/24", icmp=True)\n'
SHOW = f'r = sr1(IP(dst="{A}")/ICMP()/b"secret")\nif r:\n    print("got", r.ttl)\n'
MEASURE = f'r = sr1(IP(dst="{A}")/ICMP(), timeout=1)\nprint(r is not None)\n'
TO_B = f'sr1(IP(dst="{B}")/ICMP(), timeout=0.2)\nprint("sent")\n'


@pytest.fixture
def us():
    with Lab() as lab:
        us, peer = lab.hosts("us", "peer")
        lab.link(us, peer, "10.9.0.1/24", f"{A}/24")
        us.policy(POLICY)
        ledger_init(us)
        yield us


def said(us, *sources):
    s = Stdio(us)
    got = [json.dumps(s.call("run_program", source=x)) for x in sources]
    s.stop()
    return got


def test_measurements_keep_nobody_anywhere(us):
    first, second = said(us, MEASURE, TO_B)
    assert "another compartment" not in second and "sent" in second


def test_content_keeps_the_session_where_it_is_from(us):
    first, other, same = said(us, SHOW, TO_B, SHOW)
    assert f"another compartment than {A}" in other and "may_follow" in other
    assert "another compartment" not in same and "got" in same


def test_the_installed_policy_lets_it_follow(us):
    us.policy(POLICY + f'may_follow("{A}", "{B}")\n')
    assert "another compartment" not in said(us, SHOW, TO_B)[1]


def test_what_is_kept_back_keeps_nobody(us):
    us.policy(POLICY + 'output("measurements")\n')
    first, second = said(us, SHOW, TO_B)
    assert f"<content from {A}>" in first and "another compartment" not in second
