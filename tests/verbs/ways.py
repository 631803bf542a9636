# SPDX-License-Identifier: Apache-2.0
"""Ways through routers, of either IP version: each test of a verb asks for the one it needs."""
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6


class Way:
    """us - r1 - ... - dst.  .hops: the addresses that a trace should show, .dst the last."""

    def __init__(self, lab, version, routers, mtus=None, cable=None):
        """mtus: per link.  cable: {link: [faults]} makes that link a bad cable."""
        self.version, self.v6 = version, version == 6
        self.us, self.end = lab.hosts("us", "dst")
        self.routers = lab.routers(*[f"r{i + 1}" for i in range(routers)])
        self.nodes = [self.us, *self.routers, self.end]
        for i, (left, right) in enumerate(zip(self.nodes, self.nodes[1:])):
            kw = {"mtu": mtus[i]} if mtus and mtus[i] else {}
            ends = self.addr(i, 1) + self.bits, self.addr(i, 2) + self.bits
            if cable and i in cable:
                lab.cable(left, right, *ends, *cable[i], **kw)
            else:
                lab.link(left, right, *ends, **kw)
        last = len(self.nodes) - 2
        for i, node in enumerate(self.nodes):
            for link in range(last + 1):
                if link > i:
                    node.route(self.net(link), self.addr(i, 2))
                elif link < i - 1:
                    node.route(self.net(link), self.addr(i - 1, 1))
        self.hops = [self.addr(i, 2) for i in range(last + 1)]
        self.dst = self.hops[-1]

    @property
    def bits(self):
        return "/64" if self.v6 else "/24"

    def addr(self, link, side):
        return f"fd00:20:{link + 1}::{side}" if self.v6 else f"10.20.{link + 1}.{side}"

    def net(self, link):
        return f"fd00:20:{link + 1}::/64" if self.v6 else f"10.20.{link + 1}.0/24"

    @property
    def first(self):
        """The interface of the first router towards us: it sees each probe as it was sent."""
        return self.routers[0].ifaces["eth0"]


def ip_layer(p):
    return p[IP] if IP in p else p[IPv6]


def ttl(p):
    return p[IP].ttl if IP in p else p[IPv6].hlim


def tos(p):
    return p[IP].tos if IP in p else p[IPv6].tc


def total(p):
    """Bytes from the IP header on, as the header says."""
    return p[IP].len if IP in p else 40 + p[IPv6].plen


def flow(p):
    """What routers hash: ports, or the first four bytes of an ICMP header."""
    for layer in (UDP, TCP):
        if layer in p:
            return p[layer].sport, p[layer].dport
    icmp = p[ICMP] if ICMP in p else p[ICMPv6EchoRequest]
    return icmp.id, icmp.chksum if ICMP in p else icmp.cksum


def table(run):
    """The program's lines, split."""
    return [line.split() for line in run.lines]
