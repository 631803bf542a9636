# SPDX-License-Identifier: Apache-2.0
"""Approval: a person reads what a run would do; exactly that may happen, and nothing else."""
import hashlib
import json
import os
import pty
import re
import select
import struct
import subprocess

import jsonschema
import pytest

from lab.procs import ROOT
from lab.state import FOLDER, GID, Installed, ledger_init
from test_gate_files import Resolver

pytestmark = pytest.mark.sonde
POLICY = ('reach("10.9.0.0/24", icmp=True, udp=[9])\nspoof("10.20.4.1", rate=50, max=20)\nzone(all)\n'
          'approve(spoof, leak=512, reach="10.9.0.7")\n')
PROGRAM = ('budget(packets=2)\nspoof("10.20.4.1")\nparam n: int = 1\n'
           'send(IP(src="10.20.4.1", dst="10.9.0.2")/UDP(sport=5000, dport=9)/bytes(n))\nprint("sent")')


@pytest.fixture
def scene(lab):
    us, peer = lab.hosts("us", "peer")
    lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
    us.policy(POLICY)
    ledger_init(us).ok()
    return us, peer


def wanted(us, program=PROGRAM, run=None, **kw):
    """Runs what needs a person; the hash."""
    got = (run or us.sonde)(program, json=True, **kw).ok(3)
    schema = {p: json.loads((ROOT / "doc" / p).read_text()) for p in
              ("run.schema.json", "approval.schema.json", "manifest.schema.json", "diagnostic.schema.json")}
    resolver = jsonschema.RefResolver(base_uri="", referrer=schema["run.schema.json"], store=schema)
    jsonschema.Draft202012Validator(schema["run.schema.json"], resolver=resolver).validate(got.json)
    return got.json["approval"]["hash"], got.json["approval"]["rendering"]


def approve(us, h, *args, rc=0):
    return us.sonde(None, command="approve", args=[h, *args]).ok(rc).said


def pending(us):
    return json.loads(us.sonde(None, command="approve", args=["--json"]).ok().out)["requests"]


def spoofed(cap):
    return len(cap.tshark("ip.src", flt="ip.src==10.20.4.1"))


def test_nothing_runs_without_and_exactly_one_run_with(scene):
    us, peer = scene
    cap = peer.ifaces["eth0"].capture()
    said = us.sonde(PROGRAM).ok(3).said
    h = re.search(r"sonde approve ([0-9a-f]{64})", said)[1]
    for words in ("needs a person: line 2", "10.20.4.1", "policy.sonde", "may send to:", "10.9.0.2", "at most:", "packets=2",
                  hashlib.sha256(PROGRAM.encode()).hexdigest(), "uid 0", "eth0", "good for 1 run"):
        assert words in said, words
    shown = approve(us, h, rc=3)
    assert "no terminal" in shown
    us.sonde(PROGRAM).ok(3)
    shown = approve(us, h, "--yes")
    rendering = wanted(us, PROGRAM + " ")[1]
    assert len(shown.splitlines()) == len(rendering) + 1
    assert us.sonde(PROGRAM).ok().lines == ["sent"]
    assert us.sonde(PROGRAM).ok(3)
    assert spoofed(cap) == 1
    with open(us._inside(FOLDER + "/log"), encoding="ascii") as f:
        events = [json.loads(x) for x in f]
    assert [e["event"] for e in events].count("approved") == 1
    assert next(e for e in events if e["event"] == "start")["approval"] == h
    assert "approval" in next(e for e in events if e["event"] == "approved") and os.listdir(us._inside(FOLDER + "/approvals")) == []


def test_what_is_shown_at_both_places_is_the_same(scene):
    us, _ = scene
    h, rendering = wanted(us)
    shown = approve(us, h, "--yes").splitlines()
    assert shown[:-1] == rendering and all(re.fullmatch("[ -~]*", x) for x in rendering)


