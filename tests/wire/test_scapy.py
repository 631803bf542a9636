# SPDX-License-Identifier: Apache-2.0
"""Encoder and decoder against Scapy: byte for byte and field by field."""
import ipaddress
import pathlib
import random

import pytest

import codec
import stacks
from scapy.layers.dns import DNS, DNSQR, DNSRROPT
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPerror
from scapy.layers.inet6 import IPv6, _ICMPv6
from scapy.layers.l2 import ARP, Dot1Q, Dot3, Ether
from scapy.packet import NoPayload, Padding, Raw

N = 3000
FIRST = {"Ether": Ether, "IP": IP, "IPv6": IPv6, "Dot3": Dot3}
CLASSES = {"Ether": Ether, "Dot1Q": Dot1Q, "ARP": ARP, "IP": IP, "UDP": UDP, "TCP": TCP, "ICMP": ICMP,
           "DNS": DNS, "IPv6": IPv6, "ICMPv6": _ICMPv6}
RENAMED = {("ICMPv6", "other"): "O"}
# Fields that Scapy gives as lists or objects; compared by bytes or apart.
APART = {"options", "qd", "an", "ns", "ar", "addresses"}


def layers_of(packet):
    out = []
    while packet is not None and not isinstance(packet, NoPayload):
        out.append(packet)
        packet = packet.payload
    return out


def value_of(layer, name):
    """Scapy's value of a field as we print it: a number or hex."""
    v = getattr(layer, name)
    if isinstance(v, str) and v.count(":") == 5 and len(v) == 17:
        return int(v.replace(":", ""), 16)
    if isinstance(v, str) and ":" in v:
        return ipaddress.IPv6Address(v).packed.hex()
    if isinstance(v, str) and v.count(".") == 3:
        return int(ipaddress.IPv4Address(v))
    if isinstance(v, bytes):
        return int.from_bytes(v, "big")
    return int(v)


def is_class(layer, name):
    if name.startswith("IPv6Ext"):
        return type(layer).__name__ == name
    if name == "ICMPv6":
        return type(layer).__name__.startswith("ICMPv6") and "NDOpt" not in type(layer).__name__
    return name in CLASSES and isinstance(layer, CLASSES[name])  # protos.py has the others


def differences(ours, theirs):
    for name, value in ours["fields"].items():
        if name in APART:
            continue
        scapy_name = RENAMED.get((ours["name"], name), name)
        if not any(f.name == scapy_name for f in theirs.fields_desc):
            continue
        want = value_of(theirs, scapy_name)
        if want != value:
            yield f"{ours['name']}.{name}: ours {value}, Scapy's {want}"


def names_text(wire):
    """The text of a name in wire form."""
    b, out = bytes.fromhex(wire), b""
    while b and b[0]:
        out, b = out + b[1:1 + b[0]] + b".", b[1 + b[0]:]
    return out or b"."


def record_differences(ours, theirs):
    f = ours["fields"]
    if ours["name"] == "DNSQR":
        pairs = [(names_text(f["qname"]), theirs.qname), (f["qtype"], theirs.qtype),
                 (f["qclass"], theirs.qclass)]
    elif ours["name"] == "DNSRROPT":
        assert isinstance(theirs, DNSRROPT)
        pairs = [(f["rclass"], theirs.rclass), (f["z"], theirs.z), (f["extrcode"], theirs.extrcode),
                 (f["rdata"], b"".join(bytes(o) for o in theirs.rdata).hex())]
    else:
        pairs = [(names_text(f["rrname"]), theirs.rrname), (f["type"], theirs.type),
                 (f["rclass"], theirs.rclass), (f["ttl"], theirs.ttl)]
        if f["type"] == 1 and len(f["rdata"]) == 8:
            pairs.append((str(ipaddress.IPv4Address(bytes.fromhex(f["rdata"]))), theirs.rdata))
        elif f["type"] in (2, 5, 12):
            pairs.append((names_text(f["rdata"]), theirs.rdata))
        elif f["type"] == 15:
            pairs.append((names_text(f["rdata"][4:]), theirs.exchange))
        elif f["type"] == 33:
            pairs.append((names_text(f["rdata"][12:]), theirs.target))
    return [f"{ours['name']}: ours {a}, Scapy's {b}" for a, b in pairs if a != b]


