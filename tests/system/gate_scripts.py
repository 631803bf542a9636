# SPDX-License-Identifier: Apache-2.0
"""Runs scripts by tests/tools/gate_driver behind the real gate, and reads what the
engine heard."""
import re

from lab.procs import build_dir

IP4, IP6, ETHER = 4, 6, 1
PROBE, CONN, CLEANUP = 0, 1, 2
US, PEER = "10.9.0.1", "10.9.0.2"


def driver():
    return str(build_dir() / "tests" / "gate_driver")


def emit(ident, packet, purpose=PROBE, delay="-", kind=IP4, iface=0):
    return f"emit {ident} {kind} {purpose} {iface} {delay} {bytes(packet).hex()}"


class Heard:
    """Lines by their first word."""

    def __init__(self, text, rc):
        self.text, self.rc = text, rc
        self.lines = [line.split() for line in text.splitlines()]

    def all(self, word):
        return [x[1:] for x in self.lines if x and x[0] == word]

    @property
    def epoch(self):
        return int(self.all("go")[0][0])

    @property
    def sent(self):
        """{tx_id: (ns since the epoch, source, local queueing, paced)}; sources are texts."""
        out = {}
        for m in re.finditer(r"^sent (\d+) (-?\d+) (.*?) (-?\d+) (-?\d+) (\d+)$", self.text, re.M):
            out[int(m[1])] = (self.epoch + int(m[2]), m[3], int(m[4]), int(m[5]))
        return out

    @property
    def frames(self):
        """[(ns since the epoch, source, csum, flags, length on the wire, bytes)]"""
        out = []
        for m in re.finditer(r"^frame (-?\d+) (.*?) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) ([0-9a-f]*)$",
                             self.text, re.M):
            out.append((self.epoch + int(m[1]), m[2], int(m[3]), int(m[5]), int(m[7]),
                        bytes.fromhex(m[9])))
        return out

    @property
    def notsent(self):
        return {int(m[1]): (int(m[2]), m[3])
                for m in re.finditer(r"^notsent (\d+) (\d+) (.*)$", self.text, re.M)}

    @property
    def stat(self):
        return dict(kv.split("=", 1) for kv in self.all("stat")[0] if "=" in kv)

    @property
    def notes(self):
        return [" ".join(x[1:]) for x in self.all("note")]

    def place(self, *words):
        """The number of the first line that starts with these words."""
        return next(i for i, x in enumerate(self.lines) if tuple(x[:len(words)]) == words)


def script(node, *lines):
    path = node.lab.path(f"script-{len(list(node.lab.nodes))}-{abs(hash(lines)) % 10**9}")
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")
    return path


def run(node, *lines, args=(), timeout=30):
    p = node.run(driver(), *args, script(node, *lines), timeout=timeout, check=False)
    return Heard(p.out, p.rc)


def start(node, *lines, args=()):
    return node.start(driver(), *args, script(node, *lines))