@pytest.mark.parametrize("change", [
    lambda us: dict(program=PROGRAM + "\n"),
    lambda us: dict(args=["-p", "n=2"]),
    lambda us: dict(policy=POLICY),
    lambda us: us.policy(POLICY + "# a word\n"),
    lambda us: us.policy(POLICY.replace("max=20", "max=19")),
    lambda us: us.ip("link", "set", "eth0", "name", "lan0") and us.ip("link", "set", "lan0", "up") and None,
])
def test_whatever_changes_voids_it(scene, change):
    us, _ = scene
    h, _ = wanted(us)
    approve(us, h, "--yes")
    if us.ifaces["eth0"]:
        us.ip("link", "set", "eth0", "up")
    more = {"program": PROGRAM, **(change(us) or {})}
    assert wanted(us, **more)[0] != h


def test_it_stands_while_nothing_changes_and_others_run(scene):
    us, _ = scene
    h, _ = wanted(us)
    approve(us, h, "--yes")
    us.sonde('ping("10.9.0.2", count=1)').ok()
    wanted(us, PROGRAM + "#")
    us.sonde(PROGRAM).ok()


def test_a_name_that_has_another_address_voids_it(scene):
    us, peer = scene
    us.policy('reach("10.9.0.0/24", icmp=True)\nzone("acme.corp")\nresolver("10.9.0.2")\napprove(reach="10.9.0.0/24")\n')
    server = Resolver(peer, {"db.acme.corp": ["10.9.0.2"]})
    program = 'print(ping("db.acme.corp", count=1).received)'
    h, rendering = wanted(us, program)
    assert any("db.acme.corp" in x and "10.9.0.2" in x for x in rendering)
    approve(us, h, "--yes")
    server.table["db.acme.corp"] = ["10.9.0.3"]
    assert wanted(us, program)[0] != h
    server.table["db.acme.corp"] = ["10.9.0.2"]
    us.sonde(program).ok()
    server.sock.close()


def test_policy_may_let_it_be_good_for_more_runs(scene):
    us, _ = scene
    us.policy(POLICY.replace("approve(spoof", "approve(spoof, runs=3"))
    h, rendering = wanted(us)
    assert any("good for 3 runs" in x for x in rendering)
    approve(us, h, "--yes")
    for _ in range(3):
        us.sonde(PROGRAM).ok()
    us.sonde(PROGRAM).ok(3)
    # a policy of the caller's own can't raise it, only lower it
    mine = POLICY.splitlines()[0] + '\nspoof("10.20.4.1")\napprove(spoof, runs=%d)\n'
    assert any("good for 3 runs" in x for x in wanted(us, policy=mine % 9)[1])
    assert any("good for 2 runs" in x for x in wanted(us, policy=mine % 2)[1])


def test_each_word_of_approve_asks(scene):
    us, _ = scene
    us.sonde('ping("10.9.0.2", count=1)').ok()
    assert any("10.9.0.7 is to be reached" in x for x in wanted(us, 'ping("10.9.0.7", count=1)')[1])
    assert any("leak=600 is above 512" in x for x in wanted(us, 'budget(leak=600)\nping("10.9.0.2", count=1)')[1])
    us.policy(POLICY + 'capture(all)\napprove(capture)\n')
    assert any("captures traffic of others" in x for x in
               wanted(us, 'capture("icmp")\nprint(len(sniff("icmp", timeout=0.1)))')[1])


def test_two_at_once_share_one_approval(scene):
    us, peer = scene
    h, _ = wanted(us)
    approve(us, h, "--yes")
    cap = peer.ifaces["eth0"].capture()
    procs = [us.sonde(PROGRAM, background=True) for _ in range(4)]
    for p in procs:
        p.wait(60)
    assert sorted(p.rc for p in procs) == [0, 3, 3, 3]
    assert spoofed(cap) == 1


# ---- who may approve, and how he is asked ----


