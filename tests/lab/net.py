# SPDX-License-Identifier: Apache-2.0
"""Lab: namespaces, links, routers, faults.

A node is a pair of anonymous namespaces (network and mount) that a holder
process keeps alive; the holder waits on a pipe from us, so the end of this
process - also by SIGKILL - ends each lab.  No name is taken in the host: labs
of many processes run side by side.  The mount namespace has its own /etc and
/var/lib (overlays whose upper layers vanish with it) and its own /sys, so
policy and state of the host are neither seen nor touched.

Addresses are those of the test; nothing leaves the namespaces, since no
interface of the host is ever moved into one."""
import contextlib
import ctypes
import fcntl
import functools
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time

from . import ethtool
from .capture import Capture
from .procs import DIE_WITH_US, Proc, run, tool
from .sonde import run_sonde

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000
_setns_lock = threading.Lock()

_HOLDER = r"""
set -e
d=$1
mount -t tmpfs lab "$d"
mkdir -p "$d/etc" "$d/etc.work" "$d/lib" "$d/lib.work"
mount -t overlay lab -o "lowerdir=/etc,upperdir=$d/etc,workdir=$d/etc.work" /etc
mount -t overlay lab -o "lowerdir=/var/lib,upperdir=$d/lib,workdir=$d/lib.work" /var/lib
rm -rf /etc/sonde /var/lib/sonde
mount -t sysfs lab /sys
ip link set lo up
shift
for kv in "$@"; do
    f=/proc/sys/${kv%%=*}
    [ ! -w "$f" ] || echo "${kv#*=}" > "$f" 2>/dev/null || true
done
echo ready
read -r end || true
"""

# Defaults of a lab's host: no ICMP limits, no source checks, no IPv6 chatter
# unless asked for, room in the socket buffers.
_SYSCTL = {
    "net.ipv4.icmp_ratelimit": 0,
    "net.ipv4.icmp_msgs_per_sec": 1000000,
    "net.ipv4.icmp_msgs_burst": 1000000,
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
    "net.ipv4.conf.all.accept_local": 1,
    "net.ipv4.conf.all.send_redirects": 0,
    "net.ipv4.conf.default.send_redirects": 0,
    "net.ipv4.neigh.default.gc_thresh3": 4096,
    "net.ipv6.icmp.ratelimit": 0,
    "net.ipv6.conf.all.accept_dad": 0,
    "net.ipv6.conf.default.accept_dad": 0,
    "net.ipv6.conf.default.router_solicitations": 0,
    "net.ipv6.conf.all.disable_ipv6": 1,
    "net.ipv6.conf.default.disable_ipv6": 1,
}


class Iface:
    """One end of a link, seen from its node."""

    def __init__(self, node, name, peer=None):
        self.node, self.name, self.peer = node, name, peer

    def __str__(self):
        return self.name

    @functools.cached_property
    def mac(self):
        return self.node.read(f"/sys/class/net/{self.name}/address").strip()

    @property
    def index(self):
        return int(self.node.read(f"/sys/class/net/{self.name}/ifindex"))

    def counter(self, name):
        return int(self.node.read(f"/sys/class/net/{self.name}/statistics/{name}"))

    def addr(self, cidr):
        v6 = ["nodad"] if ":" in cidr else []
        self.node.ip("addr", "add", cidr, "dev", self.name, *v6)
        return self

    def set(self, *what):
        self.node.ip("link", "set", self.name, *what)
        return self

    def wait_v6(self, seconds=10):
        """Also an address without DAD is tentative until a kernel worker had its turn, and
        answers no solicitation before."""
        end = time.monotonic() + seconds
        while self.node.ip("-6", "addr", "show", "dev", self.name, "tentative").out.strip():
            if time.monotonic() > end:
                raise RuntimeError(f"{self.name}: IPv6 addresses stay tentative")
            time.sleep(0.01)
        return self

    def offloads(self, on):
        with self.node.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            ethtool.offloads(s, self.name, on)
        return self

    def tbf(self, rate, burst="4k", latency="100ms"):
        self.node.run("tc", "qdisc", "add", "dev", self.name, "root", "tbf",
                      "rate", rate, "burst", burst, "latency", latency)
        return self

    def capture(self, flt="", **kw):
        return self.node.lab.keep(Capture(self, flt, **kw))