def compare(ours, packet, strict):
    """strict: an undamaged packet, so Scapy must see the same layers."""
    theirs = layers_of(packet)
    wrong = []
    for i, layer in enumerate(ours["layers"]):
        other = theirs[i] if i < len(theirs) else None
        if other is None or not is_class(other, layer["name"]):
            if strict:
                wrong.append(f"layer {i}: ours {layer['name']}, Scapy's {type(other).__name__}")
            break
        wrong += differences(layer, other)
        if layer["name"] == "DNS" and ours["reason"] is None:
            for section in ("qd", "an", "ns", "ar"):
                chain, mine = getattr(other, section), ours[section]
                for k, record in enumerate(mine):
                    wrong += record_differences(record, chain[k])
                    f = record["fields"]  # Scapy takes the rest of such a record for the next one
                    if not strict and len(f.get("rdata", "")) != {1: 8, 28: 32}.get(
                            f.get("type"), len(f.get("rdata", ""))):
                        break
    return wrong


def test_encoding_is_scapys():
    made = [stacks.stack(seed) for seed in range(N)]
    ours = codec.build([s.line for s in made])
    wrong = [f"seed {i}: {s.line}\n  ours   {o}\n  Scapy  {s.raw.hex()}"
             for i, (s, o) in enumerate(zip(made, ours)) if o != s.raw.hex()]
    assert not wrong, f"{len(wrong)} of {N} differ\n" + "\n".join(wrong[:5])


def test_decoding_is_scapys():
    made = [stacks.stack(seed) for seed in range(N, 2 * N)]
    frames = [(s.first, s.raw) for s in made]
    wrong = []
    for s, got in zip(made, codec.decode(frames)):
        for w in compare(got, FIRST[s.first](s.raw), strict=True):
            wrong.append(f"{w}\n  {s.line}")
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:5])


def test_decoded_and_encoded_again_is_the_same():
    """Lengths, counts and checksums derived anew; set ones that were wrong excepted."""
    made = [s for s in (stacks.stack(seed) for seed in range(2 * N, 3 * N)) if "chksum=" not in s.line]
    ours = codec.rebuild([(s.first, s.raw) for s in made])
    wrong = [f"{s.line}\n  again  {o}\n  before {s.raw.hex()}" for s, o in zip(made, ours)
             if o != s.raw.hex()]
    assert len(made) > N / 2
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:5])


def mutate(rng, raw):
    b = bytearray(raw)
    for _ in range(rng.randint(1, 3)):
        what = rng.random()
        if what < 0.6 and b:
            b[rng.randrange(len(b))] = rng.choice([0, 1, 0xff, rng.getrandbits(8)])
        elif what < 0.9:
            del b[rng.randrange(len(b) + 1):]
        else:
            b += rng.randbytes(rng.randint(1, 20))
    return bytes(b)


def test_damaged_packets_do_not_disagree():
    """Where both see a layer, they see the same values; and never a crash."""
    rng = random.Random(7)
    made = [stacks.stack(seed) for seed in range(N)]
    frames = [(s.first, mutate(rng, s.raw)) for s in made]
    wrong = []
    for (first, raw), got in zip(frames, codec.decode(frames)):
        total = sum(x["len"] for x in got["layers"]) + len(got["payload"] + got["padding"]) // 2
        assert total == len(raw), f"{first} {raw.hex()}: {total} of {len(raw)} bytes accounted for"
        if not raw:
            continue
        try:
            packet = FIRST[first](raw)
        except Exception:  # Scapy gives up: nothing to compare with
            continue
        wrong += [f"{w}\n  {first} {raw.hex()}" for w in compare(got, packet, strict=False)]
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:5])


