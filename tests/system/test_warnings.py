# SPDX-License-Identifier: Apache-2.0
"""What Sonde says unasked: each oddity is planted in a lab of its own and must be
named by its code; a clean lab must give no warning at all."""
import pytest
from scapy.layers.inet import ICMP, IP, UDP, fragment
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from lab.puppet import Puppet, flip, silent_kernel

pytestmark = pytest.mark.sonde
PING = 'print(ping("10.9.0.2", count=4, interval=0.02, timeout=0.3).received)'
SYN = 'r = sr1(IP(dst="10.9.0.2")/TCP(sport=48000, dport=80), timeout=0.5)'
UDP_TWO = 'res = sr([IP(dst="10.9.0.2")/UDP(sport=48100 + i, dport=7)/b"abcd" for i in range(2)], timeout=0.4)'


def pair(lab, *faults):
    us, peer = lab.hosts("us", "peer")
    if faults:
        lab.cable(us, peer, "10.9.0.1/24", "10.9.0.2/24", *faults)
    else:
        lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
    return us, peer


def puppet(answer, layer=ICMP):
    """A lab whose peer is a puppet: answer(request, number) -> frames, for requests of `layer`."""
    def build(lab):
        us, peer = pair(lab)
        silent_kernel(peer)
        count = [0]

        def handler(p):
            if layer not in p or p[IP].src != "10.9.0.1" or (ICMP in p and p[ICMP].type != 8):
                return []
            count[0] += 1
            return answer(p, count[0])
        Puppet(peer.ifaces["eth0"], handler)
        return us
    return build


def cable(*faults):
    return lambda lab: pair(lab, *faults)[0]


def echo(p, **icmp):
    return flip(p) / ICMP(type=0, id=p[ICMP].id, seq=p[ICMP].seq, **icmp) / p[ICMP].payload.copy()


def with_ip(frame, **fields):
    for k, v in fields.items():
        setattr(frame[IP], k, v)
    return frame


def flipped_payload(p, _):
    data = bytearray(bytes(p[ICMP].payload))
    data[-1] ^= 1
    return [flip(p) / ICMP(type=0, id=p[ICMP].id, seq=p[ICMP].seq) / Raw(bytes(data))]


def error_about(p, **icmp):
    """An ICMP error that quotes p."""
    return flip(p) / ICMP(**icmp) / Raw(bytes(p[IP])[:28 + 8])


def loop(p, _):
    back = Ether(bytes(p))
    back.src, back.dst = p.dst, p.src
    back[IP].ttl -= 2
    del back[IP].chksum
    return [back]


def with_df(p, _):
    whole = Ether(bytes(with_ip(echo(p), id=77)))
    return [Ether(src=whole.src, dst=whole.dst) / with_ip(f, flags=int(f.flags) | 2)
            for f in fragment(whole[IP], 400)]


def udp_back(p, **fields):
    return flip(p) / UDP(sport=p[UDP].dport, dport=p[UDP].sport, **fields) / Raw(b"abcd")


def mangling(rule):
    """us - r1 - r2 - dst, where r1 applies an nft rule to what it forwards."""
    def build(lab):
        us, dst = lab.hosts("us", "dst")
        r1, r2 = lab.routers("r1", "r2")
        lab.chain(us, r1, r2, dst)
        dst.service("tcp-accept", "80")
        r1.nft(f"table inet m {{ chain c {{ type filter hook forward priority 0; {rule}; }}; }}")
        return us
    return build


def redirecting(lab):
    sw, us, dst = lab.bridge(), lab.host("us"), lab.host("dst")
    r1, r2 = lab.routers("r1", "r2")
    for node, addr in ((us, 1), (r1, 2), (r2, 3)):
        lab.join(sw, node, f"10.8.0.{addr}/24")
    lab.link(r2, dst, "10.9.0.254/24", "10.9.0.2/24")
    r1.sysctl(**{"net.ipv4.conf.all.send_redirects": 1, "net.ipv4.conf.eth0.send_redirects": 1})
    r1.route("10.9.0.0/24", "10.8.0.3")
    us.route("10.9.0.0/24", "10.8.0.2")
    dst.route("10.8.0.0/24", "10.9.0.254")
    return us


