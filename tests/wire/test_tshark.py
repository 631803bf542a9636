# SPDX-License-Identifier: Apache-2.0
"""Checksums, lengths and what counts as malformed, against tshark."""
import json
import random
import subprocess

import pytest

import codec
import stacks
from test_scapy import mutate
from scapy.utils import wrpcap

N = 2500
KNOWN = set("""eth ethertype vlan arp ip ipv6 ipv6.hopopts ipv6.routing ipv6.fraghdr ipv6.dstopts icmp icmpv6
udp tcp dns data _ws.malformed""".split())
FIELDS = """frame.protocols ip.checksum.status tcp.checksum.status udp.checksum.status icmp.checksum.status
icmpv6.checksum.status ip.len ip.hdr_len ip.ttl ip.id ipv6.plen udp.length tcp.hdr_len tcp.seq_raw tcp.ack_raw
tcp.window_size_value udp.srcport tcp.dstport dns.id dns.count.queries dns.count.answers dns.flags.rcode
vlan.id arp.opcode ip.flags.df ip.frag_offset _ws.malformed _ws.expert.message""".split()
# tshark's field -> ours, with the factor between them
SAME = {"ip.len": ("IP", "len", 1), "ip.hdr_len": ("IP", "ihl", 4), "ip.ttl": ("IP", "ttl", 1),
        "ipv6.plen": ("IPv6", "plen", 1), "udp.length": ("UDP", "len", 1),
        "tcp.hdr_len": ("TCP", "dataofs", 4), "tcp.seq_raw": ("TCP", "seq", 1),
        "tcp.ack_raw": ("TCP", "ack", 1), "tcp.window_size_value": ("TCP", "window", 1),
        "udp.srcport": ("UDP", "sport", 1), "tcp.dstport": ("TCP", "dport", 1),
        "dns.count.queries": ("DNS", "qdcount", 1), "dns.count.answers": ("DNS", "ancount", 1),
        "vlan.id": ("Dot1Q", "vlan", 1), "arp.opcode": ("ARP", "op", 1),
        "ip.frag_offset": ("IP", "frag", 1)}
# Of bad, good, unverified, not present, illegal.
STATUS = {"0": "bad", "1": "good"}


def tshark(path, fields=FIELDS):
    argv = ["tshark", "-r", str(path), "-T", "json", "-n"]
    for pref in ("ip.check_checksum:TRUE", "tcp.check_checksum:TRUE", "udp.check_checksum:TRUE",
                 "ip.defragment:FALSE", "ipv6.defragment:FALSE", "tcp.desegment_tcp_streams:FALSE",
                 "tcp.relative_sequence_numbers:FALSE", "tcp.analyze_sequence_numbers:FALSE"):
        argv += ["-o", pref]
    for f in fields:
        argv += ["-e", f]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[:500]
    return [x["_source"]["layers"] for x in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Frames, half of them damaged, with what tshark and we see."""
    rng = random.Random(11)
    frames = []
    seed = 0
    while len(frames) < N:
        s = stacks.stack(seed)
        seed += 1
        if s.first != "Ether":
            continue
        raw = s.raw if len(frames) % 2 == 0 else mutate(rng, s.raw)
        frames.append(raw or s.raw)
    path = tmp_path_factory.mktemp("wire") / "frames.pcap"
    wrpcap(str(path), [stacks.Raw(f) for f in frames], linktype=1)
    theirs = tshark(path)
    assert len(theirs) == len(frames)
    return list(zip(frames, codec.decode([("Ether", f) for f in frames]), theirs))


def known(theirs):
    """Whether tshark met only protocols that we decode too."""
    return set(theirs["frame.protocols"][0].split(":")) <= KNOWN


def first(ours, name):
    return next((x for x in ours["layers"] if x["name"] == name), None)


def test_fields(seen):
    wrong = []
    compared = 0
    for raw, ours, theirs in seen:
        for field, (name, mine, factor) in SAME.items():
            layer = first(ours, name)
            if layer is None or field not in theirs:
                continue
            if name in ("UDP", "TCP", "DNS") and "icmp" in theirs["frame.protocols"][0]:
                continue
            compared += 1
            got, want = layer["fields"][mine] * factor, int(theirs[field][0], 0)
            if got != want and not (field == "ip.len" and want == len(raw) - 14):
                wrong.append(f"{name}.{mine}: ours {got}, tshark's {want}\n  {raw.hex()}")
    assert compared > 3 * N
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:5])


@pytest.mark.parametrize("name, field", [("IP", "ip.checksum.status"), ("UDP", "udp.checksum.status"),
                                         ("TCP", "tcp.checksum.status"), ("ICMP", "icmp.checksum.status"),
                                         ("ICMPv6", "icmpv6.checksum.status")])
def test_checksums(seen, name, field):
    wrong = []
    verdicts = {"good": 0, "bad": 0}
    for raw, ours, theirs in seen:
        layer = first(ours, name)
        want = STATUS.get(theirs.get(field, [""])[0])
        if layer is None or want is None or layer["csum"] in ("unknown", "none"):
            continue
        verdicts[want] += 1
        if layer["csum"] != want:
            wrong.append(f"{name}: ours {layer['csum']}, tshark's {want}\n  {raw.hex()}")
    assert verdicts["good"] > 50 and verdicts["bad"] > 5, verdicts
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:5])


def test_what_tshark_calls_malformed_has_a_reason(seen):
    wrong = []
    malformed = 0
    for raw, ours, theirs in seen:
        if "_ws.malformed" not in theirs or not known(theirs):
            continue
        malformed += 1
        if ours["reason"] is None:
            quoted = ours.get("quoted")
            if quoted is None or quoted["reason"] is None:
                wrong.append(f"{theirs['frame.protocols'][0]}: {theirs.get('_ws.expert.message')}\n  {raw.hex()}")
    assert malformed > 20
    assert not wrong, f"{len(wrong)} of {malformed}\n" + "\n".join(wrong[:5])


def test_undamaged_packets_have_no_reason(seen):
    wrong = [f"{ours['reason']}\n  {raw.hex()}" for raw, ours, _ in seen[::2] if ours["reason"]
             and "is not decoded" not in ours["reason"] and "segments left" not in ours["reason"]]
    assert not wrong, f"{len(wrong)} reasons\n" + "\n".join(wrong[:5])
