# SPDX-License-Identifier: Apache-2.0
"""The official TypeScript SDK's client, both majors, over stdio and HTTP, uses every tool, resource and prompt in a lab."""
import json
import pathlib
import re

import pytest

from front import node
from lab import Lab, sonde_binary
from lab.state import ledger_init

HERE = pathlib.Path(__file__).resolve().parent
PEER = "10.20.1.2"
POLICY = f'reach("{PEER}")\nzone("acme.corp")\nresolver("{PEER}")\nmay_follow("0.0.0.0/0", "{PEER}")\nmay_follow("::/0", "{PEER}")\n'
WEB = """
import http.server
http.server.ThreadingHTTPServer(("0.0.0.0", 80), http.server.SimpleHTTPRequestHandler).serve_forever()
"""
LONG = "for i in range(6000):\n    print(i, 'and so on, until nobody wants to read it any more')\n"
LONG_TEXT = "".join(f"{i} and so on, until nobody wants to read it any more\n" for i in range(6000))
CALLS = [
    ("check", "check_program", {"source": f'param n: int = 1\nr = ping("{PEER}", count=n)\nprint(r.received)\n'}),
    ("run", "run_program", {"program_id": {"$": ["check", "program_id"]}, "params": {"n": 3}}),
    ("long", "run_program", {"source": LONG}),
    ("page", "result_page", {"page": {"$": ["long", "page"]}, "offset": {"$": ["long", "next_offset"]}}),
    ("slow", "run_program", {"source": "sleep(1.5)\nprint('done')\n"}),
    ("refused", "run_program", {"source": 'print(ping("10.99.0.1"))'}),
    ("wrong", "check_program", {"source": "print(x"}),
    ("help", "language_help", {"topic": "ping"}),
    ("ping", "ping_host", {"target": PEER, "count": 2}),
    ("tcp", "tcp_reachability", {"target": PEER, "port": 80}),
    ("closed", "tcp_reachability", {"target": PEER, "port": 81}),
    ("trace", "traceroute_host", {"target": PEER}),
    ("dns", "resolve_dns", {"name": "www.acme.corp"}),
    ("tls", "tls_check", {"target": PEER, "port": 80, "server_name": "www.acme.corp"}),
    ("http", "http_probe", {"url": f"http://{PEER}/"}),
    ("local", "local_state", {}),
    ("no target", "ping_host", {}),
]
# major, over HTTP, mode of 2.x, revision that must come out
WAYS = {
    "1.x stdio": (1, False, None, "2025-11-25"),
    "1.x http": (1, True, None, "2025-11-25"),
    "2.x stdio, stateless": (2, False, {"pin": "2026-07-28"}, "2026-07-28"),
    "2.x stdio, what both know": (2, False, "auto", "2026-07-28"),
    "2.x http, stateless": (2, True, {"pin": "2026-07-28"}, "2026-07-28"),
    "2.x http, as of old": (2, True, "legacy", "2025-11-25"),
}
pytestmark = pytest.mark.sonde


@pytest.fixture(scope="module")
def us():
    with Lab("sdk") as lab:
        us, peer = lab.host("us"), lab.host("peer")
        lab.link(us, peer, "10.20.1.1/24", f"{PEER}/24")
        us.policy(POLICY)
        us.write("/etc/resolv.conf", f"nameserver {PEER}\n")
        ledger_init(us).ok()
        peer.start("/usr/bin/python3", "-I", "-c", WEB)
        peer.start("dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--user=root", "--pid-file=",
                   f"--host-record=www.acme.corp,{PEER}")
        peer.run("sh", "-c", "for i in $(seq 200); do ss -lntu | grep -q ':80 ' && ss -lntu | grep -q ':53 ' && exit 0; sleep 0.1; done; exit 1")
        yield us


@pytest.fixture(scope="module")
def key(us):
    made = us.run(str(sonde_binary()), "mcp", "key", "add", "sdk")
    return re.search(r"\bsonde_\S+|\b[A-Za-z0-9_-]{40,}\b", made.out)[0]


