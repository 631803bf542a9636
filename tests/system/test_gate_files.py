# SPDX-License-Identifier: Apache-2.0
"""Evidence (--write), capture files in the place of the gate (--read), names."""
import json
import os
import struct
import threading

from scapy.layers.dns import DNS, DNSRR
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import Ether

from gate_scripts import PEER, US, emit, run
from lab.capture import tshark, write_pcap
from lab.procs import run as command
from test_gate import CLAIM, ICMP_PEER, UDP_PEER, echo, scene  # noqa: F401


def pcapng(path):
    """[(interface, comment, frame bytes)] as tshark reads them."""
    out = command(["tshark", "-n", "-r", path, "-T", "json", "-x", "-e", "frame.interface_name", "-e", "frame.comment",
                   "-e", "frame.len", "-e", "frame.time_epoch"], timeout=60).out
    rows = []
    for one in json.loads(out):
        f = one["_source"]["layers"]
        rows.append((f.get("frame.interface_name", [""])[0], f.get("frame.comment", [""])[0], int(f["frame.len"][0]),
                     float(f["frame.time_epoch"][0])))
    return rows


def comments(data):
    """[(block type, comment)] of a pcapng."""
    out, off = [], 0
    while off + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, off)
        at, end = off + 8 + {1: 8, 5: 12}.get(kind, 0), off + length - 4
        while kind in (1, 5) and at + 4 <= end:
            code, n = struct.unpack_from("<HH", data, at)
            if code == 1:
                out.append((kind, data[at + 4:at + 4 + n].decode()))
            at += 4 + (n + 3) // 4 * 4
        off += length
    return out


def test_the_evidence_holds_what_was_sent_received_and_refused(scene):  # noqa: F811
    us, peer = scene
    path = us.lab.path("evidence.pcapng")
    foreign = IP(src=US, dst="10.9.0.3") / ICMP(id=4660, seq=9)
    got = run(us, ICMP_PEER, CLAIM, emit(1, echo(1)), emit(2, foreign), "wait 100", "end 0", args=("--write", path))
    assert got.rc == 0, got.text
    rows = pcapng(path)
    sent = [r for r in rows if r[1].startswith("tx_id=1 ")]
    assert sent and sent[0][0] == "eth0" and abs(sent[0][3] * 1e9 - got.sent[1][0]) < 1000
    with open(path, "rb") as f:  # refused ones are no packets but comments of statistics blocks
        data = f.read()
    refused = [c for kind, c in comments(data) if kind == 5]
    assert len(refused) == 1 and "tx_id=2" in refused[0] and bytes(foreign).hex() in refused[0]
    assert bytes(foreign) not in data
    again = run(us, "now", "wait 1000", "end 0", args=("--read", path))
    assert len(again.frames) == len(rows)
    assert [r for r in rows if r[0] == "eth0" and not r[1]], rows  # the echo reply
    assert any("next hop" in r[1] for r in rows)  # the gate's own ARP request
    assert tshark(path, "icmp.type", flt="icmp.seq==1") == [["8"], ["0"]]


def test_evidence_is_never_written_over(scene):  # noqa: F811
    us, _ = scene
    path = us.lab.path("old.pcapng")
    with open(path, "w", encoding="ascii") as f:
        f.write("mine")
    run(us, ICMP_PEER, "now", "end 0", args=("--write", path))
    with open(path, encoding="ascii") as f:
        assert f.read() == "mine"


def test_a_full_disk_stops_emission(scene):  # noqa: F811
    us, _ = scene
    got = run(us, ICMP_PEER, CLAIM, *[line for i in range(1, 40) for line in (emit(i, echo(i)), "wait 20")], "end 0",
              args=("--full", "/dev/full"))
    assert got.rc == 5 and "can't be written" in got.text and len(got.sent) < 39, got.text


def test_a_capture_file_in_the_place_of_the_gate(scene):  # noqa: F811
    us, _ = scene
    path = us.lab.path("in.pcap")
    frames = [Ether() / IP(src="1.1.1.1", dst="2.2.2.2") / UDP(sport=i, dport=53) / b"x" for i in range(5)]
    write_pcap(path, [(10**18 + i * 10**9, bytes(f)) for i, f in enumerate(frames)])
    got = run(us, "now", "wait 2500", "wait 10000", emit(1, echo()), "now", "end 0",
              args=("--read", path))
    assert got.epoch == 10**18 and [f[0] - 10**18 for f in got.frames] == [i * 10**9 for i in range(5)]
    assert [f[5] for f in got.frames] == [bytes(f) for f in frames]
    assert "nothing can be sent" in got.text and not got.sent


def test_what_is_no_capture_file(scene):  # noqa: F811
    us, _ = scene
    path = us.lab.path("no.pcap")
    with open(path, "wb") as f:
        f.write(os.urandom(300))
    got = run(us, "now", "end 0", args=("--read", path))
    assert "stop 5" in got.text and "no capture file" in got.text


class Resolver(threading.Thread):
    """Answers A with `table`, everything else with nothing; keeps the questions."""

    def __init__(self, node, table):
        super().__init__(daemon=True)
        self.sock = node.socket(2, 2, 0)
        self.sock.bind(("0.0.0.0", 53))
        self.table, self.asked = table, []
        self.start()

    def run(self):
        while True:
            try:
                data, peer = self.sock.recvfrom(2000)
            except OSError:
                return
            q = DNS(data)
            name = q.qd.qname.decode().rstrip(".")
            self.asked.append((name, q.qd.qtype))
            rows = self.table.get(name, []) if q.qd.qtype == 1 else []
            an = None
            for ip in reversed(rows):
                rr = DNSRR(rrname=name, type="A", rdata=ip, ttl=5)
                an = rr / an if an else rr
            self.sock.sendto(bytes(DNS(id=q.id, qr=1, ra=1, qd=q.qd, an=an, ancount=len(rows))), peer)


def test_names_are_looked_up_pinned_and_told(scene):  # noqa: F811
    us, peer = scene
    us.write("/etc/resolv.conf", f"nameserver {PEER}\n")
    us.write("/etc/hosts", "127.0.0.1 localhost\n10.9.0.2 peer.hosts other\n")
    server = Resolver(peer, {"db.acme.corp": [PEER]})
    got = run(us, "peer db.acme.corp 1 - -", CLAIM, emit(1, echo()), "wait 50", "end 0")
    assert got.all("pin") == [["db.acme.corp", PEER]] and 1 in got.sent, got.text
    assert sorted(server.asked) == [("db.acme.corp", 1), ("db.acme.corp", 28)]
    assert any(n.startswith("db.acme.corp is 10.9.0.2 (10.9.0.2)") for n in got.notes)
    assert int(got.stat["packets"]) == 3  # two queries count
    hosts = run(us, "peer peer.hosts 1 - -", "now", "end 0")
    assert hosts.all("pin") == [["peer.hosts", PEER]] and len(server.asked) == 2
    gone = run(us, "peer nobody.acme.corp 1 - -", "now", "end 0")
    assert gone.rc == 5 and "nobody.acme.corp has no address" in gone.text
    server.sock.close()
