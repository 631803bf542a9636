# SPDX-License-Identifier: Apache-2.0
"""The example programs, byte for byte, in labs with planted truth: each finds it,
under the policy that its operator would write.  Output forms are those of the
language (section 6); results come from --json."""
import ast
import pathlib
import re
import statistics

import pytest

import labs
from lab import oracle
from lab.sonde import EXAMPLES

pytestmark = pytest.mark.sonde
HERE = pathlib.Path(__file__).resolve().parent


def program(n):
    return next(EXAMPLES.glob(f"{n}_*.sonde"))


def policy(n):
    return (HERE / "policies" / f"{n}.sonde").read_text(encoding="utf-8")


def investigate(at, n, timeout=60):
    run = at.us.sonde(program(n), installed=policy(n), json=True, timeout=timeout).ok()
    print(run.text)
    return run


def duration_ms(text):
    value, unit = text.split()
    return float(value) * {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}[unit]


def listed(text, head):
    """The list that stands behind `head` on its line."""
    line = next(x for x in text.splitlines() if x.startswith(head + " "))
    return ast.literal_eval(line[len(head):].strip())


@pytest.mark.parametrize("n", [f"{i:02}" for i in range(1, 13)])
def test_program_parses_and_checks(lab, n):
    """All twelve check clean, without privilege."""
    us = lab.host("us")
    us.sonde(program(n), command="check", user=65534).ok()


@pytest.mark.parametrize("jitter", [False, True])
def test_program_01_loss_and_jitter(lab, jitter):
    at = labs.lab_01(lab, jitter)
    cap = at.dst.ifaces["eth0"].capture("icmp")
    run = investigate(at, "01")
    r = run.result("Ping")
    assert (r["sent"], r["received"]) == (50, 47) and abs(r["loss"] - 0.06) < 1e-9
    assert run.lines[-1] == f"reachable True jitter>5ms {jitter}"
    assert len(r["rtts"]) == 47 and 0.002 <= min(r["rtts"]) < 0.003
    assert len(oracle.echo_rtts(cap.frames())) == 47
    assert at.cable.stats["ab"]["counted"] == 50  # what it says it sent is what was on the wire


def test_program_02_loss_per_hop_by_size(lab):
    at = labs.lab_02(lab)
    run = investigate(at, "02", timeout=120)
    rows = {}
    for line in run.lines:
        m = re.match(r"(\d+) (\S+) +100B: lost (\d+)/10 fragneeded (\d+) +1400B: lost (\d+)/10 "
                     r"fragneeded (\d+)$", line)
        if m:
            rows[int(m[1])] = (m[2], *map(int, m.groups()[2:]))
    assert rows == {1: ("10.255.1.2", 0, 0, 0, 0), 2: ("10.255.2.2", 0, 0, 0, 0),
                    3: ("10.255.3.2", 0, 0, 10, 0), 4: ("10.20.3.4", 0, 0, 10, 0)}, run.text


def test_program_03_bad_member_by_port(lab):
    at = labs.lab_03(lab)
    cap = at.bad.ifaces["eth0"].capture("tcp dst port 8080")
    run = investigate(at, "03", timeout=150)
    by_bad = {p.sport for p in cap.packets()}
    text = run.text
    truth = sorted(p for p in by_bad if 40000 <= p < 40064)
    assert truth and len(truth) < 40
    assert sorted(listed(text, "nothing twice")) == truth
    assert sorted(ast.literal_eval(re.search(r"^nothing (\[.*\])$", text, re.M)[1])) == truth
    assert sorted(listed(text, "syn-ack")) == sorted(set(range(40000, 40064)) - set(truth))
    assert listed(text, "rst") == [] and listed(text, "icmp") == []
    hops = [m.groups() for m in re.finditer(r"^(4\d{4}) (\d+) (\S+)(?: (\S+))?$", text, re.M)]
    good = [(int(t), src, kind) for p, t, src, kind in hops if int(p) not in truth]
    bad = [(int(t), src) for p, t, src, kind in hops if int(p) in truth]
    assert good[0] == (1, "10.255.1.2", "icmp") and good[-1] == (4, "10.30.0.10", "syn-ack")
    assert bad[:2] == [(1, "10.255.1.2"), (2, "10.255.13.2")]
    assert {src for _, src in bad[2:]} == {"*"} and len(bad) == 30


def test_program_04_buffer_bloat(lab):
    at = labs.lab_04(lab)
    with oracle.KernelSilence(at.us) as kernel:
        run = investigate(at, "04", timeout=120)
    assert run.lines[0] == "established"
    m = re.match(r"idle (\S+ \S+) loaded (\S+ \S+) n (\d+) retransmits (\d+)$", run.lines[-1])
    idle, loaded = duration_ms(m[1]), duration_ms(m[2])
    assert 9 < idle < loaded / 4 and 100 < loaded < 1000, run.text
    assert int(m[3]) >= 4
    assert kernel.rsts == 0


def test_program_05_options_stripped(lab):
    at = labs.lab_05(lab)
    run = investigate(at, "05")
    hops = {h["ttl"]: h for h in run.results("Hop")}
    assert not hops[1]["changed"] and not hops[2]["changed"]
    seen = " ".join(hops[3]["changed"])
    assert hops[3]["addr"] == "10.255.3.2" and "MSS 1460 -> 1200" in seen and "SAckOK" in seen, run.text
    state, options = run.lines[-1].split(" ", 1)
    assert state == "established" and "MSS(1460)" in options and "SAckOK" not in options, run.text


