# SPDX-License-Identifier: Apache-2.0
"""doc/reference.md is what models read: short, and true to the letter.

Each piece of code on it (in backquotes) goes through `sonde check`; each field that it
names behind a call is a field of what the call returns."""
import json
import pathlib
import re
import subprocess

import pytest

from lab import sonde_binary

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "doc" / "reference.md").read_text()
pytestmark = pytest.mark.sonde

# what the page's pieces take for given
PRELUDE = """\
dst = "10.0.0.1"
p = IP(dst=dst)/UDP(dport=53)
ps = [p, p]
r = sr1(p)
ans, unans = sr(ps)
hops = traceroute(dst)
rtts = [s.rtt for q, s in ans]
c = connect(dst, 80)
u = datagram(dst, 53)
"""
ANSWERED = "if not r:\n    exit()\n"
DECLARATIONS = ("budget", "reach", "spoof", "capture", "reflect", "param", "listen")


def sonde(*args):
    return subprocess.run([sonde_binary(), *args], capture_output=True, text=True, timeout=60)


def errors(program):
    said = json.loads(sonde("check", "--json", "-e", program).stdout)
    return [f'{d["code"]}: {d["message"]}' for d in said["diagnostics"] if d["severity"] == "error"]


def pieces():
    return [code for code in re.findall(r"`([^`]+)`", PAGE) if not code.startswith("--")]


def programs(code):
    """The program that a piece stands for."""
    if code.split("(")[0].split(" ")[0] in DECLARATIONS:
        if code.startswith("reflect"):  # an expression of the place where the content is used
            return code + '\nr = sr1(IP(dst="10.0.0.1")/UDP(dport=9)/b"q")\nif r:\n    send(IP(dst="10.0.0.2")/UDP(dport=9)/r.payload[:8])\n'
        return code + "\n" + PRELUDE
    needs_answer = re.search(r"\br\b", code) and not re.match(r"if r:|r = |for s, r", code)
    return PRELUDE + (ANSWERED if needs_answer else "") + code + "\n"


def test_it_is_short():
    assert len(PAGE.encode()) <= 7200, "1,800 tokens of 4 characters"
    assert PAGE.isascii()


def test_there_is_code_on_it():
    assert len(pieces()) > 40


@pytest.mark.parametrize("code", [c for c in dict.fromkeys(pieces()) if not c.startswith("sonde ")])
def test_each_piece_of_code_checks(code):
    assert errors(programs(code)) == []


@pytest.mark.parametrize("line", [c for c in dict.fromkeys(pieces()) if c.startswith("sonde ")])
def test_each_command_line_is_one(line):
    command, *rest = line.split()[1:]
    page = sonde(command, "--help")
    assert page.returncode == 0 and page.stdout.startswith(f"usage: sonde {command}")
    for option in (w for w in rest if w.startswith("-")):
        assert re.search(rf"(?<![\w-]){option}\b", page.stdout), option
    if command == "doc":
        assert sonde("doc", rest[0] if rest[0] != "NAME" else "ping").returncode == 0


def test_each_option_alone_is_one_of_run():
    page = sonde("run", "--help").stdout
    options = re.findall(r"`(--\w+)[^`]*`", PAGE)
    assert options and not [o for o in options if not re.search(rf"(?<![\w-]){o}\b", page)]


def fields():
    """(call, field, inner field or None): `call` .a .b(.c .d)"""
    for line in PAGE.splitlines():
        for call, rest in re.findall(r"`([^`]+)`([^`]*)", line):
            for name, inner in re.findall(r"(?<![\w.])\.([a-z]\w*)(?:\(((?:\s*\.\w+)+)\))?", rest):
                yield call, name, None
                for one in inner.replace(".", " ").split():
                    yield call, name, one


@pytest.mark.parametrize("call, name, inner", list(fields()))
def test_each_field_is_one(call, name, inner):
    expression = call.split(" = ", 1)[1] if re.match(r"[a-z]+ = ", call) else call
    paths = [f".{name}[0].{inner}", f".{name}.{inner}"] if inner else [f".{name}"]
    tries = [errors(programs(f"x = {expression}\nprint(x{at}{path})")) for at in ("", "[0]") for path in paths]
    assert [] in tries, tries


def test_each_layer_is_one():
    named = re.search(r"^layers: ([\w ]+?) and more  ", PAGE, re.M)[1].split()
    assert len(named) > 10
    topics = sonde("doc", "topics").stdout
    layers = re.search(r"^layers: (.+)$", topics, re.M)[1].split()
    assert not set(named) - set(layers)


def test_each_word_of_reach_is_one():
    policy = sonde("doc", "policy").stdout
    for word in re.findall(r"\b(\w+)= ", PAGE[PAGE.index("or for a word:"):PAGE.index("`spoof")]):
        assert re.search(rf"^    {word}\b", policy, re.M), word


def test_defaults_are_the_defaults():
    """A parameter that the page shows with a value has that value by default."""
    for call in re.findall(r"`([a-z_0-9]+\([^`]*\))`", PAGE):
        name = call.split("(")[0]
        signature = re.search(rf"(?:^def )?{name}\((.*?)\)(?: ->|:|$)", sonde("doc", name).stdout, re.S | re.M)
        if name in DECLARATIONS or not signature:
            continue
        for key, value in re.findall(r"(\w+)=([^,()\[\]]+)(?=[,)])", call):
            default = re.search(rf"\b{key}\b[^,=]*= *([^,)]+)", signature[1])
            assert default, (call, key)
            if name in ("ping", "traceroute", "tracebox", "sr", "sr1", "arp") or key in ("type", "edns", "count", "timeout"):
                assert default[1].strip() == value or name == "sniff", (call, key, default[1])
