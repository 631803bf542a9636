# SPDX-License-Identifier: Apache-2.0
"""The protocols beyond the basic stack: for each, how a random one is made (as Scapy's and as a line for
`wire_dump build`), which Scapy class each of our layers is, and which of tshark's fields say the same.
A new protocol has a row in PROTOS."""
import random

from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.inet import UDP
from scapy.asn1.asn1 import (ASN1_COUNTER32, ASN1_GAUGE32, ASN1_INTEGER, ASN1_NULL, ASN1_OID, ASN1_STRING,
                             ASN1_TIME_TICKS)
from scapy.layers.snmp import (SNMP, SNMPbulk, SNMPget, SNMPinform, SNMPnext, SNMPresponse, SNMPset, SNMPtrapv2,
                               SNMPvarbind)
from scapy.layers.ntp import NTPControl, NTPHeader, NTPPrivate

import stacks


class Proto:
    """classes: our layer -> Scapy's class(es). renamed: (layer, field) -> Scapy's field. apart: fields that
    Scapy has in another form. tshark: its field -> (layer, field, factor). known: tshark's protocol names."""

    def __init__(self, make, classes, renamed=None, apart=(), tshark=None, known=()):
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
    "snmp": Proto(snmp, {"SNMP": SNMP}, apart={"community", "varbindlist", "PDU", "version"}, known={"snmp"},
                  tshark={"snmp.version": ("SNMP", "version", 1), "snmp.request_id": ("SNMP", "id", 1),
                          "snmp.error_status": ("SNMP", "error", 1)}),
}


def stack(name, seed):
    s = stacks.Stack(random.Random(f"{name} {seed}"))
    if s.rng.random() < 0.5:
        s.ether()
    PROTOS[name].make(s)
    return s
