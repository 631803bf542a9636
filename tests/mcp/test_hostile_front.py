# SPDX-License-Identifier: Apache-2.0
"""The launcher, when its front is taken over: what it asks for then, and what it gets."""
import contextlib
import json
import os
import re
import signal
import socket
import time

import pytest

from hostile_front import AUDIT, LOCAL, POLICY, RUN, Answer, Hostile, ask, install, job, memfd
from lab import sonde_binary
from lab.procs import wait_for
from over_http import process_facts
from served import LONG, OTHER, PEER, runs, tables, two
from stdio import all_gone, descendants

pytestmark = pytest.mark.sonde
POLICY_TEXT = 'budget(packets=20000, time=600)\nreach("10.9.0.0/24", icmp=True)\n'
ONE = f'print(ping("{PEER}", count=1))'
KEYS = "/etc/sonde/mcp.keys"


@pytest.fixture(scope="module")
def lab():
    with two(POLICY_TEXT) as made:
        made.folder = install(made, made.us)
        made.us.write("/etc/sonde/alice.sonde", f'reach("{OTHER}", icmp=True)\n')
        for args in (("alice", "--policy", "/etc/sonde/alice.sonde"), ("bob",)):
            made.us.run(sonde_binary(), "mcp", "key", "add", *args)
        yield made


def log(lab):
    return [json.loads(line) for line in lab.us.read("/var/lib/sonde/log").splitlines()]


def last(text):
    return json.loads(text.splitlines()[-1])


def intact(lab):
    return "intact" in lab.us.run(sonde_binary(), "audit", "verify", "/var/lib/sonde/log").out


# ---- what is no ask ----

def no_asks():
    good = ask(RUN)
    return {
        "nothing": (b"", 0),
        "nothing, with descriptors": (b"", 3),
        "cut": (good[:-1], 3),
        "longer": (good + b"\0", 3),
        "much longer": (good * 100, 3),
        "no descriptors": (good, 0),
        "too few": (good, 2),
        "too many": (good, 60),
        "another magic": (b"\0" + good[1:], 3),
        "another operation": (ask(9), 3),
        "more than true": (good[:5] + b"\2" + good[6:], 3),
        "behind its end": (good[:-1] + b"x", 3),
        "a newline in a name": (ask(RUN, 'x\n{"seq":1}'), 3),
        "bytes behind a name": (ask(RUN, b"x\0y"), 3),
        "a name without end": (ask(RUN, b"x" * 48), 3),
        "no UTF-8 in a name": (ask(RUN, b"\xff\xfe"), 3),
        "a line in the log": (ask(AUDIT, tool='ping_host","outcome":"ALIVE"}\n{"seq":2'), 1),
        "a line behind a zero byte": (ask(AUDIT, tool="x", outcome=b"x\0\n{}"), 1),
    }


@pytest.mark.parametrize("name", list(no_asks()))
def test_what_is_no_ask_ends_the_front_with_a_word(lab, name):
    data, n = no_asks()[name]
    before = lab.us.read("/var/lib/sonde/log")
    with Hostile(lab.folder, lab.us) as h:
        a, fd = Answer(), memfd(job(ONE))
        fds = [fd, a.pipe, a.theirs.fileno(), *[fd] * 57][:n] if n != 1 else [a.theirs.fileno()]
        h.raw(data, *fds)
        assert h.proc.wait(20) == 5 and "no ask" in h.proc.err, h.proc.err
        assert h.shim.recv(1) == b""  # the front is no more
    assert lab.us.read("/var/lib/sonde/log") == before


# ---- who asks ----

@pytest.mark.parametrize("args", [(), ("--http", "127.0.0.1:0")], ids=["stdio", "http"])
@pytest.mark.parametrize("op", [RUN, POLICY, AUDIT])
def test_where_there_are_no_keys_there_is_one_caller(lab, args, op):
    """A second one would have an hour, a share of the runs and a memory of his own."""
    with Hostile(lab.folder, lab.us, *args) as h:
        assert last(h.run(ONE).read())["exit"] == 0
        a, fd = Answer(), memfd(job(ONE))
        h.raw(ask(op, "another"), *{RUN: (fd, a.pipe, a.theirs.fileno()), POLICY: (a.pipe, a.theirs.fileno()), AUDIT: (a.theirs.fileno(),)}[op])
        assert h.proc.wait(20) == 5 and "no ask" in h.proc.err, h.proc.err
    assert "another" not in lab.us.run(sonde_binary(), "ledger").out


