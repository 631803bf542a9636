# SPDX-License-Identifier: Apache-2.0
"""What an agent waits for: a program checked and a host pinged, from its request over HTTP to
the answer, how many checks a second two cores do, and how soon runs end whose clients hang up.
Each check is a child of its own, so what this machine takes to fork and end one stands beside."""
import os
import re
import statistics
import sys
import time

from common import Table, options, scaled

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "mcp"))

from lab import Lab  # noqa: E402
from lab.procs import build_dir  # noqa: E402
from lab.sonde import sonde_binary  # noqa: E402
from lab.state import ledger_init  # noqa: E402
from over_http import HEADERS, request  # noqa: E402
from served import POLICY, Served, cut, streams, tables, two  # noqa: E402

PROGRAM = 'r = ping("10.9.0.2", count=3)\nif r.received < 3:\n    print("lossy", r)\n'


def raw(port, tool, **arguments):
    body, headers = request("tools/call", name=tool, arguments=arguments)
    headers = {"Host": f"localhost:{port}", **HEADERS, **headers, "Content-Length": str(len(body))}
    return ("POST /mcp HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n").encode() + body


def load(node, port, connections, requests, must, data):
    p = node.run(build_dir() / "tests" / "mcp_load", port, connections, requests, must, stdin=data, timeout=600)
    seconds, bad, p50, p99, least = p.out.split()
    return float(seconds), int(bad), float(p50) / 1e3, float(p99) / 1e3, float(least) / 1e3


def forks(rounds):
    """ms to fork a small process that ends at once, and to see its end."""
    times = []
    for _ in range(rounds):
        start = time.monotonic()
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        times.append((time.monotonic() - start) * 1e3)
    return statistics.median(times)


def hang_up(t, n):
    """n runs at a time; half of their clients hang up at once."""
    with two(POLICY.replace("packets=20000", "packets=1000")) as lab:
        us = lab.us
        with Served(us, "--max-runs", n, "--max-runs-caller", n) as server:
            clients = streams(server, n)
            seconds = cut(server, clients[::2])
            t.row(f"{n // 2} of {n} streams cut at once: the last one's run ended after", f"{seconds:.2f} s", "< 1 s", seconds < 1)
            t.must("no table is left of these", tables(us) == n // 2, f"{tables(us)} tables")
            for c in clients[1::2]:
                c.close()


def main():
    o = options(__doc__)
    t = Table(o.judge)
    hang_up(t, scaled(200, o.scale, 20))
    with Lab() as lab:
        us, peer = lab.hosts("us", "peer")
        lab.cable(us, peer, "10.9.0.1/24", "10.9.0.2/24", "delay=0.5ms")
        us.policy('budget(packets=20000)\nreach("10.9.0.0/24", icmp=True)\n')
        ledger_init(us)
        server = us.start(sonde_binary(), "mcp", "--http", "127.0.0.1:0")
        server.until("/mcp", 20, "err")
        port = int(re.search(r":(\d+)/mcp", server.err)[1])
        check = raw(port, "check_program", source=PROGRAM)
        load(us, port, 1, 20, '"ok"', check)  # warm
        seconds, bad, p50, p99, least = load(us, port, 1, scaled(500, o.scale, 20), '"ok"', check)
        t.must("each program is checked", bad == 0, f"{bad} were not; {server.err[-1000:]}")
        t.row("check_program through HTTP, one client: median", f"{p50:.1f} ms", "< 5 ms", p50 < 5)
        t.row("the same: least, 99 of 100", f"{least:.1f}, {p99:.1f} ms")
        n = scaled(5000, o.scale, 100)
        seconds, bad, p50, p99, _ = load(us, port, 8, n, '"ok"', check)
        t.must("each program is checked beside others", bad == 0, f"{bad} were not; {server.err[-1000:]}")
        t.row("check_program, eight clients: per second, on all cores", f"{n / seconds:.0f}", ">= 1000", n / seconds >= 1000)
        t.row("to fork and end a process that does nothing, one after the other", f"{forks(scaled(200, o.scale, 20)):.2f} ms")
        ping = raw(port, "ping_host", target="10.9.0.2", count=1)
        load(us, port, 1, 3, "ALIVE", ping)
        seconds, bad, p50, p99, least = load(us, port, 1, scaled(40, o.scale, 5), "ALIVE", ping)
        t.must("the host is alive", bad == 0, server.err[-1000:])
        t.row("ping_host count=1 over 1 ms, through HTTP: median", f"{p50:.1f} ms", "< 60 ms", p50 < 60)
        t.row("the same: least, 99 of 100", f"{least:.1f}, {p99:.1f} ms")
        log = us.run(sonde_binary(), "audit", "verify", "/var/lib/sonde/log").out
        t.must("each call is in the log", "intact" in log, log)
        server.stop()
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
