# SPDX-License-Identifier: Apache-2.0
"""Hand-made packets over a plain packet socket: the check that a lab's planted
fault is really there, without the program under test."""
import select
import socket
import time


def next_hop_mac(node, via):
    """The MAC of a neighbour as the node's kernel resolves it."""
    node.run("ping", "-c1", "-W1", via, check=False)
    for line in node.ip("neigh", "show", via).out.splitlines():
        words = line.split()
        if "lladdr" in words:
            return words[words.index("lladdr") + 1]
    raise RuntimeError(f"{via} does not resolve in {node.name}")


class Wire:
    """A packet socket on one interface: .exchange() sends IP packets to a next hop at an even
    pace and returns what came in: scapy packets with .seconds since the start."""

    def __init__(self, node, iface, via):
        from scapy.layers import inet, inet6  # noqa: F401: they register their layers
        self.mac, self.own = next_hop_mac(node, via), node.ifaces[iface].mac
        self.sock = node.raw(iface)
        self.sock.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)

    def exchange(self, packets, gap=0.0, wait=1.0, until=None):
        from scapy.layers.l2 import Ether
        frames = [bytes(Ether(src=self.own, dst=self.mac) / p) for p in packets]
        got, sent, start = [], 0, time.monotonic()

        def take(limit):
            while select.select([self.sock], [], [], max(0, limit - time.monotonic()))[0]:
                data, where = self.sock.recvfrom(70000)
                if where[2] == socket.PACKET_OUTGOING or data[6:12].hex(":") == self.own:
                    continue
                p = Ether(data)
                p.seconds = time.monotonic() - start
                got.append(p)
                if until and until(got):
                    return
        for frame in frames:
            self.sock.send(frame)
            sent += 1
            if gap:
                take(start + sent * gap)
        take(time.monotonic() + wait)
        return got

    def close(self):
        self.sock.close()
