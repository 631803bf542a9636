# SPDX-License-Identifier: Apache-2.0
"""What somebody sees who sets `sonde mcp` up for the first time and leaves a step out: each refusal names the next step."""
import re
import subprocess

import pytest

from lab import Lab, sonde_binary
from lab.state import add_user

SONDE = str(sonde_binary())
INIT = ("policy", "init", "mcp", "--reach", "10.20.0.0/16")
pytestmark = pytest.mark.sonde


@pytest.fixture(scope="module")
def lab():
    with Lab("first steps") as made:
        made.us, peer = made.hosts("us", "peer")
        made.link(made.us, peer, "10.20.1.1/24", "10.20.1.2/24")
        yield made


def refused(us, *args, rc, said, user=False):
    who = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups") if user else ()
    p = us.run(*who, SONDE, *args, stdin="", check=False, timeout=30)
    assert p.rc == rc and re.search(said, p.err), (args, p.rc, p.err)
    assert "\\x" not in p.err


def test_before_there_is_anything(lab):
    path = re.escape(str(sonde_binary().resolve()))
    refused(lab.us, "mcp", rc=5, user=True, said=rf"by sudo, or once: sudo setcap \S+ {path}$")
    refused(lab.us, "mcp", rc=3, said=r"sonde policy init mcp --reach ")
    refused(lab.us, *INIT, rc=5, user=True, said="run this as root")
    refused(lab.us, "policy", "allow", "10.20.0.0/16", rc=5, user=True, said="run this as root")
    refused(lab.us, *INIT, rc=5, said="useradd --system .* sonde$")
    refused(lab.us, "mcp", "key", "add", "me", rc=5, user=True, said="run this as root")


def test_options_that_lead_nowhere(lab):
    refused(lab.us, "mcp", "--keys", "/etc/sonde/mcp.keys", rc=6, said="add --http ADDR:PORT")
    refused(lab.us, "mcp", "--write", rc=6, said="sonde mcp install")
    refused(lab.us, "mcp", "install", "--client", "emacs", rc=6, said="emacs.*claude, codex, vscode or cursor")
    refused(lab.us, "mcp", "key", rc=6, said="key add NAME.*key list.*key revoke")
    refused(lab.us, "mcp", "key", "add", "me", "--until", "2020-01-31", rc=6, said="this day is over")


def test_then_it_starts(lab):
    add_user(lab.us)
    assert lab.us.run(SONDE, *INIT).rc == 0
    lab.us.write("/etc/sonde/bad.sonde", 'reach("10.0.0.0/8",\n  tcp=[443], foo=1)\n')
    refused(lab.us, "mcp", "--policy", "/etc/sonde/bad.sonde", rc=3, said=r"/etc/sonde/bad.sonde:2:14: reach has no `foo=`: it takes tcp udp")
    refused(lab.us, "mcp", "key", "add", "me", rc=5, user=True, said="/etc/sonde/mcp.keys: .*run this as root")
    person = lab.us.argv("script", "-qec", f"{SONDE} mcp", "/dev/null")
    got = subprocess.run(person, input="hello\n", capture_output=True, text=True, timeout=30)
    assert got.returncode == 0 and "sonde mcp install --client" in got.stdout
    assert "ready" not in lab.us.run(SONDE, "mcp", stdin="").err, "a client hears nothing of it"


def test_forms_approve_where_the_operator_says_so(lab):
    for more, stands in ((), False), (("--forms",), True):
        assert lab.us.run(SONDE, *INIT, "--replace", *more).rc == 0
        assert ("\napprove_by_form()\n" in lab.us.read("/etc/sonde/policy.sonde")) == stands
        assert lab.us.run(SONDE, "policy", "check", "/etc/sonde/policy.sonde").rc == 0
    refused(lab.us, "policy", "init", "--reach", "10.20.0.0/16", "--forms", rc=6, said="init mcp --forms")


def test_networks_named_together_are_one_for_agents(lab):
    def written(*reach):
        lab.us.run(SONDE, "policy", "init", "mcp", *reach, "--replace")
        return re.findall(r"^(?:reach|may_follow)\(.*\)$", lab.us.read("/etc/sonde/policy.sonde"), re.M)
    a, b = '"10.20.0.0/16"', '"192.168.0.0/16"'
    apart = ["--reach", a.strip('"'), "--reach", b.strip('"')]
    assert written(*apart) == [f"reach({a})", f"may_follow({a}, {a})", f"reach({b})", f"may_follow({b}, {b})"]
    assert written("--reach", "10.20.0.0/16, 192.168.0.0/16") == [f"reach({a})", f"reach({b})"] + \
        [f"may_follow({x}, {y})" for x in (a, b) for y in (a, b)]
    assert written(*INIT[3:]) == [f"reach({a})", f"may_follow({a}, {a})"]


def test_a_second_server(lab):
    first = lab.us.start(SONDE, "mcp", "--http", "127.0.0.1:0")
    where = re.search(r"http://(\S+)/mcp", first.until("listening", 30, stream="err").err)[1]
    refused(lab.us, "mcp", "--http", where, rc=5, said="another server listens there")
    assert first.stop(30) == 0
