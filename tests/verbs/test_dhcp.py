# SPDX-License-Identifier: Apache-2.0
"""dhcp_discover on a link with two real servers, and beside other clients."""
import time

import pytest
from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

pytestmark = pytest.mark.sonde

WORDS = 'reach("255.255.255.255", dhcp=True, broadcast=True)\n'
SAY = WORDS + '''
offers = dhcp_discover("eth0")
for o in sorted(offers, key=lambda o: str(o.server)):
    print(o.server, o.addr in net("10.9.0.0/24"), o.mask, o.routers, o.dns, o.domain, o.lease, o.mac, o.rtt > 0)
print(len(offers))
'''


def net(lab, addr="10.9.0.1/24"):
    """us on a switch with two servers; what they give differs."""
    us, a, b = lab.hosts("us", "a", "b")
    br = lab.bridge()
    lab.join(br, us, addr)
    for node, host, pool, more in ((a, "10.9.0.53", "10.9.0.100,10.9.0.110,12h", []),
                                   (b, "10.9.0.66", "10.9.0.200,10.9.0.210,5m",
                                    ["--dhcp-option=3,10.9.0.66", "--dhcp-option=6,10.9.0.66,10.9.0.67", "--domain=evil.corp"])):
        lab.join(br, node, host + "/24")
        node.start("dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--user=root", "--pid-file=", "--port=0",
                   f"--dhcp-range={pool}", f"--dhcp-leasefile={lab.path(host)}", "--no-ping", *more)
        node.run("sh", "-c", "for i in $(seq 100); do ss -lun | grep -q :67 && exit 0; sleep 0.1; done; exit 1")
    return us, a, b


@pytest.mark.parametrize("addr", ["10.9.0.1/24", None], ids=["with-address", "without"])
def test_who_gives_addresses(lab, addr):
    us, a, b = net(lab, addr)
    cap = us.ifaces["eth0"].capture("udp port 67 or udp port 68")
    run = us.sonde(SAY, installed=WORDS).ok()
    rows = [x.replace('"', "") for x in run.lines]
    assert rows == [
        f"10.9.0.53 True 255.255.255.0 [10.9.0.53] [] - 43200 s {a.ifaces['eth0'].mac} True",
        f"10.9.0.66 True 255.255.255.0 [10.9.0.66] [10.9.0.66, 10.9.0.67] evil.corp 300.0 s {b.ifaces['eth0'].mac} True",
        "2"]
    asked = [p for p in cap.packets() if p[UDP].dport == 67]
    assert len(asked) == 1
    p = asked[0]
    assert (p[Ether].dst, p[IP].src, p[IP].dst, p[UDP].sport) == ("ff:ff:ff:ff:ff:ff", "0.0.0.0", "255.255.255.255", 68)
    assert p[BOOTP].chaddr[:6].hex(":") == us.ifaces["eth0"].mac and "B" in p[BOOTP].flags
    assert ("message-type", 1) in p[DHCP].options


def test_nobody_gives_and_others_ask(lab):
    """Another client's messages are nobody's business: not shown, not counted."""
    us, other = lab.hosts("us", "other")
    lab.link(us, other, "10.9.0.1/24", "10.9.0.2/24")
    raw = other.raw("eth0")
    foreign = bytes(Ether(src=other.ifaces["eth0"].mac, dst="ff:ff:ff:ff:ff:ff") / IP(src="10.9.0.2", dst="255.255.255.255") /
                    UDP(sport=67, dport=68) / BOOTP(op=2, xid=77, yiaddr="10.9.0.9", chaddr=b"\2\0\0\0\0\7") /
                    DHCP(options=[("message-type", "offer"), "end"]))
    proc = us.sonde(WORDS + 'offers = dhcp_discover("eth0", timeout=1, retry=0)\nprint(len(offers))\n'
                    'print(len(sniff("udp port 68", timeout=1)))', installed=WORDS, background=True)
    for _ in range(40):
        raw.send(foreign)
        time.sleep(0.1)
    raw.close()
    assert proc.wait(30) == 0
    assert [x[2:] for x in proc.out.splitlines() if x.startswith("| ")] == ["0", "0"]


def test_it_needs_its_words(lab):
    us, other = lab.hosts("us", "other")
    lab.link(us, other, "10.9.0.1/24", "10.9.0.2/24")
    cap = other.ifaces["eth0"].capture("udp")
    run = us.sonde('print(dhcp_discover("eth0"))')
    assert run.rc == 2 and "dhcp" in run.said
    run = us.sonde(SAY, installed='reach("10.9.0.0/24")\n')
    assert run.rc == 3 and cap.frames() == []
