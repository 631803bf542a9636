# SPDX-License-Identifier: Apache-2.0
"""The protocols beyond the basic stack: for each, how a random one is made (as Scapy's and as a line for
`wire_dump build`), which Scapy class each of our layers is, and which of tshark's fields say the same.
A new protocol has a row in PROTOS."""
import random
import re

from scapy.layers.dhcp import BOOTP, DHCP
from scapy.contrib.bgp import BGPHeader, BGPOpen, BGPOptParam
from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.contrib.igmp import IGMP
from scapy.contrib.igmpv3 import IGMPv3, IGMPv3gr, IGMPv3mq, IGMPv3mr
from scapy.contrib.lldp import (LLDPDU, LLDPDUChassisID, LLDPDUEndOfLLDPDU, LLDPDUPortDescription, LLDPDUPortID,
                                LLDPDUSystemDescription, LLDPDUSystemName, LLDPDUTimeToLive)
from scapy.contrib.mpls import MPLS
from scapy.contrib.ospf import OSPF_Hdr, OSPF_Hello
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import GRE, LLC, SNAP, STP, Dot3, Ether
from scapy.layers.sctp import (SCTP, SCTPChunkAbort, SCTPChunkCookieAck, SCTPChunkCookieEcho, SCTPChunkData,
                               SCTPChunkError, SCTPChunkInit, SCTPChunkInitAck, SCTPChunkParamECNCapable,
                               SCTPChunkParamIPv4Addr, SCTPChunkParamStateCookie, SCTPChunkSACK, SCTPChunkShutdown,
                               SCTPChunkShutdownAck, SCTPChunkShutdownComplete)
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw
from scapy.asn1.asn1 import (ASN1_COUNTER32, ASN1_GAUGE32, ASN1_INTEGER, ASN1_NULL, ASN1_OID, ASN1_STRING,
                             ASN1_TIME_TICKS)
from scapy.layers.snmp import (SNMP, SNMPbulk, SNMPget, SNMPinform, SNMPnext, SNMPresponse, SNMPset, SNMPtrapv2,
                               SNMPvarbind)
from scapy.layers.ntp import NTPControl, NTPHeader, NTPPrivate

import stacks


class Proto:
    """classes: our layer -> Scapy's class(es). renamed: (layer, field) -> Scapy's field. apart: fields that
    Scapy has in another form. tshark: its field -> (layer, field, factor). known: tshark's protocol names.
    lenient: what tshark says of the content, which is not ours to judge.
    odd: of a damaged packet, whether Scapy reads its header in another way than the RFC."""

    def __init__(self, make, classes, renamed=None, apart=(), tshark=None, known=(), odd=lambda fields: False,
                 lenient="^$"):
        self.odd, self.lenient = odd, re.compile(lenient)
        self.make, self.classes, self.renamed, self.apart = make, classes, renamed or {}, set(apart)
        self.tshark, self.known = tshark or {}, set(known)


def udp(s, port, both=False):
    s.ip()
    f = {"sport": port if both else s.rng.randint(*stacks.PORTS), "dport": port}
    if s.rng.random() < 0.3:
        f["sport"], f["dport"] = f["dport"], f["sport"]
    s.add(UDP(**f), "UDP", f)


# ---- DHCP ----

