# SPDX-License-Identifier: Apache-2.0
"""A capture at any interface of a lab: tcpdump with ns stamps into a file, read
back as (ns, bytes) or as scapy packets.  It is the oracle that knows nothing of
the tool under test, so its own drops fail the test that asks for it."""
import os
import re
import struct
import time

from .procs import Proc, run

PCAP_NS, PCAP_US = 0xA1B23C4D, 0xA1B2C3D4


def read_pcap(path):
    """[(stamp in ns, bytes of the frame, original length)] of a classic pcap file; a record
    cut short by a capture that still runs ends the list."""
    with open(path, "rb") as f:
        data = f.read()
    if len(data) < 24:
        return []
    order = "<" if struct.unpack_from("<I", data)[0] in (PCAP_NS, PCAP_US) else ">"
    unit = 1 if struct.unpack_from(order + "I", data)[0] == PCAP_NS else 1000
    rows, off = [], 24
    while off + 16 <= len(data):
        sec, frac, have, was = struct.unpack_from(order + "IIII", data, off)
        if off + 16 + have > len(data):
            break
        rows.append((sec * 10**9 + frac * unit, data[off + 16:off + 16 + have], was))
        off += 16 + have
    return rows


def write_pcap(path, frames, linktype=1, unit=1000):
    """frames: [(ns, bytes)] as a classic pcap file."""
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", PCAP_US if unit == 1000 else PCAP_NS, 2, 4, 0, 0,
                            262144, linktype))
        for ns, data in frames:
            f.write(struct.pack("<IIII", ns // 10**9, ns % 10**9 // unit, len(data), len(data)))
            f.write(data)


class Capture:
    """Started at construction; frames seen before `tcpdump` listens are not missed, since
    the constructor returns after it does."""

    def __init__(self, iface, flt="", snaplen=0, direction=None, buffer_kb=32768):
        self.iface = iface
        self.path = iface.node.lab.path(f"{iface.node.name}-{iface.name}-{time.monotonic_ns()}.pcap")
        argv = ["tcpdump", "-i", iface.name, "-w", self.path, "-U", "-n", "-Z", "root",
                "--immediate-mode", "--time-stamp-precision=nano", "-s", str(snaplen or 262144),
                "-B", str(buffer_kb)]
        argv += ["-Q", direction] if direction else []
        argv += [flt] if flt else []
        self.proc = Proc(iface.node.argv(*argv), name="tcpdump")
        self.proc.until("listening on", 10, stream="err")
        self.dropped = None

    def stop(self):
        if self.dropped is None:
            self.settle()
            self.proc.stop()
            m = re.search(r"(\d+) packets? dropped by kernel", self.proc.err)
            self.dropped = int(m.group(1)) if m else -1
        return self

    def settle(self, quiet=0.1, limit=2.0):
        """Waits until the file has not grown for `quiet` seconds."""
        end = time.monotonic() + limit
        size, since = -1, time.monotonic()
        while time.monotonic() < end:
            now = os.path.getsize(self.path)
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since >= quiet:
                return
            time.sleep(0.01)

    def frames(self):
        """[(ns, bytes)] so far; stops the capture.  A capture that dropped is no oracle."""
        self.stop()
        assert self.dropped == 0, f"the oracle's own capture dropped {self.dropped} frames"
        return [(ns, data) for ns, data, _ in read_pcap(self.path)]

    def packets(self):
        """The same as scapy packets, p.ns being the stamp."""
        from scapy.layers import dns, inet, inet6  # noqa: F401: they register their layers
        from scapy.layers.l2 import Ether
        got = []
        for ns, data in self.frames():
            p = Ether(data)
            p.ns = ns
            got.append(p)
        return got

    def tshark(self, *fields, flt=None):
        """Rows of field values as tshark decodes them."""
        self.stop()
        return tshark(self.path, *fields, flt=flt)


def tshark(path, *fields, flt=None):
    argv = ["tshark", "-n", "-r", path, "-T", "fields", "-E", "separator=/t"]
    for proto in ("ip", "udp", "tcp"):  # 1: good, 0: bad
        argv += ["-o", f"{proto}.check_checksum:TRUE"]
    argv += [x for f in fields for x in ("-e", f)]
    argv += ["-Y", flt] if flt else []
    return [line.split("\t") for line in run(argv, timeout=60).out.splitlines()]