def test_a_caller_is_one_of_the_file_and_has_his_own_policy(lab):
    lines = len(log(lab))
    with Hostile(lab.folder, lab.us, "--http", "127.0.0.1:0", "--keys", KEYS) as h:
        for name in ("", "mallory", "ALICE", "alice ", "../alice", "..", "bob policy=/etc/sonde/policy.sonde", "alice\\0bob", "x" * 47):
            for answer in (h.run(ONE, name), h.text(POLICY, name)):
                said = answer.read()
                assert '"exit"' not in said and OTHER not in said, said
        assert len(log(lab)) == lines
        refused = last(h.run(ONE, "alice").read())
        assert refused["exit"] == 3 and PEER in json.dumps(refused), refused
        assert last(h.run(ONE, "bob").read())["exit"] == 0
        assert OTHER in h.text(POLICY, "alice").read()
    ledger = lab.us.run(sonde_binary(), "ledger").out
    assert "mcp bob" in ledger and "mallory" not in ledger and ".." not in ledger
    assert intact(lab)


# ---- what a run may be told ----

@pytest.mark.parametrize("limits", ['reach("0.0.0.0/0", icmp=True)', "budget(packets=10000000, time=86400)", "approve_by_form()", "allow_self()",
                                    'may_follow("0.0.0.0/0", "0.0.0.0/0")', "budget(\n", "import x", "x" * 4000], ids=range(8))
def test_limits_of_a_call_only_narrow(lab, limits):
    with Hostile(lab.folder, lab.us) as h:
        got = last(h.run('print(ping("192.0.2.1", count=1))', limits=limits).read())
        assert got["exit"] in (2, 3), got
        assert not tables(lab.us)
        assert last(h.run(ONE).read())["exit"] == 0


@pytest.fixture
def approving(lab):
    def use(word):
        lab.us.policy(POLICY_TEXT + f'approve(reach="{PEER}")\n{word}')
    yield use
    lab.us.policy(POLICY_TEXT)


def hash_of(answer):
    return re.search(r"sonde approve ([0-9a-f]{64})", json.dumps(answer))[1]


def test_a_forged_approval_counts_only_where_policy_trusts_forms(lab, approving):
    """What a taken-over front can do by itself: approve by form, if policy says approve_by_form(); it is in the log."""
    approving("")
    with Hostile(lab.folder, lab.us) as h:
        wanted = last(h.run(ONE).read())
        right = bytes.fromhex(hash_of(wanted))
        for approve, limits in ((right, ""), (bytes(32), ""), (right, "approve_by_form()")):
            got = last(h.run(ONE, approve=approve, limits=limits).read())
            assert got["exit"] != 0 and "start" not in {x["event"] for x in log(lab)[-1:]}, got
        approving("approve_by_form()\n")
        before = len(log(lab))
        right = bytes.fromhex(hash_of(last(h.run(ONE).read())))
        assert last(h.run(ONE, approve=bytes(32)).read())["exit"] != 0
        assert last(h.run(ONE.replace("1)", "2)"), approve=right).read())["exit"] != 0
        assert not {"start", "approved"} & {x["event"] for x in log(lab)[before:]}
        assert last(h.run(ONE, approve=right).read())["exit"] == 0
        assert [x["by"] for x in log(lab)[before:] if x["event"] == "approved"] == ["form"]


def test_an_output_beyond_all_bounds(lab):
    with Hostile(lab.folder, lab.us) as h:
        got = last(h.run('for i in range(5000):\n    print("x" * 1000)\n', max_output=0xffffffff).read(60))
        assert "exit" in got and len(json.dumps(got)) < 32 << 20
        assert last(h.run(ONE).read())["exit"] == 0


@pytest.mark.parametrize("text", [b"", b"\0" * 100, b"SLAU", b"\x53\x4c\x41\x55" + b"\xff" * 200, job(ONE) + b"x", job("x" * 70000), job(ONE, name="n" * 300),
                                  job(ONE, params=[("", "1")]), job(ONE, params=[(f"p{i}", "1") for i in range(40)])], ids=range(9))