def dhcp(s):
    s.ip()
    ports = {"sport": 68, "dport": 67} if s.rng.random() < 0.6 else {"sport": 67, "dport": 68}
    s.add(UDP(**ports), "UDP", ports)
    (ci, cit), (yi, yit), (si, sit), (gi, git) = s.v4(), s.v4(), s.v4(), s.v4()
    mac, text = s.mac()
    f = s.some({"op": 8, "hops": 8, "secs": 16, "flags": 16})
    f["xid"] = s.bits(32)
    sname, file = s.rng.randbytes(s.rng.choice([0, 5, 64])), s.rng.randbytes(s.rng.choice([0, 9, 128]))
    raw = mac.to_bytes(6, "big")
    s.add(BOOTP(ciaddr=cit, yiaddr=yit, siaddr=sit, giaddr=git, chaddr=raw, sname=sname, file=file, **f), "BOOTP",
          dict(ciaddr=ci, yiaddr=yi, siaddr=si, giaddr=gi, chaddr=mac, sname=sname, file=file, **f))
    if s.rng.random() < 0.15:
        return
    pool = [("message-type", s.rng.randint(1, 8)), ("requested_addr", yit), ("param_req_list", [1, 3, 6, 42]),
            ("hostname", b"host"), ("router", cit, sit), ("lease_time", s.bits(32)), ("server_id", sit),
            ("client_id", b"\x01" + raw), (250, s.rng.randbytes(7)), ("max_dhcp_size", 1500)]
    options = s.rng.sample(pool, s.rng.randint(0, 6)) + ["end"]
    layer = DHCP(options=options)
    s.add(layer, "DHCP", {"options": bytes(layer)})


# ---- NTP ----

def ntp(s):
    udp(s, 123)
    kind = s.rng.random()
    if kind < 0.15:
        f = s.some({"version": 3, "err": 1, "more": 1, "op_code": 5, "sequence": 16, "association_id": 16,
                    "offset": 16})
        f.setdefault("version", 2)
        f.update(status=s.bits(16), response=0)
        data = s.data(40)
        s.add(NTPControl(zeros=0, mode=6, count=len(data), data=data, **f), "NTP", dict(mode=6, leap=0, **f))
        if data:
            s.parts.append("=" + data.hex())
        return
    if kind < 0.25:
        f = s.some({"auth": 1, "seq": 7, "implementation": 8, "request_code": 8, "nb_items": 12, "mbz": 4})
        f.update(version=2, auth=0)
        f.setdefault("nb_items", 0)  # Scapy would derive it
        s.add(NTPPrivate(mode=7, data_item_size=0, **f), "NTP",
              dict(mode=7, leap=0, **f))
        return
    f = s.some({"leap": 2, "version": 3})
    f.setdefault("version", 4)
    f.update(mode=s.rng.choice([1, 2, 3, 4, 5]), stratum=s.rng.choice([0, 1, 2, 15]), poll=s.rng.getrandbits(7),
             precision=s.rng.getrandbits(7), delay=s.bits(32), dispersion=s.bits(32), ref=s.bits(64),
             orig=s.bits(64), recv=s.bits(64), sent=s.bits(64))
    theirs = dict(f)
    for name, bits in (("delay", 16), ("dispersion", 16), ("ref", 32), ("orig", 32), ("recv", 32), ("sent", 32)):
        theirs.pop(name)
    if f["stratum"] > 1:
        f["id"], theirs["id"] = s.v4()
    else:
        f["ref_id"] = theirs["ref_id"] = s.rng.choice([b"GPS\0", b"RATE", b"LOCL"])
    layer = NTPHeader(**theirs)
    for name in ("delay", "dispersion", "ref", "orig", "recv", "sent"):
        layer.fields[name] = f[name]  # as it is on the wire: Scapy would round
    s.add(layer, "NTP", f)


# ---- SNMP ----

def snmp(s):
    udp(s, 161)
    r = s.rng
    cls = r.choice([SNMPget, SNMPnext, SNMPresponse, SNMPset, SNMPbulk, SNMPinform, SNMPtrapv2])
    names = ("id", "non_repeaters", "max_repetitions") if cls is SNMPbulk else ("id", "error", "error_index")
    f = {n: r.choice([0, 1, 127, 128, 255, 256, 65535, 2 ** 31 - 1]) for n in names}
    if "error" in f:
        f["error"] = r.randint(0, 18)
    community = r.choice([b"public", b"", b"x" * 200])
    oids = ["1.3.6.1.2.1.1.1.0", "1.3.6.1.4.1.4294967295.2", "0.9.2342", "2.999.3", "1.3"]
    values = [ASN1_NULL(0), ASN1_INTEGER(r.choice([0, 5, -129, 2 ** 31])), ASN1_STRING(r.randbytes(r.choice([0, 3, 300]))),
              ASN1_OID("1.3.6.1"), ASN1_COUNTER32(7), ASN1_GAUGE32(8), ASN1_TIME_TICKS(9)]
    binds = [SNMPvarbind(oid=ASN1_OID(r.choice(oids)), value=r.choice(values)) for _ in range(r.choice([0, 1, 2, 8]))]
    version = r.choice([0, 1])
    s.add(SNMP(version=version, community=community, PDU=cls(varbindlist=binds, **f)), "SNMP",
          dict(version=version, community=community, PDU=int(cls.ASN1_root.ASN1_tag),
               varbindlist=b"".join(bytes(b) for b in binds), **f))


