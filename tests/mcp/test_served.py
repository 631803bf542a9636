# SPDX-License-Identifier: Apache-2.0
"""`sonde mcp` as it is served: over HTTP in a lab, with the rights that its unit leaves it, and runs whose clients hang up."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import socket
import ssl
import threading
import time

import pytest

from lab import sonde_binary
from lab.certs import Authority
from lab.procs import wait_for
from over_http import process_facts, read_all
from served import LONG, OTHER, PEER, POLICY, US, Served, inside, tables, two
from stdio import descendants

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
pytestmark = pytest.mark.sonde


@pytest.fixture(scope="module")
def lab():
    with two() as made:
        made.peer.ip("addr", "add", f"{OTHER}/24", "dev", made.peer.run("sh", "-c", "ls /sys/class/net | grep -v lo").out.split()[0])
        made.key = lambda name, *args: made.us.run(str(sonde_binary()), "mcp", "key", "add", name, *args).out.strip()
        yield made


def unit():
    text = (ROOT / "src/cmd/sonde-mcp.service.in").read_text()
    return re.search(r"^CapabilityBoundingSet=(.*)$", text, re.M)[1].lower().split()


def front_of(server):
    return next(p for p in descendants(server.proc.pid) if pathlib.Path(f"/proc/{p}/comm").read_text() == "sonde-mcp\n")


def test_each_caller_has_his_policy_and_his_row_in_the_ledger(lab):
    """With the capabilities of the unit, TLS by a key that only root reads, and nothing more in the front than it needs."""
    lab.us.run("sh", "-c", f"""echo 'reach("{PEER}", icmp=True)' > /etc/sonde/bob.sonde""")
    alice, bob = lab.key("alice"), lab.key("bob", "--policy", "/etc/sonde/bob.sonde")
    ca = Authority(lab)
    cert, key = ca.cert("probe", f"IP:{US},IP:127.0.0.1,DNS:localhost")
    lab.us.run("install", "-m", "600", key, "/etc/sonde/mcp.key")
    caps = ["setpriv", "--no-new-privs", f"--bounding-set=-all,{','.join('+' + c.removeprefix('cap_') for c in unit())}", "--"]
    with Served(lab.us, "--keys", "/etc/sonde/mcp.keys", "--tls-cert", cert, "--tls-key", "/etc/sonde/mcp.key", "--host", "localhost",
                bind=f"{US}:0", before=caps) as s:
        s.context = ssl.create_default_context(cafile=ca.path("root.pem"))
        for name in (PEER, OTHER):
            assert s.tool("ping_host", alice, target=name, count=1)["structuredContent"]["verdict"] == "ALIVE"
        assert s.tool("ping_host", bob, target=PEER, count=1)["structuredContent"]["verdict"] == "ALIVE"
        assert s.tool("ping_host", bob, target=OTHER, count=1)["isError"]
        assert s.call("tools/list").status == 401
        front = front_of(s)
        facts = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{front}/status").read_text().splitlines() if ":\t" in line)
        assert set(facts["Uid"].split()) != {"0"} and "0" not in facts["Uid"].split()
        assert int(facts["CapEff"], 16) == int(facts["CapPrm"], 16) == int(facts["CapBnd"], 16) == 0
        assert facts["NoNewPrivs"] == "1" and facts["Seccomp"] == "2"
        assert os.stat(f"/proc/{front}/environ").st_uid == 0, "not to be traced by its own user"
        lab.us.run(str(sonde_binary()), "mcp", "key", "revoke", "bob")
        assert s.call("tools/list", headers={"x-api-key": bob}).status == 401
    ledger = lab.us.run(str(sonde_binary()), "ledger", "show").out
    assert "mcp alice" in ledger and "mcp bob" in ledger
    lab.us.run(str(sonde_binary()), "audit", "verify", "/var/lib/sonde/log")
    calls = [json.loads(line) for line in lab.us.read("/var/lib/sonde/log").splitlines() if '"ping_host"' in line]
    assert len(calls) >= 4


def test_with_what_its_unit_leaves_it_each_kind_of_run_works(lab):
    """Each kind of process that runs start: the checker, the engine, the one of TLS."""
    lab.us.policy(f'reach("{PEER}")\n')
    cert, key = Authority(lab).cert("peer", f"IP:{PEER}")
    lab.peer.start("openssl", "s_server", "-www", "-accept", "8443", "-cert", cert, "-key", key).until("ACCEPT", 10)
    calls = [("ping_host", {"target": PEER, "count": 1}, "ALIVE"), ("tcp_reachability", {"target": PEER, "port": 8443}, "OPEN"),
             ("tcp_reachability", {"target": PEER, "port": 9}, "CONNECTION_REFUSED"), ("traceroute_host", {"target": PEER}, "REACHED"),
             ("tls_check", {"target": PEER, "port": 8443}, "UNTRUSTED"), ("local_state", {}, "eth0"), ("check_program", {"source": "print(1)"}, "ok"),
             ("run_program", {"source": f'print(len(neighbors()), sr1(IP(dst="{PEER}")/ICMP()) is not None)'}, "ran to the end")]
    try:
        with Served(lab.us, before=["/usr/bin/python3", HERE / "as_unit.py", ROOT / "src/cmd/sonde-mcp.service.in"]) as s:
            for name, arguments, word in calls:
                got = s.tool(name, None, **arguments)
                assert not got.get("isError") and word in got["content"][0]["text"], got
            status = pathlib.Path(f"/proc/{s.proc.pid}/status").read_text()
            assert re.search(r"^Seccomp:\t2$", status, re.M) and tables(lab.us) == 0
    finally:
        lab.us.policy(POLICY)


def test_what_a_revoked_key_began_ends_with_it(lab):
    """Not what another key began, of his or of somebody else."""
    keys = {name: lab.key(name.split("-")[0]) for name in ("carol", "carol-2", "dave")}
    with Served(lab.us, "--keys", "/etc/sonde/mcp.keys") as s:
        open_runs = {name: s.stream("tools/call", name="run_program", arguments={"source": LONG}, headers={"x-api-key": key})
                     for name, key in keys.items()}
        listening = s.stream("subscriptions/listen", notifications={}, headers={"x-api-key": keys["carol"]})
        wait_for(lambda: tables(lab.us) == 3, 20, why="three runs")
        ident = hashlib.sha256(keys["carol"].encode()).hexdigest()[:8]
        lab.us.run(str(sonde_binary()), "mcp", "key", "revoke", ident)
        for cut in (open_runs["carol"], listening):
            assert b'"result"' not in read_all(cut)
        wait_for(lambda: tables(lab.us) == 2, 5, why="its run has ended")
        time.sleep(1.5)
        assert tables(lab.us) == 2
        lab.us.run(str(sonde_binary()), "mcp", "key", "revoke", "dave")
        assert b'"result"' not in read_all(open_runs["dave"])
        wait_for(lambda: tables(lab.us) == 1, 5, why="his run has ended")
        assert s.call("tools/list", headers={"x-api-key": keys["carol-2"]}).status == 200
        open_runs["carol-2"].close()
        wait_for(lambda: tables(lab.us) == 0, 5, why="all have ended")


def test_where_keys_are_not_said_it_listens_to_this_host_alone(lab):
    p = lab.us.start(str(sonde_binary()), "mcp", "--http", f"{US}:0")
    assert p.wait(30) == 5 and "keys" in p.err


def test_one_cut_stops_within_a_second(lab):
    with Served(lab.us) as s:
        for _ in range(3):
            c = s.stream("tools/call", name="run_program", arguments={"source": LONG}, _meta={"progressToken": "p"})
            wait_for(lambda: tables(lab.us) == 1, 30, 0.02, "the run")
            start = time.monotonic()
            c.close()
            wait_for(lambda: tables(lab.us) == 0, 30, 0.01, "its end")
            assert time.monotonic() - start < 1


def test_many_checks_at_once(lab):
    """Answers of a hundred programs that are checked side by side are each its own."""
    with Served(lab.us) as s, concurrent.futures.ThreadPoolExecutor(8) as pool:
        def one(i):
            got = s.tool("check_program", None, source=f'x{i} = 1\nprint(y{i})\n')
            return f"y{i}" in json.dumps(got)
        assert all(pool.map(one, range(100)))
    assert threading.active_count() < 50


def test_an_approval_is_for_one_run_of_one_caller(lab):
    """What the form's answer is good for: the caller who was asked, the arguments that were shown, once, on this server."""
    alice, bob = lab.key("asked"), lab.key("other")
    lab.us.policy(POLICY + f'approve(reach="{PEER}")\napprove_by_form()\n')
    can = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    yes = {"approve": {"action": "accept", "content": {"approve": True}}}

    def call(server, key, count, state=None, answer=None):
        more = {**({"requestState": state} if state else {}), **({"inputResponses": answer} if answer else {})}
        got = server.call("tools/call", name="ping_host", arguments={"target": PEER, "count": count}, _meta=can, headers={"x-api-key": key}, **more).json
        return "error" if "error" in got else "asked" if got["result"]["resultType"] == "input_required" else \
            "refused" if got["result"].get("isError") else "ran", got.get("result", {}).get("requestState")

    def starts():
        return lab.us.read("/var/lib/sonde/log").count('"event":"start"')
    before = starts()
    try:
        with Served(lab.us, "--keys", "/etc/sonde/mcp.keys") as s:
            said, state = call(s, alice, 1)
            assert said == "asked"
            assert call(s, alice, 1, None, yes)[0] == "asked"  # an answer to no question
            assert call(s, bob, 1, state, yes)[0] == "error"
            assert call(s, alice, 2, state, yes)[0] == "error"
            assert call(s, alice, 1, state[:-4] + "AAAA", yes)[0] == "error"
            assert call(s, alice, 1, state, {"approve": {"action": "decline"}})[0] == "refused"
            assert call(s, alice, 1, state, {"approve": {"action": "accept", "content": {"approve": "true"}}})[0] == "refused"
            assert starts() == before
            assert call(s, alice, 1, state, yes)[0] == "ran" and starts() == before + 1
            assert call(s, alice, 1, state, yes)[0] != "ran" and starts() == before + 1
            late = call(s, alice, 1)[1]
        with Served(lab.us, "--keys", "/etc/sonde/mcp.keys") as s:
            assert call(s, alice, 1, late, yes)[0] == "error" and starts() == before + 1
    finally:
        lab.us.policy(POLICY)
    lines = [json.loads(line) for line in lab.us.read("/var/lib/sonde/log").splitlines()]
    assert [(x["session"], x["by"]) for x in lines if x["event"] == "approved"] == [("mcp asked", "form")]
    assert [x["outcome"] for x in lines if x["event"] == "call" and x["session"] == "mcp asked"] == \
        ["asked", "asked", "refused", "refused", "ALIVE", "refused", "asked"]


