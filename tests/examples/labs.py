# SPDX-License-Identifier: Apache-2.0
"""A lab for each example program, with the fault planted that the program is to
find.  Each builder returns a namespace of what the tests need; .us runs the
program.  Addresses of the targets are those that the programs name."""
import types


def road(lab, dst, routers=1, cable_at=None, faults=(), dst_gateway=True):
    """us - r1 - ... - rn - dst.  Transit nets are 10.255.k.0/24, dst lies in its own /24.
    cable_at=k puts the bad cable into link k (0: us to r1); direction ab is towards dst."""
    us, target = lab.host("us"), None
    rs = [lab.router(f"r{i + 1}") for i in range(routers)]
    target = lab.host("dst")
    nodes, dst_net = [us, *rs, target], dst.rsplit(".", 1)[0]
    nets = [f"10.255.{i + 1}" for i in range(routers)] + [dst_net]
    cable = None
    for i, (left, right) in enumerate(zip(nodes, nodes[1:])):
        last = i == len(nodes) - 2
        pair = (f"{nets[i]}.254/24", f"{dst}/24") if last else (f"{nets[i]}.1/24", f"{nets[i]}.2/24")
        if i == cable_at:
            _, _, cable = lab.cable(left, right, *pair, *faults)
        else:
            lab.link(left, right, *pair)
    for i, node in enumerate(nodes):
        for j, net in enumerate(nets):
            if j > i:
                node.route(f"{net}.0/24", f"{nets[i]}.2")
            elif j < i - 1:
                back = nets[i - 1]
                node.route(f"{net}.0/24", f"{back}.254" if node is target else f"{back}.1")
    lab.warm(us)
    return types.SimpleNamespace(lab=lab, us=us, rs=rs, dst=target, cable=cable, nets=nets,
                                 gateway=f"{nets[0]}.2" if rs else dst)


def lab_01(lab, jitter):
    """Requests 5, 17 and 18 of 50 are lost; with jitter every second one takes 20 ms more."""
    faults = ["ab.drop=5,17,18", "delay=1ms", *(["ba.alternate=20ms"] if jitter else [])]
    return road(lab, "10.20.3.4", 2, cable_at=1, faults=faults)


def lab_02(lab):
    """The link behind the second router loses each packet of 1000 bytes and more on its way
    to the target, and no other."""
    at = road(lab, "10.20.3.4", 3, cable_at=2, faults=["ab.sizeloss=1", "ab.sizemin=1000"])
    at.dst.service("tcp-accept", "443")
    return at


def lab_03(lab):
    """r1 spreads flows by ports over m1..m4; m3 swallows TCP to port 8080."""
    us, r1, r9, dst = lab.host("us"), lab.router("r1"), lab.router("r9"), lab.host("dst")
    ms = lab.routers("m1", "m2", "m3", "m4")
    lab.link(us, r1, "10.255.1.1/24", "10.255.1.2/24")
    for i, m in enumerate(ms, 1):
        lab.link(r1, m, f"10.255.1{i}.1/24", f"10.255.1{i}.2/24")
        lab.link(m, r9, f"10.255.2{i}.1/24", f"10.255.2{i}.2/24")
        m.route("10.30.0.0/24", f"10.255.2{i}.2")
        m.route("10.255.1.0/24", f"10.255.1{i}.1")
    lab.link(r9, dst, "10.30.0.1/24", "10.30.0.10/24")
    r1.sysctl(**{"net.ipv4.fib_multipath_hash_seed": 4711})
    r1.route("10.30.0.0/24", *[f"10.255.1{i}.2" for i in range(1, 5)])
    r9.route("10.255.1.0/24", "10.255.21.1")
    us.route("10.30.0.0/24", "10.255.1.2")
    dst.route("10.255.0.0/16", "10.30.0.1")
    ms[2].nft("table inet bad { chain c { type filter hook forward priority 0; "
              "tcp dport 8080 drop; }; }")
    dst.service("tcp-accept", "8080")
    lab.warm(us)
    return types.SimpleNamespace(lab=lab, us=us, r1=r1, ms=ms, r9=r9, dst=dst,
                                 gateway="10.255.1.2", bad=ms[2])


def lab_04(lab):
    """The last link carries 10 Mbit/s, and the router before it keeps up to 300 ms of it."""
    at = road(lab, "10.40.0.2", 1, cable_at=0, faults=["delay=5ms"])
    at.rs[0].ifaces["eth1"].tbf("10mbit", burst="5k", latency="300ms")
    at.dst.service("tcp-discard", "9")
    return at


def lab_05(lab):
    """The second router takes SACK out of SYNs on their way and makes the MSS 1200 at most."""
    at = road(lab, "10.20.9.9", 3)
    at.rs[1].nft("table inet box { chain c { type filter hook postrouting priority 0; oifname eth1 "
                 "tcp flags & syn == syn tcp option maxseg size set 1200 "
                 "reset tcp option sack-perm; }; }")
    at.dst.service("tcp-accept", "80")
    return at


LOST_06 = [3, 9, 11, 50, 90]


def lab_06(lab):
    """A DNS server that knows one name; the cable loses a few of the questions by UDP."""
    us, dst = lab.hosts("us", "dst")
    _, _, cable = lab.cable(us, dst, "10.0.0.1/24", "10.0.0.53/24", "delay=2ms",
                            "ab.drop=" + ",".join(map(str, LOST_06)), "proto=17")
    dst.start("dnsmasq", "-k", "-C", "/dev/null", "--no-resolv", "--no-hosts", "--user=root", "--pid-file=",
              "--host-record=www.acme.corp,10.0.0.80", "--listen-address=10.0.0.53", "--bind-interfaces")
    lab.warm(us)
    return types.SimpleNamespace(lab=lab, us=us, dst=dst, cable=cable, gateway="10.0.0.53")


