# SPDX-License-Identifier: Apache-2.0
"""What an agent was shown of one peer decides where its next runs may send."""
import json
import re

import pytest

from lab import Lab, sonde_binary
from lab.state import ledger_init
from served import Served
from stdio import Stdio

A, B = "10.9.0.2", "10.9.0.3"
POLICY = 'budget(packets=20000, time=120)\nreach("10.9.0.0/24", icmp=True)\n'
SHOW = f'r = sr1(IP(dst="{A}")/ICMP()/b"secret")\nif r:\n    print("got", r.ttl)\n'
MEASURE = f'r = sr1(IP(dst="{A}")/ICMP(), timeout=1)\nprint(r is not None)\n'
TO_B = f'sr1(IP(dst="{B}")/ICMP(), timeout=0.2)\nprint("it left")\n'


@pytest.fixture
def us():
    with Lab() as lab:
        us, peer = lab.hosts("us", "peer")
        lab.link(us, peer, "10.9.0.1/24", f"{A}/24 {B}/24")
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
    assert "another compartment" not in second and "it left" in second


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


# ---- after content was shown, no more than before ----

LARGER = "after content was shown, more than this session had"
WIDER = {  # what it says of it: a program to the same peer that wants it
    f"{A}": f'c = connect("{A}", 80, timeout=0.2)\nprint("it left")\n',
    "packets=2001": f'budget(packets=2001)\nsr1(IP(dst="{A}")/ICMP(), timeout=0.2)\nprint("it left")\n',
    "time=61": f'budget(time=61)\nsr1(IP(dst="{A}")/ICMP(), timeout=0.2)\nprint("it left")\n',
}
AS_BEFORE = [SHOW, f'# other words\nfor i in range(2):\n    sr1(IP(dst="{A}")/ICMP()/b"{"x" * 50}", timeout=0.2)\nprint("it left")\n',
             f'budget(packets=10, time=5)\nsr1(IP(dst="{A}")/ICMP(), timeout=0.2)\nprint("it left")\n']


@pytest.mark.parametrize("seen", [[], [SHOW]], ids=["before", "after"])
def test_content_leaves_a_session_what_it_had(us, seen):
    us.policy(POLICY.replace("icmp=True", "icmp=True, tcp=[80]"))
    for what, program in WIDER.items():
        last = re.sub(r'", "\s*|\s+', " ", said(us, *seen, program)[-1])  # lines of a rendering, as one
        assert (LARGER in last and what in last) == bool(seen) and ("it left" in last) != bool(seen), (what, last)
    for n, got in enumerate(said(us, *seen, *AS_BEFORE)):
        assert LARGER not in got and ("it left" in got or "got" in got), (n, got)


def test_a_program_that_was_kept_before_is_no_way_around(us):
    s = Stdio(us)
    kept = s.call("check_program", source=TO_B)["structuredContent"]["program_id"]
    assert "got" in json.dumps(s.call("run_program", source=SHOW))
    assert "another compartment" in json.dumps(s.call("run_program", program_id=kept))
    s.stop()


def test_what_is_not_printed_but_counted_keeps_the_session(us):
    """Statistics say how many packets went back: a program can tell content by that and print nothing."""
    for policy in (POLICY, POLICY + 'output("measurements")\n'):
        us.policy(policy)
        count = f'r = sr1(IP(dst="{A}")/ICMP()/b"secret")\nif r:\n    for i in range(r.ttl % 8):\n        send(IP(dst="{A}")/ICMP())\n'
        assert "another compartment" in said(us, count, TO_B)[1]