def test_jobs_that_are_none(lab, text):
    with Hostile(lab.folder, lab.us) as h:
        a, fd = Answer(), memfd(text)
        h.raw(ask(RUN), fd, a.pipe, a.theirs.fileno())
        got = last(a.sent().read())
        assert got["exit"] == 5 and "can't be read" in json.dumps(got), got
        assert last(h.run(ONE).read())["exit"] == 0


# ---- descriptors of odd kinds ----

def filled(sender):
    """Both ends of a socket into which no more goes from that one."""
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    pair[sender].setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while pair[sender].send(b"s" * 65536):
            pass
    return pair[0].detach(), pair[1].detach()


def odd(kind):
    """One descriptor, and what keeps it alive."""
    if kind == "a pipe's reading end":
        return os.pipe()
    if kind == "a pipe's writing end":
        return os.pipe()[::-1]
    if kind == "a full pipe":
        out, end = os.pipe()
        os.set_blocking(end, False)
        try:
            while os.write(end, b"x" * 4096):
                pass
        except BlockingIOError:
            return end, out
    if kind == "a socket":
        return tuple(s.detach() for s in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    if kind == "a full socket":
        return filled(0)
    if kind == "a listening socket":
        s = socket.create_server(("127.0.0.1", 0))
        return (s.detach(),)
    if kind == "a UDP socket":
        return (socket.socket(socket.AF_INET, socket.SOCK_DGRAM).detach(),)
    if kind == "a socket that says stop for ever":
        return filled(1)
    if kind == "a file of 8 TB":
        fd = os.memfd_create("job")
        os.ftruncate(fd, 8 << 40)
        return (fd,)
    if kind == "a file only to write":
        fd = memfd(job(ONE))
        again = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY)
        return again, fd
    return (os.open(*{"a path": ("/etc/passwd", os.O_PATH), "a folder": ("/", os.O_RDONLY), "a device": ("/dev/zero", os.O_RDWR),
                      "a file": ("/etc/passwd", os.O_RDONLY)}[kind]),)


PLACES = ["job", "pipe", "control"]


@pytest.mark.parametrize("place, kind", [
    ("job", "a pipe's reading end"), ("job", "a socket"), ("job", "a folder"), ("job", "a device"),
    ("pipe", "a file"), ("pipe", "a socket"), ("pipe", "a device"), ("pipe", "a folder"),
    ("control", "a pipe's writing end"), ("control", "a file"), ("control", "a device"), ("control", "a path")])
def test_another_kind_is_no_ask(lab, place, kind):
    with Hostile(lab.folder, lab.us) as h:
        a, fd, what = Answer(), memfd(job(ONE)), odd(kind)
        fds = [fd, a.pipe, a.theirs.fileno()]
        fds[PLACES.index(place)] = what[0]
        h.raw(ask(RUN), *fds)
        assert h.proc.wait(20) == 5 and "no ask" in h.proc.err, h.proc.err


@pytest.mark.parametrize("place, kind", [
    ("job", "a path"), ("job", "a file"), ("job", "a file of 8 TB"), ("job", "a file only to write"), ("pipe", "a pipe's reading end"),
    ("control", "a full socket"), ("control", "a socket that says stop for ever")])
def test_an_odd_one_of_the_kind_ends_no_later_than_others(lab, place, kind):
    """The run may come to nothing; the launcher goes on, and no table stays."""
    with Hostile(lab.folder, lab.us) as h:
        a, fd, what = Answer(), memfd(job(LONG if place == "control" else ONE)), odd(kind)
        fds = [fd, a.pipe, a.theirs.fileno()]
        fds[PLACES.index(place)] = what[0]
        h.raw(ask(RUN), *fds)
        a.sent()
        if kind == "a full socket":  # nothing comes from there: the run goes on until it ends
            wait_for(lambda: tables(lab.us) == 1, 30, why="the run")
        for end in what:
            os.close(end)
        assert last(h.run(ONE).read())["exit"] == 0
        wait_for(lambda: runs(h) == 0, 30, why="its end")
    assert tables(lab.us) == 0