def test_who_is_not_root_approves_nothing(scene):
    us, _ = scene
    mine = Installed(us.lab)
    h, rendering = wanted(us, run=lambda p, **kw: mine.run(us, 1234, p, **kw).ok(3))
    assert any("asked for by" in x and "uid 1234" in x for x in rendering)
    assert "for root" in mine.run(us, 1234, None, [h, "--yes"], command="approve").ok(3).said
    assert "for root" in mine.run(us, 1234, None, command="approve").ok(3).said
    approve(us, h, "--yes")
    us.sonde(PROGRAM).ok(3)  # it is uid 1234's
    mine.run(us, 1234, PROGRAM).ok()
    mine.run(us, 1234, PROGRAM).ok(3)


def at_terminal(argv, answer):
    """(exit code, all that was shown) with a terminal for standard input and output."""
    main, child = pty.openpty()
    proc = subprocess.Popen(argv, stdin=child, stdout=child, stderr=child, close_fds=True)
    os.close(child)
    out = b""
    while select.select([main], [], [], 20)[0]:
        try:
            data = os.read(main, 4096)
        except OSError:
            break
        if not data:
            break
        out += data
        if b"yes or no:" in out and answer is not None:
            os.write(main, answer.encode())
            answer = None
    os.close(main)
    return proc.wait(20), out.decode()


def test_a_person_is_asked(scene):
    us, _ = scene
    h, _ = wanted(us)
    argv = us.argv(os.environ.get("SONDE", str(ROOT / "build" / "sonde")), "approve", h)
    for answer in ("no\n", "y\n", "\n", "yes please\n", "\x04"):
        rc, said = at_terminal(argv, answer)
        assert rc == 3 and "nothing was approved" in said, said
    us.sonde(PROGRAM).ok(3)
    rc, said = at_terminal(argv, "yes\n")
    assert rc == 0 and "10.20.4.1" in said
    us.sonde(PROGRAM).ok()


def test_requests_wait_are_listed_and_refused(scene):
    us, _ = scene
    assert "nothing waits" in us.sonde(None, command="approve").ok().said
    h, rendering = wanted(us)
    rows = pending(us)
    schema = {p: json.loads((ROOT / "doc" / p).read_text()) for p in ("approve.schema.json", "approval.schema.json")}
    resolver = jsonschema.RefResolver(base_uri="", referrer=schema["approve.schema.json"], store=schema)
    jsonschema.Draft202012Validator(schema["approve.schema.json"], resolver=resolver).validate({"requests": rows})
    assert rows == [{"hash": h, "rendering": rendering}]
    assert h in us.sonde(None, command="approve").ok().out
    assert PROGRAM in approve(us, h, "--program")
    approve(us, h, "--refuse")
    assert pending(us) == []
    assert "no such request" in approve(us, h, "--yes", rc=5)
    assert "64 digits" in approve(us, "12ab", rc=6)


def test_requests_are_bounded(scene):
    us, _ = scene
    for i in range(24):
        us.sonde(PROGRAM + f"# {i}").ok(3)
    assert 1 <= len(os.listdir(us._inside(FOLDER + "/requests"))) <= 8


# ---- what a person is shown ----


def test_nothing_steers_the_terminal_of_who_approves(scene):
    us, _ = scene
    program = PROGRAM.replace("param n: int = 1", 'param n: int = 1\nparam s: str = ""')
    h, rendering = wanted(us, program, args=["-p", "s=\x1b[2J\u202e\x9b\"x\\"])
    assert all(re.fullmatch("[ -~]*", x) for x in rendering)
    assert any("\\x1b[2J" in x for x in rendering)
    assert re.fullmatch("[ -~\n]*", approve(us, h, "--yes"))


def test_what_does_not_fit_can_only_be_refused(scene):
    us, _ = scene
    rows = "".join(f'reach("10.9.{i}.0/24", udp=[{1000 + i}])\n' for i in range(1, 80))
    us.policy(rows + 'approve(reach="10.9.0.0/16")\n')
    got = us.sonde(rows + 'print("x")').ok(3)
    assert "more than 60 lines" in got.said and not re.search("sonde approve [0-9a-f]", got.said)
    assert pending(us) == []


# ---- forgeries ----


