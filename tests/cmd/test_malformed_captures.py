# SPDX-License-Identifier: Apache-2.0
"""Capture files with malformed packets: no crash, and nothing stays undecoded without saying why."""
import json
import os
import pathlib
import struct

import pytest

from test_cmd import binary, sonde  # noqa: F401

A, B = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
A6, B6 = bytes.fromhex("20010db8" + "0" * 23 + "1"), bytes.fromhex("20010db8" + "0" * 23 + "2")


def eth(kind, body):
    return bytes.fromhex("020000000002020000000001") + struct.pack(">H", kind) + body


def ip(proto, body, **f):
    head = struct.pack(">BBHHHBBH4s4s", f.get("vihl", 0x45), 0, f.get("len", 20 + len(f.get("opt", b"")) + len(body)), 1,
                       f.get("frag", 0), 64, proto, 0, A, B)
    return eth(0x0800, head + f.get("opt", b"") + body)


def ip6(proto, body, **f):
    return eth(0x86DD, struct.pack(">IHBB16s16s", f.get("ver", 6) << 28, f.get("len", len(body)), proto, 64, A6, B6) + body)


def udp(dport, body, **f):
    return ip(17, struct.pack(">HHHH", f.get("sport", 4000), dport, f.get("len", 8 + len(body)), 0) + body)


def tcp(off, options=b"", body=b""):
    return ip(6, struct.pack(">HHIIBBHHH", 80, 4000, 1, 1, off << 4, 16, 100, 0, 0) + options + body)


def dns(counts, body, flags=0x8180):
    return udp(4000, struct.pack(">HH4H", 7, flags, *counts) + body, sport=53)


NAME = b"\x03www\x04acme\x04corp\x00"

# name: frame, what the reason has to say, in small letters
MALFORMED = {
    "ether_of_13_bytes": (eth(0x0800, b"")[:13], "ether"),
    "ethertype_unknown": (eth(0x1234, b"xyz"), "0x1234"),
    "vlan_cut": (eth(0x8100, b"\x00\x01\x08"), "dot1q"),
    "qinq_then_nothing": (eth(0x88A8, b"\x00\x01\x81\x00\x00\x02\x08\x00"), "ip"),
    "arp_cut": (eth(0x0806, b"\x00\x01\x08\x00\x06\x04\x00\x01" + b"\0" * 10), "arp"),
    "ip_of_19_bytes": (ip(17, b"")[:33], "ip header"),
    "ip_version_5": (ip(17, b"\0" * 8, vihl=0x55), "version"),
    "ip_header_length_below_5": (ip(17, b"\0" * 8, vihl=0x42), "below 5"),
    "ip_header_longer_than_packet": (ip(17, b"\0" * 8, vihl=0x4F), "ip"),
    "ip_length_below_header": (ip(17, b"\0" * 8, len=12), "length"),
    "ip_length_beyond_frame": (ip(17, b"\0" * 8, len=1500), "1500"),
    "ip_option_length_0": (ip(17, b"\0" * 8, vihl=0x46, opt=b"\x07\x00\x00\x00"), "option"),
    "ip_option_beyond_header": (ip(17, b"\0" * 8, vihl=0x46, opt=b"\x07\x20\x04\x00"), "option"),
    "ip6_cut": (ip6(17, b"")[:50], "ipv6 header"),
    "ip6_version_4": (ip6(17, b"\0" * 8, ver=4), "version"),
    "ip6_length_beyond_frame": (ip6(17, b"\0" * 8, len=900), "900"),
    "ip6_extension_beyond_packet": (ip6(0, b"\x11\xff\x01\x04\0\0\0\0"), "ipv6"),
    "ip6_fragment_cut": (ip6(44, b"\x11\0\0\0"), "fragment"),
    "ip6_extensions_without_end": (ip6(60, b"\x3c\x00\x01\x04\0\0\0\0" * 40), ""),
    "icmp_cut": (ip(1, b"\x08\x00\x00"), "icmp"),
    "icmp6_cut": (ip6(58, b"\x80\x00"), "icmpv6"),
    "nd_option_length_0": (ip6(58, b"\x87\0\0\0\0\0\0\0" + B6 + b"\x01\x00\0\0\0\0\0\0"), "option"),
    "udp_cut": (ip(17, b"\0" * 7), "udp header"),
    "udp_length_below_8": (udp(9, b"abc", len=5), "length 5"),
    "udp_length_beyond_packet": (udp(9, b"abc", len=300), "length 300"),
    "tcp_cut": (ip(6, b"\0" * 19), "tcp header"),
    "tcp_offset_0": (tcp(0), "offset 0"),
    "tcp_offset_beyond_segment": (tcp(15), "tcp"),
    "tcp_option_length_0": (tcp(6, b"\x02\x00\x05\xb4"), "option"),
    "tcp_option_length_1": (tcp(6, b"\x08\x01\x00\x00"), "option"),
    "tcp_option_beyond_header": (tcp(6, b"\x08\x0a\x00\x00"), "option"),
    "dns_of_11_bytes": (udp(53, b"\0" * 11), "dns"),
    "dns_counts_without_records": (dns((65535, 65535, 65535, 65535), b""), "dns"),
    "dns_name_points_at_itself": (dns((1, 0, 0, 0), b"\xc0\x0c\x00\x01\x00\x01"), "dns"),
    "dns_names_point_at_each_other": (dns((1, 0, 0, 0), b"\xc0\x0e\xc0\x0c\x00\x01\x00\x01"), "dns"),
    "dns_name_points_forward": (dns((1, 0, 0, 0), b"\xc0\x30\x00\x01\x00\x01"), "dns"),
    "dns_label_type_0x40": (dns((1, 0, 0, 0), b"\x41ab\x00\x00\x01\x00\x01"), "dns"),
    "dns_name_above_255": (dns((1, 0, 0, 0), (b"\x3f" + b"a" * 63) * 5 + b"\x00\x00\x01\x00\x01"), "dns"),
    "dns_rdata_beyond_message": (dns((0, 1, 0, 0), NAME + struct.pack(">HHIH", 1, 1, 60, 900) + b"\x0a\0\0\1"), "dns"),
    "dns_a_of_3_bytes": (dns((0, 1, 0, 0), NAME + struct.pack(">HHIH", 1, 1, 60, 3) + b"\x0a\0\0"), ""),
    "gre_cut": (ip(47, b"\x80\x00\x08\x00\x00"), "gre"),
    "gre_version_7": (ip(47, b"\x00\x07\x08\x00" + b"\0" * 20), "gre"),
    "vxlan_cut": (udp(4789, b"\x08\0\0\0\0"), "vxlan"),
    "geneve_options_beyond": (udp(6081, b"\x3f\x00\x65\x58\0\0\1\0"), "geneve"),
    "mpls_without_bottom": (eth(0x8847, b"\x00\x01\x00\x40" * 3), "mpls"),
    "ntp_cut": (udp(123, b"\x23" + b"\0" * 20, sport=123), "ntp"),
    "snmp_length_beyond": (udp(161, b"\x30\x82\xff\xff\x02\x01\x01"), "snmp"),
    "snmp_length_of_length": (udp(161, b"\x30\x89" + b"\xff" * 9), "snmp"),
    "bootp_cut": (udp(67, b"\x01\x01\x06\x00" + b"\0" * 40, sport=68), "bootp"),
    "sctp_chunk_length_0": (ip(132, struct.pack(">HHII", 1, 2, 3, 0) + b"\x00\x03\x00\x00"), "chunk"),
    "lldp_element_beyond": (eth(0x88CC, b"\x02\xff\x04"), "lldp"),
    "igmp_cut": (ip(2, b"\x11\x00"), "igmp"),
}
SHOW = """for p in sniff(timeout=1000):
    print("@", p.layers, len(p.payload), p.warnings)
    q = [p.summary(), p.show(), p.hex(), bytes(p)]
"""