class Node:
    """A host or router of the lab."""

    def __init__(self, lab, name, ipv6=False):
        self.lab, self.name, self.ipv6 = lab, name, ipv6
        self.ifaces = {}
        v6 = {"net.ipv6.conf.all.disable_ipv6": 0, "net.ipv6.conf.default.disable_ipv6": 0}
        switches = {**_SYSCTL, **(v6 if ipv6 else {})}
        self._dir = tempfile.mkdtemp(prefix=f"sonde-lab-{os.getpid()}-")
        self._hold = subprocess.Popen(
            [*DIE_WITH_US, "unshare", "--net", "--mount", "--propagation", "private",
             "sh", "-c", _HOLDER, "sh", self._dir,
             *[f"{k.replace('.', '/')}={v}" for k, v in switches.items()]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if self._hold.stdout.readline() != b"ready\n":
            raise RuntimeError(f"no namespace: {self._hold.stderr.read().decode()}")
        self._netfd = os.open(f"/proc/{self._hold.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    # -- commands --

    def argv(self, *argv):
        return ["nsenter", f"--target={self._hold.pid}", "--net", "--mount", "--",
                *[str(a) for a in argv]]

    def start(self, *argv, **kw):
        """A background process in this node; ended with the lab."""
        return self.lab.keep(Proc(self.argv(*argv), name=str(argv[0]), **kw))

    def run(self, *argv, **kw):
        return run(self.argv(*argv), **kw)

    def ip(self, *args):
        return self.run("ip", *args)

    def nft(self, text):
        return self.run("nft", "-f", "-", stdin=text)

    def sonde(self, program, **kw):
        return run_sonde(self, program, **kw)

    # -- files and switches --

    def _inside(self, path):
        return f"/proc/{self._hold.pid}/root{path}"

    def read(self, path):
        if path.startswith(("/sys/class/net", "/proc/net", "/proc/sys/net")):
            return self.run("cat", path).out
        with open(self._inside(path), encoding="utf-8") as f:
            return f.read()

    def write(self, path, text, mode=0o644):
        target = self._inside(path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(target, mode)

    def remove(self, path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._inside(path))

    def policy(self, text):
        """Installs /etc/sonde/policy.sonde of this node; None removes it."""
        if text is None:
            self.remove("/etc/sonde/policy.sonde")
        else:
            self.write("/etc/sonde/policy.sonde", text)

    def sysctl(self, **values):
        script = "".join(
            f"[ ! -w /proc/sys/{k.replace('.', '/')} ] || echo {v} > /proc/sys/{k.replace('.', '/')}"
            " 2>/dev/null || true\n" for k, v in values.items())
        self.run("sh", "-c", script)

    # -- sockets of this process inside the node --

    @contextlib.contextmanager
    def inside(self):
        """This thread's network is the node's: sockets made here stay there."""
        with _setns_lock:
            own = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            try:
                if _libc.setns(self._netfd, _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
                try:
                    yield
                finally:
                    _libc.setns(own, _CLONE_NEWNET)
            finally:
                os.close(own)

    def socket(self, *args):
        with self.inside():
            return socket.socket(*args)

    def raw(self, iface, proto=0x0003):
        """An AF_PACKET socket bound to iface: whole frames in and out."""
        s = self.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        with self.inside():
            s.bind((str(iface), proto))
        return s

    # -- topology --

    def forward(self):
        self.sysctl(**{"net.ipv4.ip_forward": 1, "net.ipv4.fib_multipath_hash_policy": 1,
                       "net.ipv6.conf.all.forwarding": 1,
                       "net.ipv6.fib_multipath_hash_policy": 1})
        return self

    def route(self, dst, *via, **attrs):
        """route("10.3.0.0/16", "10.1.0.1") or with several next hops: ECMP."""
        extra = [str(x) for kv in attrs.items() for x in kv]
        hops = ["via", via[0]] if len(via) == 1 else \
            [x for v in via for x in ("nexthop", "via", v, "weight", "1")]
        self.ip("route", "replace", dst, *hops, *extra)
        return self

    def service(self, kind, *args, user=None):
        """One of services.py (udp-echo, udp-discard, tcp-accept, ...) on this node."""
        path = os.path.join(os.path.dirname(__file__), "services.py")
        p = self.start("/usr/bin/python3", "-I", path, kind, *args)
        p.until("ready", 10)
        return p

    def close(self):
        for f in (self._hold.stdin, self._hold.stdout, self._hold.stderr):
            f.close()
        try:
            self._hold.wait(5)
        except subprocess.TimeoutExpired:
            self._hold.kill()
            self._hold.wait(5)
        os.close(self._netfd)
        shutil.rmtree(self._dir, True)


class Lab:
    """with Lab() as lab: nodes, links, faults; all is gone at the end."""

    def __init__(self, name="lab", ipv6=False):
        self.name, self.ipv6 = name, ipv6
        self.nodes, self._kept, self._n = {}, [], 0
        self._segments = []  # lists of (Iface, addresses) that share a link
        self.dir = tempfile.mkdtemp(prefix=f"sonde-lab-{os.getpid()}-")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def keep(self, thing):
        """Stops `thing` (it has stop()) when the lab ends."""
        self._kept.append(thing)
        return thing

    def path(self, name):
        return os.path.join(self.dir, name)

    def host(self, name, gateway=None):
        node = self.nodes[name] = Node(self, name, self.ipv6)
        node.gateway = gateway
        return node

    def hosts(self, *names):
        return [self.host(n) for n in names]

    def router(self, name):
        return self.host(name).forward()

    def routers(self, *names):
        return [self.router(n) for n in names]

    def link(self, a, b, addr_a=None, addr_b=None, mtu=None, offloads=False,
             mac_a=None, mac_b=None):
        """A veth pair between two nodes, eth0 being a node's first; returns (end at a, end
        at b), up."""
        name_a, name_b = f"eth{len(a.ifaces)}", f"eth{len(b.ifaces)}"
        mac = lambda m: ["address", m] if m else []
        mt = ["mtu", str(mtu)] if mtu else []
        a.ip("link", "add", "name", name_a, *mac(mac_a), *mt, "type", "veth",
             "peer", "name", name_b, *mac(mac_b), *mt, "netns", str(b._hold.pid))
        ia, ib = Iface(a, name_a), Iface(b, name_b)
        ia.peer, ib.peer = ib, ia
        for end, addr in ((ia, addr_a), (ib, addr_b)):
            end.node.ifaces[end.name] = end
            end.offloads(offloads)
            end.node.run("ip", "-batch", "-", stdin="".join(
                f"addr add {one} dev {end.name}{' nodad' if ':' in one else ''}\n"
                for one in (addr or "").split()) + f"link set {end.name} up\n")
        for end, addr in ((ia, addr_a), (ib, addr_b)):
            if ":" in (addr or ""):
                end.wait_v6()
        if addr_a and addr_b:
            self._segments.append([(ia, addr_a), (ib, addr_b)])
        return ia, ib

    def bridge(self, name="br"):
        """A switch: a node with a bridge; join() links a host to it."""
        node = self.host(name)
        node.ip("link", "add", "name", "br0", "type", "bridge", "forward_delay", "0",
                "mcast_snooping", "0")
        node.ip("link", "set", "br0", "up")
        node.segment = []
        self._segments.append(node.segment)
        return node

    def join(self, bridge, node, addr=None, mac=None, mtu=None):
        ia, ib = self.link(node, bridge, addr, None, mac_a=mac, mtu=mtu)
        bridge.ip("link", "set", ib.name, "master", "br0")
        if addr:
            bridge.segment.append((ia, addr))
        return ia

    def cable(self, a, b, addr_a=None, addr_b=None, *faults, mtu=None, name=None,
              mac_a=None, mac_b=None):
        """A link through the bad cable: a veth from each end into a namespace where
        tests/cable carries the frames.  faults as in `cable --help`; "ab" is the
        direction from a to b.  Returns (end at a, end at b, the cable's Cable)."""
        self._n += 1
        mid = self.host(name or f"cbl{self._n}")
        ia, ma = self.link(a, mid, addr_a, None, mtu=mtu, mac_a=mac_a)
        ib, mb = self.link(b, mid, addr_b, None, mtu=mtu, mac_a=mac_b)
        cable = Cable(mid, ma, mb, faults)
        if addr_a and addr_b:
            self._segments.append([(ia, addr_a), (ib, addr_b)])
        return ia, ib, self.keep(cable)

    def tun(self, node, addr, peer, answer, name="tun0"):
        """A link without Ethernet: a TUN device whose other end is answer(IP packet as bytes)
        -> list of IP packets."""
        return self.keep(Tun(node, name, addr, peer, answer))

    def chain(self, *nodes, net="10.20", mtus=None):
        """Links nodes[i] to nodes[i+1] as {net}.{i+1}.0/24 (.1 left, .2 right) and
        routes both ways along the chain.  Returns the list of (left, right) ends."""
        ends = []
        for i, (l, r) in enumerate(zip(nodes, nodes[1:])):
            ends.append(self.link(l, r, f"{net}.{i + 1}.1/24", f"{net}.{i + 1}.2/24",
                                  mtu=mtus[i] if mtus else None))
        last = len(nodes) - 1
        for i, node in enumerate(nodes):
            for j in range(1, last + 1):
                if j > i + 1:
                    node.route(f"{net}.{j}.0/24", f"{net}.{i + 1}.2")
                elif j < i:
                    node.route(f"{net}.{j}.0/24", f"{net}.{i}.1")
        return ends

    def warm(self, *cold):
        """Fixed neighbour entries on all nodes but `cold` ones: no probe waits for a router's
        ARP, so a delay that was planted is all the delay there is."""
        script = {}
        for segment in self._segments:
            for mine, _ in segment:
                for other, addrs in segment:
                    if other is not mine and mine.node not in cold:
                        script.setdefault(mine.node, []).extend(
                            f"neigh replace {a.split('/')[0]} lladdr {other.mac} dev {mine.name}"
                            for a in addrs.split())
        for node, lines in script.items():
            node.run("ip", "-batch", "-", stdin="\n".join(lines) + "\n")
        return self

    def close(self):
        for thing in reversed(self._kept):
            thing.stop()
        for node in self.nodes.values():
            node.close()
        shutil.rmtree(self.dir, True)


class Tun:
    """The far end of a TUN device, played by a thread."""

    def __init__(self, node, name, addr, peer, answer):
        with node.inside():  # linux/if_tun.h: TUNSETIFF; IFF_TUN | IFF_NO_PI
            self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
            fcntl.ioctl(self.fd, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1001))
        node.ip("addr", "add", addr, "peer", peer, "dev", name)
        node.ip("link", "set", name, "up")
        node.ifaces[name] = Iface(node, name)
        self.seen, self.answer = [], answer
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.running = True
        self.thread.start()

    def _run(self):
        while self.running:
            if select.select([self.fd], [], [], 0.05)[0]:
                packet = os.read(self.fd, 65536)
                self.seen.append(packet)
                for back in self.answer(packet):
                    os.write(self.fd, bytes(back))

    def stop(self):
        if self.running:
            self.running = False
            self.thread.join(2)
            os.close(self.fd)


class Cable:
    """A running tests/cable; stop() ends it and keeps its counters in .stats."""

    def __init__(self, node, end_a, end_b, faults):
        self.a, self.b = end_a, end_b
        self.log_path = node.lab.path(f"cable-{node.name}.log")
        self.proc = Proc(node.argv(tool("cable"), f"log={self.log_path}", *faults,
                                   end_a.name, end_b.name), name="cable")
        self.proc.until("ready", 10, stream="err")
        self._stats = None

    def stop(self):
        if self._stats is None:
            self.proc.stop()
            self._stats = json.loads(self.proc.out)
        return self._stats

    @property
    def stats(self):
        return self.stop()

    def decisions(self):
        """The log: [{dir, n, len, fate, at, due}], one entry a frame that counted."""
        rows = []
        with open(self.log_path, encoding="ascii") as f:
            for line in f:
                d, n, length, fate, at, due = line.split()
                rows.append(dict(dir=d, n=int(n), len=int(length), fate=fate.split("+"),
                                 at=int(at), due=int(due)))
        return rows