def test_program_06_dns_by_udp_and_tcp(lab):
    at = labs.lab_06(lab)
    run = investigate(at, "06", timeout=120)
    rows = {m[1]: tuple(map(int, m.groups()[1:])) for m in
            re.finditer(r"^(\S.*?) answers (\d+) timeouts (\d+) truncated (\d+)$", run.text, re.M)}
    lost = [sum(1 for n in labs.LOST_06 if 40 * i < n <= 40 * i + 40) for i in range(4)]
    assert [rows[f"udp edns={size}"] for size in (0, 512, 1232, 4096)] == [(40 - n, n, 0) for n in lost], run.text
    assert rows["tcp"] == (40, 0, 0)
    assert len(re.findall(r"^  rcode:count \[\(0, (?:40|3\d)\)\]$", run.text, re.M)) == 5, run.text


def test_program_07_challenge_ack(lab):
    at = labs.lab_07(lab)
    cap = at.dst.ifaces["eth0"].capture("tcp")
    with oracle.KernelSilence(at.us) as kernel:
        run = investigate(at, "07")
    assert run.lines[0].startswith("established [MSS(1460)")
    assert re.match(r"keep-alive: .* A .*acks snd_nxt: True$", run.lines[1]), run.text
    assert re.match(r"out of window: .* A .*acks snd_nxt: True$", run.lines[2]), run.text
    flags = [str(p["TCP"].flags) for p in cap.packets()]
    assert flags == ["S", "SA", "A", "A", "A", "A", "A", "R"] or flags[-1].startswith("R"), flags
    assert kernel.rsts == 0


def test_program_08_return_path_mtu(lab):
    at = labs.lab_08(lab)
    run = investigate(at, "08")
    assert run.result("PathMTU")["mtu"] == 1500 and not run.result("PathMTU")["blackhole"]
    for size in (56, 1472):
        for df in ("DF", "--"):
            m = re.search(rf"^{size} {df} received (\d+) of (\d+) reply ttls (.*)$", run.text, re.M)
            assert m and m[1] == m[2] == "5", run.text
            assert set(re.findall(r"\d+", m[3])) == {"60"}
    pieces = re.findall(r"^(DF)? ?reply len (\d+) ttl (\d+) flags (\S*) ?frag (\d+)$", run.text, re.M)
    want = [("1396", "60", "MF", "0"), ("124", "60", "", "172")]
    assert [p[1:] for p in pieces if p[0] == "DF"] == want, run.text
    assert [p[1:] for p in pieces if p[0] == ""] == want, run.text
    assert run.warned("fragment")


def test_program_09_two_macs(lab):
    at = labs.lab_09(lab)
    cap = at.us.ifaces["eth0"].capture("arp")
    run = investigate(at, "09")
    head, macs = run.lines[-1].split(":", 1)
    assert head == "2 MACs"
    assert sorted(re.findall(r"[0-9a-f:]{17}", macs)) == labs.MACS_09
    asked = [p for p in cap.packets() if p.op == 1 and p.hwsrc == at.us.ifaces["eth0"].mac]
    assert len(asked) == 10 and {p.pdst for p in asked} == {"10.20.7.7"}


def test_program_10_loss_only_if_both_busy(lab):
    at = labs.lab_10(lab)
    run = investigate(at, "10", timeout=90)
    m = re.search(r"lost: one at a time (\d+)/200, only we busy (\d+)/40, both busy (\d+)/400", run.text)
    quiet, one, both = map(int, m.groups())
    assert (quiet, one) == (0, 0) and both > 60
    stats = at.cable.stats
    assert both == stats["ab"]["collided"] + stats["ba"]["collided"]
    assert run.result("Ping")["received"] == 20


def test_program_11_displacement(lab):
    at = labs.lab_11(lab)
    run = investigate(at, "11")
    assert run.lines[-1] == "replies 200 lost 0 out of order 19 max displacement 3"
    assert run.warned("reorder")


def test_program_12_one_way_delay_of_a_spoofed_source(lab):
    at = labs.lab_12(lab)
    out = at.r1.ifaces["eth0"].capture("udp", direction="in")
    home = at.r2.ifaces["eth0"].capture("udp", direction="out")
    with oracle.KernelSilence(at.us) as kernel:
        run = investigate(at, "12")
    assert kernel.unreachables == 0
    truth = oracle.round_trips(out.frames(), home.frames(), 9999)
    rows = re.findall(r"^(\d+) avg (\S+ \S+) max (\S+ \S+) lost (\[.*\])$", run.text, re.M)
    assert [int(r[0]) for r in rows] == labs.SIZES_12, run.text
    for size, avg, most, lost in rows:
        times = [1e3 * t for (_, n), t in truth.items() if n == int(size)]
        assert ast.literal_eval(lost) == labs.LOST_12[int(size)]
        assert abs(duration_ms(avg) - statistics.mean(times)) < 0.5
        assert abs(duration_ms(most) - max(times)) < 2


def test_program_12_is_refused_without_the_operators_word(lab):
    at = labs.lab_12(lab)
    cap = at.us.ifaces["eth0"].capture("host 10.20.4.1")
    run = at.us.sonde(program("12"), installed=policy("11").replace("10.50.1.1", "10.100.0.50")
                      .replace("[7]", "[9999]"))
    assert run.rc == 3 and "spoof" in run.said and "10.20.4.1" in run.said
    run = at.us.sonde(program("12"), installed=policy("12").replace("max=250", "max=249"))
    assert run.rc == 3 and "249" in run.said and "250" in run.said
    assert cap.frames() == []