# ---- tunnels ----

def inside(s, ether):
    """What a tunnel carries."""
    if ether:
        (a, at), (b, bt) = s.mac(), s.mac()
        s.add(Ether(src=at, dst=bt), "Ether", {"src": a, "dst": b})
    (s.ipv6 if s.rng.random() < 0.4 else s.ip)()
    (s.udp if s.rng.random() < 0.5 else s.tcp)()
    s.payload(s.data())


def gre(s):
    s.ip()
    f = s.some({"flags": 5, "recursion_control": 3})
    if s.rng.random() < 0.4:
        f["chksum_present"] = 1
    if s.rng.random() < 0.5:
        f.update(key_present=1, key=s.bits(32))
    if s.rng.random() < 0.4:
        f.update(seqnum_present=1, sequence_number=s.bits(32))
    s.add(GRE(offset=0 if "chksum_present" in f else None, **f), "GRE", f)
    inside(s, s.rng.random() < 0.3)


def vxlan(s):
    s.ip()
    f = {"sport": s.rng.randint(*stacks.PORTS), "dport": s.rng.choice([4789, 8472])}
    s.add(UDP(**f), "UDP", f)
    f = dict(s.some({"vni": 24, "reserved2": 8}), flags=8)
    kind = s.rng.random()
    if kind < 0.2:
        f.update(flags=0x88, gpflags=s.bits(8), gpid=s.bits(16))
    elif kind < 0.5:
        f.update(flags=0x0c, NextProtocol=3)
    s.add(VXLAN(**f), "VXLAN", f)
    inside(s, True)


def geneve(s):
    s.ip()
    f = {"sport": s.rng.randint(*stacks.PORTS), "dport": 6081}
    s.add(UDP(**f), "UDP", f)
    f = s.some({"oam": 1, "critical": 1, "reserved": 6, "vni": 24, "reserved2": 8})
    options = [GeneveOptions(classid=s.bits(16), type=s.bits(8), data=s.rng.randbytes(4 * s.rng.randint(0, 2)))
               for _ in range(s.rng.choice([0, 0, 1, 3]))]
    ether = s.rng.random() < 0.6
    s.add(GENEVE(options=options, proto=0x6558 if ether else 0x0800, **f), "GENEVE",
          dict(options=b"".join(bytes(o) for o in options), **f))
    if ether:
        inside(s, True)
    else:
        s.ip()
        s.udp()


def mpls(s):
    s.ether()
    n = s.rng.randint(1, 4)
    for i in range(n):
        f = {"label": s.bits(20), "cos": s.bits(3), "ttl": s.bits(8)}
        s.add(MPLS(s=int(i == n - 1), **f), "MPLS", f)
    inside(s, False)


# ---- SCTP ----

def sctp(s):
    r = s.rng
    (s.ipv6 if r.random() < 0.2 else s.ip)()
    f = {"sport": s.bits(16), "dport": s.bits(16), "tag": s.bits(32)}
    s.add(SCTP(**f), "SCTP", f)
    for _ in range(r.choice([1, 1, 2, 3])):
        r.choice([sctp_data, sctp_init, sctp_sack, sctp_plain])(s)


