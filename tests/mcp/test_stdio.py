# SPDX-License-Identifier: Apache-2.0
"""Messages over a pipe: many under way, cancelled, ended, malformed; with the fixtures' tools, which send nothing."""
import json
import os
import random
import subprocess
import time

import pytest

from lab.procs import wait_for
from mcp.pipe import FIXTURES, MODERN, Pipe

OLD = ["2025-03-26", "2025-06-18", "2025-11-25"]


def text(message):
    return message["result"]["content"][0]["text"]


@pytest.mark.parametrize("version", OLD + [None])
def test_many_requests_under_way(version):
    """Forty that wait, and what is asked behind them is answered before them."""
    with Pipe(version) as p:
        for i in range(40):
            p.call(i, "test_slow", {"ms": 1500}, None if version else MODERN)
        p.call("quick", "test_simple_text", meta=None if version else MODERN)
        p.answer("quick")
        assert sum(p.find(i) is not None for i in range(40)) < 40
        for i in range(40):
            assert text(p.answer(i)) == "done"
        assert len([m for m in p.messages if m.get("id") == 7]) == 1


def test_cancelled_is_not_answered():
    with Pipe("2025-11-25") as p:
        p.call("a", "test_slow", {"ms": 60000}, {"progressToken": "ta"})
        p.call("b", "test_slow", {"ms": 60000}, {**MODERN, "progressToken": "tb"})
        p.call("c", "test_slow", {"ms": 1000})
        wait_for(lambda: {"ta", "tb"} <= {m["params"]["progressToken"] for m in p.notes("notifications/progress")}, 30)
        for i in ("a", "b", "no such"):
            p.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": i, "reason": "test"}})
        assert text(p.answer("c")) == "done"
        p.alive()
        n = len(p.notes("notifications/progress"))
        time.sleep(0.3)
        assert len(p.notes("notifications/progress")) == n  # nothing more is said for them
        assert p.find("a") is None and p.find("b") is None
        p.call("a", "test_simple_text")  # the id is free again
        p.answer("a")


def test_end_of_file_ends_what_is_under_way():
    p = Pipe("2025-11-25")
    for i in range(10):
        p.call(i, "test_slow", {"ms": 600000})
    p.alive()
    start = time.monotonic()
    p.proc.stdin.close()
    assert p.proc.wait(20) == 0
    assert time.monotonic() - start < 10
    wait_for(lambda: p.ended, 10)
    assert [text(p.find(i)) for i in range(10)] == ["cancelled"] * 10  # each was told how it ended


def test_more_than_may_be_under_way():
    with Pipe("2025-11-25") as p:
        for i in range(150):
            p.call(i, "test_slow", {"ms": 3000})
        got = [p.answer(i) for i in range(150)]
        refused = [m for m in got if "error" in m]
        assert 0 < len(refused) <= 150 - 64
        assert all(m["error"]["message"].startswith("too many") for m in refused)
        p.alive()


def test_an_id_twice():
    with Pipe("2025-11-25") as p:
        p.call("x", "test_slow", {"ms": 2000}, {"progressToken": 1})
        wait_for(lambda: p.notes("notifications/progress"), 30)
        p.call("x", "test_simple_text")
        first = p.answer("x")
        assert first["error"]["code"] == -32600
        wait_for(lambda: any(m.get("id") == "x" and "result" in m for m in p.messages), 30)


BAD_LINES = [
    b"hello", b"{", b"[1,2", b"\x00", b"\xff\xfe\x00", b'{"jsonrpc":"2.0","id":1,"method":"ping"}}', b'"\\ud800"', b"[" * 100000,
    b'{"a":' * 40 + b"1" + b"}" * 40, b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}', b"NaN", b"-", b"1e400",
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}', b"x" * 3000000,
    b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"test_simple_text","arguments":{"x":"' + b"y" * 1100000 + b'"}}}',
]


def test_lines_that_are_no_messages():
    """Each is answered by one error without an id, and what follows is heard as if it had not been there."""
    with Pipe("2025-11-25") as p:
        for n, line in enumerate(BAD_LINES, 1):
            p.raw(line + b"\n")
            wait_for(lambda: len([m for m in p.messages if "error" in m]) == n, 30, why=repr(line[:40]))
            error = [m for m in p.messages if "error" in m][-1]
            assert error["error"]["code"] == -32700 and "id" not in error, (line[:60], error)
        before = len(p.messages)
        p.raw(b"\n\r\n   \n".replace(b"   \n", b""))  # empty lines are none
        p.alive()
        assert len(p.messages) == before + 1


def test_a_zero_byte_in_a_text_is_refused_by_the_requests_id():
    """Whoever sent it waits for that id."""
    with Pipe("2025-11-25") as p:
        for meta in (None, MODERN):
            p.call(f"zero {meta is None}", "test_simple_text", {"x": "a\0b"}, meta)
            assert p.answer(f"zero {meta is None}")["error"]["code"] == -32600
        p.alive()


