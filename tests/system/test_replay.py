# SPDX-License-Identifier: Apache-2.0
"""A recorded run, replayed by somebody without any right and without a network, says
the same to the last byte; a record that was changed or cut is an error."""
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import time

import pytest

from lab import sonde_binary
from lab.procs import Proc

pytestmark = pytest.mark.sonde

NOBODY = ["unshare", "-n", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
          "--bounding-set=-all", "--no-new-privs"]
MAGIC = 12  # and version
IPV4 = b"\x45\x00\x00\x54"  # how an echo of 56 bytes starts

# name -> (program, arguments, exit)
RUNS = {
    "compute": ('x = [i * i for i in range(1000)]\nprint(sum(x), x[:3])', [], 0),
    "ping": ('print(ping("10.9.0.2", count=20, interval=0.01))', [], 0),
    "sr with loss": ('''
ans, unans = sr([IP(dst="10.9.0.2")/UDP(dport=9)/b"abc" for i in range(300)], timeout=0.3, rate=2000)
print(len(ans), len(unans), summarize([r.rtt for s, r in ans]))
for s, r in ans:
    print(s.summary(), r.summary(), r.rtt, r.time - s.time)
''', [], 0),
    "tcp": ('''
a = sr1(IP(dst="10.9.0.2")/TCP(dport=80), timeout=1)
if a and TCP in a:
    print(a[TCP].flags, a.rtt, a[TCP].option("MSS"))
''', [], 0),
    "sniff": ('''
send([IP(dst="10.9.0.2")/ICMP(id=7, seq=i)/b"echo me" for i in range(20)])
for p in sniff("icmp", timeout=0.3):
    print(p.time, p.summary(), p[Raw].load if Raw in p else None)
''', [], 0),
    "random": ('''
print(random_bytes(8), [randint(1, 100) for i in range(10)])
r = ping("10.9.0.2", count=randint(2, 5), interval=0.01)
print(r, now())
''', [], 0),
    "host": ('print(interfaces())\nprint(routes())\nprint(route("10.9.0.2"))\nprint(neighbors())', [], 0),
    "params": ('param n: int = 1\nparam to: ip = "10.9.0.2"\nprint(ping(to, count=n, interval=0.01))',
               ["-p", "n=3", "--seed", "77"], 0),
    "long output": ('for i in range(9000):\n    print("line", i, "x" * 20)\n', ["--max-output", "50000"], 0),
    "run-time error": ('x = [1, 2]\nprint(ping("10.9.0.2", count=2, interval=0.01).received)\nprint(x[int(now().s) % 2 + 5])',
                       [], 1),
    "checker": ("print(y)", [], 2),
    "policy": ('budget(packets=90000000)\nping("10.9.0.2")', [], 3),
    "budget": ('budget(packets=10)\nprint("before")\nfor i in range(50):\n    ping("10.9.0.2", count=1)\nprint("never")', [], 4),
    "time": ('budget(time=0.3)\nprint("before")\nwhile True:\n    ping("10.9.0.2", count=1)\n    sleep(20ms)', [], 4),
    "environment": ('print(ping("10.9.0.2"))', ["--iface", "nothing0"], 5),
    "no route": ('print(ping("10.77.0.2", count=2, interval=0.01))', [], 0),
}


class Place:
    """A lab with a lossy way to a peer, and a folder that nobody may read and write."""

    def __init__(self, lab):
        self.lab = lab
        self.us, peer = lab.hosts("us", "peer")
        lab.cable(self.us, peer, "10.9.0.1/24", "10.9.0.2/24", "loss=0.1", "seed=5")
        peer.service("tcp-accept", "80")
        lab.warm(self.us)
        os.chmod(lab.dir, 0o755)
        self.binary = shutil.copy(sonde_binary().resolve(), lab.path("sonde"))
        os.chmod(self.binary, 0o755)
        self.n = 0

    def record(self, program, args=(), json_=False, interrupt=None):
        self.n += 1
        path = self.lab.path(f"run-{self.n}.rec")
        argv = [self.binary, "run", "--record", path, *(["--json"] if json_ else []), *args, "-e", program]
        proc = Proc(self.us.argv(*argv), name="sonde")
        if interrupt is not None:
            time.sleep(interrupt)
            os.kill(proc.pid, signal.SIGINT)
        proc.wait(60)
        os.chmod(path, 0o644)
        return proc, path

    def replay(self, path, *args):
        proc = Proc([*NOBODY, self.binary, "replay", *args, path], name="replay")
        proc.wait(60)
        return proc


