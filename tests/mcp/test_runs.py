# SPDX-License-Identifier: Apache-2.0
"""The launcher: what it starts on, who is charged, what ends a run, and that nothing stays
behind whoever dies."""
import json
import os
import re
import signal
import time

import pytest

from lab import Lab
from lab.procs import wait_for
from lab.sonde import sonde_binary
from lab.state import ledger_init
from served import PEER, tables, two
from stdio import Stdio, all_gone, alive, descendants

POLICY = "budget(packets=20000, time=120)\nreach(\"10.9.0.0/24\", icmp=True)\n"
ONE = f'print(ping("{PEER}", count=1))'
# two packets a second for a minute
LONG = f'for i in range(120):\n    sr1(IP(dst="{PEER}")/ICMP(), timeout=0.1)\n    print(i)\n    sleep(0.4)\n'


@pytest.fixture(scope="module")
def lab():
    with two(POLICY) as made:
        yield made


@pytest.fixture
def server(lab):
    s = Stdio(lab.us)
    yield s
    s.stop()


def log(node):
    return [json.loads(line) for line in node.read("/var/lib/sonde/log").splitlines()]


def run_of(server, source, **more):
    got = server.call("run_program", source=source, **more)
    assert not got.get("isError"), got
    return got["structuredContent"]


def test_no_start_on_the_built_in_policy():
    with Lab() as other:
        node = other.host("us")
        ledger_init(node)
        p = node.sonde(None, command="mcp")
        assert p.rc == 3 and "built-in policy" in p.err and "sonde policy init" in p.err


def test_no_start_without_a_ledger_or_on_a_bad_policy():
    with Lab() as other:
        node = other.host("us")
        node.policy(POLICY)
        p = node.sonde(None, command="mcp")
        assert p.rc == 5 and "sonde ledger init" in p.err
        ledger_init(node)
        node.policy("reach(10.0.0.1)\n")
        p = node.sonde(None, command="mcp")
        assert p.rc == 3 and "policy.sonde" in p.err


def test_a_run_is_charged_to_the_session_and_each_call_is_in_the_log(lab, server):
    before = len(log(lab.us))
    run_of(server, ONE)
    server.call("check_program", source=ONE)
    lines = log(lab.us)[before:]
    assert [x["event"] for x in lines] == ["start", "end", "call", "call"]
    assert {x["session"] for x in lines} == {"mcp uid 0"}
    assert lines[2]["tool"] == "run_program" and lines[3]["tool"] == "check_program"
    assert "mcp uid 0" in lab.us.run(sonde_binary(), "ledger").out
    assert "intact" in lab.us.run(sonde_binary(), "audit", "verify", "/var/lib/sonde/log").out
    assert not tables(lab.us)


def test_the_log_goes_on_where_it_was_rotated(lab, server):
    run_of(server, ONE)
    lab.us.run(sonde_binary(), "ledger", "rotate")
    server.call("check_program", source=ONE)
    assert [x["event"] for x in log(lab.us)][-1] == "call"
    assert "intact" in lab.us.run(sonde_binary(), "audit", "verify", "/var/lib/sonde/log").out


def test_runs_beyond_the_bound_are_refused_not_queued(lab):
    s = Stdio(lab.us, "--max-runs-caller", "2")
    ids = [s.send("tools/call", {"name": "run_program", "arguments": {"source": LONG}}) for _ in range(2)]
    wait_for(lambda: tables(lab.us) == 2, 30, why="two runs")
    got = s.call("run_program", source=ONE)
    assert got["isError"] and "as many runs" in json.dumps(got)
    for i in ids:
        s.notify("notifications/cancelled", {"requestId": i})
    wait_for(lambda: not tables(lab.us), 15, why="both end")
    run_of(s, ONE)
    s.stop()


def test_who_calls_again_at_once_finds_the_place_that_he_left(lab):
    s = Stdio(lab.us, "--max-runs-caller", "1")
    for _ in range(15):
        run_of(s, ONE)
    s.stop()


def test_a_cancelled_call_closes_the_gate_within_a_second(lab, server):
    ident = server.send("tools/call", {"name": "run_program", "arguments": {"source": LONG}})
    wait_for(lambda: tables(lab.us), 30, why="the run starts")
    server.notify("notifications/cancelled", {"requestId": ident})
    start = time.monotonic()
    wait_for(lambda: not tables(lab.us), 15, why="the table is gone")
    took = time.monotonic() - start
    # the bar is 1 s; a loaded machine gets more
    assert took < 4, took
    last = [x for x in log(lab.us) if x["event"] == "end"][-1]
    assert last["exit"] == 130 and last["packets"] < 60