def test_runs_that_cannot_be_told_to_end_and_nobody_reads_end_with_their_launcher(lab):
    """Control sockets that never end, among them the front's own channel, and pipes that nobody empties: the launcher answers
    meanwhile, and all of it ends with him."""
    with Hostile(lab.folder, lab.us, "--max-runs", "16", "--max-runs-caller", "16") as h:
        deaf = [h.run('for i in range(2000):\n    print("x" * 1000)\n') for _ in range(3)]
        for what in (odd("a listening socket")[0], odd("a UDP socket")[0], h.launcher.fileno()):
            a, fd = Answer(), memfd(job(LONG))
            h.raw(ask(RUN), fd, a.pipe, what)
            deaf.append(a.sent())
        wait_for(lambda: tables(lab.us) == 3 and runs(h) == 6, 30, why="six runs")
        start = time.monotonic()
        for _ in range(50):
            assert h.audit(tool="ping_host", outcome="done") == (True, "")
        assert last(h.run(ONE).read())["exit"] == 0
        assert time.monotonic() - start < 10
        below = descendants(h.proc.pid)
        h.proc.signal(signal.SIGKILL)  # SIGTERM does it too, when ten seconds are over in which runs may end by themselves
        all_gone(below)
        assert tables(lab.us) == 0 and all(d.out for d in deaf)


# ---- too much ----

def test_a_flood_of_asks_is_bounded_and_heard_to_its_end(lab):
    with Hostile(lab.folder, lab.us, "--max-runs", "3", "--max-runs-caller", "3") as h:
        held = [h.run(LONG) for _ in range(3)]
        wait_for(lambda: tables(lab.us) == 3, 30, why="three runs")
        _, files, rss = process_facts(h.proc.pid)
        for i in range(600):
            a = h.run(ONE) if i % 2 else h.text((POLICY, LOCAL)[i // 2 % 2])
            assert "as many runs" in a.read()
            a.close()
            assert runs(h) <= 3
        assert h.audit(tool="ping_host", outcome="done") == (True, "")
        wait_for(lambda: process_facts(h.proc.pid)[1] == files, 10, why="what came with the asks is closed")
        assert process_facts(h.proc.pid)[2] < rss + 1024
        for a in held:
            a.close()
        wait_for(lambda: tables(lab.us) == 0, 15, why="their end")
        wait_for(lambda: runs(h) == 0, 15, why="their end")
        assert last(h.run(ONE).read())["exit"] == 0


def test_names_beyond_count_leave_the_others_their_place(lab):
    with Hostile(lab.folder, lab.us, "--http", "127.0.0.1:0", "--keys", KEYS) as h:
        assert last(h.run(ONE, "bob").read())["exit"] == 0
        for i in range(110):
            a = h.text(POLICY, f"nobody{i}")
            a.read()
            a.close()
        assert last(h.run(ONE, "bob").read())["exit"] == 0
        assert process_facts(h.proc.pid)[1] < 100


# ---- the checker ----

def check(h, data, *fds):
    """What comes of it, or None."""
    out, pipe = os.pipe()
    try:
        socket.send_fds(h.checker, [data], list(fds) or [pipe])
        os.close(pipe)
        got = b""
        while piece := os.read(out, 1 << 16):
            got += piece
        return json.loads(got) if got else None
    finally:
        os.close(out)


def test_jobs_that_are_none_cost_the_checker_a_child_each(lab):
    with Hostile(lab.folder, lab.us) as h:
        assert check(h, job("print(1)"))["exit"] == 0
        folder, (end, other) = os.open("/", os.O_RDONLY), odd("a socket")
        for data in (b"x", b"\xff" * 1000, job("print(1)") + b"x", job("x" * 66000), job("print(1)", params=[(f"p{i}", "1") for i in range(40)]), b"\0" * 150000):
            assert check(h, data) is None
        for fd in (folder, end):
            check(h, job("print(1)"), fd)
        assert check(h, job("print(1)"), folder, end) is None
        for _ in range(200):
            check(h, b"x")
        assert check(h, job("prin(1)"))["exit"] == 2
        assert last(h.run(ONE).read())["exit"] == 0
        for fd in (folder, end, other):
            os.close(fd)