def sctp_data(s):
    f = s.some({"delay_sack": 1, "unordered": 1, "beginning": 1, "ending": 1})
    f.update(reserved=0, tsn=s.bits(32), stream_id=s.bits(16), stream_seq=s.bits(16), proto_id=s.bits(32),
             data=s.rng.randbytes(s.rng.choice([1, 3, 4, 30])))
    s.add(SCTPChunkData(**f), "SCTPChunkData", f)


def sctp_init(s):
    cls, name = s.rng.choice([(SCTPChunkInit, "SCTPChunkInit"), (SCTPChunkInitAck, "SCTPChunkInitAck")])
    f = {"init_tag": s.bits(32), "a_rwnd": s.bits(32), "n_out_streams": s.bits(16), "n_in_streams": s.bits(16),
         "init_tsn": s.bits(32), "flags": 0}
    params = s.rng.choice([[], [SCTPChunkParamECNCapable()], [SCTPChunkParamStateCookie(cookie=b"x" * 8)],
                           [SCTPChunkParamIPv4Addr(addr="10.0.0.1"), SCTPChunkParamECNCapable()]])
    s.add(cls(params=params, **f), name, dict(params=b"".join(bytes(p) for p in params), **f))


def sctp_sack(s):
    gaps = [(s.bits(16), s.bits(16)) for _ in range(s.rng.choice([0, 1, 2]))]
    dups = [s.bits(32) for _ in range(s.rng.choice([0, 1]))]
    f = {"flags": 0, "cumul_tsn_ack": s.bits(32), "a_rwnd": s.bits(32)}
    s.add(SCTPChunkSACK(gap_ack_list=[f"{a}:{b}" for a, b in gaps], dup_tsn_list=dups, **f), "SCTPChunkSACK",
          dict(gap_ack_list=b"".join(a.to_bytes(2, "big") + b.to_bytes(2, "big") for a, b in gaps),
               dup_tsn_list=b"".join(d.to_bytes(4, "big") for d in dups), **f))


def sctp_plain(s):
    data = s.rng.randbytes(s.rng.choice([0, 1, 4, 9]))
    cause = b"\0\x0c" + (len(data) + 4).to_bytes(2, "big") + data  # user-initiated abort, RFC 9260 3.3.10.12
    tsn = {"flags": 0, "cumul_tsn_ack": s.bits(32)}
    cls, name, f = s.rng.choice([
        (SCTPChunkShutdown, "SCTPChunkShutdown", tsn), (SCTPChunkShutdownAck, "SCTPChunkShutdownAck", {"flags": 0}),
        (SCTPChunkCookieAck, "SCTPChunkCookieAck", {"flags": 0}),
        (SCTPChunkCookieEcho, "SCTPChunkCookieEcho", {"flags": 0, "cookie": data}),
        (SCTPChunkError, "SCTPChunkError", {"flags": 0, "error_causes": cause}),
        (SCTPChunkAbort, "SCTPChunkAbort", {"reserved": 0, "TCB": 1, "error_causes": cause}),
        (SCTPChunkShutdownComplete, "SCTPChunkShutdownComplete", {"reserved": 0, "TCB": 0})])
    s.add(cls(**f), name, f)


# ---- IGMP ----

def igmp(s):
    (g, gt), (src, srct), r = s.v4(), s.v4(), s.rng
    f = {"tos": 0xc0, "ttl": 1, "id": 1}
    s.add(IP(src=srct, dst="224.0.0.22", **f), "IP", dict(src=src, dst=0xe0000016, **f))
    f = s.some({"mrcode": 8})
    kind = r.random()
    if kind < 0.4:
        f["type"] = r.choice([0x11, 0x12, 0x16, 0x17])
        s.add(IGMP(gaddr=gt, **f), "IGMP", dict(gaddr=g, **f))
        return
    if kind < 0.7:
        sources = [s.v4() for _ in range(r.choice([0, 1, 3]))]
        s.add(IGMPv3(type=0x11, **f), "IGMPv3", f)
        f = s.some({"resv": 4, "s": 1, "qrv": 3, "qqic": 8})
        s.add(IGMPv3mq(gaddr=gt, srcaddrs=[x[1] for x in sources], **f), "IGMPv3mq",
              dict(gaddr=g, srcaddrs=b"".join(x[0].to_bytes(4, "big") for x in sources), **f))
        return
    records = [IGMPv3gr(rtype=r.randint(1, 6), maddr=gt, srcaddrs=[gt] * r.choice([0, 2]))
               for _ in range(r.choice([0, 1, 2]))]
    s.add(IGMPv3(type=0x22, mrcode=0), "IGMPv3", {"mrcode": 0})
    s.add(IGMPv3mr(records=records), "IGMPv3mr", {"records": b"".join(bytes(x) for x in records)})