def test_a_message_in_pieces_and_many_in_one():
    with Pipe("2025-11-25") as p:
        line = json.dumps({"jsonrpc": "2.0", "id": "pieces", "method": "tools/list"}).encode() + b"\r\n"
        for i in range(len(line)):
            p.raw(line[i:i + 1])
        p.answer("pieces")
        p.raw(b"".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": "ping"}).encode() + b"\n" for i in range(500)))
        for i in range(500):
            assert p.answer(i)["result"] == {}


def test_random_messages_change_nothing():
    """A good message with a part replaced by anything: an answer or none, never an end."""
    rnd = random.Random(7)
    good = [{"jsonrpc": "2.0", "id": 1, "method": m, "params": {"name": "test_structured", "arguments": {"n": 1}, "uri": "test://static-text",
             "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"}, "argument": {"name": "arg1", "value": "0"},
             "level": "info", "cursor": "row-1", "requestState": "x", "inputResponses": {}, "_meta": dict(MODERN)}}
            for m in ("initialize", "ping", "tools/list", "tools/call", "resources/read", "resources/subscribe", "prompts/get",
                      "completion/complete", "logging/setLevel", "server/discover", "notifications/cancelled")]
    odd = [None, True, 0, -1, 1.5, 2**63 - 1, "", "x" * 5000, [], {}, [[]], {"": {}}, "\u0000\ud83d\ude00", {"a": [1, {"b": None}]}]

    def replace(value, depth=0):
        if isinstance(value, dict) and value and rnd.random() < 0.8 - depth / 10:
            key = rnd.choice(list(value))
            changed = dict(value)
            if rnd.random() < 0.2:
                del changed[key]
            else:
                changed[key] = replace(value[key], depth + 1)
            return changed
        return rnd.choice(odd)

    with Pipe("2025-11-25") as p:
        for _ in range(3000):
            p.send(replace(rnd.choice(good)))
        p.alive()


def test_questions_to_the_client():
    """Of a client with sessions: a request of ours, answered over the same pipe while others go on."""
    with Pipe("2025-11-25", {"elicitation": {"form": {}}}) as p:
        p.call("e", "test_elicitation", {"message": "who?"})
        question = wait_for(lambda: p.notes("elicitation/create"), 30)[0]
        assert question["params"]["message"] == "who?" and question["params"]["mode"] == "form"
        p.alive()
        p.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"username": "u", "email": "e"}}})
        assert '"username":"u"' in text(p.answer("e"))
    with Pipe("2025-11-25") as p:  # it did not say that it can
        p.call("e", "test_elicitation", {"message": "who?"})
        assert p.answer("e")["error"]["code"] == -32021
        assert not p.notes("elicitation/create")


def test_both_eras_on_one_pipe():
    with Pipe() as p:
        got = p.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert got["error"]["code"] == -32600  # neither initialized nor stateless
        got = p.ask({"jsonrpc": "2.0", "id": 2, "method": "server/discover", "params": {"_meta": MODERN}})
        assert got["result"]["resultType"] == "complete" and "2026-07-28" in got["result"]["supportedVersions"]
        got = p.ask({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {"_meta": MODERN}})
        assert got["result"]["ttlMs"] >= 0 and got["result"]["cacheScope"] == "public"
        got = p.ask({"jsonrpc": "2.0", "id": 4, "method": "ping", "params": {"_meta": MODERN}})
        assert got["error"]["code"] == -32601
        bad = {**MODERN, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}
        got = p.ask({"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"_meta": bad}})
        assert got["error"]["code"] == -32022 and got["error"]["data"]["requested"] == "2030-01-01"


def test_nobody_reads():
    """A client that closes its end of our output: we end, and not by a signal."""
    ours, theirs = os.pipe()
    proc = subprocess.Popen([FIXTURES], stdin=subprocess.PIPE, stdout=theirs)
    os.close(theirs)
    os.close(ours)
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode() + b"\n"
    with pytest.raises(BrokenPipeError):
        for _ in range(1000000):
            proc.stdin.write(line)
    assert proc.wait(20) >= 0


def test_last_line_without_an_end():
    r = subprocess.run([FIXTURES], input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}', capture_output=True, timeout=20)
    assert json.loads(r.stdout)["result"] == {}


def test_what_belongs_to_the_command_line():
    for args in (["--http"], ["stdio"], ["--max-runs", "0"], ["--max-runs", "x"], ["--no-such", "1"], ["--origin"]):
        r = subprocess.run([FIXTURES, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
        assert r.returncode == 6 and r.stdout == "" and "started by" in r.stderr, (args, r)
