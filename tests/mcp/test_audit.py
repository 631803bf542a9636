# SPDX-License-Identifier: Apache-2.0
"""The log of calls: whose are in it, whether what they say can forge it, and what is sent when it can't be written."""
import hashlib
import json

import pytest

from lab import Lab, sonde_binary
from lab.state import ledger_init
from served import PEER, US, Served, tables
from over_http import request

pytestmark = pytest.mark.sonde
POLICY = 'budget(packets=20000, time=600)\nreach("10.9.0.0/24", icmp=True)\n'
LOG = "/var/lib/sonde/log"
PING = {"target": PEER, "count": 1}


@pytest.fixture
def lab():
    with Lab() as made:
        made.us, made.peer = made.hosts("us", "peer")
        made.link(made.us, made.peer, f"{US}/24", f"{PEER}/24")
        made.us.policy(POLICY)
        made.us.run("mkdir", "-p", "/var/lib/sonde")
        made.us.run("mount", "-t", "tmpfs", "-o", "size=4m", "none", "/var/lib/sonde")
        ledger_init(made.us).ok()
        made.key = lambda name, *args: made.us.run(sonde_binary(), "mcp", "key", "add", name, *args).out.strip()
        yield made


def lines(lab):
    """Those of the log, after each was held against its hash and the one before: by nothing of ours."""
    out, prev = [], None
    for raw in lab.us.read(LOG).split("\n")[:-1]:
        line = json.loads(raw)
        assert hashlib.sha256(raw.partition(',"hash":"')[0].encode()).hexdigest() == line["hash"], raw
        assert prev is None or (line["prev"] == prev["hash"] and line["seq"] == prev["seq"] + 1), raw
        prev = line
        out.append(line)
    return out


def verify(lab, *args):
    return lab.us.run(sonde_binary(), "audit", "verify", *args, check=False)


def heard(lab):
    """Echo requests that the peer's kernel saw."""
    names, values = (row.split() for row in lab.peer.read("/proc/net/snmp").splitlines() if row.startswith("Icmp:"))
    return int(values[names.index("InEchos")])