# ---- LLC, STP, LLDP ----

def stp(s):
    (src, srct), (a, at), (b, bt) = s.mac(), s.mac(), s.mac()
    s.add(Dot3(dst="01:80:c2:00:00:00", src=srct), "Dot3", {"dst": 0x0180c2000000, "src": src})
    if s.rng.random() < 0.2:
        s.add(LLC(dsap=0xaa, ssap=0xaa, ctrl=3), "LLC", {})
        s.add(SNAP(), "SNAP", {})
        s.ip()
        s.udp()
        return
    s.add(LLC(dsap=0x42, ssap=0x42, ctrl=3), "LLC", {})
    f = s.some({"bpduflags": 8, "rootid": 16, "pathcost": 32, "bridgeid": 16, "portid": 16})
    s.add(STP(rootmac=at, bridgemac=bt, **f), "STP",
          dict(rootmac=a, bridgemac=b, age=256, maxage=20 * 256, hellotime=2 * 256, fwddelay=15 * 256, **f))


def lldp(s):
    s.ether()
    _, mac = s.mac()
    name, text = s.rng.randbytes(5), s.rng.randbytes(30)
    layers = [LLDPDUChassisID(subtype=4, id=mac), LLDPDUPortID(subtype=5, id=name),
              LLDPDUTimeToLive(ttl=s.bits(16))]
    layers += s.rng.sample([LLDPDUSystemName(system_name=name), LLDPDUSystemDescription(description=text),
                            LLDPDUPortDescription(description=text)], s.rng.randint(0, 3))
    layers.append(LLDPDUEndOfLLDPDU())
    whole = layers[0]
    for layer in layers[1:]:
        whole = whole / layer
    before = len(s.raw)
    s.packet = s.packet / whole
    raw, end = s.raw[before:], 0
    while raw[end:end + 2] != b"\0\0":
        end += 2 + (int.from_bytes(raw[end:end + 2], "big") & 0x1ff)
    s.parts.append("LLDPDU options=" + raw[:end + 2].hex())
    if len(raw) > end + 2:  # Scapy fills up Ethernet's least length
        s.parts.append("=" + raw[end + 2:].hex())


# ---- routing ----

def bgp(s):
    s.ip()
    f = {"sport": s.rng.randint(*stacks.PORTS), "dport": 179, "seq": 1, "window": 65535, "flags": 16}
    s.add(TCP(**f), "TCP", f)
    if s.rng.random() < 0.3:
        s.add(BGPHeader(type=4), "BGPHeader", {})
        return
    (i, it) = s.v4()
    f = {"my_as": s.bits(16), "hold_time": s.bits(16)}
    params = s.rng.choice([b"", bytes.fromhex("02028000")])
    s.add(BGPHeader(type=1), "BGPHeader", {})
    s.add(BGPOpen(bgp_id=it, opt_params=[BGPOptParam(params)] if params else [], **f), "BGPOpen",
          dict(bgp_id=i, opt_params=params, **f))