def parts(record):
    head = b"SONDE-APPROVAL-1\n"
    assert record.startswith(head)
    at, out = len(head), []
    for _ in range(8):
        n = struct.unpack_from(">I", record, at)[0]
        out.append(record[at + 4:at + 4 + n])
        at += 4 + n
    return out, record[at:]


def whole(sections, tail):
    return b"SONDE-APPROVAL-1\n" + b"".join(struct.pack(">I", len(s)) + s for s in sections) + tail


def test_a_request_that_lies_gets_nothing(scene):
    """A rendering that hides the spoofing can be approved, but no run has its hash."""
    us, _ = scene
    h, _ = wanted(us)
    folder = us._inside(FOLDER + "/requests")
    name = os.listdir(folder)[0]
    with open(f"{folder}/{name}", "rb") as f:
        record = f.read()
    assert hashlib.sha256(record).hexdigest() == h
    sections, tail = parts(record)
    sections[0] = b"program \"harmless\"\n"
    lie = whole(sections, tail)
    with open(f"{folder}/{name}", "wb") as f:
        f.write(lie)
    assert "no such request" in approve(us, h, "--yes", rc=5)
    assert "harmless" in approve(us, hashlib.sha256(lie).hexdigest(), "--yes")
    us.sonde(PROGRAM).ok(3)
    sections[0] = b"\x1b[2Jharmless\n"
    with open(f"{folder}/0-1", "wb") as f:
        f.write(whole(sections, tail))
    assert "no such request" in approve(us, hashlib.sha256(whole(sections, tail)).hexdigest(), "--yes", rc=5)


def test_approvals_are_roots_alone(scene):
    us, _ = scene
    h, _ = wanted(us)
    folder = us._inside(FOLDER + "/approvals")
    record = None
    for name in os.listdir(us._inside(FOLDER + "/requests")):
        with open(us._inside(f"{FOLDER}/requests/{name}"), "rb") as f:
            record = f.read()

    def plant(owner=0, mode=0o660, data=record, link=False, token_owner=0):
        for name in os.listdir(folder):
            os.unlink(f"{folder}/{name}")
        path = f"{folder}/{h}"
        real = us._inside("/var/lib/elsewhere") if link else path
        with open(real, "wb") as f:
            f.write(data)
        os.chmod(real, mode)
        os.chown(real, owner, GID)
        if link:
            os.symlink("/var/lib/elsewhere", path)
        with open(path + "-0", "wb"):
            pass
        os.chown(path + "-0", token_owner, GID)

    for kw in (dict(owner=GID), dict(mode=0o666), dict(link=True), dict(token_owner=GID)):
        plant(**kw)
        us.sonde(PROGRAM).ok(3)
    plant(data=record[:-1])
    assert "damaged" in us.sonde(PROGRAM).ok(5).said
    sections, tail = parts(record)
    sections[7] = b"uid 9"
    plant(data=whole(sections, tail))  # a record that is one, under another's name
    assert "damaged" in us.sonde(PROGRAM).ok(5).said
    plant(data=record + b"x" * 300000)
    assert "damaged" in us.sonde(PROGRAM).ok(5).said
    plant()
    us.sonde(PROGRAM).ok()  # what the others lacked was one thing only


def test_without_the_folder_nobody_can_approve(scene):
    us, _ = scene
    us.run("rm", "-rf", FOLDER)
    assert "sonde ledger init" in us.sonde(PROGRAM).ok(3).said
    assert "ledger init" in us.sonde(None, command="approve").ok(5).said


def test_a_link_in_the_place_of_a_request_is_not_followed(scene):
    us, _ = scene
    h, _ = wanted(us)
    folder = us._inside(FOLDER + "/requests")
    name = os.listdir(folder)[0]
    os.rename(f"{folder}/{name}", us._inside("/var/lib/moved"))
    os.symlink("/var/lib/moved", f"{folder}/{name}")
    assert pending(us) == []
    us.sonde(PROGRAM).ok(3)
    assert not os.path.islink(f"{folder}/{name}")
    with open(us._inside("/var/lib/moved"), "rb") as f:
        assert hashlib.sha256(f.read()).hexdigest() == h
