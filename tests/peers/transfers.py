# SPDX-License-Identifier: Apache-2.0
"""Transfers between our stack and a Linux kernel, each in a lab of its own.

A case is a path (faults of the bad cable, or a router with a smaller MTU), a family, who
connects and who sends.  It passes if each side got exactly the bytes that the other sent,
by SHA-256, and the connection's invariants held.  Labs are namespaces without names, so
many run side by side; most of a lossy transfer is waiting."""
import concurrent.futures
import dataclasses
import json
import threading
import time

from lab import Lab, tool
from lab.procs import Deadline

MB = 1 << 20
PORT = 7000
QUIET = "table inet quiet { chain in { type filter hook input priority 0; meta l4proto { tcp, udp } drop; }; }"


@dataclasses.dataclass(frozen=True)
class Path:
    """name, faults of the cable; step: MTU behind a router, from the start or later."""
    name: str
    faults: tuple = ()
    size: int = MB
    step: int = 0
    later: bool = False


# Delays are of one direction.  20 % of loss: 100 KB, as round trips of exponential waits are slow.
PATHS = [
    Path("clean"),
    Path("loss 1 %, 10 ms", ("loss=0.01", "delay=10ms")),
    Path("loss 1 %, 25 ms", ("loss=0.01", "delay=25ms")),
    Path("loss 5 %, 1 ms", ("loss=0.05", "delay=1ms")),
    Path("loss 5 %, 10 ms", ("loss=0.05", "delay=10ms")),
    Path("loss 20 %, 1 ms", ("loss=0.2", "delay=1ms"), 100_000),
    Path("loss 20 %, 10 ms", ("loss=0.2", "delay=10ms"), 100_000),
    Path("reorder 5 % by 5 ms", ("reorder=0.05", "reorderby=5ms", "delay=10ms")),
    Path("reorder 20 % by 3 ms", ("reorder=0.2", "reorderby=3ms", "delay=5ms")),
    Path("each 10th behind 3", ("hold=10", "behind=3", "holdmax=20ms")),
    Path("each 7th behind 20", ("hold=7", "behind=20", "holdmax=20ms", "delay=5ms")),
    Path("each second late", ("alternate=2ms", "delay=1ms")),
    Path("copies 5 %", ("dup=0.05", "delay=2ms")),
    Path("copies 50 %, 5 ms later", ("dup=0.5", "duplate=5ms", "delay=2ms")),
    Path("corrupt 2 %", ("corrupt=0.02", "delay=2ms")),
    Path("corrupt 10 %", ("corrupt=0.1", "delay=2ms"), 300_000),
    Path("1 ms", ("delay=1ms",)),
    Path("50 ms", ("delay=50ms",)),
    Path("300 ms", ("delay=300ms",)),
    Path("jitter", ("delay=20ms", "jitter=20ms")),
    Path("all of it", ("loss=0.01", "reorder=0.05", "reorderby=5ms", "dup=0.05", "corrupt=0.01", "delay=10ms")),
    Path("10 Mbit/s, short queue", ("rate=10mbit", "queue=30000", "delay=10ms")),
    Path("MTU 1400 behind a router", ("delay=2ms",), step=1400),
    Path("MTU 1400 from 0.2 s on", ("delay=20ms",), step=1400, later=True),
    Path("black hole above 1300", ("sizeloss=1", "sizemin=1301", "delay=5ms")),
]


@dataclasses.dataclass(frozen=True)
class Case:
    path: Path
    v: int
    ours: str   # connect or listen
    up: bool    # we send
    seed: int
    extra: tuple = ()

    @property
    def name(self):
        return f"{self.path.name}, IPv{self.v}, we {self.ours}, {'up' if self.up else 'down'}"


def matrix():
    """25 paths, two families, both roles, both ways: 200."""
    return [Case(p, v, ours, up, 1 + i * 8 + v + 2 * up + (ours == "listen"))
            for i, p in enumerate(PATHS) for v in (4, 6) for ours in ("connect", "listen") for up in (True, False)]


def sample():
    """24 of them: each path once but for one, roles, ways and families in turn."""
    cases = matrix()
    return [cases[i * 8 + i % 8] for i in range(len(PATHS)) if PATHS[i].name != "1 ms"]


