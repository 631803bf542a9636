# SPDX-License-Identifier: Apache-2.0
"""What Sonde says unasked: each oddity is planted in a lab of its own and must be
named by its code; a clean lab must give no warning at all."""
import json

import pytest
from scapy.layers.dns import DNS, DNSRR, DNSRROPT
from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

from lab.puppet import Puppet, flip, silent_kernel
from lab.sonde import sonde_argv

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


def with_mac(frame, **fields):
    for k, v in fields.items():
        setattr(frame, k, v)
    return frame


def tagged(frame):
    return Ether(src=frame.src, dst=frame.dst) / Dot1Q(vlan=10) / frame.payload


def shorter_echo(p):
    return flip(p) / ICMP(type=0, id=p[ICMP].id, seq=p[ICMP].seq) / Raw(bytes(p[ICMP].payload)[:-1])


def fragments_of(p, size):
    whole = Ether(bytes(with_ip(echo(p), id=78)))
    return [Ether(src=whole.src, dst=whole.dst) / f for f in fragment(whole[IP], size)]


def fragments_of_udp(p):
    whole = Ether(bytes(with_ip(udp_back(p) / Raw(bytes(1000)), id=79)))
    return [Ether(src=whole.src, dst=whole.dst) / f for f in fragment(whole[IP], 400)]


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


# ---- TCP: a SYN to port 80 and what the puppet answers ----

SYN_OPTIONS = [("MSS", 1460), ("SAckOK", b""), ("WScale", 7)]
SYNS = ('for i in range(4):\n'
        '    sr1(IP(dst="10.9.0.2")/TCP(sport=48010 + i, dport=80, seq=1000), timeout=0.3)')


def segment(p, flags, seq=9000, ack=1, window=64000, options=None, **ip):
    """An answer to the SYN p: `ack` behind its number."""
    frame = flip(p) / TCP(sport=p[TCP].dport, dport=p[TCP].sport, flags=flags, seq=seq,
                          ack=(p[TCP].seq + ack) % 2**32, window=window, options=options or [])
    return with_ip(frame, **ip)


def tcp_puppet(answer):
    return puppet(lambda p, n: answer(p, n) if p[TCP].flags == "S" else [], TCP)


def once(odd):
    """Healthy SYN-ACKs, but for the third SYN."""
    return tcp_puppet(lambda p, n: odd(p) if n == 3 else [segment(p, "SA", options=SYN_OPTIONS)])


def both_protocols(lab):
    """The kernel answers echoes, somebody further off TCP."""
    us, peer = pair(lab)
    peer.nft("table inet puppet { chain in { type filter hook input priority 0; meta l4proto tcp drop; }; }")
    Puppet(peer.ifaces["eth0"], lambda p: [segment(p, "SA", options=SYN_OPTIONS, ttl=60)]
           if TCP in p and p[TCP].flags == "S" else [])
    return us


def kernel(**sysctl):
    """A real kernel that listens on port 80."""
    def build(lab):
        us, peer = pair(lab)
        peer.sysctl(**sysctl)
        peer.service("tcp-accept", "80")
        return us
    return build


# ---- DNS: queries to the puppet ----

def dns_puppet(*answers):
    """The n-th query gets what the n-th of answers makes of it; the last goes on."""
    def answer(p, n):
        made = answers[min(n, len(answers)) - 1](p)
        return [flip(p) / UDP(sport=53, dport=p[UDP].sport) / m for m in (made if isinstance(made, list) else [made])]
    return puppet(answer, DNS)


def dns_good(p, rdata="10.0.0.80", **fields):
    """A right answer; fields of the message may be set otherwise."""
    a = DNSRR(rrname=p[DNS].qd.qname, type="A", ttl=60, rdata=rdata)
    values = dict(id=p[DNS].id, qr=1, rd=1, ra=1, qd=p[DNS].qd, an=a, ar=DNSRROPT(rclass=1232))
    values.update(fields)
    return DNS(**values)


def with_qname(p, name):
    q = p[DNS].qd.copy()
    q.qname = name
    return q


LOOKUPS = 'print(resolve("www.test", server="10.9.0.2", count=3, timeout=0.4).rcodes)'


# ---- the link ----

def arp_puppet(frames):
    """The peer's kernel is silent on ARP, too: frames(request) answer."""
    def build(lab):
        us, peer = pair(lab)
        iface = peer.ifaces["eth0"]
        peer.ip("link", "set", iface.name, "arp", "off")
        Puppet(iface, lambda p: frames(p) if ARP in p and p[ARP].op == 1 else [])
        return us
    return build


