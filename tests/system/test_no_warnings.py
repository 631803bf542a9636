# SPDX-License-Identifier: Apache-2.0
"""Healthy traffic gives no warning: thousands of packets of all kinds, IPv4 and IPv6, over
three routers, answered by real kernels and a real DNS server."""
import pytest

from lab import Lab

pytestmark = pytest.mark.sonde

BUDGET = "budget(packets=20000, bytes=50MB, rate=20000, byte_rate=50MB, syn=1000, syn_rate=20000, time=300)\n"
POLICY = 'reach("10.0.0.0/8")\nreach("fd00::/16")\nbudget(packets=20000, bytes=50MB, rate=20000, syn=1000, syn_rate=20000)\n'

PROGRAM = BUDGET + """
for dst in [ip("{a}.4.2"), ip("{b}:4::2")]:
    print("ping", ping(dst, count=500, interval=0.004).received, ping(dst, count=50, interval=0.01, size=1400).received)
    print("near", ping("{a}.1.2" if dst.version == 4 else "{b}:1::2", count=200, interval=0.004).received)
    for proto in ["udp", "tcp", "icmp"]:
        print(proto, [h.addr is not None for h in traceroute(dst, proto=proto, dport=80 if proto == "tcp" else 33434, timeout=2)])
    print("walk", len(tracebox(dst, dport=80)))
    n = 0
    for i in range(150):
        r = sr1(L3(dst)/TCP(sport=30000 + i, dport=[80, 81, 82][i % 3]), timeout=2)
        if r and TCP in r:
            n += 1
    print("syn", n)
    ans, unans = sr([L3(dst)/UDP(dport=7)/random_bytes(1 + i * 2) for i in range(400)], rate=400, timeout=2)
    print("echo", len(ans))
    got = 0
    for i in range(150):
        d = resolve(["www.acme.corp", "six.acme.corp", "no.acme.corp"][i % 3], type=["A", "AAAA", "TXT"][i // 3 % 3],
                    server=dst, timeout=2)
        got += d.received
    print("dns", got)
print("arp", len(arp("{a}.1.2", count=3).macs))
print("mtu", pmtu("{a}.4.2").mtu)
"""


@pytest.fixture
def network(request):
    with Lab(request.node.name, ipv6=True) as lab:
        us, dst = lab.hosts("us", "dst")
        nodes = [us, *lab.routers("r1", "r2", "r3"), dst]
        for i, (left, right) in enumerate(zip(nodes, nodes[1:]), 1):
            lab.link(left, right, f"10.20.{i}.1/24 fd00:20:{i}::1/64", f"10.20.{i}.2/24 fd00:20:{i}::2/64")
        for at, node in enumerate(nodes):
            if at < 4:
                node.route("default", f"10.20.{at + 1}.2")
                node.ip("-6", "route", "add", "default", "via", f"fd00:20:{at + 1}::2")
            for i in range(1, at):
                node.route(f"10.20.{i}.0/24", f"10.20.{at}.1")
                node.ip("-6", "route", "add", f"fd00:20:{i}::/64", "via", f"fd00:20:{at}::1")
            # a probe in a test is no load, and no router's limit is to be met here
            node.sysctl(**{"net.ipv4.icmp_ratelimit": 0, "net.ipv6.icmp.ratelimit": 0, "net.ipv4.icmp_msgs_per_sec": 100000})
        dst.service("udp-echo", "7", "0.0.0.0")
        dst.service("udp-echo", "7", "fd00:20:4::2")
        dst.start("python3", "-c", "import socket, time\\nfor f in (socket.AF_INET, socket.AF_INET6):\\n"
                  "    globals()[f.name] = s = socket.socket(f)\\n    f == socket.AF_INET6 and s.setsockopt(41, 26, 1)\\n"
                  "    s.bind(('', 80))\\n    s.listen(1024)\\ntime.sleep(3600)".replace("\\n", "\n"))
        dst.start("dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--user=root", "--bind-interfaces",
                  "--listen-address=10.20.4.2", "--listen-address=fd00:20:4::2", "--pid-file=", "--local=/acme.corp/",
                  "--address=/www.acme.corp/10.9.0.80", "--address=/six.acme.corp/fd00::80")
        dst.run("sh", "-c", "for i in $(seq 50); do ss -Hlun | grep -q :53 && ss -Hltn | grep -q :80 && exit 0; "
                "sleep 0.1; done; exit 1")
        us.policy(POLICY)
        yield us


def test_healthy_traffic_gives_none(network):
    run = network.sonde(PROGRAM.replace("{a}", "10.20").replace("{b}", "fd00:20"), json=True, timeout=300).ok()
    said = dict(line.split(" ", 1) for line in run.lines)
    assert run.json["warnings"] == [], run.json["warnings"]
    assert said["ping"] == "500 50" and said["near"] == "200" and said["syn"] == "150" and said["echo"] == "400", said
    assert said["dns"] == "150" and said["arp"] == "1" and said["mtu"] == "1500", said
    for proto in ("udp", "tcp", "icmp"):
        assert said[proto] == "[True, True, True, True]", run.lines
    assert run.json["stats"]["gate"]["packets"] > 3000
