# SPDX-License-Identifier: Apache-2.0
"""A server over HTTP, the fixtures' or any other, and clients of it, down to single bytes."""
import contextlib
import json
import re
import socket
import ssl
import subprocess
import time

from front import META
from lab.procs import DIE_WITH_US, build_dir
from traffic import keep

MODERN = "2026-07-28"
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Answer:
    def __init__(self, raw, status, headers, body):
        self.raw, self.status, self.headers, self.body = raw, status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def message(self):
        """The answer, whether alone or at the end of a stream."""
        return self.json if self.headers["content-type"] == "application/json" else events(self.body)[-1]


class Server:
    """Our library with the fixtures' tools, on a free port of loopback."""
    real = False  # sonde-mcp itself

    def __init__(self, *args, binary=None, bind="127.0.0.1:0", ok=True):
        binary = binary or build_dir() / "tests" / "mcp" / "sonde-mcp-fixtures"
        self.proc = subprocess.Popen([*DIE_WITH_US, str(binary), "--http", bind, *map(str, args)], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.said = self.proc.stderr.readline()
        found = re.search(r"(https?)://(\S+):(\d+)/mcp", self.said)
        assert bool(found) == ok, self.said
        if found:
            self.tls, self.addr, self.port = found[1] == "https", found[2].strip("[]"), int(found[3])
        self.context = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.proc.poll() is None:
            self.proc.terminate()
        assert self.proc.wait(20) == 0, self.proc.stderr.read()
        self.proc.stderr.close()

    def connect(self, timeout=20):
        s = socket.create_connection((self.addr, self.port), timeout)
        if self.tls:
            s = self.context.wrap_socket(s, server_hostname="localhost")
        return s

    def trust(self, cafile):
        self.context = ssl.create_default_context(cafile=cafile)
        return self

    def raw(self, data, timeout=20):
        """All that comes for these bytes until the other side ends it."""
        with self.connect(timeout) as s:
            with contextlib.suppress(ConnectionError):
                s.sendall(data)
            return read_all(s)

    def ask(self, method="POST", path="/mcp", body=b"", headers=None, **more):
        """One request on a connection of its own. Header values of None take one away; keyword x_y is header X-Y."""
        h = {"Host": f"localhost:{self.port}", **(HEADERS if method == "POST" else {}), **(headers or {}),
             **{k.replace("_", "-"): v for k, v in more.items()}}
        if method == "POST":
            h.setdefault("Content-Length", str(len(body)))
        h.setdefault("Connection", "close")
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in h.items() if v is not None) + "\r\n"
        return parse(self.raw(head.encode() + body))

    def call(self, method, headers=None, version=MODERN, **params):
        """A request of the stateless revision."""
        body, h = request(method, version, **params)
        got = self.ask(body=body, headers={**h, **(headers or {})})
        if self.real and got.status == 200:
            keep(version, method, params, got.message)
        return got

    def stream(self, method, headers=None, **params):
        """The same, left open: a socket whose answer is still to be read."""
        body, h = request(method, MODERN, **params)
        s = self.connect()
        h = {"Host": f"localhost:{self.port}", **HEADERS, **h, **(headers or {}), "Content-Length": str(len(body))}
        s.sendall(("POST /mcp HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in h.items()) + "\r\n").encode() + body)
        return s

    def ping_ok(self):
        """Whether it still serves."""
        got = self.call("tools/list")
        assert got.status == 200 and got.json["result"]["tools"], got.raw


def request(method, version=MODERN, **params):
    params["_meta"] = {**META, **params.get("_meta", {}), "io.modelcontextprotocol/protocolVersion": version}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {"Mcp-Protocol-Version": version, "Mcp-Method": method}
    if "name" in params or "uri" in params:
        headers["Mcp-Name"] = params.get("name") or params["uri"]
    return body, headers


def read_all(s):
    out = b""
    with contextlib.suppress(ConnectionError, ssl.SSLEOFError):
        while piece := s.recv(65536):
            out += piece
    return out


def parse(raw):
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    if not lines[0].startswith("HTTP/1."):
        return Answer(raw, 0, {}, b"")
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
    if headers.get("transfer-encoding") == "chunked":
        body = unchunk(body)
    return Answer(raw, int(lines[0].split()[1]), headers, body)


def unchunk(data):
    out = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        n = int(size, 16)
        out, data = out + data[:n], data[n + 2:]
        if n == 0:
            break
    return out


def events(body):
    """The messages of a stream of events."""
    return [json.loads(line[6:]) for line in body.decode().split("\n") if line.startswith("data: ")]


def until(condition, seconds=20, what="it"):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen in {seconds} s"
        time.sleep(0.02)


def process_facts(pid):
    """(threads, open descriptors, resident kB)"""
    import os
    status = open(f"/proc/{pid}/status").read()
    return (int(re.search(r"Threads:\s+(\d+)", status)[1]), len(os.listdir(f"/proc/{pid}/fd")),
            int(re.search(r"VmRSS:\s+(\d+)", status)[1]))