def claiming_ours(lab):
    us, peer = pair(lab)
    us.policy('reach("10.9.0.0/24")\ncapture(all)')
    gratuitous = ARP(op=1, hwsrc="02:00:00:00:00:66", psrc="10.9.0.1", pdst="10.9.0.1")
    Puppet(peer.ifaces["eth0"], lambda p: [Ether(src="02:00:00:00:00:66", dst="ff:ff:ff:ff:ff:ff") / gratuitous]
           if ICMP in p else [])
    return us


def claim(p, mac, sender=None):
    return Ether(src=sender or mac, dst=p.src) / ARP(op=2, hwsrc=mac, psrc=p[ARP].pdst, hwdst=p.src, pdst=p[ARP].psrc)


def answers_for_its_net(lab):
    """A router that answers ARP for a net behind it."""
    us, far = lab.hosts("us", "far")
    r = lab.router("r")
    lab.link(us, r, "10.9.0.1/24", "10.9.0.254/24")
    lab.link(r, far, "10.9.1.254/24", "10.9.1.2/24")
    r.route("10.9.0.128/26", "10.9.1.2")
    r.sysctl(**{f"net.ipv4.conf.{i}.proxy_arp": 1 for i in ("all", "eth0")})
    return us


# ---- the path ----

def loop_of_routers(lab):
    us = lab.host("us")
    r1, r2 = lab.routers("r1", "r2")
    lab.link(us, r1, "10.20.1.1/24", "10.20.1.2/24")
    lab.link(r1, r2, "10.20.2.1/24", "10.20.2.2/24")
    us.route("10.20.0.0/16", "10.20.1.2")
    r1.route("10.20.9.0/24", "10.20.2.2")
    r2.route("10.20.9.0/24", "10.20.2.1")
    r2.route("10.20.1.0/24", "10.20.2.1")
    return us


def two_ways(lab):
    """Balanced by flow over two routers there, over one and a half back: the way back by r2 is longer."""
    us, dst = lab.hosts("us", "dst")
    a, b, c, d = lab.routers("a", "b", "c", "d")
    lab.link(us, a, "10.20.0.1/24", "10.20.0.2/24")
    for node, n in ((b, 1), (c, 2)):
        lab.link(a, node, f"10.20.{n}.1/24", f"10.20.{n}.2/24")
        lab.link(node, d, f"10.20.1{n}.1/24", f"10.20.1{n}.2/24")
        node.route("10.20.9.0/24", f"10.20.1{n}.2")
        node.route("10.20.0.0/24", f"10.20.{n}.1")
        d.route(f"10.20.{n}.0/24", f"10.20.1{n}.1")
    lab.link(d, dst, "10.20.9.1/24", "10.20.9.2/24")
    us.route("10.20.0.0/16", "10.20.0.2")
    dst.route("10.20.0.0/16", "10.20.9.1")
    d.route("10.20.0.0/24", "10.20.11.1")
    a.sysctl(**{"net.ipv4.fib_multipath_hash_policy": 1})
    a.ip("route", "add", "10.20.9.0/24", "nexthop", "via", "10.20.1.2", "nexthop", "via", "10.20.2.2")
    return us


def longer_way_back(lab):
    """One router there, two back."""
    us, dst = lab.hosts("us", "dst")
    r1, r2 = lab.routers("r1", "r2")
    lab.link(us, r1, "10.20.1.1/24", "10.20.1.2/24")
    lab.link(r1, dst, "10.20.2.1/24", "10.20.2.2/24")
    lab.link(dst, r2, "10.20.3.1/24", "10.20.3.2/24")
    lab.link(r2, r1, "10.20.4.1/24", "10.20.4.2/24")
    for node in (dst, r1, r2):
        node.sysctl(**{f"net.ipv4.conf.{i}.rp_filter": 0 for i in ("all", "default", *(str(k) for k in node.ifaces))})
    us.route("10.20.2.0/24", "10.20.1.2")
    dst.route("10.20.1.0/24", "10.20.3.2")
    r2.route("10.20.1.0/24", "10.20.4.2")
    return us


def quoting(change, **icmp):
    """A router that quotes what it was sent, changed."""
    def answer(p, _):
        q = IP(bytes(p[IP]))
        change(q)
        del q[IP].chksum
        return [flip(p) / ICMP(**(icmp or dict(type=11))) / Raw(bytes(q))]
    return answer


def rewrite(layer, **fields):
    def change(q):
        for k, v in fields.items():
            setattr(q[layer], k, v)
    return change


def one_fragment(lab):
    us, peer = pair(lab)
    peer.sysctl(**{"net.ipv4.ipfrag_time": 1})
    us.policy('reach("10.9.0.0/24", udp=[7], icmp=True, fragments=True)\nbudget(packets=1000)')
    return us