def test_what_one_caller_keeps_is_no_others_and_no_policy_of_his_widens(lab):
    lab.us.write("/etc/sonde/wide.sonde", 'budget(packets=20000, time=600)\nreach("0.0.0.0/0", icmp=True)\n')
    one, two = lab.key("keeps"), lab.key("wide", "--policy", "/etc/sonde/wide.sonde")

    def said(got):
        return got.get("isError", False), got["content"][0]["text"]
    with Served(lab.us, "--keys", "/etc/sonde/mcp.keys") as s:
        program = s.tool("check_program", one, source="print(1)")["structuredContent"]["program_id"]
        page = s.tool("run_program", one, source="for i in range(3000):\n    print('line', i)\n")["structuredContent"]["page"]
        for tool, args, word in (("run_program", {"program_id": program}, "no program"), ("check_program", {"program_id": program}, "no program"),
                                 ("result_page", {"page": page}, "no page")):
            assert not said(s.tool(tool, one, **args))[0]
            refused, text = said(s.tool(tool, two, **args))
            assert refused and word in text, text
        refused, text = said(s.tool("ping_host", two, target="192.0.2.1", count=1))
        assert refused and "/etc/sonde/policy.sonde" in text, text
        assert not said(s.tool("ping_host", two, target=PEER, count=1))[0]


def test_one_address_does_not_take_all_connections(lab):
    key, ca = lab.key("elsewhere"), Authority(lab)
    cert, priv = ca.cert("address", f"IP:{US}")
    with Served(lab.us, "--keys", "/etc/sonde/mcp.keys", "--tls-cert", cert, "--tls-key", priv, "--host", "localhost", bind=f"{US}:0") as s:
        many = []
        with inside(lab.peer):
            for _ in range(300):
                c = socket.socket()
                c.settimeout(5)
                c.bind((PEER, 0))
                c.connect((s.addr, s.port))
                many.append(c)
        wait_for(lambda: process_facts(front_of(s))[0] >= 250, 10, why="its threads")
        time.sleep(0.3)
        assert process_facts(front_of(s))[0] < 270
        s.context = ssl.create_default_context(cafile=ca.path("root.pem"))
        s.context.check_hostname = False
        assert s.call("tools/list", headers={"x-api-key": key}).status == 200  # from its own address
        for c in many:
            c.close()
