# SPDX-License-Identifier: Apache-2.0
"""Connections over IPv6 with a Linux peer, and segments by hand that nobody waits for."""
import socket
import threading

import pytest
from scapy.layers.inet import TCP
from scapy.layers.inet6 import IPv6

from lab import Lab, oracle

pytestmark = pytest.mark.sonde
BUDGET = "budget(packets=2000, bytes=5MB, rate=2000, syn=20, syn_rate=20, time=60)\n"
POLICY = BUDGET + 'reach("fd00:60::/64", tcp=[7, 9], icmp=True)\nlisten(8080, "fd00:60::/64")\n'


@pytest.fixture
def lab(request):
    with Lab(request.node.name, ipv6=True) as made:
        yield made


def pair(lab):
    us, dst = lab.hosts("us", "dst")
    lab.link(us, dst, "fd00:60::1/64", "fd00:60::2/64")
    lab.warm(us)
    return us, dst


def test_connect_over_ipv6(lab):
    """40,000 bytes there and back, closed in order; the peer hears nothing from our kernel."""
    us, dst = pair(lab)
    dst.service("tcp-echo", "7", "::")
    cap = dst.ifaces["eth0"].capture("tcp")
    with oracle.KernelSilence(us) as kernel:
        got = us.sonde(BUDGET + """
c = connect("fd00:60::2", 7)
print(c.state, c.src, c.dst, c.mss)
data = b"0123456789" * 4000
c.send(data)
back = b""
while len(back) < 40000:
    piece = c.recv()
    if len(piece) == 0:
        break
    back = back + piece
print(len(back), back == data)
c.close()
c.wait("closed", 3)
print(c.state, c.error)
r = connect("fd00:60::2", 9)
print(r.state, r.error)
""", installed=POLICY).ok()
    assert got.lines == ["established fd00:60::1 fd00:60::2 1428", "40000 True", got.lines[2],
                         "refused the peer answered the SYN with a reset"], got.said
    assert got.lines[2].split()[0] in ("closed", "time_wait"), got.said
    assert (kernel.rsts, kernel.unreachables) == (0, 0)
    flags = [str(p[TCP].flags) for p in cap.packets() if IPv6 in p and p[IPv6].src == "fd00:60::1" and p[TCP].dport == 7]
    assert flags.count("S") == 1 and not [f for f in flags if "R" in f] and [f for f in flags if "F" in f]


def test_listen_over_ipv6(lab):
    us, dst = pair(lab)
    us.policy(POLICY)
    server = us.sonde(BUDGET + """
l = listen(8080, "fd00:60::/64")
c = l.accept(timeout=20)
if c:
    c.send(c.recv(timeout=5))
    c.close()
    print("served")
""", background=True)
    answers = []

    def call():
        for _ in range(100):  # until it listens
            s = dst.socket(socket.AF_INET6, socket.SOCK_STREAM)
            s.settimeout(10)
            try:
                s.connect(("fd00:60::1", 8080))
                s.sendall(b"hello")
                answers.append(s.recv(100))
                return
            except OSError:
                threading.Event().wait(0.1)
            finally:
                s.close()

    t = threading.Thread(target=call)
    t.start()
    t.join(40)
    server.wait(30)
    assert answers == [b"hello"]


def test_what_is_sent_by_hand_is_answered_and_heard(lab):
    """send() of a segment of a live connection: the answer comes by sniff, and the connection goes on."""
    us, dst = pair(lab)
    dst.service("tcp-echo", "7", "::")
    got = us.sonde(BUDGET + """
c = connect("fd00:60::2", 7)
send(c.packet(seq=c.snd_nxt - 1))
for p in sniff(timeout=500ms, count=4):
    if TCP in p:
        print(p[TCP].flags, p[TCP].ack == c.snd_nxt)
c.send("on")
print(c.recv(), c.state)
""", installed=POLICY).ok()
    assert got.lines[-1] == 'b"on" established' and "A True" in got.lines, got.said


# nft's word -> ours, by RFC 792 and RFC 4443
REJECTS = {
    "icmp net-unreachable": "net-unreachable (type 3 code 0)", "icmp host-unreachable": "host-unreachable (type 3 code 1)",
    "icmp prot-unreachable": "protocol-unreachable (type 3 code 2)", "icmp port-unreachable": "port-unreachable (type 3 code 3)",
    "icmp net-prohibited": "prohibited (type 3 code 9)", "icmp host-prohibited": "prohibited (type 3 code 10)",
    "icmp admin-prohibited": "prohibited (type 3 code 13)",
    "icmpv6 no-route": "unreachable (type 1 code 0)", "icmpv6 admin-prohibited": "prohibited (type 1 code 1)",
    "icmpv6 addr-unreachable": "unreachable (type 1 code 3)", "icmpv6 port-unreachable": "port-unreachable (type 1 code 4)",
}


def test_what_an_icmp_error_said_of_it(lab):
    us, dst = lab.hosts("us", "dst")
    lab.link(us, dst, "10.60.0.1/24 fd00:60::1/64", "10.60.0.2/24 fd00:60::2/64")
    rules = "".join(f"meta nfproto ipv{6 if '6' in kind else 4} tcp dport {port} reject with {kind.replace(' ', ' type ')}\n"
                    for port, kind in enumerate(REJECTS, 1000))
    dst.nft("table inet t { chain in { type filter hook input priority 0; policy accept;\n" + rules + "}\n}")
    lab.warm(us)
    peers = [(f'"{"fd00:60::2" if "6" in kind else "10.60.0.2"}", {port}') for port, kind in enumerate(REJECTS, 1000)]
    program = "".join(f"c = connect({peer}, timeout=300ms)\nprint(c.state, c.icmp, c.reporter)\n" for peer in peers)
    got = us.sonde(program + 'c = connect("10.60.0.2", 9)\nprint(c.state, c.icmp, c.reporter)\n', installed='reach("10.60.0.0/24", "fd00:60::/64", tcp=[9, (1000, 1010)])\n', timeout=60).ok()
    assert got.lines == [f"unreachable {word} {'fd00:60::2' if '6' in kind else '10.60.0.2'}" for kind, word in REJECTS.items()] \
        + ["refused - -"]