@pytest.mark.parametrize("who", ["server", "front", "run", "all"])
def test_kill_9_in_mid_run_leaves_nothing(lab, who):
    s = Stdio(lab.us)
    s.send("tools/call", {"name": "run_program", "arguments": {"source": LONG}})
    wait_for(lambda: tables(lab.us), 30, why="the run starts")
    below = descendants(s.proc.pid)
    launcher = [p for p in [s.proc.pid, *below] if argv(p)[:2] and argv(p)[0].endswith("sonde") and argv(p)[1:2] == ["mcp"]]
    front = [p for p in below if argv(p)[0].endswith("sonde-mcp")]
    assert front and launcher
    target = {"server": [min(launcher)], "front": front, "run": [p for p in below if parent(p) == min(launcher) and p not in front],
              "all": below}[who]
    for p in target:
        try:
            os.kill(p, signal.SIGKILL)
        except ProcessLookupError:
            pass
    wait_for(lambda: not tables(lab.us), 15, why="the table is gone")
    if who in ("server", "front", "all"):
        all_gone(below)
    else:
        assert s.proc.poll() is None
        run_of(s, ONE)
    s.proc.kill()
    s.stop()


def test_kill_9_of_each_process_of_a_run_alone(lab, server):
    """Engine, gate, netd and what waits for them: whichever dies, the run ends with an answer or a word, and
    nothing of it stays."""
    seen, i, launcher = 1, 0, launcher_of(server)
    while i < seen:
        before = set(descendants(server.proc.pid))
        ident = server.send("tools/call", {"name": "run_program", "arguments": {"source": LONG}})
        wait_for(lambda: tables(lab.us), 30, why="the run starts")
        time.sleep(0.1)  # its last process is there
        root = next(p for p in descendants(launcher) if p not in before and parent(p) == launcher)
        its = sorted({root, *descendants(root)})
        seen = len(its)
        os.kill(its[i], signal.SIGKILL)
        wait_for(lambda: not tables(lab.us), 15, why=f"the table is gone when process {i} of {seen} is")
        all_gone(its)
        got = server.answer(ident)["result"]
        assert got.get("isError") or got["structuredContent"]["exit"] != 0, got
        i += 1
    assert seen >= 4
    run_of(server, ONE)
    assert "intact" in lab.us.run(sonde_binary(), "audit", "verify", "/var/lib/sonde/log").out


