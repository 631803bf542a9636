# SPDX-License-Identifier: Apache-2.0
"""The oddities of test_warnings.py are really there, by hand-made packets."""
import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.packet import Raw

import test_warnings as w
from lab.handmade import Wire


def quoted(lab, code, packet):
    """What the second router quotes of packet."""
    us = w.CASES[code][0](lab)
    got = Wire(us, "eth0", "10.20.1.2").exchange([packet], wait=0.3)
    return IP(bytes(next(p for p in got if ICMP in p)[ICMP].payload))


def test_planted_dscp_and_ecn(lab):
    assert quoted(lab, "dscp_changed", IP(src="10.20.1.1", dst="10.20.3.2", ttl=2, tos=0xB8)
                  / UDP(sport=5, dport=33434)).tos == 0


def test_planted_ecn(lab):
    assert quoted(lab, "ecn_changed", IP(src="10.20.1.1", dst="10.20.3.2", ttl=2, tos=2)
                  / UDP(sport=5, dport=33434)).tos == 3


def test_planted_option_stripping(lab):
    q = quoted(lab, "tcp_options_changed", IP(src="10.20.1.1", dst="10.20.3.2", ttl=2)
               / TCP(sport=5, dport=80, options=[("MSS", 1460), ("SAckOK", b""), ("WScale", 7)]))
    names = [o[0] for o in q[TCP].options]
    assert "MSS" in names and "SAckOK" not in names


def test_planted_redirect(lab):
    us = w.redirecting(lab)
    got = Wire(us, "eth0", "10.8.0.2").exchange(
        [IP(src="10.8.0.1", dst="10.9.0.2") / ICMP(id=1, seq=i) for i in range(3)], gap=0.05, wait=0.3)
    kinds = {p[ICMP].type for p in got if ICMP in p}
    assert kinds == {0, 5}
    assert {p[ICMP].gw for p in got if ICMP in p and p[ICMP].type == 5} == {"10.8.0.3"}


@pytest.mark.parametrize("code, packet", [
    ("echo_payload_changed", ICMP(id=1, seq=1) / Raw(b"abcd")), ("looped", ICMP(id=1, seq=1) / Raw(b"abcd")),
    ("odd_path_mtu", ICMP(id=1, seq=1) / Raw(bytes(900))), ("bad_IP_checksum", ICMP(id=1, seq=1) / Raw(b"abcd")),
    ("bad_ICMP_checksum", ICMP(id=1, seq=1) / Raw(b"abcd")), ("bad_UDP_checksum", UDP(sport=5, dport=7) / b"abcd"),
    ("further_answers", UDP(sport=5, dport=7) / b"abcd"), ("fragment_with_DF", ICMP(id=1, seq=1) / Raw(bytes(1000)))])
def test_planted_puppets_answer(lab, code, packet):
    us = w.CASES[code][0](lab)
    got = [p for p in Wire(us, "eth0", "10.9.0.2").exchange([IP(src="10.9.0.1", dst="10.9.0.2") / packet],
                                                            wait=0.3) if IP in p]
    said = {
        "echo_payload_changed": lambda p: p[ICMP].type == 0 and bytes(p[ICMP].payload) == b"abce",
        "looped": lambda p: p[IP].src == "10.9.0.1" and p[ICMP].type == 8,
        "odd_path_mtu": lambda p: p[ICMP].type == 3 and p[ICMP].nexthopmtu == 20,
        "bad_IP_checksum": lambda p: p[IP].chksum == 1,
        "bad_ICMP_checksum": lambda p: p[ICMP].chksum == 1,
        "bad_UDP_checksum": lambda p: p[UDP].chksum == 1,
        "further_answers": lambda p: p[IP].id == 9,
        "fragment_with_DF": lambda p: int(p[IP].flags) == 3,
    }[code]
    assert any(said(p) for p in got), [p.summary() for p in got]
