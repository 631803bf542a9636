# SPDX-License-Identifier: Apache-2.0
"""Protocols beyond the basic stack through the real gate: what arrives is what Scapy reads, and each goes only
with its word, in program and policy."""
import pytest
from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import GRE, Ether
from scapy.layers.ntp import NTP
from scapy.layers.sctp import SCTP, SCTPChunkInit
from scapy.layers.snmp import SNMP
from scapy.layers.vxlan import VXLAN

from lab import Lab

US, PEER = "10.7.0.1", "10.7.0.2"


@pytest.fixture
def scene(request):
    with Lab(request.node.name) as lab:
        us, peer = lab.hosts("us", "peer")
        lab.link(us, peer, f"{US}/24", f"{PEER}/24")
        yield us, peer


def sent(scene, words, program, policy=None):
    """The frames that the program's packets became at the peer, and the run."""
    us, peer = scene
    allowed = words if policy is None else policy
    us.policy(f"budget(packets=100, bytes=1MB, syn=10)\nreach(\"10.7.0.0/24\"{allowed})\n")
    cap = peer.ifaces["eth0"].capture("ip")
    ran = us.sonde(f'reach("{PEER}"{words})\n{program}')
    cap.settle()
    return [p for p in cap.packets() if p[IP].src in (US, "0.0.0.0") and not p.haslayer("ICMP")], ran


CASES = {
    "gre": (", tunnel=True, udp=[7]", f'send(IP(dst="{PEER}")/GRE(key=5)/IP(dst="{PEER}")/UDP(dport=7)/b"hi")',
            lambda p: p[GRE].key == 5 and p[GRE].payload.dst == PEER and bytes(p[UDP].payload) == b"hi"),
    "vxlan": (", tunnel=True, udp=[7, 4789]",
              f'm = interfaces()[0].mac\n'
              f'for i in interfaces():\n    if i.name == "eth0":\n        m = i.mac\n'
              f'send(IP(dst="{PEER}")/UDP(dport=4789)/VXLAN(vni=7)/Ether(src=m, dst="02:00:00:00:00:01")/'
              f'IP(dst="{PEER}")/UDP(dport=7)/b"hi")',
              lambda p: p[VXLAN].vni == 7 and p[VXLAN].payload[UDP].dport == 7 and
              p[VXLAN][Ether].dst == "02:00:00:00:00:01"),
    "sctp": (", other=[132]", f'send(IP(dst="{PEER}")/SCTP(sport=5000, dport=5000)/SCTPChunkInit(init_tag=1))',
             lambda p: p[SCTPChunkInit].init_tag == 1 and p[SCTP].chksum == SCTP(bytes(p[SCTP])).chksum),
    "ntp": (", udp=[123]", f'send(IP(dst="{PEER}")/UDP(dport=123)/NTP())',
            lambda p: p[NTP].mode == 3 and int.from_bytes(bytes(p[NTP])[40:48], "big") != 0),
    "snmp": (", udp=[161]",
             f'send(IP(dst="{PEER}")/UDP(dport=161)/SNMP(varbindlist=[SNMPvarbind(oid="1.3.6.1.2.1.1.1.0")]))',
             lambda p: p[SNMP].community.val == b"public" and p[SNMP].PDU.varbindlist[0].oid.val == "1.3.6.1.2.1.1.1.0"
             and p[SNMP].PDU.id.val != 0),
    "snmp_set": (", udp=[161], snmp_write=True",
                 f'send(IP(dst="{PEER}")/UDP(dport=161)/SNMP(PDU="SNMPset", varbindlist=[SNMPvarbind(oid="1.3", value=1)]))',
                 lambda p: p[SNMP].PDU.varbindlist[0].value.val == 1),
    "dhcp": (", udp=[67], dhcp=True",
             f'm = interfaces()[0].mac\n'
             f'for i in interfaces():\n    if i.name == "eth0":\n        m = i.mac\n'
             f'send(IP(dst="{PEER}")/UDP(dport=67)/BOOTP(chaddr=m)/DHCP(options=[("message-type", "discover"), "end"]))',
             lambda p: BOOTP(bytes(p[UDP].payload)).xid != 0 and BOOTP(bytes(p[UDP].payload))[DHCP].options == [("message-type", 1), "end"]),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_it_arrives_as_scapy_reads_it(scene, name):
    words, program, right = CASES[name]
    frames, ran = sent(scene, words, program)
    assert ran.rc == 0, ran.said
    assert len(frames) == 1, ran.said
    assert right(frames[0]), frames[0].show(dump=True)


@pytest.mark.parametrize("name, without", [("gre", ", udp=[7]"), ("vxlan", ", udp=[7, 4789]"), ("sctp", ""),
                                           ("snmp_set", ", udp=[161]"), ("dhcp", ", udp=[67]")])
def test_policy_without_the_word_lets_nothing_out(scene, name, without):
    words, program, _ = CASES[name]
    frames, ran = sent(scene, words, program, policy=without)
    assert not frames, ran.said


def test_an_inner_packet_to_a_stranger_does_not_leave(scene):
    frames, ran = sent(scene, ", tunnel=True, udp=[7]",
                       f'send(IP(dst="{PEER}")/GRE()/IP(dst="10.66.0.1")/UDP(dport=7)/b"hi")')
    assert not frames and ran.rc != 0, ran.said


def test_a_foreign_hardware_address_in_dhcp_does_not_leave(scene):
    frames, ran = sent(scene, ", udp=[67], dhcp=True",
                       f'send(IP(dst="{PEER}")/UDP(dport=67)/BOOTP(chaddr="02:00:00:00:00:99")/'
                       f'DHCP(options=[("message-type", "discover"), "end"]))')
    assert not frames, ran.said


def test_sctp_inits_count_as_syn(scene):
    us, _ = scene
    program = f'for i in range(5):\n    send(IP(dst="{PEER}")/SCTP(sport=5000, dport=5000)/SCTPChunkInit(init_tag=1))\n'
    frames, ran = sent(scene, ", other=[132]", program)
    assert len(frames) == 5, ran.said
    us.policy("budget(packets=100, bytes=1MB, syn=2)\nreach(\"10.7.0.0/24\", other=[132])\n")
    cap = scene[1].ifaces["eth0"].capture("sctp")
    ran = us.sonde(f'budget(syn=2)\nreach("{PEER}", other=[132])\n{program}')
    cap.settle()
    assert ran.rc in (3, 4) and len(cap.packets()) <= 2, ran.said
