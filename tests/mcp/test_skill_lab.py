# SPDX-License-Identifier: Apache-2.0
"""The skill's decisive tests decide: each program of references/programs.md against faults that were planted (toolslab.py)."""
import re

import pytest

import toolslab
from lab import Lab
from test_skill import TEXTS

HOST, NOBODY = toolslab.SERVER, "10.20.2.9"
SINK = """
import socket
s = socket.create_server(("0.0.0.0", 9))
print("ready", flush=True)
while True:
    c, _ = s.accept()
    while c.recv(1 << 20):
        pass
    c.close()
"""
pytestmark = pytest.mark.sonde


def program(heading):
    (part,) = [p for p in re.split(r"^## ", TEXTS["references/programs.md"], flags=re.M) if p.startswith(heading)]
    return re.search(r"^```sonde\n(.*?)^```$", part, re.M | re.S)[1]


@pytest.fixture(scope="module")
def lab():
    with Lab("skill", ipv6=True) as made:
        yield made


@pytest.fixture(scope="module")
def us(lab):
    us = toolslab.make(lab)
    us.policy("zone(all)\n")
    return us


def ran(us, heading, **params):
    run = us.sonde(program(heading), json=True, args=[w for k, v in params.items() for w in ("-p", f"{k}={v}")], timeout=120)
    assert run.rc == 0, run.err + run.out
    # of anybody's content an agent could not go on: all that it prints is of those whom it asks
    assert {o for piece in run.json["output"] for o in piece["origin"]} <= {str(v) for v in params.values()}, heading
    return run.lines


def test_boundary(us):
    lines = ran(us, "Which side", gateway=toolslab.ROUTER, target=NOBODY)
    assert lines[0].endswith(f"gateway {toolslab.ROUTER} mtu 1500")
    for line in lines[1:]:
        assert re.match(r"gateway 0\.0 [\d.]+ [um]s [\d.]+ [um]s target 1\.0 - -$", line), line


def test_a_port_against_an_allowed_port(us):
    lines = ran(us, "A port against", target=HOST, port=81, control=80)
    assert "81 nothing 5 of 5" in lines and "80 nothing 0 of 5" in lines
    assert sum(re.match(r"80 SA ttl \d+ ", line) is not None for line in lines) == 5
    lines = ran(us, "A port against", target=HOST, port=82, control=83)
    assert "82 nothing 0 of 5" in lines and any(line.startswith("82 RA ttl") for line in lines)
    assert f"83 ICMP 3 13 from {HOST}" in lines


def test_where_it_dies(us):
    lines = ran(us, "Where does exactly", target=HOST, port=81, control=80)
    second = next(i for i, line in enumerate(lines) if i and line.startswith("ttl"))
    for walk, last in ((lines[1:second], HOST), (lines[second + 1:], toolslab.ROUTER)):
        assert [line.split()[1] for line in walk if line.split()[1] != "-"][-1] == last, lines


def test_size(us):
    lines = ran(us, "Size", target=HOST)
    assert "1400" in lines[0] or any("1400" in l for l in lines[:4]), lines
    assert "1400 bytes, DF: 3 of 3" in lines and "1500 bytes, DF: 0 of 3" in lines


def test_source_ports(us):
    assert ran(us, "Source port", target=HOST, port=80) == ["silent once []", "silent twice []"]
    once, twice = ran(us, "Source port", target=HOST, port=81)
    assert once.removeprefix("silent once ") == twice.removeprefix("silent twice ") and once.count(",") == 31


def test_loss(us):
    lines = ran(us, "Loss or a router", target=toolslab.LOSSY)  # it loses echo requests alone
    assert lines[0].startswith(f"1 {toolslab.ROUTER} 0% ") and lines[1].startswith(f"2 {toolslab.LOSSY} 0% ")
    assert lines[2].startswith("loss slow 0.5 fast 0.5 [1, 1, ")


def test_a_policer(us, lab):
    server = lab.nodes["server"]
    server.service("udp-echo", "7")
    server.nft("table inet police { chain in { type filter hook input priority 1; udp dport 7 limit rate over 50/second burst 5 packets drop; }; }")
    lines = ran(us, "Loss above", target=HOST)
    loss = [float(re.match(r"(\d+) a second: loss ([\d.]+) ", line)[2]) for line in lines]
    assert loss[0] == 0 and loss[1] < 0.1 < loss[2], lines


def test_delay_under_load(us, lab):
    lab.nodes["server"].start("/usr/bin/python3", "-I", "-c", SINK).until("ready", 10)
    (line,) = ran(us, "Delay under load", target=HOST)
    assert re.match(r"idle [\d.]+ [um]s busy [\d.]+ [um]s loss 0\.0 load \d", line), line


def test_an_idle_connection(us):
    assert ran(us, "An idle connection", target=HOST, port=80, wait=1) == ["established fresh True", "after 1 s True established"]


def test_a_middlebox(us):
    lines = ran(us, "What a middlebox", target=HOST, port=80)
    assert lines[0].startswith(f"1 {toolslab.ROUTER} time-exceeded") and lines[1].startswith(f"2 {HOST} syn-ack")
    assert lines[2].startswith("established ")


def test_a_name(us):
    lines = ran(us, "A name", name="www.acme.corp", server=HOST)
    assert lines[0].startswith("udp {'NOERROR': 10} timeouts 0 truncated False") and HOST in lines[1]
    assert lines[-1].startswith("tcp NOERROR - ")
    assert ran(us, "A name", name="www.acme.corp", server=toolslab.ROUTER)[0].startswith("udp {}")


def test_two_owners(us):
    (line,) = ran(us, "Two owners", neighbour=toolslab.ROUTER)
    mac = r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}"
    assert re.fullmatch(rf"({mac}) \['?\1'?\]", line), line


def test_where_the_time_goes(us):
    lines = ran(us, "Where does the time", target=HOST, port=80)
    assert len(lines) == 5 and all(re.match(r"(established|closing|closed) syn [\d.]+ [um]s all .* 0 sent again$", l) for l in lines), lines
    assert all(int(re.search(r"(\d+) bytes", l)[1]) > 50 for l in lines)


def test_a_certificate(us):
    good = ran(us, "A certificate", target=HOST, name="www.acme.corp")
    assert re.match(r"True TLSv1\.[23] trusted True - name True days \d+$", good[0]), good
    assert "name False" in ran(us, "A certificate", target=HOST, name="other.acme.corp")[0]
