# SPDX-License-Identifier: Apache-2.0
"""sonde-mcp by itself over standard input and output, with nobody behind its launcher's socket: for what needs no run."""
import itertools
import json
import os
import socket
import subprocess

from lab.procs import build_dir
from traffic import keep

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}}


def node():
    """Node 22, which `make npm` installed."""
    return build_dir().parent / "tests" / "mcp" / "node_modules" / ".bin" / "node"


class Front:
    """One question at a time. modern: the stateless revision; else initialize with `version`."""

    def __init__(self, version="2026-07-28"):
        self.ids = itertools.count(1)
        self.version, self.modern = version, version >= "2026"
        self.ends = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]

        def descriptors():
            os.dup2(self.ends[0][1].fileno(), 30)
            os.dup2(self.ends[1][1].fileno(), 31)
            os.dup2(30, 3)
            os.dup2(31, 4)

        self.proc = subprocess.Popen([build_dir() / "src" / "cmd" / "sonde-mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     close_fds=False, preexec_fn=descriptors)
        if not self.modern:
            self.request("initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "test", "version": "1"})

    def ask(self, method, **params):
        if self.modern:
            params["_meta"] = META
        self.proc.stdin.write(json.dumps({"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}).encode() + b"\n")
        self.proc.stdin.flush()
        got = json.loads(self.proc.stdout.readline())
        keep(self.version, method, params, got)
        return got

    def request(self, method, **params):
        got = self.ask(method, **params)
        assert "result" in got, got
        return got["result"]

    def error(self, method, **params):
        got = self.ask(method, **params)
        assert "error" in got, got
        return got["error"]

    def read(self, uri):
        """The text of a resource of one part."""
        (part,) = self.request("resources/read", uri=uri)["contents"]
        assert part["uri"] == uri
        return part["text"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.proc.stdin.close()
        try:
            self.proc.wait(20)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
        for pair in self.ends:
            for end in pair:
                end.close()