class Pair:
    """us == cable == [router ==] peer; a kernel that keeps still on our side."""

    def __init__(self, v, faults=(), router=False, mtu=None):
        self.lab = Lab("peers", ipv6=v == 6)
        self.v = v
        self.us, self.peer = self.lab.hosts("us", "peer")
        net = (lambda n, host: f"fd09:{n}::{host}") if v == 6 else (lambda n, host: f"10.9.{n}.{host}")
        bits = "/64" if v == 6 else "/24"
        self.src, self.dst = net(1, 1), net(2 if router else 1, 2)
        if router:
            self.router = self.lab.router("router")
            self.near, far, self.cable = self.lab.cable(self.us, self.router, self.src + bits, net(1, 2) + bits,
                                                        *faults, mtu=mtu)
            self.out, self.far = self.lab.link(self.router, self.peer, net(2, 1) + bits, self.dst + bits)
            self.us.route("default", net(1, 2))
            self.peer.route("default", net(2, 1))
        else:
            self.near, far, self.cable = self.lab.cable(self.us, self.peer, self.src + bits, self.dst + bits,
                                                        *faults, mtu=mtu)
            self.far = far
        self.mac = far.mac
        self.lab.warm()
        self.us.nft(QUIET)

    def ours(self, verb, *args):
        return self.us.start(tool("stack_host"), verb, f"iface={self.near.name}", f"mac={self.mac}",
                             f"src={self.src}", f"dst={self.dst}", f"port={PORT}", *args)

    def theirs(self, verb, *args):
        where = (f"src={self.dst}",) if verb == "listen" else (f"dst={self.src}",)
        return self.peer.start(tool("kernel_host"), verb, *where, f"port={PORT}", *args)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.lab.close()


def told(proc):
    """The JSON lines of a host."""
    return [json.loads(line) for line in proc.out.splitlines() if line.startswith("{")]


@dataclasses.dataclass
class Result:
    case: Case
    wrong: str
    seconds: float
    ours: dict
    theirs: dict


def start(pair, case, limit):
    """Who listens first."""
    ours = (f"seed={case.seed}", f"time={limit}", f"send={case.path.size if case.up else 0}", *case.extra)
    theirs = (f"seed={case.seed + 1000}", f"time={limit}", f"send={0 if case.up else case.path.size}")
    if case.ours == "listen":
        a = pair.ours("listen", *ours)
        a.until("ready", 10)
        return a, pair.theirs("connect", *theirs)
    b = pair.theirs("listen", *theirs)
    b.until("ready", 10)
    return pair.ours("connect", *ours), b


def judge(case, a, b):
    ours, theirs = told(a), told(b)
    if len(ours) != 1 or len(theirs) != 1:
        return f"no result: {a.out}{a.err}{b.out}{b.err}", {}, {}
    x, y = ours[0], theirs[0]
    up, down = (case.path.size, 0) if case.up else (0, case.path.size)
    wrong = [text for good, text in (
        (x["check"] == "", f"invariant: {x['check']}"),
        (x["error"] == "none", f"our error: {x['error']}"),
        (y["complete"], "the peer did not come to the end"),
        ((x["sent"], y["received"]) == (up, up), f"up: {x['sent']} sent, {y['received']} received"),
        ((y["sent"], x["received"]) == (down, down), f"down: {y['sent']} sent, {x['received']} received"),
        (x["sent_sha"] == y["received_sha"], "up: other bytes"),
        (y["sent_sha"] == x["received_sha"], "down: other bytes"),
    ) if not good]
    return "; ".join(wrong), x, y


def transfer(case, limit=90):
    step = case.path.step
    began = time.monotonic()
    try:
        with Pair(case.v, (*case.path.faults, f"seed={case.seed}"), router=bool(step)) as pair:
            # a kernel that sends into a black hole finds out only when told to probe
            pair.peer.sysctl(**{"net.ipv4.tcp_mtu_probing": 1})
            if step and not case.path.later:
                pair.out.set("mtu", str(step))
            began = time.monotonic()
            a, b = start(pair, case, limit)
            if step and case.path.later:
                time.sleep(0.2)
                pair.out.set("mtu", str(step))
            end = began + limit + 5
            for p in (a, b):
                p.wait(max(0.1, end - time.monotonic()))
            seconds = time.monotonic() - began
            wrong, ours, theirs = judge(case, a, b)
            return Result(case, wrong, seconds, ours, theirs)
    except (Deadline, RuntimeError) as e:
        return Result(case, str(e), time.monotonic() - began, {}, {})


def side_by_side(cases, workers, tell=None):
    """{case: Result}, several labs at once."""
    lock, results = threading.Lock(), {}

    def one(case):
        r = transfer(case)
        with lock:
            results[case] = r
            if tell:
                tell(r, len(results))
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, cases))
    return results
