# SPDX-License-Identifier: Apache-2.0
"""Diagnostics that repair, as an agent would use them: `sonde check --json`, apply
what it says, check again.

tests/lang/repair holds programs as somebody writes them who knows Python and Scapy
by heart (tests/lang/run.c says how they are written); here the fixes go through the
command and JSON, and nothing but the schema is known about them."""
import json
import pathlib
import subprocess

import jsonschema
import pytest

from lab import sonde_binary

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "lang" / "repair"
ONE = sorted(FOLDER.glob("*.sonde"))
TWO = sorted((FOLDER / "two").glob("*.sonde"))
pytestmark = pytest.mark.sonde


def check(text, tmp_path):
    path = tmp_path / "p.sonde"
    path.write_text(text)
    p = subprocess.run([sonde_binary(), "check", "--json", path], capture_output=True, text=True, timeout=30)
    out = json.loads(p.stdout)
    assert p.returncode == out["exit"]
    return out


def validator():
    store = {p.name: json.loads(p.read_text()) for p in (ROOT / "doc").glob("*.schema.json")}
    resolver = jsonschema.RefResolver(base_uri="", referrer=store["check.schema.json"], store=store)
    return jsonschema.Draft202012Validator(store["check.schema.json"], resolver=resolver)


VALID = validator()


def line_col(data, at):
    """Columns count characters."""
    before = data[:at]
    return before.count(b"\n") + 1, len(before.rsplit(b"\n", 1)[-1].decode()) + 1


def check_spans(text, diagnostics):
    data = text.encode()
    for d in diagnostics:
        for span in [d["span"], *([d["fix"]["span"]] if "fix" in d else [])]:
            assert span["from"] <= span["to"] <= len(data)
            assert line_col(data, span["from"]) == (span["line"], span["col"])
            data[span["from"]:span["to"]].decode()  # no half characters


def apply(text, diagnostics):
    """All fixes that do not widen; of two that overlap, the first."""
    data, out, at = text.encode(), b"", 0
    for fix in sorted((d["fix"] for d in diagnostics if "fix" in d), key=lambda f: f["span"]["from"]):
        if fix["widening"] or fix["span"]["from"] < at:
            continue
        out += data[at:fix["span"]["from"]] + fix["text"].encode()
        at = fix["span"]["to"]
    return (out + data[at:]).decode()


def by_hand(text):
    return "".join(line[3:] + "\n" for line in text.splitlines() if line.startswith("#| "))


@pytest.mark.parametrize("path", ONE + TWO, ids=lambda p: p.stem)
def test_mended_program_checks(path, tmp_path):
    text = path.read_text()
    first = check(text, tmp_path)
    VALID.validate(first)
    check_spans(text, first["diagnostics"])
    errors = [d for d in first["diagnostics"] if d["severity"] == "error"]
    warnings = [d for d in first["diagnostics"] if d["severity"] == "warning"]
    if path in TWO:
        assert len(errors) == 2 and not warnings
    else:
        assert len(errors or warnings) == 1 and not (errors and warnings), "one cause, one diagnostic"
    hand = by_hand(text)
    if hand:
        assert check(hand, tmp_path)["exit"] == 0
        return
    out = first
    for _ in range(3):  # what stood inside of another fix
        if not out["diagnostics"]:
            break
        text = apply(text, out["diagnostics"])
        out = check(text, tmp_path)
    assert (out["exit"], out["diagnostics"]) == (0, [])


def test_there_are_enough():
    hands = sum(bool(by_hand(p.read_text())) for p in ONE)
    assert len(ONE) >= 120 and len(ONE) - hands >= 90
    assert len(TWO) >= 20


def test_fix_that_widens_says_so(tmp_path):
    out = check('for h in traceroute("10.0.0.1"):\n    if h.addr:\n        ping(h.addr)\n', tmp_path)
    assert [d["code"] for d in out["diagnostics"]] == ["E-REACH"]
    assert out["diagnostics"][0]["fix"]["widening"] is True


def test_fix_of_several_lines_can_be_pasted(tmp_path):
    """The text form shows the lines with the indentation that they get."""
    path = tmp_path / "p.sonde"
    path.write_text('for i in range(2):\n    r = sr1(IP(dst="10.0.0.1")/ICMP())\n    print(r.src)\n    print(r.ttl)\n')
    p = subprocess.run([sonde_binary(), "check", path], capture_output=True, text=True, timeout=30)
    assert p.returncode == 2
    assert "    fix:\n        if r:\n            print(r.src)\n            print(r.ttl)\n" in p.stderr