def hash_of(arguments):
    return hashlib.sha256(json.dumps(arguments, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def test_each_call_of_each_caller_is_a_line_refused_ones_too(lab):
    alice, bob = lab.key("alice"), lab.key("bob")
    calls = [(alice, "ping_host", PING, "ALIVE"), (bob, "ping_host", {"target": "192.0.2.1", "count": 1}, "refused"),
             (bob, "ping_host", {"target": PEER, "count": 5000}, "refused"), (alice, "ping_host", {"nonsense": 1}, "refused"),
             (bob, "check_program", {"source": "prin(1)"}, "done"), (alice, "result_page", {"page": "page_" + "0" * 32, "offset": 0}, "refused"),
             (bob, "language_help", {"topic": "no such thing"}, "refused"), (alice, "local_state", {"what": "routes"}, "done"),
             (bob, "run_program", {"source": "print(1)\n" + "#" + "\n\"}{\"seq\":1," + "x" * 60000}, "refused"),
             (alice, "tcp_reachability", {"target": 'x","outcome":"OPEN"}\n{"seq":2', "port": 1}, "refused"),
             (bob, "http_probe", {"url": "http://\u2028\U0001f600/"}, "refused"), (bob, "check_program", {"source": "\r\n\t[2J" * 5000}, "done")]
    with Served(lab.us, "--keys", "/etc/sonde/mcp.keys") as s:
        for key, name, arguments, _ in calls:
            s.tool(name, key, **arguments)
        for name, arguments in (("ping_hos", PING), ('x","seq":1}\n', {}), ("ping_host", [PEER])):
            body, h = request("tools/call", name=name, arguments=arguments)
            h["Mcp-Name"] = h["Mcp-Name"].split("\n")[0]
            assert s.ask(body=body, headers={**h, "x-api-key": bob}).json["error"]["code"] < -32000
        # what no caller said, or what no tool was called by, is no call
        body, h = request("tools/call", name="ping_host", arguments=PING)
        assert s.ask(body=body, headers={**h, "x-api-key": "sonde_" + "x" * 43}).status == 401
        assert s.ask(body=body.replace(b"ping_host", b"ping_\xff\xfeost"), headers={**h, "x-api-key": bob}).status == 400
    got = [x for x in lines(lab) if x["event"] == "call"]
    assert [(x["session"], x["tool"], x["outcome"]) for x in got[len(calls):]] == \
        [("mcp bob", "none of this name", "refused"), ("mcp bob", "ping_host", "refused")]
    del got[len(calls):]
    assert [(x["session"], x["tool"], x["arguments"]) for x in got] == \
        [("mcp alice" if key == alice else "mcp bob", name, hash_of(arguments)) for key, name, arguments, _ in calls]
    assert [x["outcome"] for x in got] == [outcome for *_, outcome in calls]
    assert "intact" in verify(lab, LOG).out


def test_a_call_that_waits_for_its_user_is_a_line(lab):
    lab.us.policy(POLICY + f'approve(reach="{PEER}")\napprove_by_form()\n')
    with Served(lab.us) as s:
        meta = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
        got = s.call("tools/call", name="ping_host", arguments=PING, _meta=meta)
        assert got.json["result"]["resultType"] == "input_required", got.raw
    assert [(x["event"], x.get("outcome")) for x in lines(lab)][-1] == ("call", "asked")


@pytest.mark.parametrize("damage", ["full", "gone", "cut"])
def test_without_a_log_nothing_is_sent(lab, damage):
    with Served(lab.us) as s:
        assert not s.tool("ping_host", None, **PING).get("isError")
        before, n = lines(lab), heard(lab)
        if damage == "full":
            lab.us.run("dd", "if=/dev/zero", "of=/var/lib/sonde/fill", "bs=4096", check=False)
            size = len(lab.us.read(LOG))
            for _ in range(40):  # to the end of its last block
                s.tool("check_program", None, source="print(1)")
                if len(lab.us.read(LOG)) == size:
                    break
                size = len(lab.us.read(LOG))
            n = heard(lab)
        elif damage == "gone":
            lab.us.run("sh", "-c", f"cp -p {LOG} {LOG}.aside && rm {LOG}")
        else:
            last = lab.us.read(LOG).rstrip("\n").rpartition("\n")[2]
            lab.us.run("truncate", f"--size=-{len(last) + 1}", LOG)
        got = s.tool("ping_host", None, **PING)
        assert got["isError"] and "log" in json.dumps(got), got
        got = s.tool("check_program", None, source="print(1)")
        assert got["isError"] and "could not be written to the log" in json.dumps(got), got
        assert heard(lab) == n and not tables(lab.us)
        if damage == "full":
            lab.us.run("rm", "/var/lib/sonde/fill")
        elif damage == "gone":
            lab.us.run("mv", LOG + ".aside", LOG)
        else:
            lab.us.run(sonde_binary(), "ledger", "rotate")
        assert not s.tool("ping_host", None, **PING).get("isError")
        assert heard(lab) == n + 1
    after = lines(lab)
    assert damage == "cut" or [x["seq"] for x in after[:len(before)]] == [x["seq"] for x in before]
    assert "intact" in verify(lab, LOG).out


def damaged(text):
    rows = text.splitlines(keepends=True)
    return {
        "within its last line": text[:-10],
        "an edited word": text.replace('"ALIVE"', '"NO_RESPONSE"', 1),
        "an edited number": text.replace('"packets":1', '"packets":0', 1),
        "an edited hash": text[:-70] + ("0" if text[-70] != "0" else "1") + text[-69:],
        "a swapped pair": "".join([rows[0], rows[2], rows[1], *rows[3:]]),
        "a line less": "".join(rows[:2] + rows[3:]),
        "a line twice": "".join(rows[:2] + rows[1:]),
        "an empty line": "".join(rows[:2] + ["\n"] + rows[2:]),
        "a line of somebody's": "".join(rows[:2] + ['{"seq":3}\n'] + rows[2:]),
        "another line's end": text.replace("}\n{", "}\r\n{", 1),
    }


def test_what_was_done_to_a_log_is_told(lab):
    with Served(lab.us) as s:
        for _ in range(3):
            s.tool("ping_host", None, **PING)
    text = lab.us.read(LOG)
    head = lines(lab)[-1]["hash"]
    assert head in verify(lab, LOG).out
    for name, other in damaged(text).items():
        assert other != text, name
        lab.us.write("/etc/other", other)
        got = verify(lab, "/etc/other")
        assert got.rc == 1 and "BREACH" in got.out, (name, got.out, got.err)
    # whole lines cut off its end leave a chain: the last hash tells, or the ledger (above)
    lab.us.write("/etc/other", "".join(text.splitlines(keepends=True)[:-1]))
    assert verify(lab, "--head", head, "/etc/other").rc == 1
    assert verify(lab, "--head", head, LOG).rc == 0