@pytest.fixture(scope="module")
def place(request):
    from lab import Lab
    with Lab("replay") as lab:
        yield Place(lab)


def same(run, again):
    assert (again.out, again.err, again.rc) == (run.out, run.err, run.rc)


@pytest.mark.parametrize("name", RUNS)
def test_says_the_same(place, name):
    program, args, exit_code = RUNS[name]
    run, path = place.record(program, args)
    assert run.rc == exit_code, run.out + run.err
    same(run, place.replay(path))
    assert "recorded: program sha256 " in run.out
    run, path = place.record(program, args, json_=True)
    assert json.loads(run.out)["exit"] == exit_code
    same(run, place.replay(path, "--json"))
    run, path = place.record(program, [*args, "--quiet"])
    same(run, place.replay(path, "--quiet"))


def test_interrupted(place):
    run, path = place.record('print("start")\nprint(ping("10.9.0.2", count=1000, interval=0.01).received)', interrupt=0.6)
    assert run.rc == 130 and "| start" in run.out
    same(run, place.replay(path))
    run, path = place.record('print(ping("10.9.0.2", count=1000, interval=0.01).received)', json_=True, interrupt=0.6)
    same(run, place.replay(path, "--json"))


def test_as_root_too(place):
    run, path = place.record('print(ping("10.9.0.2", count=3, interval=0.01))')
    again = Proc([place.binary, "replay", path], name="replay")
    again.wait(60)
    same(run, again)


BACK = """
r = sr1(IP(dst="10.9.0.2")/UDP(dport=9)/b"x", timeout=0.2)
if r and UDP in r:
    send(IP(dst="10.9.0.2")/UDP(dport=9)/r[UDP].payload)
"""


@pytest.mark.parametrize("relay, refused", [("10.9.0.3", False), ("10.9.0.0/24", True)])
def test_what_came_from_a_policys_relay_does_not_go_back(place, relay, refused):
    policy = place.lab.path("relay.sonde")
    with open(policy, "w", encoding="utf-8") as f:
        f.write(f'reach("10.9.0.0/16")\nrelay("{relay}")\n')
    run, path = place.record(BACK, ["--policy", policy])
    assert run.rc == (2 if refused else 0), run.out + run.err
    assert ("E-REFLECT" in run.out + run.err) == refused
    same(run, place.replay(path))


# ---- records that are not what was recorded ----

def chunks(data):
    """[(kind, offset of its head, offset of its end)], by the format's text alone."""
    at, out = MAGIC, []
    while at < len(data):
        kind, n = struct.unpack_from(">cI", data, at)
        out.append((kind.decode(), at, at + 5 + n))
        at += 5 + n
    assert at == len(data)
    return out


@pytest.fixture(scope="module")
def kept(place):
    """(what the run said, its record, the chunks of it)"""
    run, path = place.record('r = ping("10.9.0.2", count=3, interval=0.01)\nprint(r.sent, r.ttls)\nprint(r)')
    assert run.rc == 0, run.out + run.err
    data = pathlib.Path(path).read_bytes()
    return run, data, chunks(data)


def replay_bytes(place, data, *args):
    path = place.lab.path("changed.rec")
    pathlib.Path(path).write_bytes(data)
    os.chmod(path, 0o644)
    return place.replay(path, *args)


def refused(again, *words):
    assert again.rc == 5, again.out + again.err
    assert "E-REPLAY" in again.err or "sonde: " in again.err
    for w in words:
        assert w in again.err, again.err
    assert "Sanitizer" not in again.err and "signal" not in again.err


def test_its_form(kept):
    _, data, parts = kept
    kinds = "".join(k for k, _, _ in parts)
    assert kinds[0] == "H" and kinds[-1] == "T" and kinds.rstrip("T").rstrip("S").strip("EGH") == ""
    assert kinds.count("H") == kinds.count("T") == 1 and "S" in kinds
    assert hashlib.sha256(data[:parts[-1][1]]).digest() == data[-32:]


def test_cut_at_each_chunk(place, kept):
    _, data, parts = kept
    for i, (_, start, _) in enumerate(parts):
        refused(replay_bytes(place, data[:start]), "cut")


def test_cut_anywhere(place, kept):
    _, data, _ = kept
    rng = random.Random(3)
    for n in [0, 1, 11, 12, 13, *(rng.randrange(len(data)) for _ in range(25))]:
        again = replay_bytes(place, data[:n])
        assert again.rc == 5 and again.err, n
    again = replay_bytes(place, data + b"x")
    refused(again, "behind its end")