def argv(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().decode(errors="replace").split("\0")[:-1] or [""]
    except OSError:
        return [""]


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def launcher_of(server):
    return min(p for p in [server.proc.pid, *descendants(server.proc.pid)] if argv(p)[1:2] == ["mcp"])


def test_a_checker_that_dies_is_replaced(lab, server):
    server.call("check_program", source=ONE)
    launcher = launcher_of(server)
    for p in descendants(server.proc.pid):
        if parent(p) == launcher and argv(p)[1:2] == ["mcp"]:
            os.kill(p, signal.SIGKILL)
    got = server.call("check_program", source=ONE)
    assert "checker" in json.dumps(got) or not got.get("isError")
    got = server.call("check_program", source=ONE)
    assert not got.get("isError"), got


def test_the_end_of_standard_input_ends_all(lab):
    s = Stdio(lab.us)
    s.send("tools/call", {"name": "run_program", "arguments": {"source": LONG}})
    wait_for(lambda: tables(lab.us), 30, why="the run starts")
    below = descendants(s.proc.pid)
    s.proc.stdin.close()
    s.proc.wait(20)
    all_gone(below)
    assert not tables(lab.us) and s.proc.returncode == 0


def by_form(lab, answer, word="approve_by_form()\n"):
    """What became of a run that policy wants a person for, and the form that was shown."""
    lab.us.policy(POLICY + f'approve(reach="{PEER}")\n{word}')
    s = Stdio(lab.us, capabilities={"elicitation": {"form": {}}})
    try:
        ident = s.send("tools/call", {"name": "run_program", "arguments": {"source": ONE}})
        form = None
        if answer:
            form = s.asked("elicitation/create")
            s.reply(form, answer)
        return s.answer(ident)["result"], form
    finally:
        s.stop()
        lab.us.policy(POLICY)


def waiting(lab):
    return json.loads(lab.us.run(str(sonde_binary()), "approve", "--json").out)["requests"]


def test_a_form_approves_where_policy_says_so(lab):
    got, form = by_form(lab, {"action": "accept", "content": {"approve": True}})
    assert not got.get("isError"), got
    assert got["structuredContent"]["stats"]["gate"]["packets"] == 1
    assert PEER in form["params"]["message"] and "mcp uid 0" in form["params"]["message"]
    approved = [x for x in log(lab.us) if x["event"] == "approved"][-1]
    start = [x for x in log(lab.us) if x["event"] == "start"][-1]
    assert approved["by"] == "form" and approved["approval"] == start["approval"]
    assert approved["approval"] not in [r["hash"] for r in waiting(lab)], "it was asked and answered"


def test_a_form_takes_no_other_request_back(lab):
    """Requests of one user lie in eight places: the one that came into this one's meanwhile stays."""
    lab.us.policy(POLICY + f'approve(reach="{PEER}")\napprove_by_form()\n')
    s, others = Stdio(lab.us, capabilities={"elicitation": {"form": {}}}), Stdio(lab.us)
    ident = s.send("tools/call", {"name": "run_program", "arguments": {"source": ONE}})
    form = s.asked("elicitation/create")
    asked = re.search(r"[0-9a-f]{64}$", form["params"]["message"])[0]
    left = next(h for i in range(200)
                if int((h := others.call("run_program", source=ONE + "#" * i + "\n")["structuredContent"]["approval"]["hash"])[:2], 16) % 8
                == int(asked[:2], 16) % 8 and h != asked)
    s.reply(form, {"action": "accept", "content": {"approve": True}})
    assert not s.answer(ident)["result"].get("isError")
    assert left in [r["hash"] for r in waiting(lab)] and asked not in [r["hash"] for r in waiting(lab)]
    s.stop()
    others.stop()
    lab.us.policy(POLICY)


@pytest.mark.parametrize("answer", [{"action": "decline"}, {"action": "cancel"},
                                    {"action": "accept", "content": {"approve": False}}])
def test_a_form_that_is_not_accepted_approves_nothing(lab, answer):
    before = len(log(lab.us))
    got, _ = by_form(lab, answer)
    assert got["isError"] and "sonde approve" in json.dumps(got)
    assert got["structuredContent"]["approval"]["hash"] in [r["hash"] for r in waiting(lab)]
    assert not {"start", "approved"} & {x["event"] for x in log(lab.us)[before:]}


def test_without_the_word_nobody_is_asked_by_a_form(lab):
    got, _ = by_form(lab, None, word="")
    assert got["isError"] and "sonde approve" in json.dumps(got)


def test_checks_say_what_sonde_check_says(lab, server):
    for source in (ONE, "prin(1)\n", "x = \n", "print(now())"):
        path = "/etc/x.sonde"
        lab.us.write(path, source)
        said = json.loads(lab.us.run(sonde_binary(), "check", "--json", path, check=False).out)
        got = server.call("check_program", source=source)["structuredContent"]
        assert got["ok"] == (said["exit"] == 0)
        assert [d["code"] for d in got["diagnostics"]] == [d["code"] for d in said["diagnostics"]]


def test_a_front_that_asks_for_nonsense_is_ended():
    """The launcher reads fixed asks; anything else means that the front is not ours any more."""
    with Lab() as other:
        node = other.host("us")
        node.policy(POLICY)
        ledger_init(node)
        folder = other.path("bin")
        os.mkdir(folder)
        node.run("cp", sonde_binary().resolve(), sonde_binary().resolve().parent / "sonde-tls", folder)
        with open(f"{folder}/front.c", "w", encoding="utf-8") as f:
            f.write("#include <sys/socket.h>\n#include <unistd.h>\n"
                    "int main(void) { static char x[360] = \"nonsense\"; send(3, x, sizeof x, 0); sleep(60); return 0; }\n")
        node.run("cc", "-o", f"{folder}/sonde-mcp", f"{folder}/front.c")
        p = node.run(f"{folder}/sonde", "mcp", check=False, timeout=30)
        assert p.rc == 5 and "no ask" in p.err, p.err


def test_front_and_checker_have_no_right(lab, server):
    server.call("check_program", source=ONE)
    launcher = launcher_of(server)
    seen = 0
    for p in descendants(launcher):
        with open(f"/proc/{p}/status", encoding="utf-8") as f:
            status = dict(line.split(":", 1) for line in f.read().splitlines())
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
        assert status["NoNewPrivs"].strip() == "1"
        assert status["Uid"].split()[0] != "0"
        seen += 1
    assert seen >= 2 and alive(launcher)
