# SPDX-License-Identifier: Apache-2.0
"""Truth from captures, computed by code that shares nothing with the program
under test: round-trip times, counts, frames that must not be, and what the
kernel of a node sent by itself."""
import collections
import struct

ETH_IP, ETH_ARP, ETH_IP6 = 0x0800, 0x0806, 0x86DD


def ip4(data):
    """(header length, protocol, src, dst, payload) of an Ethernet frame that holds IPv4."""
    if len(data) < 34 or data[12:14] != b"\x08\x00":
        return None
    ihl = (data[14] & 15) * 4
    total = struct.unpack_from("!H", data, 16)[0]
    return ihl, data[23], data[26:30], data[30:34], data[14 + ihl:14 + total]


def echo_times(frames):
    """{(id, seq): (request ns, reply ns)} of ICMP echo in one capture; the first of each."""
    asked, done = {}, {}
    for ns, data in frames:
        got = ip4(data)
        if not got or got[1] != 1 or len(got[4]) < 8:
            continue
        key = struct.unpack_from("!HH", got[4], 4)
        if got[4][0] == 8:
            asked.setdefault(key, ns)
        elif got[4][0] == 0 and key in asked:
            done.setdefault(key, (asked[key], ns))
    return done


def echo_rtts(frames):
    """Seconds between request and reply at the place of capture, in order of requests."""
    times = sorted(echo_times(frames).values())
    return [(b - a) / 1e9 for a, b in times]


def udp_one_way(left, right, port):
    """{(source port, UDP length): seconds} from capture `left` to capture `right` of
    datagrams to `port`, matched by their whole payload; the clocks are one."""
    def index(frames):
        out = {}
        for ns, data in frames:
            got = ip4(data)
            if got and got[1] == 17 and len(got[4]) >= 8:
                sport, dport = struct.unpack_from("!HH", got[4])
                if dport == port:
                    out.setdefault((sport, got[4][8:]), ns)
        return out
    a, b = index(left), index(right)
    return {(k[0], len(k[1])): (b[k] - a[k]) / 1e9 for k in a if k in b}


def round_trips(out, home, port):
    """{(source port, payload length): seconds} from a datagram to `port` in capture `out` to
    the first one from `port` with the same ports and payload in capture `home`."""
    asked, done = {}, {}
    for ns, data in out:
        got = ip4(data)
        if got and got[1] == 17 and struct.unpack_from("!H", got[4], 2)[0] == port:
            asked.setdefault((struct.unpack_from("!H", got[4])[0], got[4][8:]), ns)
    for ns, data in home:
        got = ip4(data)
        if got and got[1] == 17 and struct.unpack_from("!H", got[4])[0] == port:
            key = struct.unpack_from("!H", got[4], 2)[0], got[4][8:]
            if key in asked and ns >= asked[key]:
                done.setdefault((key[0], len(key[1])), (ns - asked[key]) / 1e9)
    return done


def count(packets, key):
    """Counter of key(packet), None left out."""
    return collections.Counter(k for k in map(key, packets) if k is not None)


# ---- frames that must not be ----

def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


