# SPDX-License-Identifier: Apache-2.0
"""doc/mcp.md: each command line on it is one, and both ways lead where it says."""
import json
import pathlib
import re
import shlex
import subprocess

import pytest

from front import META, node
from lab import Lab, sonde_binary
from lab.certs import Authority
from lab.state import ledger_init

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "doc" / "mcp.md").read_text()
HERE = pathlib.Path(__file__).resolve().parent
PEER = "10.20.1.2"
pytestmark = pytest.mark.sonde


def commands():
    """The command lines of the page: blocks, and pieces in backquotes."""
    lines = re.findall(r"^    ((?:sudo )?sonde .+)$", PAGE, re.M) + re.findall(r"`((?:sudo )?sonde [^`\n]+)`", PAGE)
    return [line.removeprefix("sudo ") for line in dict.fromkeys(lines)]


def test_there_are_commands():
    assert len(commands()) > 15


@pytest.mark.parametrize("line", commands())
def test_each_command_line_is_one(line):
    words = shlex.split(line)[1:]
    page = subprocess.run([sonde_binary(), words[0], "--help"], capture_output=True, text=True, timeout=60)
    assert page.returncode == 0
    for option in (w for w in words if w.startswith("--")):
        assert re.search(rf"^ +(?:-\w, )?{option}\b", page.stdout, re.M), option
    if len(words) > 1 and words[1].isalpha():
        assert words[1] in page.stdout, "the sub-command"


def test_each_option_on_the_page_is_one():
    known = "".join(subprocess.run([sonde_binary(), c, "--help"], capture_output=True, text=True, timeout=60).stdout
                    for c in ("mcp", "policy", "run"))
    for option in re.findall(r"`(--[\w-]+)", PAGE) + re.findall(r"(?<= )(--[\w-]+)", re.search(r"^    SONDE_MCP_OPTIONS=.*$", PAGE, re.M)[0]):
        assert re.search(rf"^ +{option}\b", known, re.M), option


def test_each_tool_and_verdict_is_one():
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (.+) \|$", PAGE, re.M)
    tools = {t for names, _ in rows for t in re.findall(r"`(\w+)`", names)} - {"claude", "codex", "vscode", "cursor"}
    assert tools == {p.name.split(".")[1] for p in (ROOT / "doc" / "mcp").glob("tool.*.input.json")}
    for names, told in rows:
        for verdict in re.findall(r"\b[A-Z]+_[A-Z_]+\b|\b(?:ALIVE|OPEN|RESET|REACHED|INCOMPLETE|UNREACHABLE)\b", told):
            schema = ROOT / "doc" / "mcp" / f"tool.{re.search(r'[a-z_]+', names)[0]}.output.json"
            assert f'"{verdict}"' in schema.read_text(), (names, verdict)


@pytest.fixture(scope="module")
def us():
    with Lab("ten minutes") as lab:
        us, peer = lab.host("us"), lab.host("peer")
        lab.link(us, peer, "10.20.1.1/24", f"{PEER}/24")
        ledger_init(us).ok()  # what SETCAP=1 did
        init = re.search(r"sudo sonde (policy init mcp .+)$", PAGE, re.M)[1].replace("10.0.0.0/8", "10.20.0.0/16")
        assert us.run(str(sonde_binary()), *init.split(), "--replace").rc == 0
        yield us


def test_on_a_laptop(us):
    """Policy, entry, and the server starts as the entry says."""
    folder = pathlib.Path(us.lab.path("project"))
    folder.mkdir()
    line = re.search(r"sonde (mcp install --client claude --write)$", PAGE, re.M)[1]
    us.run("sh", "-c", f"cd {folder} && exec {sonde_binary()} {line}")
    entry = json.loads((folder / ".mcp.json").read_text())["mcpServers"]["sonde"]
    calls = [("ping", "ping_host", {"target": PEER, "count": 1}), ("out", "ping_host", {"target": "10.30.0.1", "count": 1})]
    plan = {"mode": "auto", "command": entry["command"], "args": entry["args"], "calls": calls}
    said = json.loads(us.run(str(node()), str(HERE / "sdk_v2.mjs"), json.dumps(plan), timeout=120).out)
    assert said["calls"]["ping"]["structuredContent"]["verdict"] == "ALIVE"
    assert said["calls"]["out"]["isError"], "the policy holds"
    assert "hour_packets=20000" in said["resources"]["sonde://policy"]["contents"][0]["text"]


def test_on_a_server(us):
    """Certificate, key, TLS; a client with the key in its environment; a revoked key."""
    ca = Authority(us.lab)
    cert, key = ca.cert("probe", "DNS:probe.acme.corp,IP:127.0.0.1")
    us.run("install", "-m", "644", cert, "/etc/sonde/mcp.crt")
    us.run("install", "-m", "600", key, "/etc/sonde/mcp.key")
    options = re.search(r"SONDE_MCP_OPTIONS=(.+)$", PAGE, re.M)[1].replace(":8443", ":0").replace("probe.acme.corp", "127.0.0.1")
    made = us.run(str(sonde_binary()), *re.search(r"sonde (mcp key add alice)$", PAGE, re.M)[1].split())
    secret = re.search(r"\bsonde_\S+", made.out)[0]
    server = us.start(str(sonde_binary()), "mcp", *options.split())
    port = re.search(r"https://\S+:(\d+)", server.until("listening on https", 30, stream="err").err)[1]
    plan = {"mode": "auto", "url": f"https://127.0.0.1:{port}/mcp", "key": secret, "calls": [("ping", "ping_host", {"target": PEER, "count": 1})]}

    def ask(check=True):
        return us.run("env", f"NODE_EXTRA_CA_CERTS={ca.path('root.pem')}", str(node()), str(HERE / "sdk_v2.mjs"), json.dumps(plan), timeout=120, check=check)

    assert json.loads(ask().out)["calls"]["ping"]["structuredContent"]["verdict"] == "ALIVE"
    assert "mcp alice" in us.run(str(sonde_binary()), "ledger", "show").out
    us.run(str(sonde_binary()), "mcp", "key", "revoke", "alice")
    assert ask(check=False).rc != 0
    us.run(str(sonde_binary()), "audit", "verify", "/var/lib/sonde/log")