def ospf(s):
    s.ip()
    (r, rt), (d, dt), (b, bt), (a, at) = s.v4(), s.v4(), s.v4(), s.v4()
    auth = s.rng.choice([0, 1, 2])
    f = {"authtype": auth}
    if auth == 2:
        f.update(keyid=s.bits(8), seq=s.bits(32), reserved=0, authdatalen=0)
    g = dict(f)
    if auth != 2:
        g["authdata"] = s.rng.randbytes(8)
        f["authdata"] = int.from_bytes(g["authdata"], "big")
    s.add(OSPF_Hdr(type=1, src=rt, area=at, **f), "OSPF_Hdr", dict(src=r, area=a, **g))
    h = s.some({"hellointerval": 16, "prio": 8, "deadinterval": 32})
    h["options"] = s.bits(8)
    neighbors = [s.v4() for _ in range(s.rng.choice([0, 1, 3]))]
    s.add(OSPF_Hello(router=dt, backup=bt, neighbors=[n[1] for n in neighbors], **h), "OSPF_Hello",
          dict(router=d, backup=b, neighbors=b"".join(n[0].to_bytes(4, "big") for n in neighbors), **h))


# ---- QUIC, which this Scapy has not ----

def varint(n):
    size = 1 if n < 64 else 2 if n < 16384 else 4
    return (n | {1: 0, 2: 1, 4: 2}[size] << (size * 8 - 2)).to_bytes(size, "big")


def quic(s):
    s.ip()
    r = s.rng
    f = {"sport": r.randint(*stacks.PORTS), "dport": 443}
    s.add(UDP(**f), "UDP", f)
    kind, dst, src = r.randint(0, 2), r.randbytes(r.choice([0, 8, 20])), r.randbytes(r.choice([0, 4, 20]))
    token = r.randbytes(r.choice([0, 5, 70])) if kind == 0 else b""
    payload = r.randbytes(r.choice([20, 70, 400]))
    low = r.getrandbits(4)
    raw = bytes([0xc0 | kind << 4 | low]) + (1).to_bytes(4, "big") + bytes([len(dst)]) + dst + bytes([len(src)]) + src
    if kind == 0:
        raw += varint(len(token)) + token
    raw += varint(len(payload))
    f = {"LongPacketType": kind, "TypeSpecific": low, "DstConnID": dst, "SrcConnID": src}
    if kind == 0:
        f["Token"] = token
    s.add(Raw(raw), "QUIC", f)
    s.payload(payload)


TIMES = ("delay", "dispersion", "ref", "orig", "recv", "sent")