class Forbidden:
    """Judges each frame that left a node against what guardrails section 4 allows without a
    word: .seen counts the kinds of offence, .frames keeps the first 20."""

    def __init__(self, mac, addresses, peers, next_hops, mtu=1500, ports=None, dports=None,
                 ids=None):
        """mac, next_hops: MAC text; addresses: our own IPs, peers: IPs in reach (and the only
        targets of ARP); ports: allowed local ports; dports: {protocol: remote ports}; ids: those of
        ICMP; None: any."""
        import ipaddress
        self.mac = mac_bytes(mac)
        self.ours = {ipaddress.ip_address(a).packed for a in addresses}
        self.peers = {ipaddress.ip_address(a).packed for a in peers}
        self.hops = {mac_bytes(m) for m in next_hops}
        self.mtu, self.ports, self.dports, self.ids = mtu, ports, dports, ids
        self.seen, self.frames = collections.Counter(), []

    def judge(self, frames):
        for _, data in frames:
            for kind in self.offences(data):
                self.seen[kind] += 1
                if len(self.frames) < 20:
                    self.frames.append((kind, data))
        return self.seen

    def offences(self, d):
        if len(d) < 14:
            return ["runt"]
        out = []
        if d[6:12] != self.mac:
            out.append("source MAC")
        kind = struct.unpack_from("!H", d, 12)[0]
        if kind == ETH_ARP:
            return out + self._arp(d)
        if kind not in (ETH_IP, ETH_IP6):
            return out + [f"EtherType {kind:04x}"]
        if len(d) - 14 > self.mtu:
            out.append("above MTU")
        if len(d) == 14 or d[14] >> 4 != (4 if kind == ETH_IP else 6):
            return out + ["version"]
        solicits = d[0:3] == b"\x33\x33\xff" and kind == ETH_IP6 and d[20] == 58 and d[54:55] == b"\x87"
        if d[0:6] not in self.hops and not solicits:
            out.append("next hop")
        return out + (self._ip4(d) if kind == ETH_IP else self._ip6(d))

    def _arp(self, d):
        out = []
        if len(d) < 42:
            return ["short ARP"]
        if d[20:22] != b"\0\1":
            out.append("ARP claim")
        if d[22:28] != self.mac or d[28:32] not in self.ours:
            out.append("ARP source")
        if d[28:32] == d[38:42]:
            out.append("gratuitous ARP")
        elif d[38:42] not in self.peers:
            out.append("ARP target")
        return out

    def _ip4(self, d):
        out = []
        if len(d) < 34:
            return ["short IP"]
        ihl, total = (d[14] & 15) * 4, struct.unpack_from("!H", d, 16)[0]
        if ihl < 20 or total < ihl or 14 + total > len(d):
            return ["IP lengths"]
        if any(d[14 + total:]):
            out.append("padding")
        if ihl > 20:
            out.append("IP option")
        if struct.unpack_from("!H", d, 20)[0] & 0x3FFF:
            out.append("fragment")
        if d[26:30] not in self.ours:
            out.append("source address")
        if d[30] >= 224:
            out.append("multicast or broadcast")
        elif d[30:34] not in self.peers:
            out.append("peer")
        return out + self._transport(d[23], d[14 + ihl:14 + total])

    def _ip6(self, d):
        out = []
        if len(d) < 54:
            return ["short IPv6"]
        if d[22:38] not in self.ours:
            out.append("source address")
        if d[20] == 58 and len(d) > 54 and d[54] in (135, 136):
            if d[54] == 136:
                out.append("ND claim")
            return out
        if d[38] == 0xFF:
            out.append("multicast")
        elif d[38:54] not in self.peers:
            out.append("peer")
        if d[20] in (0, 43, 44, 50, 51, 60, 135):
            return out + ["extension header"]
        return out + self._transport(d[20], d[54:])

    def _transport(self, proto, p):
        if proto in (1, 58):
            query = (8, 13) if proto == 1 else (128,)
            if not p[:1] or p[0] not in query:
                return ["ICMP type"]
            owned = self.ids is None or struct.unpack_from("!H", p.ljust(8, b"\0"), 4)[0] in self.ids
            return [] if owned else ["ICMP id not owned"]
        if proto not in (6, 17):
            return [f"protocol {proto}"]
        if len(p) < (20 if proto == 6 else 8):
            return ["short transport"]
        out = []
        sport, dport = struct.unpack_from("!HH", p)
        if self.ports is not None and sport not in self.ports:
            out.append("port not owned")
        if self.dports is not None and dport not in self.dports.get(proto, ()):
            out.append("remote port")
        if proto == 17 and not 8 <= struct.unpack_from("!H", p, 4)[0] <= len(p):
            out.append("UDP length")
        if proto == 6 and not 20 <= (p[12] >> 4) * 4 <= len(p):
            out.append("TCP offset")
        return out


# ---- what the kernel of a node did by itself ----

def snmp(node):
    """{"Tcp.OutRsts": n, ...} of /proc/net/snmp."""
    rows = node.read("/proc/net/snmp").splitlines()
    out = {}
    for names, values in zip(rows[::2], rows[1::2]):
        proto, *names = names.split()
        for name, value in zip(names, values.split()[1:]):
            out[f"{proto[:-1]}.{name}"] = int(value)
    return out


class KernelSilence:
    """with KernelSilence(node) as k: ...; k.rsts, k.unreachables: sent by the node's kernel
    meanwhile (packet sockets do not count there)."""

    def __init__(self, node):
        self.node = node

    def __enter__(self):
        self._before = snmp(self.node)
        return self

    def __exit__(self, *exc):
        after = snmp(self.node)
        self.rsts = after["Tcp.OutRsts"] - self._before["Tcp.OutRsts"]
        self.unreachables = after["Icmp.OutDestUnreachs"] - self._before["Icmp.OutDestUnreachs"]


def rst_after_synack(packets, us):
    """Seconds from each SYN-ACK to us to the first RST of ours on that flow: a kernel's
    comes within milliseconds, Sonde's own after 500 ms."""
    from scapy.layers.inet import IP, TCP
    waits, open_ = [], {}
    for p in packets:
        if TCP not in p:
            continue
        if p[IP].dst == us and p[TCP].flags == "SA":
            open_.setdefault((p[TCP].dport, p[IP].src, p[TCP].sport), p.ns)
        elif p[IP].src == us and "R" in p[TCP].flags:
            at = open_.pop((p[TCP].sport, p[IP].dst, p[TCP].dport), None)
            if at is not None:
                waits.append((p.ns - at) / 1e9)
    return waits


def residue(node):
    """What a run left in a node: nft tables, listening packet sockets."""
    tables = node.run("nft", "list", "tables").out.split("\n")
    packet = node.read("/proc/net/packet").splitlines()[1:]
    return [t for t in tables if t.strip()] + packet