@pytest.fixture(scope="module")
def url(us, key):
    server = us.start(str(sonde_binary()), "mcp", "--http", "127.0.0.1:0", "--keys", "/etc/sonde/mcp.keys")
    return re.search(r"http://\S+", server.until("listening on http", 30, stream="err").err)[0]


def drive(us, way, request):
    major, http, mode, _ = WAYS[way]
    plan = {"mode": mode, "calls": CALLS}
    if http:
        plan |= {"url": request.getfixturevalue("url"), "key": request.getfixturevalue("key")}
    else:
        plan |= {"command": str(sonde_binary()), "args": ["mcp"]}
    ran = us.run(str(node()), str(HERE / f"sdk_v{major}.mjs"), json.dumps(plan), timeout=240)
    assert ran.rc == 0, ran.err[-4000:]
    return json.loads(ran.out.splitlines()[-1])


@pytest.fixture(scope="module", params=WAYS)
def said(us, request):
    return WAYS[request.param], drive(us, request.param, request)


def structured(said, name):
    got = said["calls"][name]
    assert "thrown" not in got and not got.get("isError"), (name, got)
    assert got["content"], "the same facts as text"
    return got["structuredContent"]


def test_revision_and_server(said):
    way, s = said
    assert s["version"] == way[3] and s["server"]["name"] == "sonde"
    assert len(s["instructions"]) < 2048
    assert {"tools", "resources", "prompts", "completions"} <= set(s["capabilities"])


def test_every_tool_is_called_and_answers(said):
    _, s = said
    called = {tool for name, tool, _ in CALLS if (got := s["calls"][name]).get("structuredContent") and not got.get("isError")}
    assert {t["name"] for t in s["tools"]} == called, "each with success"
    for t in s["tools"]:
        assert set(t["annotations"]) >= {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}


def test_programs(said):
    _, s = said
    assert structured(s, "check")["ok"] is True
    run = structured(s, "run")
    assert run["exit"] == 0 and "".join(o["text"] for o in run["output"]).split() == ["3"]
    lines = "".join(o["text"] for name in ("long", "page") for o in structured(s, name)["output"])
    assert LONG_TEXT.startswith(lines) and len(lines) > 8000, "the page goes on where the answer was cut"
    assert s["progress"]["slow"] >= 1 and "done" in json.dumps(structured(s, "slow")["output"])
    wrong = s["calls"]["wrong"]
    assert "thrown" not in wrong and "E-SYNTAX" in json.dumps(wrong)


def test_fixed_probes(said):
    _, s = said
    verdicts = {name: structured(s, name)["verdict"] for name in ("ping", "tcp", "closed", "trace", "dns", "tls", "http")}
    assert verdicts == {"ping": "ALIVE", "tcp": "OPEN", "closed": "CONNECTION_REFUSED", "trace": "REACHED", "dns": "RESOLVED",
                        "tls": "HANDSHAKE_FAILED", "http": "OK"}
    for name in verdicts:
        assert structured(s, name)["finding_id"]
    assert "10.20.1.1" in json.dumps(structured(s, "local"))


def test_refusals_are_answers_and_not_exceptions(said):
    _, s = said
    for name in ("refused", "no target"):
        assert "thrown" not in s["calls"][name] and s["calls"][name]["isError"] is True, s["calls"][name]
    assert "10.99.0.1" in json.dumps(s["calls"]["refused"])
    assert "ping_host" in json.dumps(s["calls"]["no target"]), "a right call is shown"


def test_what_is_read(said):
    _, s = said
    assert "def ping(" in s["builtin"]["contents"][0]["text"] and "thrown" in s["none"]
    for uri, got in s["resources"].items():
        assert "thrown" not in got and got["contents"][0]["text"], uri
    policy = s["resources"]["sonde://policy"]["contents"][0]["text"]
    assert PEER in policy and "zone(" in policy
    assert set(s["templates"]) == {"sonde://builtins/{name}", "sonde://examples/{name}"}
    assert s["prompts"]["list"] == ["investigate", "review_program"]
    assert "it hangs" in s["prompts"]["investigate"]["messages"][0]["content"]["text"]
    assert s["completion"] == ["tracebox", "traceroute"]
