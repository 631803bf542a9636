# SPDX-License-Identifier: Apache-2.0
"""SIGTERM: subscriptions end with their answer, runs with what they know, each still with its line in the log."""
import json
import pathlib
import signal
import subprocess
import threading
import time

import pytest

from front import node
from lab import sonde_binary
from lab.procs import wait_for
from mcp.pipe import FIXTURES, MODERN, Pipe
from over_http import Server, events, parse, read_all
from served import LONG, PEER, Served, tables, two
from stdio import Stdio

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
WANT = {"toolsListChanged": True}
HERE = pathlib.Path(__file__).resolve().parent


def ended_well(messages, ident):
    """The messages of one subscription: acknowledged first, its answer last."""
    assert messages[0]["method"] == "notifications/subscriptions/acknowledged"
    assert messages[0]["params"]["_meta"][SUBSCRIPTION] == ident
    last = messages[-1]
    assert last["id"] == ident and last["result"]["resultType"] == "complete"
    assert last["result"]["_meta"][SUBSCRIPTION] == ident


def test_subscriptions_over_http_end_with_their_answer():
    with Server() as s:
        open_ones = [s.stream("subscriptions/listen", notifications=WANT) for _ in range(3)]
        heads = [c.recv(65536) for c in open_ones]
        s.proc.send_signal(signal.SIGTERM)
        for c, head in zip(open_ones, heads):
            raw = head + read_all(c)
            got = parse(raw)
            assert got.status == 200 and raw.endswith(b"0\r\n\r\n"), "the stream is whole"
            ended_well(events(got.body), 1)
        assert s.proc.wait(10) == 0


def test_streams_of_sessions_end_at_their_end():
    """Revision 2025-11-25, whose streams are ended by nothing more than their end."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}).encode()
    with Server() as s:
        session = s.ask(body=body).headers["mcp-session-id"]
        c = s.connect()
        c.sendall(f"GET /mcp HTTP/1.1\r\nHost: localhost:{s.port}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n"
                  "Mcp-Protocol-Version: 2025-11-25\r\n\r\n".encode())
        head = c.recv(65536)
        s.proc.send_signal(signal.SIGTERM)
        raw = head + read_all(c)
        assert parse(raw).status == 200 and raw.endswith(b"0\r\n\r\n") and s.proc.wait(10) == 0


def test_subscriptions_over_a_pipe_end_with_their_answer():
    with Pipe() as p:
        for ident in ("one", 2):
            p.send({"jsonrpc": "2.0", "id": ident, "method": "subscriptions/listen", "params": {"notifications": WANT, "_meta": MODERN}})
        wait_for(lambda: len(p.notes("notifications/subscriptions/acknowledged")) == 2, 20)
        p.proc.send_signal(signal.SIGTERM)
        assert p.proc.wait(10) == 0
        wait_for(lambda: p.ended, 10)
        for ident in ("one", 2):
            mine = [m for m in p.messages if m.get("id") == ident or m.get("params", {}).get("_meta", {}).get(SUBSCRIPTION) == ident]
            ended_well(mine[:2], ident)
            assert mine[2]["method"] == "notifications/cancelled" and mine[2]["params"]["requestId"] == ident and len(mine) == 3


def test_a_cancelled_subscription_has_no_answer():
    with Pipe() as p:
        p.send({"jsonrpc": "2.0", "id": 5, "method": "subscriptions/listen", "params": {"notifications": WANT, "_meta": MODERN}})
        wait_for(lambda: p.notes("notifications/subscriptions/acknowledged"), 20)
        p.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})
        p.alive()
        p.proc.send_signal(signal.SIGTERM)
        assert p.proc.wait(10) == 0
        wait_for(lambda: p.ended, 10)
        assert p.find(5) is None and not p.notes("notifications/cancelled")


@pytest.mark.parametrize("over", ["stdio", "http"])
def test_the_official_client_sees_no_fault(over):
    def listen(**plan):
        return subprocess.Popen([node(), HERE / "sdk_listen.mjs", json.dumps(plan)], stdout=subprocess.PIPE, text=True)
    if over == "stdio":
        said = listen(command=str(FIXTURES), args=[]).communicate(timeout=60)[0]
    else:
        with Server() as s:
            client = listen(url=f"http://localhost:{s.port}/mcp")
            assert client.stdout.readline() == "listening\n"
            s.proc.send_signal(signal.SIGTERM)
            said = client.communicate(timeout=60)[0]
    assert json.loads(said.splitlines()[-1]) == {"closed": "graceful", "faults": []}


def test_a_request_while_it_shuts_down_is_refused():
    with Server() as s:
        slow = s.stream("tools/call", name="test_slow", arguments={"ms": 1700}, _meta={"progressToken": 1})
        head = slow.recv(65536)
        s.proc.send_signal(signal.SIGTERM)
        wait_for(lambda: s.call("tools/list").status == 503, 1.5)
        last = events(parse(head + read_all(slow)).body)[-1]
        assert last["result"]["content"][0]["text"] == "done", "what was under way is answered"


# ---- runs ----

@pytest.fixture(scope="module")
def lab():
    with two() as made:
        yield made


COUNTS = LONG.replace("    sleep(1)", "    print('probe', i)\n    sleep(0.2)")
PING = {"target": PEER, "count": 50, "interval_ms": 1000}


def whole(lab, before):
    """What must hold after any end: gates closed, each call in the log, the chain intact."""
    assert tables(lab.us) == 0
    lines = [json.loads(x) for x in lab.us.read("/var/lib/sonde/log").splitlines()][before:]
    assert sorted(x["tool"] for x in lines if x["event"] == "call") == ["ping_host", "run_program"]
    assert len([x for x in lines if x["event"] == "end"]) == 2
    assert "intact" in lab.us.run(str(sonde_binary()), "audit", "verify", "/var/lib/sonde/log").out


def judge(run, ping):
    s = run["structuredContent"]
    assert not run.get("isError") and s["exit"] == 130 and "probe 0\n" in "".join(o["text"] for o in s["output"])
    assert "shuts down" in s["summary"] and "partial" in s["summary"]
    assert ping["isError"] and "shuts down" in ping["content"][0]["text"] and "structuredContent" not in ping


def lines_of(lab):
    return len(lab.us.read("/var/lib/sonde/log").splitlines())


@pytest.mark.sonde
def test_runs_over_http_say_what_they_know(lab):
    before, got = lines_of(lab), {}
    with Served(lab.us) as s:
        def one(name, args):
            got[name] = s.tool(name, None, **args)
        threads = [threading.Thread(target=one, args=a) for a in (("run_program", {"source": COUNTS}), ("ping_host", PING))]
        for t in threads:
            t.start()
        wait_for(lambda: tables(lab.us) == 2, 30, why="two runs")
        time.sleep(1)
        start = time.monotonic()
    for t in threads:
        t.join(10)
    assert time.monotonic() - start < 8
    judge(got["run_program"], got["ping_host"])
    whole(lab, before)


@pytest.mark.sonde
def test_runs_over_a_pipe_say_what_they_know(lab):
    before = lines_of(lab)
    c = Stdio(lab.us)
    ids = [c.send("tools/call", {"name": n, "arguments": a}) for n, a in (("run_program", {"source": COUNTS}), ("ping_host", PING))]
    wait_for(lambda: tables(lab.us) == 2, 30, why="two runs")
    time.sleep(1)
    c.proc.terminate()
    judge(*(c.answer(i, 10)["result"] for i in ids))
    assert c.proc.wait(20) == 0
    whole(lab, before)
    c.stop()
