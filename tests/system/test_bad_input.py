# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the input or the host gives one clear error, the right exit
code, and no frame: each row a program, options, a state of the host."""
import os
import re
import socket

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether

from lab import oracle
from lab.capture import write_pcap

pytestmark = pytest.mark.sonde
CHECK, POLICY, ENVIRONMENT, USAGE = 2, 3, 5, 6
PING = 'print(ping("10.9.0.2", count=1))'


@pytest.fixture
def wired(lab):
    """us, peer and a capture of all IP that leaves us."""
    us, peer = lab.hosts("us", "peer")
    lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
    return us, peer, peer.ifaces["eth0"].capture("ip src 10.9.0.1")


def refused(run, rc, *patterns):
    codes = (rc,) if isinstance(rc, int) else rc
    assert run.rc in codes, f"exit {run.rc}: {run.said}"
    for p in patterns:
        assert re.search(p, run.said, re.I), f"{p!r} is not in:\n{run.said}"


def one_error(run):
    """No cascade: one line that names an error."""
    errors = [x for x in run.said.splitlines() if re.match(r"(sonde(\s\w+)?:|\S+:\d+:\d+: )", x)]
    assert len(errors) == 1, run.said


# ---- the host ----

def test_missing_interface(wired):
    us, _, cap = wired
    run = us.sonde(PING, args=["--iface", "nosuch0"])
    refused(run, (ENVIRONMENT, USAGE), "nosuch0", "interface")
    run = us.sonde('send(IP(dst="10.9.0.2")/ICMP(), iface="nosuch0")')
    assert run.rc != 0 or run.warned("nosuch0") or "nosuch0" in run.said
    assert "nosuch0" in run.said and cap.frames() == []


def test_down_link(wired):
    us, _, cap = wired
    us.ip("link", "set", "eth0", "down")
    run = us.sonde(PING)
    assert re.search(r"no route|\bdown\b|unreachable", run.said, re.I), run.said
    run = us.sonde(PING, args=["--iface", "eth0"])
    refused(run, (ENVIRONMENT,), "eth0 is down", "ip link set eth0 up")
    assert cap.frames() == []


def test_link_without_carrier(wired):
    us, peer, _ = wired
    peer.ip("link", "set", "eth0", "down")
    run = us.sonde('print(ping("10.9.0.2", count=1, timeout=0.3).received)')
    assert re.search(r"down|carrier|neighbou?r", run.said, re.I), run.said
    run = us.sonde(PING, args=["--iface", "eth0"])
    refused(run, (ENVIRONMENT,), "no carrier")


def test_no_route(wired):
    us, _, cap = wired
    run = us.sonde('print(ping("10.99.0.1", count=1, timeout=0.3).received)')
    assert re.search(r"no route|unreachable", run.said, re.I) and "10.99.0.1" in run.said
    assert cap.frames() == []


def test_unresolved_neighbour(wired):
    us, _, cap = wired
    run = us.sonde('print(ping("10.9.0.77", count=1, timeout=0.3).received)')
    assert "10.9.0.77" in run.said and re.search(r"neighbou?r|ARP", run.said)
    assert cap.frames() == []


def test_mtu_exceeded(wired):
    us, _, cap = wired
    run = us.sonde('send(IP(dst="10.9.0.2", flags="DF")/ICMP()/random_bytes(1473))\nsleep(0.1)')
    assert re.search(r"too long|E-MTU", run.said) and re.search(r"1500|1501", run.said)
    assert cap.frames() == []


def test_no_privilege_says_what_is_missing(wired):
    us, _, cap = wired
    run = us.sonde(PING, user=65534)
    refused(run, ENVIRONMENT, r"setcap|root|cap_net", "cap_net_raw")
    one_error(run)
    assert cap.frames() == []


def test_port_held_by_the_kernel(wired):
    us, _, cap = wired
    for kind, layer in ((socket.SOCK_DGRAM, "UDP"), (socket.SOCK_STREAM, "TCP")):
        with us.socket(socket.AF_INET, kind) as held:
            held.bind(("0.0.0.0", 45000))
            if layer == "TCP":
                held.listen()
            run = us.sonde(f'r = sr1(IP(dst="10.9.0.2")/{layer}(sport=45000, dport=9), timeout=0.3)\nprint(r)')
            assert "45000" in run.said and re.search("in use|held|taken|busy|refus|not ours", run.said), run.said
    assert cap.frames() == []


def test_port_below_1024_needs_policy(wired):
    us, _, cap = wired
    run = us.sonde('send(IP(dst="10.9.0.2")/UDP(sport=53, dport=9)/b"x")\nsleep(0.1)')
    assert re.search(r"\b53\b", run.said) and "1024" in run.said, run.said
    assert cap.frames() == []


# ---- policy ----

@pytest.mark.parametrize("text, patterns", [
    ("frobnicate(1)\n", ["frobnicate", r"policy\.sonde:1:1"]),
    ("reach(\n", [r"policy\.sonde:[12]:\d+"]),
    ('reach("10.9.0.1/24")\n', [r"10\.9\.0\.", r"policy\.sonde:1:\d+"]),
    ('reach("10.9.0.02")\n', [r"policy\.sonde:1:\d+"]),
    ("budget(packets=-1)\n", [r"policy\.sonde:1:\d+"]),
    ('spoof("10.20.4.1", rate=)\n', [r"policy\.sonde:1:\d+"]),
    ("x = 1\n", [r"policy\.sonde:1:1"]),
    ('reach("10.9.0.2", tcp=[])\n', [r"policy\.sonde:1:\d+"]),
    ('reach("10.9.0.2", tcp=[70000])\n', ["70000"]),
    ("reach('10.9.0.2')\nreach('10.9.0.3')\nbudget(rate=1)\nbudget(rate=2)\n", [r"policy\.sonde:4:\d+"]),
])
def test_malformed_policy(wired, text, patterns):
    us, _, cap = wired
    run = us.sonde(PING, installed=text)
    refused(run, (POLICY, ENVIRONMENT, USAGE), *patterns)
    assert cap.frames() == [] and run.lines == []


def test_policy_that_others_can_write_counts_for_nothing(wired):
    us, _, cap = wired
    us.write("/etc/sonde/policy.sonde", 'reach("10.9.0.2")\n', mode=0o666)
    refused(us.sonde(PING), (POLICY, ENVIRONMENT), "/etc/sonde/policy.sonde", "writ|owner|mode")
    us.write("/etc/sonde/policy.sonde", 'reach("10.9.0.2")\n')
    us.run("chown", "65534", "/etc/sonde/policy.sonde")
    refused(us.sonde(PING), (POLICY, ENVIRONMENT), "/etc/sonde/policy.sonde", "owner|root")
    assert cap.frames() == []


def test_missing_policy_file(wired):
    us, _, cap = wired
    refused(us.sonde(PING, args=["--policy", "/nowhere/p.sonde"]), (POLICY, ENVIRONMENT, USAGE),
            "/nowhere/p.sonde")
    assert cap.frames() == []


def test_destination_outside_policy_known_before_the_start(wired):
    us, _, cap = wired
    run = us.sonde(PING, installed='reach("10.50.0.0/16")\n')
    refused(run, POLICY, r"10\.9\.0\.2", "policy")
    assert cap.frames() == [] and run.lines == []


def test_destination_outside_policy_known_at_the_gate(wired):
    """Allowed by the program's own reach, refused by the operator's deny."""
    us, _, cap = wired
    run = us.sonde('''reach("10.9.0.0/24")
for a in ["10.9.0.2", "10.9.0.3"]:
    n = randint(0, 0)
    d = ip(a) + n
    print(d, ping(d, count=1, timeout=0.3).received)
''', installed='reach("10.9.0.0/24")\ndeny("10.9.0.3")\n')
    assert "10.9.0.3" in run.said and re.search("policy|refus|outside|deny", run.said), run.said
    assert {oracle.ip4(d)[3] for _, d in cap.frames()} <= {bytes([10, 9, 0, 2])}


def test_a_bound_above_the_ceiling_is_refused(wired):
    us, _, cap = wired
    run = us.sonde("budget(packets=30000)\n" + PING)
    refused(run, POLICY, "packets", "30,?000", "20,?000")
    run = us.sonde(PING, policy="budget(packets=1)\nreach(\"10.9.0.2\")\n")
    assert run.rc in (0, POLICY)
    assert len(cap.frames()) <= 1


def test_policies_only_narrow(wired):
    us, _, cap = wired
    run = us.sonde(PING, installed='reach("10.50.0.0/16")\n', policy='reach("10.9.0.2")\n')
    refused(run, POLICY, r"10\.9\.0\.2")
    assert cap.frames() == []


# ---- programs ----

@pytest.mark.parametrize("text, code, place", [
    ("print(", "E-SYNTAX", r":1:\d+"),
    ("x = 1\nimport os\n", "E-", r":2:1"),
    ('print(pign("10.9.0.2"))', "E-NAME", r":1:7"),
    ('r = sr1(IP(dst="10.9.0.2")/ICMP())\nprint(r.ttl)', "E-NONE", r":2:7"),
    ('print(ping("10.9.0.256"))', "E-", r":1:12"),
    ('ping(1.5)', "E-TYPE", r":1:6"),
    ("x = 'a\u202eb'\n", "E-", r":1:"),
])
def test_bad_program(wired, text, code, place):
    us, _, cap = wired
    run = us.sonde(text)
    refused(run, CHECK, code, place)
    assert cap.frames() == [] and run.lines == []


def test_bad_program_file(wired, tmp_path):
    us, _, cap = wired
    cases = {"latin.sonde": b'print("\xff")\n', "nul.sonde": b"x = 1\0\n",
             "long.sonde": b"# " + b"x" * 70000 + b"\n"}
    for name, data in cases.items():
        (tmp_path / name).write_bytes(data)
        run = us.sonde(tmp_path / name)
        refused(run, (CHECK, USAGE, ENVIRONMENT), re.escape(name))
    refused(us.sonde(tmp_path / "absent.sonde"), (ENVIRONMENT, USAGE), "absent.sonde")
    refused(us.sonde(tmp_path), (ENVIRONMENT, USAGE), re.escape(str(tmp_path)))
    assert cap.frames() == []


def test_run_time_error_has_its_place(wired):
    us, _, cap = wired
    run = us.sonde('print("before")\nx = randint(0, 9)\nprint(1 // (x - x))\nping("10.9.0.2", count=1)')
    assert run.lines == ["before"]
    refused(run, 1, r":3:", "zero")
    assert cap.frames() == []


# ---- options ----

@pytest.mark.parametrize("args, patterns", [
    (["--nonsense"], ["--nonsense"]), (["--seed", "x"], ["x"]),
    (["-p", "target"], ["target"]), (["-p", "nosuch=1"], ["nosuch"]), (["--polcy=x"], ["policy"]),
    (["--json=1"], ["json"]),
])
def test_bad_options(wired, args, patterns):
    us, _, cap = wired
    run = us.sonde(PING, args=args)
    refused(run, (USAGE, CHECK), *patterns)
    assert cap.frames() == []


def test_no_program_and_two_programs(wired, tmp_path):
    us, _, _ = wired
    refused(us.sonde(None), USAGE)
    path = tmp_path / "a.sonde"
    path.write_text(PING)
    refused(us.sonde(PING, args=[path]), USAGE)


def test_write_never_follows_or_overwrites(wired, tmp_path):
    us, _, cap = wired
    there = tmp_path / "there.pcapng"
    there.write_text("keep me")
    link = tmp_path / "link.pcapng"
    link.symlink_to(tmp_path / "target")
    for path in (there, link, tmp_path / "no" / "such" / "x.pcapng"):
        refused(us.sonde(PING, args=["--write", path]), (ENVIRONMENT, USAGE), re.escape(str(path)))
    assert there.read_text() == "keep me" and not (tmp_path / "target").exists()
    assert cap.frames() == []


# ---- capture files ----

def pcap(lab, name, data=None):
    path = lab.path(name)
    if data is None:
        frame = Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01") / IP(src="10.9.0.2", dst="10.9.0.1") \
            / UDP(sport=53, dport=40000) / b"x"
        arp = Ether(src="02:00:00:00:00:02", dst="ff:ff:ff:ff:ff:ff") / ARP(psrc="10.9.0.2", pdst="10.9.0.1")
        write_pcap(path, [(10**18, bytes(frame)), (10**18 + 10**6, bytes(arp))])
    else:
        with open(path, "wb") as f:
            f.write(data)
    return path


SNIFF = 'print(len(sniff("ip or arp", timeout=1)))'


def test_read_needs_no_privilege(wired):
    us, _, _ = wired
    run = us.sonde(SNIFF, args=["--read", pcap(us.lab, "good.pcap")], user=65534).ok()
    assert run.lines == ["2"]


def test_check_needs_no_privilege_and_sends_nothing(wired):
    us, _, cap = wired
    run = us.sonde(PING, command="check", user=65534).ok()
    assert "10.9.0.2" in run.said
    assert cap.frames() == []


def test_read_with_a_send_is_an_error(wired):
    us, _, cap = wired
    run = us.sonde(PING, args=["--read", pcap(us.lab, "good.pcap")])
    assert run.rc not in (0, 130) and re.search("--read|send|gate", run.said)
    assert cap.frames() == []


@pytest.mark.parametrize("name, data", [
    ("empty.pcap", b""), ("text.pcap", b"this is no capture file at all, is it?\n"),
    ("magic.pcap", b"\xd4\xc3\xb2\xa1"), ("random.pcap", os.urandom(500)),
], ids=["empty", "text", "magic", "random"])
def test_malformed_pcap(wired, name, data):
    us, _, _ = wired
    run = us.sonde(SNIFF, args=["--read", pcap(us.lab, name, data)], user=65534)
    refused(run, (ENVIRONMENT, USAGE), name)
    one_error(run)


def test_cut_pcap_says_what_is_missing(wired):
    us, _, _ = wired
    with open(pcap(us.lab, "good.pcap"), "rb") as f:
        data = f.read()
    run = us.sonde(SNIFF, args=["--read", pcap(us.lab, "cut.pcap", data[:-10])], user=65534)
    assert re.search("cut|truncated|short", run.said, re.I), run.said


def test_absent_pcap(wired):
    us, _, _ = wired
    refused(us.sonde(SNIFF, args=["--read", "/nowhere/x.pcap"]), (ENVIRONMENT, USAGE), "/nowhere/x.pcap")
