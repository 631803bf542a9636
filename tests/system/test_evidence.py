# SPDX-License-Identifier: Apache-2.0
"""--write keeps all traffic as a pcapng that others can read and that we read back;
--read runs a program's sniff on it."""
import json
import os
import pathlib
import signal
import stat

import jsonschema
import pytest

from lab.capture import tshark
from lab.procs import ROOT, wait_for

pytestmark = pytest.mark.sonde


def schema(name):
    return jsonschema.Draft202012Validator(json.loads((ROOT / "doc" / name).read_text()))


def test_written_traffic_is_what_was_on_the_wire(lab):
    us, peer = lab.hosts("us", "peer")
    lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
    cap = peer.ifaces["eth0"].capture()
    path = lab.path("run.pcapng")
    us.sonde('print(ping("10.9.0.2", count=10, interval=0.02).received)', args=["--write", path]).ok()
    mode = os.stat(path)
    assert stat.S_ISREG(mode.st_mode) and mode.st_mode & 0o022 == 0
    fields = ("frame.len", "icmp.type", "icmp.seq", "icmp.ident")
    ours = sorted(tuple(r) for r in tshark(path, *fields, flt="icmp"))
    true = sorted(tuple(r) for r in cap.tshark(*fields, flt="icmp"))
    assert ours == true and len(ours) == 20
    stamps = [float(r[0]) for r in tshark(path, "frame.time_epoch", flt="icmp")]
    theirs = [float(r[0]) for r in tshark(cap.path, "frame.time_epoch", flt="icmp")]
    assert abs(min(stamps) - min(theirs)) < 0.005
    assert stamps == sorted(stamps)


def test_what_was_written_can_be_read(lab):
    us, peer = lab.hosts("us", "peer")
    lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
    path = lab.path("run.pcapng")
    us.sonde('ping("10.9.0.2", count=5, interval=0.02)', args=["--write", path]).ok()
    run = us.sonde('n = [p for p in sniff("icmp", timeout=1) if p[ICMP].type == 0]\n'
                   'print(len(n), {str(p.src) for p in n})', args=["--read", path], user=65534).ok()
    assert run.lines[0].startswith("5 ") and "10.9.0.2" in run.lines[0]


def audit(us, *args, rc=0):
    got = us.sonde(None, command="audit", args=["verify", *args], user=65534)
    assert got.rc == rc, got.said
    return got.said


def test_evidence_is_a_chain(lab):
    us, peer = lab.hosts("us", "peer")
    lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
    path = lab.path("run.pcapng")
    run = us.sonde('ping("10.9.0.2", count=100, interval=0.002)', args=["--write", path], json=True).ok()
    head = next(n for n in run.json["notes"] if n.startswith("evidence: ")).split()[-1]
    os.chmod(path, 0o644)
    os.chmod(lab.dir, 0o755)
    assert "intact" in audit(us, path, "--head", head) and head in audit(us, path)
    assert "another hash" in audit(us, path, "--head", "0" * 64, rc=1)
    data = pathlib.Path(path).read_bytes()
    at = data.index(b"tx_id=")
    changed = pathlib.Path(lab.path("changed.pcapng"))
    changed.write_bytes(data[:at] + b"T" + data[at + 1:])
    changed.chmod(0o644)
    said = audit(us, changed, path, "--json", rc=1)
    got = json.loads(said)
    schema("audit.schema.json").validate(got)
    assert [f["intact"] for f in got["files"]] == [False, True] and got["exit"] == 1
    breach = got["files"][0]["breach"]
    assert breach["from"] <= at < breach["to"] < len(data)
    assert "No such file" in audit(us, "/nonexistent", rc=5)
    assert "neither evidence" in audit(us, "/etc/passwd", rc=1)


def test_a_killed_runs_evidence_has_no_end(lab):
    us, peer = lab.hosts("us", "peer")
    lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
    path = lab.path("killed.pcapng")
    proc = us.sonde('ping("10.9.0.2", count=1000, interval=0.01)', args=["--write", path], background=True)
    wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > 30000, 10, why="evidence")
    os.kill(proc.pid, signal.SIGKILL)
    wait_for(lambda: proc.rc is not None, 5, why="its end")
    os.chmod(path, 0o644)
    os.chmod(lab.dir, 0o755)
    assert "the last link is missing" in audit(us, path, rc=1) or "within a block" in audit(us, path, rc=1)


def test_evidence_is_the_callers_file_and_a_new_one(lab):
    us, peer = lab.hosts("us", "peer")
    lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
    target, link = lab.path("target"), lab.path("link.pcapng")
    os.symlink(target, link)
    got = us.sonde('ping("10.9.0.2", count=1)', args=["--write", link])
    assert got.rc == 5 and not os.path.exists(target), got.said
