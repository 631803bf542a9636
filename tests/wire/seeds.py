#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the corpora that the fuzzers of src/wire start from, and their dictionary, into tests/fuzz:
one packet of each kind of stack.  Run it when a protocol was added."""
import pathlib

import codec
import protos
import stacks
from scapy.layers.dns import DNS

FUZZ = pathlib.Path(__file__).resolve().parents[1] / "fuzz"
EXTENSION = bytes.fromhex("200000000008010100064101")  # RFC 4884, one RFC 4950 label
PER_TARGET = 40


def kinds():
    """Stacks that differ in their layers, in ICMP's type, or in DNS's sections."""
    seen = set()
    for seed in range(2000):
        s = stacks.stack(seed)
        names = [p.split()[0] for p in s.parts if not p.startswith("=")]
        icmp = next((w for p in s.parts for w in p.split() if w.startswith("type=")), "")
        if (kind := (tuple(names[-3:]), icmp)) not in seen and len(s.raw) < 600:
            seen.add(kind)
            yield s


def proto_bytes(name):
    """From the protocol's own header on; of different kinds."""
    stacks_made = [protos.stack(name, seed) for seed in range(60)]
    seen = set()
    for s, got in zip(stacks_made, codec.decode([(s.first, s.raw) for s in stacks_made])):
        names = tuple(x["name"] for x in got["layers"])
        at = next(x["off"] for x in got["layers"] if x["name"] in protos.PROTOS[name].classes)
        if len(s.raw) < 700 and (names[-3:], len(s.raw) // 64) not in seen and len(seen) < 10:
            seen.add((names[-3:], len(s.raw) // 64))
            yield s.raw[at:]


def write(target, items):
    folder = FUZZ / target
    folder.mkdir(exist_ok=True)
    for i, data in enumerate(items[:PER_TARGET]):
        (folder / f"seed-{i:02}").write_bytes(data)


def main():
    made = list(kinds())
    first = {"Ether": 0, "IP": 1, "IPv6": 2}
    write("wire_frame", [bytes([first[s.first]]) + s.raw for s in made])
    write("wire_dns", [bytes(s.packet[DNS]) for s in map(stacks.stack, range(600)) if s.packet.haslayer(DNS)])
    write("wire_quote", [bytes([1, 11, 0, 0, 0, 0, 32, 0, 0]) + s.raw[:128].ljust(128, b"\0") + EXTENSION
                         for s in made if s.first == "IP"])
    write("wire_cut", [bytes([0, 96] if s.first == "IP" else [5, 0]) + s.raw * 20
                       for s in made if s.first != "Ether"])
    for name, target in {n: {"dhcp": "bootp", "stp": "llc"}.get(n, n) for n in protos.PROTOS}.items():
        write("wire_" + target, list(proto_bytes(name)))
    text = "".join(line + "\n" for line in codec.run_free("dict") if line)
    (FUZZ / "wire_frame.dict").write_text(text)


if __name__ == "__main__":
    main()