@pytest.fixture
def told(binary, tmp_path):  # noqa: F811
    """What a run without privilege tells of each frame, a line each."""
    def run(frames):
        path = pathlib.Path(os.path.dirname(binary), "c.pcap")
        path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
                         + b"".join(struct.pack("<IIII", 1, i, len(f), len(f)) + f for i, f in enumerate(frames)))
        path.chmod(0o644)
        p = sonde(binary, "run", "--json", "--max-output", "4194304", "--read", str(path), "-e", SHOW)
        assert p.returncode == 0, p.stdout + p.stderr
        lines = "".join(piece["text"] for piece in json.loads(p.stdout)["output"]).splitlines()
        lines = [line for line in lines if line.startswith("@")]
        assert len(lines) == len(frames), "each frame of the file comes up"
        return lines
    return run


@pytest.mark.parametrize("name", MALFORMED)
def test_says_why(told, name):
    frame, why = MALFORMED[name]
    line, = told([frame])
    assert not line.endswith(" []"), f"silent: {line}"
    assert why in line.lower(), line


def test_reasons_are_each_frames_own(told):
    """All in one file, as one by one: what is said of one is not what another one brought up."""
    lines = told([frame for frame, _ in MALFORMED.values()])
    for (name, (_, why)), line in zip(MALFORMED.items(), lines):
        assert why in line.lower(), f"{name}: {line}"


WHOLE = {
    "tcp": tcp(9, b"\x02\x04\x05\xb4\x04\x02\x08\x0a\0\0\0\1\0\0\0\0", b"hello"),
    "dns": dns((1, 1, 0, 0), NAME + b"\0\1\0\1\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + A),
    "gre": ip(47, b"\x20\x00\x08\x00\0\0\0\1" + udp(9, b"inside")[14:]),
    "ip6": ip6(0, b"\x3a\x00\x01\x04\0\0\0\0" + b"\x80\x00\0\0\0\1\0\1" + b"ping"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_each_cut_says_so(told, name):
    frame = WHOLE[name]
    whole, *cuts = told([frame] + [frame[:n] for n in range(14, len(frame))])
    assert whole.endswith(" []"), whole
    silent = [(n, line) for n, line in zip(range(14, len(frame)), cuts) if line.endswith(" []")]
    assert not silent
