# SPDX-License-Identifier: Apache-2.0
"""sonde-mcp-fixtures over a pipe: many requests under way, raw lines, everything that it writes."""
import json
import subprocess
import threading

from lab.procs import DIE_WITH_US, build_dir, wait_for

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
FIXTURES = build_dir() / "tests" / "mcp" / "sonde-mcp-fixtures"


class Pipe:
    """`messages` is all that came, in its order; a line that is no JSON object fails the test."""

    def __init__(self, version=None, capabilities=None, binary=FIXTURES):
        self.proc = subprocess.Popen(DIE_WITH_US + [str(binary)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE)
        self.messages, self.odd, self.ended = [], [], False
        threading.Thread(target=self._read, daemon=True).start()
        if version:
            got = self.ask({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {
                "protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": {"name": "test", "version": "1"}}})
            assert got["result"]["protocolVersion"] == version
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _read(self):
        for line in self.proc.stdout:
            try:
                self.messages.append(json.loads(line))
            except ValueError:
                self.odd.append(line)
        self.ended = True

    def raw(self, data):
        self.proc.stdin.write(data)
        self.proc.stdin.flush()

    def send(self, message):
        self.raw(json.dumps(message).encode() + b"\n")

    def call(self, id, tool, args=None, meta=None):
        self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                   "params": {"name": tool, **({"arguments": args} if args is not None else {}), **({"_meta": meta} if meta else {})}})

    def find(self, id):
        """The answer to that request, or None."""
        return next((m for m in list(self.messages) if isinstance(m, dict) and m.get("id") == id and "method" not in m), None)

    def answer(self, id, timeout=30):
        return wait_for(lambda: self.find(id), timeout, why=f"an answer to {id}")

    def ask(self, message, timeout=30):
        self.send(message)
        return self.answer(message["id"], timeout)

    def notes(self, method):
        return [m for m in list(self.messages) if isinstance(m, dict) and m.get("method") == method]

    def alive(self):
        """It answers a ping, and wrote nothing but messages."""
        got = self.ask({"jsonrpc": "2.0", "id": f"alive {len(self.messages)}", "method": "ping"})
        assert got["result"] == {} and not self.odd
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.proc.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.code = self.proc.wait(20)
        finally:
            self.proc.kill()
        assert not self.odd, self.odd[:3]
