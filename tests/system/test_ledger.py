# SPDX-License-Identifier: Apache-2.0
"""The ledger: what an hour may take is shared by all runs of a session, survives their
deaths, and where it can't be kept, nothing is sent."""
import json
import os
import signal
import struct
import time

import jsonschema
import pytest

from lab.procs import ROOT, wait_for
from lab.state import FOLDER, GID, Installed, add_user, ledger_init

pytestmark = pytest.mark.sonde
POLICY = 'budget(hour_packets=100, hour_bytes=1MB, hour_syn=10)\nreach("10.9.0.0/24", tcp=[(1, 65535)], udp=[(1, 65535)], icmp=True)\nzone(all)\n'


def ping(n, peer="10.9.0.2"):
    return f'print(ping("{peer}", count={n}, interval=0.002, timeout=0.3).sent)'


@pytest.fixture
def scene(lab):
    us, peer = lab.hosts("us", "peer")
    lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
    us.policy(POLICY)
    return us, peer


def asked(cap):
    """Echo requests that were on the wire."""
    return len(cap.tshark("icmp.seq", flt="icmp.type==8"))


def inside(us, path):
    return us._inside(path)


def rows(us, **kw):
    got = us.sonde(None, command="ledger", json=True, **kw).ok()
    schema = json.loads((ROOT / "doc" / "ledger.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(got.json)
    return {(r["kind"], r["name"]): r for r in got.json["rows"]}


def used(us, name="uid 0", window="hour", what="packets"):
    row = rows(us).get(("session", name))
    return row[window][what] if row else 0


def log(us):
    with open(inside(us, FOLDER + "/log"), encoding="ascii") as f:
        return [json.loads(line) for line in f]


def test_without_a_bound_there_is_no_need_of_a_ledger(scene):
    us, _ = scene
    us.policy(None)
    us.sonde(ping(3)).ok()
    assert not os.path.exists(inside(us, FOLDER))


def test_a_bound_without_a_ledger_sends_nothing(scene):
    us, peer = scene
    cap = peer.ifaces["eth0"].capture()
    got = us.sonde(ping(3)).ok(5)
    assert "sonde ledger init" in got.said and "hour_packets" in got.said and "policy.sonde:1" in got.said
    assert asked(cap) == 0


def test_the_folder_is_roots_and_the_groups(scene):
    us, _ = scene
    got = us.sonde(None, command="ledger", args=["init"]).ok(5)
    assert "no group sonde" in got.said and "useradd" in got.said
    ledger_init(us).ok()
    for name, mode in (("", 0o40730), ("/ledger", 0o100660), ("/log", 0o100660), ("/requests", 0o40730),
                       ("/approvals", 0o40730)):
        st = os.lstat(inside(us, FOLDER + name))
        assert (st.st_uid, st.st_gid, st.st_mode) == (0, GID, mode), name
    assert "exists" in ledger_init(us).ok(5).said
    ledger_init(us, "--replace").ok()


def test_an_hours_bound_is_not_refilled_by_new_runs(scene):
    us, peer = scene
    ledger_init(us).ok()
    cap = peer.ifaces["eth0"].capture()
    us.sonde(ping(60)).ok()
    assert used(us) == 60 and used(us, window="minute") == 60 and used(us, what="runs") == 1
    second = us.sonde(ping(60)).ok(4)
    assert "hour_packets" in second.said
    assert used(us) == 100
    us.sonde(ping(1)).ok(4)
    assert asked(cap) == 100
    every = rows(us)
    assert every["destination", "10.9.0.2"]["day"]["packets"] == 100
    assert every["total", "total"]["hour"]["packets"] == 100
    assert every["total", "total"]["hour"]["runs"] == 3 and every["total", "total"]["hour"]["leak"] == 3 * 1024


def test_syns_and_bytes_are_bounded_too(scene):
    us, _ = scene
    ledger_init(us).ok()
    syn = 'for i in range(20):\n    sr1(IP(dst="10.9.0.2")/TCP(dport=9, flags="S"), timeout=0.05)\n'
    assert "hour_syn" in us.sonde(syn).ok(4).said
    assert used(us, what="syn") == 10
    us.policy(POLICY.replace("1MB", "3000"))
    assert "hour_bytes" in us.sonde(ping(60)).ok(4).said
    assert used(us, what="bytes") <= 3000


def test_two_at_once_share_one_bound(scene):
    us, peer = scene
    ledger_init(us).ok()
    cap = peer.ifaces["eth0"].capture()
    procs = [us.sonde(ping(90), background=True) for _ in range(2)]
    for p in procs:
        p.wait(30)
    assert sorted(p.rc for p in procs) == [0, 4] or [p.rc for p in procs] == [4, 4], [p.out + p.err for p in procs]
    assert asked(cap) <= 100
    assert used(us) <= 100


def test_who_is_killed_has_paid(scene):
    us, _ = scene
    ledger_init(us).ok()
    proc = us.sonde('ping("10.9.0.2", count=90, interval=0.05)', background=True)
    wait_for(lambda: used(us) > 0, 10, why="a reservation")
    os.kill(proc.pid, signal.SIGKILL)
    wait_for(lambda: proc.rc is not None, 5, why="its end")
    assert used(us) >= 90
    us.sonde(ping(20)).ok(4)


def test_what_was_not_used_comes_back(scene):
    us, _ = scene
    ledger_init(us).ok()
    us.sonde('for i in range(80):\n    r = sr1(IP(dst="10.9.0.2")/ICMP(), timeout=0.5)\n    if r:\n        break\n').ok()
    assert used(us) == 1


HARMS = [
    (lambda p: os.truncate(p, 100), "damaged"),
    (lambda p: open(p, "r+b").write(b"x"), "damaged"),
    (lambda p: os.chmod(p, 0o666), "not root's alone"),
    (lambda p: os.chown(p, 1000, GID), "not root's alone"),
    (lambda p: os.link(p, p + "2"), "not root's alone"),
    (lambda p: (os.rename(p, p + "2"), os.symlink("ledger2", p)), "not root's alone"),
    (lambda p: (os.unlink(p), os.mkdir(p)), "nothing is sent"),
    (os.unlink, "ledger is missing"),
    (lambda p: os.unlink(os.path.dirname(p) + "/log"), "log is missing"),
    (lambda p: os.chmod(os.path.dirname(p), 0o777), "not root's alone"),
    (lambda p: (os.rename(os.path.dirname(p), os.path.dirname(p) + "2"),
                os.symlink("sonde2", os.path.dirname(p))), "nothing is sent"),
    (lambda p: open(os.path.dirname(p) + "/log", "ab").write(b"{}\n"), "somebody changed it"),
]


def test_a_ledger_that_can_not_be_used_sends_nothing(scene):
    us, peer = scene
    us.policy(None)  # not even without a bound: it is there
    cap = peer.ifaces["eth0"].capture()
    for harm, says in HARMS:
        us.run("rm", "-rf", FOLDER, FOLDER + "2")
        ledger_init(us).ok()
        harm(inside(us, FOLDER + "/ledger"))
        got = us.sonde(ping(2)).ok(5)
        assert says in got.said
        if says == "damaged":
            ledger_init(us, "--replace").ok()
    us.run("rm", "-rf", FOLDER)
    ledger_init(us).ok()
    us.sonde(ping(2)).ok()
    assert asked(cap) == 2  # these last ones alone


def test_the_log_has_each_run_and_can_be_verified(scene):
    us, _ = scene
    ledger_init(us).ok()
    us.sonde(ping(2)).ok()
    us.sonde('budget(packets=30000)\nping("10.9.0.2")').ok(3)
    lines = log(us)
    assert [x["event"] for x in lines] == ["start", "end", "refused"]
    assert lines[1]["start"] == lines[0]["seq"] and lines[1]["packets"] == 2
    assert all(x["session"] == "uid 0" for x in lines) and "refused by policy" in lines[2]["why"]
    assert rows(us)["session", "uid 0"]["hour"]["refused"] == 1
    ok = us.sonde(None, command="audit", args=["verify", FOLDER + "/log"]).ok()
    assert "3 lines" in ok.said
    us.sonde(None, command="ledger", args=["rotate"]).ok()
    us.sonde(ping(2)).ok()
    assert log(us)[0]["prev"] == lines[2]["hash"]
    us.sonde(None, command="audit", args=["verify", FOLDER + "/log"]).ok()


def test_a_log_that_was_cut_stops_all(scene):
    us, _ = scene
    ledger_init(us).ok()
    us.sonde(ping(1)).ok()
    path = inside(us, FOLDER + "/log")
    with open(path, encoding="ascii") as f:
        first = f.readline()
    os.truncate(path, len(first))
    us.sonde(None, command="audit", args=["verify", FOLDER + "/log"]).ok()  # the chain itself holds
    assert "shorter" in us.sonde(ping(1)).ok(5).said


def test_policy_for_agents_bounds_an_hour(scene):
    us, _ = scene
    us.policy(None)
    init = ["init", "mcp", "--reach", "10.9.0.0/24"]
    assert "no group sonde" in us.sonde(None, command="policy", args=init).ok(5).said
    assert not os.path.exists(inside(us, "/etc/sonde/policy.sonde"))
    add_user(us)
    us.sonde(None, command="policy", args=init).ok()
    text = us.read("/etc/sonde/policy.sonde")
    for words in ("hour_packets=20000", "hour_bytes=50MB", "hour_syn=1000", "peer_rate=100", "peer_syn_rate=20"):
        assert words in text
    us.sonde(ping(3)).ok()
    shown = us.sonde(None, command="policy", args=["show"]).ok().out
    assert "# hour_packets=20000: 3 used by uid 0 in the last hour" in shown and "hour_bytes=50000000: " in shown
    us.run("rm", "-rf", FOLDER)
    assert "nothing can be sent: there is no ledger" in us.sonde(None, command="policy", args=["show"]).ok().out
    us.policy(None)
    us.sonde(None, command="policy", args=["init", "--reach", "10.9.0.0/24"]).ok()
    assert "hour_" not in us.read("/etc/sonde/policy.sonde")


# ---- ordinary users, by file capabilities ----


def test_a_user_pays_for_himself_and_never_holds_the_group(scene):
    us, _ = scene
    ledger_init(us).ok()
    mine = Installed(us.lab)
    assert mine.run(us, 1234, ping(5)).ok().lines == ["5"]
    assert used(us, "uid 1234") == 5 and used(us, "uid 0") == 0
    own = {r["name"] for r in mine.run(us, 1234, None, json=True, command="ledger").ok().json["rows"]}
    assert own == {"uid 1234", "total"}
    # files that the user names are opened without it
    os.chmod(inside(us, FOLDER), 0o733)
    got = mine.run(us, 1234, None, ["verify", FOLDER + "/log"], command="audit")
    assert got.rc == 5 and "Permission denied" in got.said
    os.chmod(inside(us, FOLDER), 0o730)
    got = mine.run(us, 1234, ping(1), ["--write", FOLDER + "/mine"])
    assert got.rc == 5 and not os.path.exists(inside(us, FOLDER + "/mine"))
    proc = mine.start(us, 1234, 'ping("10.9.0.2", count=50, interval=0.05)')
    wait_for(lambda: used(us, "uid 1234") > 5, 10, why="the run")
    time.sleep(0.2)
    pids = [int(p) for p in os.listdir("/proc") if p.isdigit()]
    for pid in pids:
        try:
            with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
                status = f.read()
        except OSError:
            continue
        if f"Uid:\t1234\t1234" in status:
            gids = next(x for x in status.splitlines() if x.startswith("Gid:")).split()[1:]
            assert str(GID) not in gids, status
    proc.wait(30)


def test_without_the_group_a_user_is_told(scene):
    us, _ = scene
    ledger_init(us).ok()
    mine = Installed(us.lab, setgid=False)
    got = mine.run(us, 1234, ping(1)).ok(5)
    assert "setgid sonde" in got.said
    got = mine.run(us, 1234, None, ["init", "--replace"], command="ledger").ok(5)
    assert "run this as root" in got.said


def test_ports_stay_with_their_session_for_a_minute(scene):
    us, _ = scene
    ledger_init(us).ok()
    mine = Installed(us.lab)
    probe = 'sr1(IP(dst="10.9.0.2")/UDP(sport=5555, dport=9), timeout=0.05)'
    us.sonde(probe).ok()
    us.sonde(probe).ok()
    got = mine.run(us, 1234, probe).ok(5)
    assert "5555" in got.said and "another session's" in got.said and "wait" in got.said
    mine.run(us, 1234, probe.replace("5555", "5556")).ok()
    # of the free ports, all but a hundred are somebody's
    path = inside(us, FOLDER + "/ledger")
    udp = os.path.getsize(path) - 65536 * 8
    with open(path, "r+b") as f:
        f.seek(udp + 61000 * 8)
        for port in range(61000, 65536):
            f.write(struct.pack(">II", 0 if 62000 <= port < 62100 else 3, 2**31))
    cap = us.ifaces["eth0"].capture("udp")
    mine.run(us, 1234, 'sr([IP(dst="10.9.0.2")/UDP(dport=9) for i in range(30)], timeout=0.1)').ok()
    ours = {int(r[0]) for r in cap.tshark("udp.srcport", flt="udp.dstport==9")}
    assert len(ours) == 30 and ours <= set(range(62000, 62100))
