# SPDX-License-Identifier: Apache-2.0
"""A puppet: a thread that plays a peer with crafted frames where a real kernel
would not (overlapping fragments, tagged frames, wrong checksums)."""
import select
import socket
import threading


class Puppet:
    """handler(scapy packet) -> list of frames (bytes or scapy packets) to send back by the
    same interface.  Frames that the node itself sends are not shown."""

    def __init__(self, iface, handler):
        from scapy.layers import dns, inet, inet6  # noqa: F401: they register their layers
        self.iface, self.handler = iface, handler
        self.sock = iface.node.raw(iface.name)
        self.sock.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)
        self.seen, self.error, self._end = [], None, threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        iface.node.lab.keep(self)

    def _run(self):
        from scapy.layers.l2 import Ether
        while not self._end.is_set():
            if not select.select([self.sock], [], [], 0.05)[0]:
                continue
            data, where = self.sock.recvfrom(70000)
            if where[2] == socket.PACKET_OUTGOING:
                continue
            try:
                packet = Ether(data)
                self.seen.append(packet)
                for frame in self.handler(packet) or []:
                    self.sock.send(bytes(frame))
            except Exception as e:  # noqa: BLE001: told by stop()
                self.error = e

    def stop(self):
        if not self._end.is_set():
            self._end.set()
            self.thread.join(2)
            self.sock.close()
        if self.error:
            raise self.error


def silent_kernel(node):
    """The node's kernel answers nothing but ARP: the puppet speaks for it."""
    node.sysctl(**{"net.ipv4.icmp_echo_ignore_all": 1})
    node.nft("table inet puppet { chain in { type filter hook input priority 0; "
             "meta l4proto { tcp, udp } drop; }; }")


def flip(packet):
    """Ethernet and IP of an answer to `packet`."""
    from scapy.layers.inet import IP
    from scapy.layers.l2 import Ether
    return Ether(src=packet.dst, dst=packet.src) / IP(src=packet[IP].dst, dst=packet[IP].src)