def test_a_caller_is_one_session_whatever_he_speaks(us):
    """A revision with sessions, one without, a second connection, another key of his: all are he; nobody else is."""
    def key(name):
        return us.run(str(sonde_binary()), "mcp", "key", "add", name).out.strip()

    first, second, other = key("alice"), key("alice"), key("bob")
    with Served(us, "--keys", "/etc/sonde/mcp.keys") as s:
        def legacy(k, method, session=None, **params):
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
            got = s.ask(body=body, headers={"x-api-key": k, "Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"})
            assert got.status == 200, got.raw
            return got

        session = legacy(first, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"})
        shown = legacy(first, "tools/call", session.headers["mcp-session-id"], name="run_program", arguments={"source": SHOW})
        assert b"got" in shown.body
        assert "another compartment" not in json.dumps(s.tool("run_program", other, source=TO_B))
        for k in (first, second):
            assert "another compartment" in json.dumps(s.tool("run_program", k, source=TO_B))
        session = legacy(second, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"})
        again = legacy(second, "tools/call", session.headers["mcp-session-id"], name="run_program", arguments={"source": TO_B})
        assert b"another compartment" in again.body


def test_over_a_pipe_each_connection_is_a_session(us):
    """Whoever starts another server starts another conversation: it knows nothing of this one (doc/mcp-security.md)."""
    assert "got" in said(us, SHOW)[0]
    assert "another compartment" not in said(us, TO_B)[0]


def test_this_hosts_table_of_neighbours_keeps_nobody_but_a_program_that_prints_it_does(us):
    us.run("ping", "-c1", "-W10", A)
    s = Stdio(us)
    got = s.call("local_state")["structuredContent"]["neighbors"]
    mac = us.lab.nodes["peer"].read("/sys/class/net/eth0/address").strip()
    assert [n for n in got if (n["addr"], n["iface"], n.get("mac")) == (A, "eth0", mac)]
    assert not s.call("run_program", source=TO_B).get("isError")
    s.call("run_program", source="print(neighbors())")
    assert s.call("run_program", source=TO_B)["isError"]
    s.stop()


def text(got):
    return got["content"][0]["text"]


def test_a_refusal_says_which_line_asks_for_what(us):
    s = Stdio(us)
    got = s.call("run_program", source='print(1)\nprint(ping("10.8.0.1", count=1))\n')
    assert got["isError"] and "program:2: refused: " in text(got) and "10.8.0.1" in text(got), text(got)
    s.stop()


def test_a_run_can_be_cited_and_says_where_it_was_seen_from(us):
    s = Stdio(us)
    one, two = (s.call("run_program", source=MEASURE) for _ in range(2))
    ids = [got["structuredContent"]["finding_id"] for got in (one, two)]
    assert all(len(i) == len("f-") + 16 and int(i[2:], 16) for i in ids) and ids[0] != ids[1]
    assert f"finding {ids[0]}" in text(one) and f" eth0 10.9.0.1 to {A}, " in text(one)
    assert one["structuredContent"]["vantage"]["source"] == "10.9.0.1"
    assert [json.loads(line)["finding_id"] for line in us.read("/var/lib/sonde/log").splitlines() if '"run_program"' in line] == ids
    s.stop()


def test_a_warning_shows_its_evidence(us):
    s = Stdio(us)
    got = s.call("run_program", source='print(sr1(IP(dst="10.9.0.9")/ICMP(), timeout=0.2) is None)\n')
    (warning,) = [w for w in got["structuredContent"]["warnings"] if w["code"] == "not_sent"]
    assert warning["evidence"] and f"({warning['evidence']})" in text(got), text(got)
    s.stop()


def test_what_a_person_approved_was_for_once(us):
    """The approval outlives the server that it was asked of, and is no more than what it says: one run."""
    us.policy(POLICY.replace("icmp=True", "icmp=True, tcp=[80]"))
    s = Stdio(us)

    def asks():
        got = s.call("run_program", source=WIDER[A])
        return got["structuredContent"].get("approval", {}).get("hash") if got.get("isError") else None

    def approve(h):
        us.sonde(None, command="approve", args=[h, "--yes"]).ok()

    assert "got" in json.dumps(s.call("run_program", source=SHOW))
    first = asks()
    approve(first)
    assert asks() is None
    assert asks() == first, "not what the session had, but what a person let happen"
    approve(first)
    s.stop()
    s = Stdio(us)
    assert "got" in json.dumps(s.call("run_program", source=SHOW))
    assert asks() is None
    assert asks() == first
    s.stop()