PROTOS = {
    "dhcp": Proto(dhcp, {"BOOTP": BOOTP, "DHCP": DHCP}, apart={"options", "chaddr", "chpad", "sname", "file"},
                  known={"dhcp", "bootp"},
                  tshark={"dhcp.id": ("BOOTP", "xid", 1), "dhcp.secs": ("BOOTP", "secs", 1),
                          "dhcp.hops": ("BOOTP", "hops", 1), "dhcp.hw.len": ("BOOTP", "hlen", 1)}),
    "ntp": Proto(ntp, {"NTP": (NTPHeader, NTPControl, NTPPrivate)},
                 renamed={("NTP", "error"): "err", ("NTP", "status"): "status_word"}, apart=TIMES + ("leap",),
                 known={"ntp"},
                 tshark={"ntp.flags.mode": ("NTP", "mode", 1), "ntp.stratum": ("NTP", "stratum", 1),
                         "ntp.ctrl.sequence": ("NTP", "sequence", 1)}),
    "quic": Proto(quic, {"QUIC": Raw}, known={"quic", "tls"},
                  tshark={"quic.version": ("QUIC", "Version", 1), "quic.dcil": ("QUIC", "DstConnIDLen", 1),
                          "quic.long.packet_type": ("QUIC", "LongPacketType", 1),
                          "quic.length": ("QUIC", "Length", 1)}),
    "gre": Proto(gre, {"GRE": GRE}, known={"gre"},
                 tshark={"gre.proto": ("GRE", "proto", 1), "gre.key": ("GRE", "key", 1)}),
    "vxlan": Proto(vxlan, {"VXLAN": VXLAN}, known={"vxlan"}, odd=lambda f: f.get("flags", 0) & 0x84 == 0x84,
                   tshark={"vxlan.vni": ("VXLAN", "vni", 1)}),
    "geneve": Proto(geneve, {"GENEVE": GENEVE}, apart={"options"}, known={"geneve"},
                    tshark={"geneve.vni": ("GENEVE", "vni", 1), "geneve.proto_type": ("GENEVE", "proto", 1)}),
    "mpls": Proto(mpls, {"MPLS": MPLS}, known={"mpls"},
                  tshark={"mpls.label": ("MPLS", "label", 1), "mpls.ttl": ("MPLS", "ttl", 1)}),
    "sctp": Proto(sctp, dict({"SCTP": SCTP}, **{c.__name__: c for c in (
        SCTPChunkData, SCTPChunkInit, SCTPChunkInitAck, SCTPChunkSACK, SCTPChunkShutdown, SCTPChunkShutdownAck,
        SCTPChunkCookieAck, SCTPChunkCookieEcho, SCTPChunkError, SCTPChunkAbort, SCTPChunkShutdownComplete)}),
                  apart={"params", "gap_ack_list", "dup_tsn_list", "data", "cookie", "error_causes"},
                  # a SACK ends where its length says (RFC 9260 3.2), not behind what it counts
                  odd=lambda f: "n_gap_ack" in f and f["len"] != 16 + 4 * (f["n_gap_ack"] + f["n_dup_tsn"]),
                  known={"sctp"}, lenient="gap block|gap-ack", tshark={"sctp.srcport": ("SCTP", "sport", 1), "sctp.checksum": ("SCTP", "chksum", 1)}),
    "igmp": Proto(igmp, {"IGMP": IGMP, "IGMPv3": IGMPv3, "IGMPv3mq": IGMPv3mq, "IGMPv3mr": IGMPv3mr},
                  apart={"srcaddrs", "records"}, known={"igmp"}, tshark={"igmp.type": ("IGMP", "type", 1)}),
    "stp": Proto(stp, {"Dot3": Dot3, "LLC": LLC, "SNAP": SNAP, "STP": STP},
                 apart={"age", "maxage", "hellotime", "fwddelay"}, known={"llc", "stp"},
                 tshark={"stp.root.cost": ("STP", "pathcost", 1), "llc.dsap": ("LLC", "dsap", 1)}),
    "lldp": Proto(lldp, {"LLDPDU": LLDPDU}, apart={"options"}, known={"lldp"}),
    "bgp": Proto(bgp, {"BGPHeader": BGPHeader, "BGPOpen": BGPOpen}, apart={"opt_params", "marker"}, known={"bgp"},
                 tshark={"bgp.type": ("BGPHeader", "type", 1), "bgp.open.myas": ("BGPOpen", "my_as", 1)}),
    "ospf": Proto(ospf, {"OSPF_Hdr": OSPF_Hdr, "OSPF_Hello": OSPF_Hello}, apart={"neighbors", "authdata"}, known={"ospf"},
                  lenient="LLS option bit",
                  tshark={"ospf.hello.hello_interval": ("OSPF_Hello", "hellointerval", 1),
                          "ospf.packet_length": ("OSPF_Hdr", "len", 1)}),
    "snmp": Proto(snmp, {"SNMP": SNMP}, apart={"community", "varbindlist", "PDU", "version"}, known={"snmp"},
                  lenient="VarBind|Unresolved value",
                  tshark={"snmp.version": ("SNMP", "version", 1), "snmp.request_id": ("SNMP", "id", 1),
                          "snmp.error_status": ("SNMP", "error", 1)}),
}


# What IP carries: with Ethernet around it, or without.
CARRIED = {"dhcp", "ntp", "snmp", "gre", "vxlan", "geneve", "sctp", "igmp", "bgp", "ospf", "quic"}


def stack(name, seed):
    s = stacks.Stack(random.Random(f"{name} {seed}"))
    if name in CARRIED and s.rng.random() < 0.5:
        s.ether()
    PROTOS[name].make(s)
    return s
