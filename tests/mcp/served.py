# SPDX-License-Identifier: Apache-2.0
"""`sonde mcp --http` in a node of a lab, and clients of it whose sockets are the node's."""
import contextlib
import ctypes
import os
import pathlib
import re
import time

from lab import Lab, sonde_binary
from lab.procs import wait_for
from lab.state import ledger_init
from over_http import Server

US, PEER, OTHER = "10.9.0.1", "10.9.0.2", "10.9.0.3"
POLICY = 'budget(packets=20000, time=600)\nreach("10.9.0.0/24", icmp=True)\nmay_follow("10.9.0.0/24", "10.9.0.0/24")\n'
CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


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


@contextlib.contextmanager
def two(policy=POLICY):
    """A lab of us, where Sonde may do what the policy says, and a peer on the same link."""
    with Lab() as lab:
        lab.us, lab.peer = lab.hosts("us", "peer")
        lab.link(lab.us, lab.peer, f"{US}/24", f"{PEER}/24")
        lab.us.policy(policy)
        ledger_init(lab.us)
        yield lab


class Served(Server):
    """A server in a node, started with `before` in front of its command."""
    real = True

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
        return got.message["result"]


IDLE = 2 + 8  # front, checker, and the children that it forks ahead


def runs(server):
    """The launcher's children but for front and checker."""
    return len(pathlib.Path(f"/proc/{server.proc.pid}/task/{server.proc.pid}/children").read_text().split()) - 2


# a packet a second, and a word of progress
LONG = f'for i in range(500):\n    sr1(IP(dst="{PEER}")/ICMP(), timeout=0.1)\n    sleep(1)\n'


def streams(server, n):
    """n clients, each with a LONG run of its own that has told of itself; twenty at a time, since starting is what costs."""
    out = []
    while len(out) < n:
        some = [server.stream("tools/call", name="run_program", arguments={"source": LONG}, _meta={"progressToken": "p"})
                for _ in range(min(20, n - len(out)))]
        for c in some:
            assert b" 200 OK" in c.recv(65536)
        out += some
    return out


def cut(server, clients):
    """Seconds from the first of them that hangs up to the end of the last one's run."""
    left, start = runs(server) - len(clients), time.monotonic()
    for c in clients:
        c.close()
    wait_for(lambda: runs(server) <= left, 60, 0.02, "the end of their runs")
    return time.monotonic() - start


def tables(node):
    return node.run("nft", "list", "tables").out.count("sonde")
