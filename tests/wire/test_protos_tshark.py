# SPDX-License-Identifier: Apache-2.0
"""Each protocol of protos.py against tshark: fields, and what counts as malformed."""
import random

import pytest

import codec
import protos
import stacks
from test_scapy import mutate
from test_tshark import FIELDS, KNOWN, first, tshark
from scapy.utils import wrpcap

N = 250
NAMES = sorted(protos.PROTOS)


@pytest.fixture(scope="module", params=NAMES)
def seen(request, tmp_path_factory):
    """Frames, each whole and then damaged, with what tshark and we see."""
    name, rng, frames = request.param, random.Random(request.param), []
    for seed in range(3 * N):
        s = protos.stack(name, seed)
        if s.first in ("Ether", "Dot3") and len(frames) < 2 * N:
            frames += [s.raw, mutate(rng, s.raw) or s.raw]
    path = tmp_path_factory.mktemp("wire") / "frames.pcap"
    wrpcap(str(path), [stacks.Raw(f) for f in frames], linktype=1)
    theirs = tshark(path, FIELDS + list(protos.PROTOS[name].tshark))
    assert len(theirs) == len(frames)
    return name, list(zip(frames, codec.decode([("Ether", f) for f in frames]), theirs))


def test_fields(seen):
    name, seen = seen
    wrong, compared = [], {f: 0 for f in protos.PROTOS[name].tshark}
    for raw, ours, theirs in seen:
        for field, (layer_name, mine, factor) in protos.PROTOS[name].tshark.items():
            layer = first(ours, layer_name)
            if layer is None or field not in theirs or mine not in layer["fields"]:
                continue
            compared[field] += 1
            got, want = layer["fields"][mine] * factor, int(theirs[field][0], 0)
            if got != want:
                wrong.append(f"{layer_name}.{mine}: ours {got}, tshark's {want}\n  {raw.hex()}")
    assert all(n > 10 for n in compared.values()), compared
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:5])


def test_what_tshark_calls_malformed_has_a_reason(seen):
    name, seen = seen
    known = KNOWN | protos.PROTOS[name].known
    wrong = []
    for raw, ours, theirs in seen:
        if "_ws.malformed" not in theirs or not set(theirs["frame.protocols"][0].split(":")) <= known:
            continue
        if name == "dhcp" and first(ours, "DHCP") is None:  # BOOTP without a vendor area: RFC 2131 2 allows it
            continue
        if any(protos.PROTOS[name].lenient.search(m) for m in theirs.get("_ws.expert.message", [])):
            continue
        if ours["reason"] is None:
            wrong.append(f"{theirs['frame.protocols'][0]}: {theirs.get('_ws.expert.message')}\n  {raw.hex()}")
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong[:5])


def test_undamaged_packets_have_no_reason(seen):
    _, seen = seen
    wrong = [f"{ours['reason']}\n  {raw.hex()}" for raw, ours, _ in seen[::2] if ours["reason"]]
    assert not wrong, f"{len(wrong)} reasons\n" + "\n".join(wrong[:5])
