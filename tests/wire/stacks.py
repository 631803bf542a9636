# SPDX-License-Identifier: Apache-2.0
"""Random layer stacks by a seed, each in two forms: as a Scapy packet and as a line for
`wire_dump build`.  What is left out is left to both encoders."""
import ipaddress
import random

from scapy.config import conf
from scapy.layers.dns import DNS, DNSQR, DNSRR, DNSRRMX, DNSRROPT, DNSRRSOA, DNSRRSRV, EDNS0TLV
from scapy.layers.inet import (ICMP, IP, TCP, UDP, IPOption_NOP, IPOption_RR, IPOption_Router_Alert)
from scapy.layers.inet6 import (ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6MLQuery,
                                ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6ND_RS, ICMPv6NDOptDstLLAddr,
                                ICMPv6NDOptMTU, ICMPv6NDOptSrcLLAddr, ICMPv6ND_Redirect,
                                ICMPv6PacketTooBig, ICMPv6ParamProblem, ICMPv6TimeExceeded, IPv6,
                                IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop,
                                IPv6ExtHdrRouting, PadN, RouterAlert)
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

conf.verb = 0

# Ports that no dissector knows.
PORTS = (40001, 60999)


class Stack:
    """.packet (Scapy), .line (wire_dump build), .first: the outermost layer's name."""

    def __init__(self, rng):
        self.rng, self.packet, self.parts = rng, None, []

    def add(self, layer, name, fields):
        self.packet = layer if self.packet is None else self.packet / layer
        words = [name]
        for key, value in fields.items():
            words.append(f"{key}={value.hex() if isinstance(value, bytes) else value}")
        self.parts.append(" ".join(words))

    def payload(self, data):
        if data:
            self.packet = self.packet / Raw(data)
            self.parts.append("=" + data.hex())

    @property
    def line(self):
        return " / ".join(self.parts)

    @property
    def first(self):
        return self.parts[0].split()[0]

    @property
    def raw(self):
        return bytes(self.packet)

    # ---- values ----
    def bits(self, n):
        return self.rng.choice([0, 1, (1 << n) - 1, self.rng.getrandbits(n), self.rng.getrandbits(n)])

    def data(self, most=64):
        return self.rng.randbytes(self.rng.choice([0, 1, 7, self.rng.randint(0, most)]))

    def v4(self):
        n = int(ipaddress.IPv4Address("10.0.0.0")) + self.rng.getrandbits(16)
        return n, str(ipaddress.IPv4Address(n))

    def v6(self):
        b = bytes.fromhex("20010db8") + self.rng.randbytes(12)
        return b, str(ipaddress.IPv6Address(b))

    def mac(self):
        b = b"\x02" + self.rng.randbytes(5)
        return int.from_bytes(b, "big"), ":".join(f"{x:02x}" for x in b)

    def some(self, widths):
        """Random values for a random part of the fields."""
        return {k: self.bits(n) for k, n in widths.items() if self.rng.random() < 0.5}

    # ---- layers ----
    def ether(self):
        (s, st), (d, dt) = self.mac(), self.mac()
        self.add(Ether(src=st, dst=dt), "Ether", {"src": s, "dst": d})
        for _ in range(self.rng.choice([0, 0, 0, 1, 2])):
            f = self.some({"prio": 3, "id": 1, "vlan": 12})
            self.add(Dot1Q(**f), "Dot1Q", f)

    def arp(self):
        (hs, hst), (hd, hdt) = self.mac(), self.mac()
        (ps, pst), (pd, pdt) = self.v4(), self.v4()
        f = self.some({"op": 16})
        self.add(ARP(hwsrc=hst, hwdst=hdt, psrc=pst, pdst=pdt, hwlen=6, plen=4, **f), "ARP",
                 dict(hwsrc=hs, hwdst=hd, psrc=ps, pdst=pd, **f))

    def ip(self):
        (s, st), (d, dt) = self.v4(), self.v4()
        f = self.some({"tos": 8, "id": 16, "ttl": 8, "chksum": 16})
        f.setdefault("id", 1)
        if self.rng.random() < 0.3:
            f["flags"] = self.rng.choice([2, 4, 6])
        options = self.rng.choice([[]] * 3 + [[IPOption_Router_Alert()], [IPOption_NOP()],
                                              [IPOption_NOP(), IPOption_RR(routers=["0.0.0.0"] * 2)]])
        o = b"".join(bytes(x) for x in options)
        self.add(IP(src=st, dst=dt, options=options, **f), "IP", dict(src=s, dst=d, options=o, **f))

    def ipv6(self):
        (s, st), (d, dt) = self.v6(), self.v6()
        f = self.some({"tc": 8, "fl": 20, "hlim": 8})
        self.add(IPv6(src=st, dst=dt, **f), "IPv6", dict(src=s, dst=d, **f))
        for ext in self.rng.sample([self.hopopt, self.routing, self.destopt, self.fragment], 4):
            if self.rng.random() < 0.15:
                ext()

    def _v6_options(self, cls, name):
        options = self.rng.choice([[], [RouterAlert(value=3)], [PadN(optdata=bytes(2))]])
        coded = b"".join(bytes(o) for o in options)
        layer = cls(options=options)
        if not coded:
            coded = b"\x01\x04" + bytes(4)
            layer = cls(options=[PadN(optdata=bytes(4))])
        self.add(layer, name, {"options": coded})

    def hopopt(self):
        self._v6_options(IPv6ExtHdrHopByHop, "IPv6ExtHdrHopByHop")

    def destopt(self):
        self._v6_options(IPv6ExtHdrDestOpt, "IPv6ExtHdrDestOpt")

    def routing(self):
        addresses = [self.v6() for _ in range(self.rng.randint(1, 2))]
        f = {} if self.rng.random() < 0.5 else {"segleft": self.rng.randint(0, len(addresses))}
        self.add(IPv6ExtHdrRouting(addresses=[a[1] for a in addresses], **f), "IPv6ExtHdrRouting",
                 dict(addresses=b"".join(a[0] for a in addresses), **f))

    def fragment(self):  # one that is the whole packet (RFC 6946)
        f = {"id": self.bits(32)}
        self.add(IPv6ExtHdrFragment(**f), "IPv6ExtHdrFragment", f)

    def udp(self, dport=None):
        f = {"sport": self.rng.randint(*PORTS), "dport": dport or self.rng.randint(*PORTS)}
        f.update(self.some({"chksum": 16}) if self.rng.random() < 0.3 else {})
        self.add(UDP(**f), "UDP", f)

    def tcp(self):
        f = {"sport": self.rng.randint(*PORTS), "dport": self.rng.randint(*PORTS)}
        f.update(self.some({"seq": 32, "ack": 32, "window": 16, "urgptr": 16, "reserved": 3, "flags": 9}))
        f.setdefault("window", 65535)
        f.setdefault("flags", 2)
        f.setdefault("seq", 0)
        pool = [("MSS", 1460), ("WScale", 7), ("SAckOK", b""), ("Timestamp", (1, 2)), ("NOP", None),
                ("SAck", (5, 9)), (99, b"abc")]
        options = self.rng.sample(pool, self.rng.randint(0, 4))
        raw = bytes(TCP(options=options))[20:] if options else b""
        self.add(TCP(options=options, **f), "TCP", dict(options=raw, **f))

    def icmp(self):
        kind = self.rng.choice([0, 3, 4, 5, 8, 11, 12, 13, 14, 15, 17, 18])
        form = {0: {"id": 16, "seq": 16}, 3: {"reserved": 8, "length": 8, "nexthopmtu": 16}, 4: {}, 5: {},
                11: {"reserved": 8, "length": 8, "unused": 16}, 12: {"ptr": 8, "length": 8, "unused": 16},
                13: {"id": 16, "seq": 16, "ts_ori": 32, "ts_rx": 32, "ts_tx": 32}}
        form[8] = form[15] = form[17] = form[18] = form[0]
        form[14] = form[13]
        f = {k: self.bits(n) for k, n in form[kind].items()}
        f["type"], f["code"] = kind, self.rng.choice([0, 1, 4])
        g = dict(f)
        for key, when in (("gw", kind == 5), ("addr_mask", kind in (17, 18))):
            if when:
                f[key], g[key] = self.v4()
        self.add(ICMP(**g), "ICMP", f)

    def icmpv6(self):
        r = self.rng
        (t, tt), (u, ut) = self.v6(), self.v6()
        _, mact = self.mac()
        echo = {"id": self.bits(16), "seq": self.bits(16)}
        err = {"length": self.bits(8)}
        ra = {"chlim": self.bits(8), "M": 1, "H": r.getrandbits(1), "prf": r.getrandbits(2),
              "routerlifetime": self.bits(16), "reachabletime": self.bits(32), "retranstimer": self.bits(32)}
        na = {"R": r.getrandbits(1), "S": r.getrandbits(1), "O": r.getrandbits(1)}
        two = r.choice([0, 1])
        # (Scapy class, type, Scapy's fields, ours, whether options may follow)
        cls, kind, theirs, ours, options = r.choice([
            (ICMPv6EchoRequest, 128, echo, echo, 0), (ICMPv6EchoReply, 129, echo, echo, 0),
            (ICMPv6DestUnreach, 1, err, err, 0), (ICMPv6TimeExceeded, 3, err, err, 0),
            (ICMPv6PacketTooBig, 2, {"mtu": 1400}, {"mtu": 1400}, 0),
            (ICMPv6ParamProblem, 4, {"ptr": 40}, {"ptr": 40}, 0),
            (ICMPv6ND_NS, 135, {"tgt": tt}, {"tgt": t}, 1),
            (ICMPv6ND_NA, 136, dict(tgt=tt, **na), dict(tgt=t, **na), 1),
            (ICMPv6ND_RS, 133, {}, {}, 1),
            (ICMPv6ND_RA, 134, dict(O=two, **ra), dict(other=two, **ra), 1),
            (ICMPv6ND_Redirect, 137, {"tgt": tt, "dst": ut}, {"tgt": t, "dst": u}, 1),
            (ICMPv6MLQuery, 130, {"mrd": 1000, "mladdr": tt}, {"mrd": 1000, "mladdr": t}, 0)])
        code = self.bits(8)
        fields = dict(type=kind, code=code, **ours)
        tail = []
        if options:
            tail = r.choice([[], [ICMPv6NDOptSrcLLAddr(lladdr=mact)],
                             [ICMPv6NDOptDstLLAddr(lladdr=mact), ICMPv6NDOptMTU(mtu=1400)]])
            fields["options"] = b"".join(bytes(o) for o in tail)
        self.add(cls(code=code, **theirs), "ICMPv6", fields)
        for o in tail:
            self.packet = self.packet / o
        if kind in (133, 134, 135, 136, 137) and not any(p.startswith("IPv6 ") and "hlim" in p
                                                        for p in self.parts):
            ip = self.packet[IPv6]
            if ip.nh in (58, None) or isinstance(ip.payload, cls):
                ip.hlim = 255
        return bool(options) or kind == 130  # Scapy takes more bytes for another version of it

    # ---- DNS ----
    def name(self):
        labels = [self.rng.choice(["www", "a", "mail", "x" * 63, "example", "acme"])
                  for _ in range(self.rng.randint(1, 3))] + ["test"]
        return ".".join(labels) + "."

    def record(self):
        r, n = self.rng, self.name()
        return r.choice([
            lambda: DNSRR(rrname=n, type="A", ttl=self.bits(31), rdata=self.v4()[1]),
            lambda: DNSRR(rrname=n, type="AAAA", ttl=60, rdata=self.v6()[1]),
            lambda: DNSRR(rrname=n, type="CNAME", ttl=60, rdata=self.name()),
            lambda: DNSRR(rrname=n, type="NS", ttl=60, rdata=self.name()),
            lambda: DNSRR(rrname=n, type="PTR", ttl=60, rdata=self.name()),
            lambda: DNSRR(rrname=n, type="TXT", ttl=60, rdata=["hello", "a" * 200]),
            lambda: DNSRRMX(rrname=n, type=15, ttl=60, preference=10, exchange=self.name()),
            lambda: DNSRRSRV(rrname=n, ttl=60, priority=1, weight=2, port=443, target=self.name()),
            lambda: DNSRRSOA(rrname=n, ttl=60, mname=self.name(), rname=self.name(), serial=7),
            lambda: DNSRR(rrname=n, type=65280, ttl=60, rdata=b"\1\2\3"),
        ])()

    def dns(self):
        r = self.rng
        f = {k: r.getrandbits(w) for k, w in
             {"id": 16, "qr": 1, "opcode": 2, "aa": 1, "tc": 1, "rd": 1, "ra": 1, "z": 1, "ad": 1, "cd": 1,
              "rcode": 4}.items()}
        qd = [DNSQR(qname=self.name(), qtype=r.choice([1, 28, 15, 255])) for _ in range(r.choice([1, 1, 0]))]
        sections = {s: [self.record() for _ in range(r.choice([0, 0, 1, 3]))] for s in ("an", "ns", "ar")}
        if r.random() < 0.5:
            opt = [EDNS0TLV(optcode=10, optdata=b"12345678")] if r.random() < 0.5 else []
            sections["ar"].append(DNSRROPT(rclass=1232, z=0, rdata=opt))
        wire = {"qd": b"".join(bytes(q) for q in qd)}
        wire.update({k: b"".join(bytes(x) for x in v) for k, v in sections.items()})

        def chain(records):
            head = None
            for x in records:
                head = x if head is None else head / x
            return head
        self.add(DNS(qd=chain(qd), **{k: chain(v) for k, v in sections.items()}, **f), "DNS",
                 dict(f, **wire))


def stack(seed):
    """A whole packet."""
    s = Stack(random.Random(seed))
    r = s.rng
    if r.random() < 0.6:
        s.ether()
        if r.random() < 0.1:
            s.arp()
            return s
    v6 = r.random() < 0.45
    (s.ipv6 if v6 else s.ip)()
    if r.random() < 0.05:  # a tunnel
        v6 = not v6
        (s.ipv6 if v6 else s.ip)()
    what = r.choice(["udp", "tcp", "icmp", "dns", "raw"])
    if what == "udp":
        s.udp()
    elif what == "tcp":
        s.tcp()
    elif what == "icmp":
        if v6:
            if s.icmpv6():
                return s
        else:
            s.icmp()
    elif what == "dns":
        s.udp(dport=53)
        s.dns()
        return s
    s.payload(s.data())
    return s
