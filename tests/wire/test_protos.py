# SPDX-License-Identifier: Apache-2.0
"""Each protocol of protos.py against Scapy: bytes, fields, and damaged packets."""
import random

import pytest

import codec
import protos
import test_scapy
from test_scapy import FIRST, layers_of, mutate, value_of

N = 400
NAMES = sorted(protos.PROTOS)


@pytest.fixture(scope="module", params=NAMES)
def made(request):
    return request.param, [protos.stack(request.param, seed) for seed in range(N)]


def differences(proto, ours, theirs):
    for name, value in ours["fields"].items():
        their_name = proto.renamed.get((ours["name"], name), name)
        if name in proto.apart or not any(f.name == their_name for f in theirs.fields_desc):
            continue
        want = getattr(theirs, their_name)
        if want is None:
            continue
        want = want.hex() if isinstance(want, bytes) else value_of(theirs, their_name)
        if want != value:
            yield f"{ours['name']}.{name}: ours {value}, Scapy's {want}"


def compare(proto, ours, packet, strict):
    theirs = layers_of(packet)
    wrong = []
    for i, layer in enumerate(ours["layers"]):
        other = theirs[i] if i < len(theirs) else None
        classes = proto.classes.get(layer["name"])
        if other is None or not (isinstance(other, classes) if classes else test_scapy.is_class(other, layer["name"])):
            if strict:
                wrong.append(f"layer {i}: ours {layer['name']}, Scapy's {type(other).__name__}")
            break
        if layer["name"] in proto.classes:
            wrong += differences(proto, layer, other)
        else:
            wrong += test_scapy.differences(layer, other)
    return wrong


def test_encoding_is_scapys(made):
    _, made = made
    wrong = [f"seed {i}: {s.line}\n  ours   {o}\n  Scapy  {s.raw.hex()}"
             for i, (s, o) in enumerate(zip(made, codec.build([s.line for s in made]))) if o != s.raw.hex()]
    assert not wrong, f"{len(wrong)} of {N} differ\n" + "\n".join(wrong[:3])


def test_decoding_is_scapys(made):
    name, made = made
    proto, seen, wrong = protos.PROTOS[name], set(), []
    for s, got in zip(made, codec.decode([(s.first, s.raw) for s in made])):
        seen |= {x["name"] for x in got["layers"]}
        wrong += [f"{w}\n  {s.line}\n  {s.raw.hex()}"
                  for w in compare(proto, got, FIRST[s.first](s.raw), strict=True)]
        if got["reason"]:
            wrong.append(f"{got['reason']}\n  {s.line}")
    assert set(proto.classes) <= seen
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:5])


def test_decoded_and_encoded_again_is_the_same(made):
    _, made = made
    made = [s for s in made if "chksum=" not in s.line]
    wrong = [f"{s.line}\n  again  {o}\n  before {s.raw.hex()}"
             for s, o in zip(made, codec.rebuild([(s.first, s.raw) for s in made])) if o != s.raw.hex()]
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:3])


def test_damaged_packets_do_not_disagree(made):
    name, made = made
    rng = random.Random(name)
    frames = [(s.first, mutate(rng, s.raw)) for s in made for _ in range(3)]
    wrong = []
    for (first, raw), got in zip(frames, codec.decode(frames)):
        total = sum(x["len"] for x in got["layers"]) + len(got["payload"] + got["padding"]) // 2
        assert total == len(raw), f"{first} {raw.hex()}: {total} of {len(raw)} bytes accounted for"
        if not raw or any(protos.PROTOS[name].odd(x["fields"]) for x in got["layers"]):
            continue
        try:
            packet = FIRST[first](raw)
            wrong += [f"{w}\n  {first} {raw.hex()}" for w in compare(protos.PROTOS[name], got, packet, strict=False)]
        except Exception:  # Scapy gives up: nothing to compare with
            continue
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:5])
