# SPDX-License-Identifier: Apache-2.0
"""Names that stand for other characters are shown as these (guardrails.md 3: one
meaning only).  The oracle is Python's punycode codec."""
import json
import random
import subprocess

import pytest

from lab import sonde_binary

pytestmark = pytest.mark.sonde
ALPHABETS = ["äöüßéèñçøå", "абвгдежзик", "αβγδεζηθικ", "日本語中文字国学生先", "عربيةشبكةموقع", "😀🚀🌍𝒳𐍈", "abcdefghij0123"]


def warnings(names):
    text = "".join(f'reach("{n}")\n' for n in names) + "print(1)\n"
    p = subprocess.run([sonde_binary(), "check", "--json", "-e", text], capture_output=True, text=True, timeout=60)
    return {d["span"]["line"]: d["message"] for d in json.loads(p.stdout)["diagnostics"] if d["code"] == "W-NAME"}


def test_as_python_decodes():
    rng = random.Random(3492)
    labels = []
    while len(labels) < 90:
        s = "".join(rng.choice(rng.choice(ALPHABETS)) for _ in range(rng.randint(1, 12)))
        coded = s.encode("punycode").decode()
        if not s.isascii() and len(coded) < 59 and not coded.startswith("-"):
            labels.append((s, "xn--" + coded))
    got = warnings([f"{c}.example" for _, c in labels])
    for i, (s, c) in enumerate(labels):
        assert f"`{c}.example` stands for `{s}.example`" in got[i + 1]


def test_no_punycode_no_warning():
    assert warnings(["plain.example", "xn--99999999.example", "a-b.example", "xn.example"]) == {}


def test_destination_of_a_packet():
    p = subprocess.run([sonde_binary(), "check", "--json", "-e", 'ping("xn--bcher-kva.example")\n'],
                       capture_output=True, text=True, timeout=60)
    out = json.loads(p.stdout)
    assert out["exit"] == 0
    assert ["bücher.example" in d["message"] for d in out["diagnostics"] if d["code"] == "W-NAME"] == [True]
