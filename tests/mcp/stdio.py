# SPDX-License-Identifier: Apache-2.0
"""A client of `sonde mcp` over standard input and output, inside a node."""
import itertools
import json
import subprocess
import threading

from lab.procs import DIE_WITH_US, family, wait_for
from lab.sonde import sonde_binary
from traffic import keep


class Stdio:
    """Starts the server in `node` and initializes; requests may overlap."""

    def __init__(self, node, *args, capabilities=None, version="2025-11-25"):
        argv = [str(sonde_binary()), "mcp", *args]
        self.proc = subprocess.Popen(DIE_WITH_US + [str(x) for x in node.argv(*argv)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE)
        self.ids, self.asks, self.answers, self.notes = itertools.count(1), {}, {}, []
        self.version = version
        self.err, self.seen = "", threading.Condition()
        self.ended = False
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_err, daemon=True).start()
        node.lab.keep(self)
        self.initialized = self.request("initialize", {"protocolVersion": version, "capabilities": capabilities or {},
                                                       "clientInfo": {"name": "test", "version": "1"}})
        self.notify("notifications/initialized")

    def _read(self):
        for line in self.proc.stdout:
            message = json.loads(line)
            if "id" in message and "method" not in message:
                keep(self.version, *self.asks.pop(message["id"]), message)
            with self.seen:
                if "id" in message and "method" not in message:
                    self.answers[message["id"]] = message
                else:
                    self.notes.append(message)
                self.seen.notify_all()
        with self.seen:
            self.ended = True
            self.seen.notify_all()

    def _read_err(self):
        for line in self.proc.stderr:
            self.err += line.decode(errors="replace")

    def _write(self, message):
        self.proc.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.proc.stdin.flush()

    def notify(self, method, params=None):
        self._write({"method": method, **({"params": params} if params else {})})

    def send(self, method, params=None):
        ident = next(self.ids)
        self.asks[ident] = (method, params)
        self._write({"id": ident, "method": method, "params": params or {}})
        return ident

    def asked(self, method, timeout=60):
        """The next request of the server's; it waits for reply()."""
        def found():
            return next((m for m in self.notes if m.get("method") == method and "id" in m), None)
        with self.seen:
            assert self.seen.wait_for(lambda: found() or self.ended, timeout), f"no {method}\n{self.err}"
            message = found()
            self.notes.remove(message)
            return message

    def reply(self, message, result):
        self._write({"id": message["id"], "result": result})

    def answer(self, ident, timeout=60):
        with self.seen:
            assert self.seen.wait_for(lambda: ident in self.answers or self.ended, timeout), \
                f"no answer to {ident} within {timeout} s\n{self.err}"
            assert ident in self.answers, f"the server ended\n{self.err}"
            return self.answers[ident]

    def request(self, method, params=None, timeout=60):
        got = self.answer(self.send(method, params), timeout)
        assert "result" in got, got
        return got["result"]

    def call(self, tool, timeout=60, **arguments):
        return self.request("tools/call", {"name": tool, "arguments": arguments}, timeout)

    def children(self):
        """{command line: pid} of all that stands below the server."""
        return descendants(self.proc.pid)

    def stop(self):
        if self.proc.poll() is None:
            self.proc.stdin.close()
            try:
                self.proc.wait(15)
            except subprocess.TimeoutExpired:
                self.proc.kill()
        self.proc.wait()


def descendants(pid):
    return sorted(p for p in family(pid) if p != pid)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def all_gone(pids, timeout=10):
    wait_for(lambda: not any(alive(p) for p in pids), timeout, why="processes end")