def segmented_late(lab):
    us, peer = pair(lab)
    peer.ifaces["eth0"].offloads(True)
    us.ifaces["eth0"].offloads(True)
    peer.service("udp-gso", "7", "1000", "10")
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
    # link
    "our_address_claimed": (claiming_ours, 'capture("arp")\nping("10.9.0.2", count=2, timeout=0.3)\nsniff("arp", timeout=0.2)'),
    "arp_sender_mismatch": (arp_puppet(lambda p: [claim(p, "02:00:00:00:00:77", "02:00:00:00:00:66")]), 'arp("10.9.0.2")'),
    "proxy_arp": (answers_for_its_net, 'for i in range(4):\n    print(arp(ip("10.9.0.140") + i).macs)'),
    "mac_changed": (puppet(lambda p, n: [with_mac(echo(p), src=f"02:00:00:00:00:0{n % 2 + 5}")]), PING),
    "eth.src_not_group": (puppet(lambda p, n: [with_mac(echo(p), src="03:00:00:00:00:05")]), PING),
    "unicast_in_group_frame": (puppet(lambda p, n: [with_mac(echo(p), dst="ff:ff:ff:ff:ff:ff")]), PING),
    "padding_not_zero": (puppet(lambda p, n: [bytes(echo(p)).ljust(60, b"\xee")]), 'ping("10.9.0.2", count=2, size=4)'),
    "unexpected_vlan_tag": (puppet(lambda p, n: [tagged(echo(p))]), PING),
    # ip
    "ttl_differs_by_port": (tcp_puppet(lambda p, n: [segment(p, "SA", options=SYN_OPTIONS, ttl=64 - p[TCP].dport % 2)]),
                            'for port in [80, 81]:\n    sr1(IP(dst="10.9.0.2")/TCP(dport=port), timeout=0.3)'),
    "distance_differs_by_protocol": (both_protocols, PING + "\n" + SYNS),
    "excessively_small_fragment": (puppet(lambda p, n: fragments_of(p, 24)), 'ping("10.9.0.2", count=1, size=100, timeout=0.4)'),
    "fragmented_answers": (puppet(lambda p, n: fragments_of(p, 400)), 'ping("10.9.0.2", count=1, size=1000, timeout=0.4)'),
    "ip_id_constant": (puppet(lambda p, n: [with_ip(echo(p), id=4711)]), 'ping("10.9.0.2", count=6, interval=0.02)'),
    "congestion_marked": (puppet(lambda p, n: [with_ip(echo(p), tos=3)]), 'ping("10.9.0.2", count=2, tos=2, interval=0.02)'),
    "cut_header": (puppet(lambda p, n: fragments_of_udp(p), UDP), 'send(IP(dst="10.9.0.2")/UDP(sport=48100, dport=7)/b"x")\n'
                   'print(len(sniff("udp", timeout=0.5)))'),
    # icmp
    "echo_length_changed": (puppet(lambda p, n: [shorter_echo(p)]), PING),
    "administratively_prohibited": (mangling("udp dport 33434 reject with icmp type admin-prohibited"), 'traceroute("10.20.3.2", probes=1, timeout=0.4, max_ttl=5)'),
    "unreachable_by_other": (mangling("udp dport 7 reject with icmp type port-unreachable"), 'sr1(IP(dst="10.20.3.2")/UDP(dport=7)/b"x", timeout=0.5)'),
    "source_quench": (puppet(lambda p, n: [error_about(p, type=4)]), PING),
    "parameter_problem": (puppet(lambda p, n: [error_about(p, type=12)]), PING),
    "time_exceeded_by_destination": (puppet(lambda p, n: [error_about(p, type=11)]), PING),
    "short_quote": (puppet(lambda p, n: [flip(p) / ICMP(type=3, code=1) / Raw(bytes(p[IP])[:24])], UDP), UDP_TWO),
    "martian_source": (puppet(lambda p, n: [with_ip(error_about(p, type=11), src="240.0.0.7")]), PING),
    "reassembly_timeout": (one_fragment, 'reach("10.9.0.2", udp=[7], fragments=True)\nprint(sr1(IP(dst="10.9.0.2", flags="MF")/UDP(sport=4000, dport=7)/bytes(64), timeout=4))'),
    # udp
    "UDP_datagram_length_mismatch": (puppet(lambda p, n: [udp_back(p, len=10, chksum=0)], UDP), UDP_TWO),
    "answer_from_other_address": (puppet(lambda p, n: [with_ip(udp_back(p), src="10.9.0.3")], UDP), UDP_TWO),
    # tcp
    "zero_window_syn_ack": (once(lambda p: [segment(p, "SA", window=0, options=SYN_OPTIONS)]), SYNS),
    "SYN_with_data": (once(lambda p: [segment(p, "SA", options=SYN_OPTIONS) / Raw(b"220 hello")]), SYNS),
    "RST_with_data": (once(lambda p: [segment(p, "RA") / Raw(b"go away")]), SYNS),
    "rst_ttl_differs": (once(lambda p: [segment(p, "RA", ttl=128)]), SYNS),
    "reset_with_odd_ack": (once(lambda p: [segment(p, "RA", ack=77)]), SYNS),
    "bad_SYN_ack": (once(lambda p: [segment(p, "SA", ack=77, options=SYN_OPTIONS)]), SYNS),
    "challenge_ack": (once(lambda p: [segment(p, "A", ack=-500)]), SYNS),
    "simultaneous_open": (once(lambda p: [segment(p, "S", options=SYN_OPTIONS)]), SYNS),
    "TCP_christmas": (once(lambda p: [segment(p, "SAF", options=SYN_OPTIONS)]), SYNS),
    "TCP_scale_range": (once(lambda p: [segment(p, "SA", options=[("MSS", 1460), ("SAckOK", b""), ("WScale", 15)])]), SYNS),
    "small_mss": (once(lambda p: [segment(p, "SA", options=[("MSS", 100), ("SAckOK", b""), ("WScale", 7)])]), SYNS),
    "no_window_scale": (kernel(**{"net.ipv4.tcp_window_scaling": 0}), SYNS),
    "no_sack": (kernel(**{"net.ipv4.tcp_sack": 0}), SYNS),
    # dns
    "dns_unmatched_reply": (dns_puppet(dns_good, lambda p: dns_good(p, id=p[DNS].id ^ 1)), LOOKUPS),
    "dns_truncated": (dns_puppet(lambda p: dns_good(p, tc=1, an=None)), LOOKUPS),
    "dns_two_answers": (dns_puppet(dns_good, lambda p: [dns_good(p), dns_good(p, "6.6.6.6")]), LOOKUPS),
    "dns_answers_differ": (dns_puppet(dns_good, lambda p: dns_good(p, "10.0.0.81")), LOOKUPS),
    "dns_rcode_varies": (dns_puppet(dns_good, lambda p: dns_good(p, an=None, rcode=2)), LOOKUPS),
    "dns_case_changed": (dns_puppet(dns_good, lambda p: dns_good(p, qd=with_qname(p, "WWW.test."))), LOOKUPS),
    "dns_lame": (dns_puppet(lambda p: dns_good(p, an=None, ra=0)), LOOKUPS),
    "edns_stripped": (dns_puppet(lambda p: dns_good(p, ar=None)), LOOKUPS),
    "edns_refused": (dns_puppet(lambda p: dns_good(p, an=None, ar=None, rcode=1)), LOOKUPS),
    # path
    "nat_in_quote": (puppet(quoting(rewrite(IP, src="192.0.2.1"))), PING),
    "df_cleared": (puppet(quoting(rewrite(IP, flags=0))), 'ping("10.9.0.2", count=2, df=True, timeout=0.3)'),
    "tcp_sequence_rewritten": (tcp_puppet(quoting(rewrite(TCP, seq=77))), SYNS),
    "mss_rewritten": (mangling("tcp flags syn tcp option maxseg size set 1200"), 'print(tracebox("10.20.3.2", dport=80))'),
    "routing_loop": (loop_of_routers, 'traceroute("10.20.9.2", probes=1, max_ttl=8, timeout=0.4)'),
    "load_balanced_path": (two_ways, 'print(traceroute("10.20.9.2", flows=12, probes=1, timeout=0.4)[1].addrs)'),
    "asymmetric_path": (longer_way_back, 'sr1(IP(dst="10.20.2.2")/UDP(dport=33434)/b"x", timeout=1)'),
    "path_mtu_black_hole": (cable("ab.sizeloss=1", "ab.sizemin=1200"), 'print(pmtu("10.9.0.2"))'),
    # host
    "receive_offload": (segmented_late, 'sr1(IP(dst="10.9.0.2")/UDP(dport=7)/b"x", timeout=1)'),
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


# landlock_create_ruleset gives ENOSYS, as on a kernel without it: seccomp(2), x86-64 and arm64 alike
WITHOUT_LANDLOCK = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
code = struct.pack("HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, 444, 6, 0, 0, 0x50026, 6, 0, 0, 0x7FFF0000)
buf = ctypes.create_string_buffer(code)
prog = struct.pack("HxxxxxxQ", 4, ctypes.addressof(buf))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.create_string_buffer(prog)):
    sys.exit("seccomp: " + os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_sandbox_reduced(lab):
    us, _ = pair(lab)
    us.policy('reach("10.9.0.0/24")\ninsecure_dev()')
    argv = sonde_argv('print(ping("10.9.0.2", count=1).received)', ["--insecure-dev"], json=True)
    said = json.loads(us.run("/usr/bin/python3", "-c", WITHOUT_LANDLOCK, *argv).out)
    assert said["exit"] == 0
    assert [w["code"] for w in said["warnings"]] == ["sandbox_reduced"]
    assert "Landlock" in said["warnings"][0]["evidence"]