def two_macs(lab):
    sw, us = lab.bridge(), lab.host("us")
    lab.join(sw, us, "10.9.0.1/24")
    for name in ("one", "two"):
        lab.join(sw, lab.host(name), "10.9.0.2/24")
    return us


def shaped(lab):
    us, _ = pair(lab)
    us.ifaces["eth0"].tbf("1mbit", burst="3000", latency="2s")
    return us


CASES = {
    "reordered_answers": (cable("ba.hold=2", "ba.behind=2"), 'sr([IP(dst="10.9.0.2")/ICMP() for i in range(9)], timeout=0.4, rate=200)'),
    "duplicate_answers": (cable("ba.twice=1"), PING),
    "further_answers": (puppet(lambda p, n: [udp_back(p), with_ip(udp_back(p), id=9) / Raw(b"more")], UDP), UDP_TWO),
    "echo_payload_changed": (puppet(flipped_payload), PING),
    "ttl_changed": (puppet(lambda p, n: [with_ip(echo(p), ttl=64 - n % 2)]), PING),
    "fragment_with_DF": (puppet(with_df), 'ping("10.9.0.2", count=1, size=1000, timeout=0.4)'),
    "arp.duplicate-address-detected": (two_macs, 'print(arp("10.9.0.2", count=3).macs)'),
    "dscp_changed": (mangling("ip dscp set cs0"), 'traceroute("10.20.3.2", probes=1, tos=0xb8, timeout=0.5)'),
    "ecn_changed": (mangling("ip ecn set ce"), 'traceroute("10.20.3.2", probes=1, tos=2, timeout=0.5)'),
    "tcp_options_changed": (mangling("tcp flags syn reset tcp option sack-perm"), 'print(tracebox("10.20.3.2", dport=80))'),
    "icmp_redirect": (redirecting, 'traceroute("10.9.0.2", probes=1, timeout=0.5)\nping("10.9.0.2", count=3, interval=0.05)'),
    "odd_path_mtu": (puppet(lambda p, n: [error_about(p, type=3, code=4, nexthopmtu=20)]), 'ping("10.9.0.2", count=1, df=True, size=1000, timeout=0.3)'),
    "bad_IP_checksum": (puppet(lambda p, n: [with_ip(echo(p), chksum=1)]), PING),
    "bad_ICMP_checksum": (puppet(lambda p, n: [echo(p, chksum=1)]), PING),
    "bad_UDP_checksum": (puppet(lambda p, n: [udp_back(p, chksum=1)], UDP), UDP_TWO),
    "paced": (cable("delay=0ms"), 'budget(rate=10)\nping("10.9.0.2", count=6, interval=0.01)'),
    "late_answers": (cable("ba.alternate=400ms"), 'ping("10.9.0.2", count=2, interval=0.01, timeout=0.1)\nsleep(0.6)\nping("10.9.0.2", count=1)'),
    "looped": (puppet(loop), PING),
    "not_sent": (cable("delay=0ms"), 'ping("10.9.0.77", count=1, timeout=0.2)'),
    "local_queueing": (shaped, 'sr([IP(dst="10.9.0.2")/ICMP()/random_bytes(1372) for i in range(20)], timeout=1)'),
}


@pytest.mark.parametrize("code", CASES)
def test_warning(lab, code):
    build, program = CASES[code]
    run = build(lab).sonde(program, json=True)
    assert run.rc in (0, 3), run.said
    codes = [w["code"] for w in run.json["warnings"]]
    assert code in codes, f"{codes}\n{run.said[-3000:]}"
    w = run.json["warnings"][codes.index(code)]
    assert w["count"] >= 1 and w["meaning"] and w["next"] and w["evidence"]


def test_no_warning_without_cause(lab):
    us, peer = pair(lab)
    peer.service("udp-echo", "7")
    peer.service("tcp-accept", "80")
    run = us.sonde(f'{PING}\n{SYN}\n{UDP_TWO}\nprint(arp("10.9.0.2").macs)\n'
                   'print(traceroute("10.9.0.2", probes=1))', json=True).ok()
    assert run.json["warnings"] == [], run.json["warnings"]