def test_quotes_of_scapys_errors():
    """An error quotes 8 bytes of transport, or all; what is cut is not set."""
    cases = []
    for seed in range(400):
        s = stacks.Stack(random.Random(seed))
        s.ip()
        (s.udp if seed % 2 else s.tcp)()
        s.payload(b"x" * 40)
        inner = s.raw
        ihl = (inner[0] & 15) * 4
        cut = inner[:ihl + 8] if seed % 3 else inner
        cases.append((s, IP(src="10.0.0.9", dst="10.0.0.1", id=1) / ICMP(type=11) / Raw(cut), cut))
    got = codec.decode([("IP", bytes(p)) for _, p, _ in cases])
    for (s, _, cut), g in zip(cases, got):
        q = g["quoted"]
        whole = IP(s.raw)
        assert [x["name"] for x in q["layers"]] == [type(x).__name__ for x in layers_of(whole)[:2]]
        for mine, theirs in zip(q["layers"], layers_of(whole)):
            assert not list(differences(mine, theirs))
        transport = q["layers"][1]["fields"]
        assert {"sport", "dport"} <= set(transport)
        if len(cut) < len(s.raw) and "TCP" in s.line:
            assert set(transport) == {"sport", "dport", "seq"}


@pytest.mark.parametrize("form", ["compliant", "legacy", "none"])
@pytest.mark.parametrize("labels", [1, 3])
def test_mpls_labels(form, labels):
    from scapy.contrib.mpls import MPLS
    from scapy.layers.inet import checksum
    stack = b"".join(bytes(MPLS(label=100 + i, cos=2, s=int(i == labels - 1), ttl=i + 1))
                     for i in range(labels))
    ext = b"\x20\0\0\0" + (len(stack) + 4).to_bytes(2, "big") + b"\1\1" + stack
    ext = ext[:2] + checksum(ext).to_bytes(2, "big") + ext[4:]
    inner = bytes(IP(src="10.0.0.1", dst="10.0.0.2", id=5) / UDP(sport=40001, dport=33434) / (b"x" * 30))
    quote = inner + bytes(128 - len(inner))
    if form == "none":
        quote, ext = inner, b""
    error = IP(src="10.0.0.9", dst="10.0.0.1") / ICMP(type=11, length=32 if form == "compliant" else 0)
    got, = codec.decode([("IP", bytes(error / Raw(quote + ext)))])
    assert got["mpls"] == ([] if form == "none" else [100 + i for i in range(labels)])
    assert [x["name"] for x in got["quoted"]["layers"]] == ["IP", "UDP"]
    assert got["quoted"]["layers"][1]["fields"]["dport"] == 33434


def test_dns_compression_is_expanded():
    import struct
    name = b"\3www\7example\4test\0"
    msg = struct.pack(">6H", 7, 0x8180, 1, 2, 0, 0) + name + struct.pack(">2H", 1, 1)
    msg += b"\xc0\x0c" + struct.pack(">2HIH", 5, 1, 60, 7) + b"\4mail\xc0\x10"
    msg += b"\xc0\x2e" + struct.pack(">2HIH", 15, 1, 60, 4) + b"\0\x0a\xc0\x0c"
    raw = bytes(IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=53, dport=40001) / Raw(msg))
    got, = codec.decode([("IP", raw)])
    assert got["reason"] is None
    wrong = compare(got, IP(raw), strict=True)
    assert not wrong, wrong
    cname, mx = got["an"]
    assert names_text(cname["fields"]["rdata"]) == b"mail.example.test."
    assert names_text(mx["fields"]["rrname"]) == b"mail.example.test."
    assert names_text(mx["fields"]["rdata"][4:]) == b"www.example.test."
    assert isinstance(IP(raw)[DNS].qd, DNSQR)


def test_padding_is_no_payload():
    raw = bytes(Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") /
                IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=40001, dport=40002) / b"abc") + bytes(15)
    got, = codec.decode([("Ether", raw)])
    assert got["payload"] == b"abc".hex() and got["padding"] == bytes(15).hex()
    assert Ether(raw).getlayer(Padding).load == bytes(15)
    assert [x["csum"] for x in got["layers"]] == ["none", "good", "good"]


def test_the_fuzzers_dictionary_is_that_of_the_tables():
    kept = pathlib.Path(__file__).resolve().parents[1] / "fuzz/wire_frame.dict"
    assert kept.read_text().splitlines() == [x for x in codec.run_free("dict") if x], "run seeds.py"
