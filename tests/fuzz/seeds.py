#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the corpora that the fuzzers of capture files and of what outlives a run start from."""
import hashlib
import ipaddress
import pathlib
import struct

FUZZ = pathlib.Path(__file__).resolve().parent
IP = bytes.fromhex("4500001c00010000401100000a0000010a000002") + bytes.fromhex("0fa0000900080000")
IP6 = bytes.fromhex("6000000000081140" + "20010db8000000000000000000000001" * 2) + IP[20:]
ETHER = bytes.fromhex("0200000000020200000000010800") + IP
# link type -> a frame
FRAMES = {1: ETHER, 101: IP, 228: IP, 229: IP6, 0: b"\2\0\0\0" + IP,
          113: bytes.fromhex("00000001000602000000000100000800") + IP,
          276: bytes.fromhex("0800000000000001000100060200000000010000") + IP}


def pcap(link, frame, order="<", magic=0xA1B2C3D4):
    one = struct.pack(order + "IIII", 1, 5, len(frame), len(frame)) + frame
    return struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link) + one * 2


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def pcapng(link, frame):
    return (block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(1, struct.pack("<HHI", link, 0, 65535))
            + block(6, struct.pack("<IIIII", 0, 0, 9, len(frame), len(frame)) + frame)
            + block(3, struct.pack("<I", len(frame)) + frame) + block(5, struct.pack("<III", 0, 0, 9)))


def log_lines():
    prev, out = "0" * 64, b""
    for seq, event in enumerate(["start", "refused", "end"], 1):
        line = f'{{"seq":{seq},"prev":"{prev}","time":"2026-01-31T12:00:00Z","event":"{event}"'
        prev = hashlib.sha256(line.encode()).hexdigest()
        out += f'{line},"hash":"{prev}"}}\n'.encode()
    return out


def approval():
    parts = [b"Sonde asks\n", b"print(1)\n", b"", b"manifest", b"www 10.0.0.1\n", b"\0" * 32, b"1", b"uid 1000"]
    return b"SONDE-APPROVAL-1\n" + b"".join(struct.pack(">I", len(p)) + p for p in parts) + struct.pack(">I", 1)


def session():
    def record(kind, body):
        return struct.pack(">BH", kind, len(body)) + body

    def ip(z):
        a = ipaddress.ip_address(z)
        return bytes([a.version]) + a.packed

    def ports(*pairs):
        return struct.pack(">H", len(pairs)) + b"".join(struct.pack(">HH", *p) for p in pairs)

    def had(lo, hi, flags=1, words=0, tcp=(), udp=(), vlan=()):
        return record(2, ip(lo) + ip(hi) + struct.pack(">BI4Q", flags, words, 0, 0, 0, 0) + ports(*tcp) + ports(*udp)
                      + struct.pack(f">H{len(vlan)}H", len(vlan), *vlan))

    def name(z, text):
        return b"\2" + ip(z) + ip(z) + struct.pack(">H", len(text)) + text

    peer, other = "10.0.0.1", "2001:db8::1"
    shown = [b"\0", b"\1" + ip(peer) + ip("10.0.0.3"), name(peer, b"acme.corp") + name("10.0.0.2", b"acme.corp"),
             b"\2\0\0\0\1x", b"\1" + ip(other) + ip("2001:db8::ff")]
    before = (had(peer, peer, tcp=[(80, 80)], udp=[(9, 9), (53, 99)]) + had("10.0.0.0", "10.0.0.3", 7, 2 ** 31, vlan=[10])
              + had(other, other) + record(3, b"name acme.corp") + record(3, b"spoof 10.0.0.77") + record(4, struct.pack(">13q", *range(13))))
    return [before, *shown, *(before + record(1, x) for x in shown), record(1, b"") + before, before[:-3], record(9, b"")]


def write(target, items):
    folder = FUZZ / target
    folder.mkdir(exist_ok=True)
    for i, data in enumerate(items):
        (folder / f"seed-{i:02}").write_bytes(data)


def main():
    write("pcap", [pcap(link, frame) for link, frame in FRAMES.items()]
          + [pcap(1, ETHER, ">"), pcap(1, ETHER, "<", 0xA1B23C4D), pcapng(1, ETHER), pcapng(276, FRAMES[276])])
    write("session", session())
    write("state", [b"\0uid 1000" + b"\0" * 56 + struct.pack("<q", 9) + b"\1\0" * 40, b"\1" + log_lines(), b"\2" + approval()])


if __name__ == "__main__":
    main()
