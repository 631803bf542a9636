# SPDX-License-Identifier: Apache-2.0
"""`sonde mcp` as it is served: over HTTP in a lab, with the rights that its unit leaves it, and runs whose clients hang up."""
import concurrent.futures
import contextlib
import ctypes
import json
import os
import pathlib
import re
import ssl
import threading
import time

import pytest

from lab import Lab, sonde_binary
from lab.certs import Authority
from lab.procs import wait_for
from lab.state import ledger_init
from over_http import Server, events
from stdio import descendants

ROOT = pathlib.Path(__file__).resolve().parents[2]
US, PEER, OTHER = "10.9.0.1", "10.9.0.2", "10.9.0.3"
POLICY = 'budget(packets=20000, time=120)\nreach("10.9.0.0/24", icmp=True)\n'
CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
pytestmark = pytest.mark.sonde


@contextlib.contextmanager
def inside(node):
    """Sockets that this thread makes meanwhile are the node's."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        assert libc.setns(node._netfd, CLONE_NEWNET) == 0
        yield
    finally:
        assert libc.setns(own, CLONE_NEWNET) == 0
        os.close(own)


class Served(Server):
    """A server in a node, started with `before` in front of its command."""

    def __init__(self, node, *args, bind="127.0.0.1:0", before=()):
        self.node = node
        self.proc = node.start(*before, str(sonde_binary()), "mcp", "--http", bind, *map(str, args))
        said = wait_for(lambda: re.search(r"(https?)://(\S+):(\d+)/mcp", self.proc.err) or (self.proc.rc is not None and [self.proc.err]),
                        30, why="listening")
        assert not isinstance(said, list), said
        self.tls, self.addr, self.port, self.context = said[1] == "https", said[2], int(said[3]), None

    def __exit__(self, *_):
        assert self.proc.stop(30) == 0, self.proc.err

    def connect(self, timeout=60):
        with inside(self.node):
            return super().connect(timeout)

    def tool(self, name, key, **arguments):
        got = self.call("tools/call", name=name, arguments=arguments, headers={"x-api-key": key} if key else {})
        assert got.status == 200, got.raw
        message = got.json if got.headers["content-type"] == "application/json" else events(got.body)[-1]
        return message["result"]


@pytest.fixture(scope="module")
def lab():
    with Lab() as made:
        made.us, made.peer = made.hosts("us", "peer")
        made.link(made.us, made.peer, f"{US}/24", f"{PEER}/24")
        made.peer.ip("addr", "add", f"{OTHER}/24", "dev", made.peer.run("sh", "-c", "ls /sys/class/net | grep -v lo").out.split()[0])
        made.us.policy(POLICY)
        ledger_init(made.us)
        made.key = lambda name, *args: made.us.run(str(sonde_binary()), "mcp", "key", "add", name, *args).out.strip()
        yield made


def unit():
    text = (ROOT / "src/cmd/sonde-mcp.service.in").read_text()
    return re.search(r"^CapabilityBoundingSet=(.*)$", text, re.M)[1].lower().split()


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
        front = next(p for p in descendants(s.proc.pid) if pathlib.Path(f"/proc/{p}/comm").read_text().strip() == "sonde-mcp")
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


def test_where_keys_are_not_said_it_listens_to_this_host_alone(lab):
    p = lab.us.start(str(sonde_binary()), "mcp", "--http", f"{US}:0")
    assert p.wait(30) == 5 and "keys" in p.err


def runs(server):
    """The launcher's children but for front and checker."""
    return len(pathlib.Path(f"/proc/{server.proc.pid}/task/{server.proc.pid}/children").read_text().split()) - 2


STREAMS = 200
# a packet a second, and a word of progress
LONG = f'for i in range(100):\n    sr1(IP(dst="{PEER}")/ICMP(), timeout=0.1)\n    sleep(1)\n'


def test_two_hundred_streams_of_which_a_hundred_are_cut(lab):
    """Each cut ends its run: its processes within seconds of a machine that is busy with the other hundred, its table with it."""
    lab.us.policy(POLICY.replace("packets=20000", "packets=1000"))
    with Served(lab.us, "--max-runs", 256, "--max-runs-caller", 256) as s:
        idle = len(descendants(s.proc.pid))
        streams = [s.stream("tools/call", name="run_program", arguments={"source": LONG}, _meta={"progressToken": "p"}) for _ in range(STREAMS)]
        wait_for(lambda: runs(s) == STREAMS, 60, 0.1, "all runs")
        for c in streams:  # told while it runs
            assert b"notifications/progress" in c.recv(65536) + c.recv(65536)
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


def tables(node):
    return node.run("nft", "list", "tables").out.count("sonde")


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