def test_a_changed_send_is_an_error_at_that_message(place, kept):
    _, data, parts = kept
    engine = [(start, end) for k, start, end in parts if k == "E"]
    emits = [(i, start, end) for i, (start, end) in enumerate(engine) if i and IPV4 in data[start:end]]
    assert len(emits) >= 3
    for i, start, end in emits:
        changed = bytearray(data)
        changed[end - 1] ^= 1
        refused(replay_bytes(place, bytes(changed)), f"message {i + 1} of the engine, EMIT, has another data")
    # one message less: at the place where it is missing
    i, start, end = emits[1]
    refused(replay_bytes(place, data[:start] + data[end:]), f"message {i + 1} of the engine")


def test_any_changed_byte_is_an_error(place, kept):
    run, data, parts = kept
    rng = random.Random(5)
    for kind, start, end in parts:
        at = rng.randrange(start, end)
        changed = bytearray(data)
        changed[at] ^= 1 << rng.randrange(8)
        again = replay_bytes(place, bytes(changed))
        assert again.rc == 5 and again.err, (kind, start, at)


def test_an_answer_that_was_changed_is_seen_in_the_words(place, kept):
    """Whoever also makes the file's hash anew has not what the engine said."""
    run, data, parts = kept
    frames = [(s, e) for k, s, e in parts if k == "G" and IPV4 in data[s:e]]
    assert frames  # the cable may lose one
    changed = bytearray(data)
    start, end = frames[0]
    ttl = data.rindex(IPV4, start, end) + 8
    changed[ttl] -= 1
    tail = parts[-1][1]
    changed[-32:] = hashlib.sha256(bytes(changed[:tail])).digest()
    again = replay_bytes(place, bytes(changed), "--json")
    said = json.loads(again.out)
    assert again.rc == said["exit"] == 5 and said["error"]["code"] == "E-REPLAY"
    assert "is not what it said" in said["error"]["message"]


def test_another_build_that_says_the_same(place, kept):
    run, data, parts = kept
    head = parts[0][1] + 5
    changed = bytearray(data)
    changed[head + 4] = ord("x")  # the first letter of its build id
    refused(replay_bytes(place, bytes(changed)), "another build")
    tail = parts[-1][1]
    changed[-32:] = hashlib.sha256(bytes(changed[:tail])).digest()
    same(run, replay_bytes(place, bytes(changed)))


@pytest.mark.parametrize("what, says", [("/nonexistent", "No such file"), ("/etc", "no regular file"),
                                        ("/etc/passwd", "no record"), ("/dev/null", "no regular file")])
def test_other_files(place, what, says):
    refused(place.replay(what), says)


def test_a_record_is_never_written_over(place):
    path = place.lab.path("taken")
    pathlib.Path(path).write_text("mine")
    proc = Proc(place.us.argv(place.binary, "run", "--record", path, "-e", "print(1)"), name="sonde")
    proc.wait(20)
    assert proc.rc == 5 and "never written over" in proc.err and pathlib.Path(path).read_text() == "mine"
    link = place.lab.path("link")
    os.symlink(place.lab.path("target"), link)
    proc = Proc(place.us.argv(place.binary, "run", "--record", link, "-e", "print(1)"), name="sonde")
    proc.wait(20)
    assert proc.rc == 5 and not os.path.exists(place.lab.path("target"))


def test_a_full_disk_ends_the_run(place):
    folder = place.lab.path("small")
    os.mkdir(folder)
    place.us.run("mount", "-t", "tmpfs", "-o", "size=64k", "none", folder)
    program = 'for i in range(300):\n    ping("10.9.0.2", count=1, size=1400, interval=0.001, timeout=0.01)\nprint("end")'
    proc = Proc(place.us.argv(place.binary, "run", "--record", f"{folder}/f", "-e", program), name="sonde")
    proc.wait(30)
    assert proc.rc == 5 and "the record can't be written" in proc.out + proc.err and "| end" not in proc.out


def test_a_killed_run_leaves_a_cut_record(place):
    path = place.lab.path("killed.rec")
    proc = Proc(place.us.argv(place.binary, "run", "--record", path, "-e",
                              'print("here")\nprint(ping("10.9.0.2", count=1000, interval=0.01))'), name="sonde")
    time.sleep(0.6)
    proc.kill()
    time.sleep(0.2)
    os.chmod(path, 0o644)
    again = place.replay(path)
    refused(again, "cut behind message")
    assert "| here" in again.out