def lab_07(lab):
    """A Linux host that accepts connections."""
    us, dst = lab.hosts("us", "dst")
    lab.link(us, dst, "10.20.5.1/24", "10.20.5.5/24")
    dst.service("tcp-accept", "5432")
    lab.warm(us)
    return types.SimpleNamespace(lab=lab, us=us, dst=dst, gateway="10.20.5.5")


def lab_08(lab):
    """Out by r1, rf, r9 (1500 bytes all along); home by r9, rb1, rb2, r1, whose link between
    rb1 and rb2 carries 1400."""
    us, dst = lab.hosts("us", "dst")
    r1, rf, r9, rb1, rb2 = lab.routers("r1", "rf", "r9", "rb1", "rb2")
    lab.link(us, r1, "10.255.1.1/24", "10.255.1.2/24")
    lab.link(r1, rf, "10.255.2.1/24", "10.255.2.2/24")
    lab.link(rf, r9, "10.255.3.1/24", "10.255.3.2/24")
    lab.link(r9, dst, "10.20.3.1/24", "10.20.3.4/24")
    lab.link(r9, rb1, "10.255.4.1/24", "10.255.4.2/24")
    lab.link(rb1, rb2, "10.255.5.1/24", "10.255.5.2/24", mtu=1400)
    lab.link(rb2, r1, "10.255.6.1/24", "10.255.6.2/24")
    us.route("10.20.3.0/24", "10.255.1.2")
    r1.route("10.20.3.0/24", "10.255.2.2")
    rf.route("10.20.3.0/24", "10.255.3.2")
    dst.route("10.255.0.0/16", "10.20.3.1")
    for node, via in ((rf, "10.255.2.1"), (r9, "10.255.4.2"), (rb1, "10.255.5.2"),
                      (rb2, "10.255.6.2")):
        node.route("10.255.1.0/24", via)
    lab.warm(us)
    return types.SimpleNamespace(lab=lab, us=us, r1=r1, dst=dst, gateway="10.255.1.2")


MACS_09 = ["02:00:00:07:00:01", "02:00:00:07:00:02"]


def lab_09(lab):
    """Two hosts on one switch hold 10.20.7.7."""
    sw, us = lab.bridge(), lab.host("us")
    lab.join(sw, us, "10.20.7.1/24")
    for name, mac in zip(("first", "second"), MACS_09):
        lab.join(sw, lab.host(name), "10.20.7.7/24", mac=mac)
    return types.SimpleNamespace(lab=lab, us=us)


def lab_10(lab):
    """A cable that loses 3 frames of 10 while both directions carry over 2,000 a second."""
    us, dst = lab.hosts("us", "dst")
    _, _, cable = lab.cable(us, dst, "10.20.8.1/24", "10.20.8.8/24", "delay=2ms", "busyloss=0.3",
                            "busytime=20ms", "busyframes=40", "seed=10", "proto=17")
    dst.service("udp-echo", "7")
    dst.service("udp-discard", "9")
    lab.warm(us)
    return types.SimpleNamespace(lab=lab, us=us, dst=dst, cable=cable, gateway="10.20.8.8")


def lab_11(lab):
    """Every tenth datagram comes three later than it was sent."""
    at = road(lab, "10.50.1.1", 1, cable_at=1,
              faults=["ab.hold=10", "ab.behind=3", "proto=17"])
    at.dst.service("udp-echo", "7")
    return at


LOST_12 = {100: [6], 500: [], 1000: [11, 12], 1400: [0], 1472: [3, 49]}
SIZES_12 = [100, 500, 1000, 1400, 1472]


def lab_12(lab):
    """Out by r1 (3 ms and 2 us a byte), home by r2 (10 ms) to 10.20.4.1, which is ours only by
    claim; a few of the datagrams are lost on the way out."""
    sw, us, dst = lab.bridge(), lab.host("us"), lab.host("dst")
    r1, r2 = lab.routers("r1", "r2")
    lab.join(sw, us, "10.20.5.2/24")
    lab.join(sw, r1, "10.20.5.1/24")
    lab.join(sw, r2, "10.20.5.3/24")
    drops = [str(50 * SIZES_12.index(n) + i + 1) for n, lost in LOST_12.items() for i in lost]
    _, _, out = lab.cable(r1, dst, "10.100.0.1/24", "10.100.0.50/24", "proto=17",
                          "ab.delay=3ms", "ab.perbyte=2us", "ab.drop=" + ",".join(drops))
    _, _, home = lab.cable(dst, r2, "10.101.0.2/24", "10.101.0.1/24", "ab.delay=10ms")
    us.route("10.100.0.0/24", "10.20.5.1")
    dst.route("10.20.4.0/24", "10.101.0.1")
    dst.route("10.20.5.0/24", "10.100.0.1")
    r2.route("10.20.4.0/24", "10.20.5.2")
    dst.service("udp-echo", "9999", "10.100.0.50")
    lab.warm(us)
    return types.SimpleNamespace(lab=lab, us=us, dst=dst, r1=r1, r2=r2, out=out, home=home,
                                 gateway="10.20.5.1")
