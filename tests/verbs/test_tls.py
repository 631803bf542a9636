# SPDX-License-Identifier: Apache-2.0
"""tls and c.start_tls against openssl s_server: what is told of versions, ciphers, certificates; what the server saw."""
import os
import re
import signal

import pytest

from lab import sonde_binary
from lab.certs import Authority
from lab.state import Installed, add_user, ledger_init

pytestmark = pytest.mark.sonde

US, SRV = "10.9.0.1", "10.9.0.2"


class Server:
    """openssl s_server on srv; .said: what it printed."""

    def __init__(self, lab, cert, *more, port=443, mode=("-rev",)):
        self.us, self.srv = lab.hosts("us", "srv")
        lab.link(self.us, self.srv, US + "/24", SRV + "/24")
        self.start(cert, *more, port=port, mode=mode)

    def start(self, cert, *more, port=443, mode=("-rev",)):
        self.proc = self.srv.start("openssl", "s_server", "-accept", port, "-cert", cert[0], "-key", cert[1], *mode, *more)
        self.proc.until("ACCEPT")

    @property
    def said(self):
        return self.proc.out + self.proc.err


@pytest.fixture
def ca(lab):
    return Authority(lab)


def shown(us, program):
    run = us.sonde(program, json=True).ok()
    return run, run.result("Tls")


def test_a_good_one(lab, ca):
    s = Server(lab, ca.cert("www", "DNS:www.acme.corp,DNS:acme.corp,IP:10.9.0.2"), "-alpn", "http/1.1", "-msg")
    ca.trusted_by(s.us)
    run, t = shown(s.us, f'print(tls("{SRV}", name="www.acme.corp"))')
    assert t["ok"] and t["trusted"] and t["hostname_ok"] and t["error"] is None and t["reason"] is None
    assert (t["version"], t["cipher"], t["alpn"]) == ("TLSv1.3", "TLS_AES_256_GCM_SHA384", "http/1.1")
    assert (t["subject"], t["issuer"]) == ("O=Acme, CN=www", "CN=Lab Root")
    assert t["san"] == ["www.acme.corp", "acme.corp", "10.9.0.2"] and 9 <= t["days_left"] <= 10
    assert len(t["chain"]) == 1 and t["chain"][0]["key"] == "EC 256" and not t["ocsp"]
    spent = t["timings"]
    assert spent["dns"] is None and 0 < spent["connect"] < 0.5 and 0 < spent["tls"] < 2
    assert spent["connect"] + spent["tls"] <= spent["total"] * 1.01
    # by its address, which is in the certificate too
    assert shown(s.us, f'print(tls("{SRV}"))')[1]["hostname_ok"]
    # the server saw a client hello, and the end as it should be
    assert "ClientHello" in s.said
    assert run.json["manifest"]["tls"] and run.json["manifest"]["says"] == ["www.acme.corp"]


def test_what_is_sent_of_the_name(lab, ca):
    """SNI as asked; none for an address."""
    s = Server(lab, ca.cert("www", "DNS:www.acme.corp"))
    cap = s.srv.ifaces["eth0"].capture("tcp dst port 443")
    s.us.sonde(f'tls("{SRV}", name="www.acme.corp", alpn=["h2", "x-sonde"])\ntls("{SRV}")\n').ok()
    rows = cap.tshark("tls.handshake.extensions_server_name", "tls.handshake.extensions_alpn_str",
                      flt="tls.handshake.type == 1")
    assert [r[0] for r in rows] == ["www.acme.corp", ""]
    assert rows[0][1].split(",") == ["h2", "x-sonde"] and rows[1][1].split(",") == ["h2", "http/1.1"]


def verdicts(lab, ca, cert, trust=True, name="www.acme.corp"):
    s = Server(lab, cert)
    if trust:
        ca.trusted_by(s.us)
    return shown(s.us, f'print(tls("{SRV}", name="{name}"))')[1]


def test_expired(lab, ca):
    t = verdicts(lab, ca, ca.cert("old", "DNS:www.acme.corp", days=-1))
    assert t["ok"] and not t["trusted"] and t["hostname_ok"] and t["reason"] == "certificate has expired"
    assert t["days_left"] in (-1, -2)


def test_self_signed(lab, ca):
    t = verdicts(lab, ca, ca.cert("own", "DNS:www.acme.corp", signed=False))
    assert t["ok"] and not t["trusted"] and t["reason"] == "self-signed certificate"


def test_another_host(lab, ca):
    t = verdicts(lab, ca, ca.cert("www", "DNS:www.acme.corp"), name="db.acme.corp")
    assert t["ok"] and t["trusted"] and not t["hostname_ok"]


def test_of_a_root_that_nobody_knows(lab, ca):
    t = verdicts(lab, ca, ca.cert("www", "DNS:www.acme.corp"), trust=False)
    assert t["ok"] and not t["trusted"] and t["reason"] == "unable to get local issuer certificate"


@pytest.mark.parametrize("args,version,cipher", [
    (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"], "TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256"),
    (["-tls1", "-cipher", "DEFAULT:@SECLEVEL=0"], "TLSv1", "ECDHE-ECDSA-AES256-SHA"),
    (["-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"], "TLSv1.3", "TLS_CHACHA20_POLY1305_SHA256")])
def test_versions_and_ciphers(lab, ca, args, version, cipher):
    s = Server(lab, ca.cert("www", "DNS:www.acme.corp"), *args)
    t = shown(s.us, f'print(tls("{SRV}"))')[1]
    assert (t["ok"], t["version"], t["cipher"]) == (True, version, cipher)


def test_what_is_no_tls(lab, ca):
    """A port that is closed, one that says something else, one that says nothing."""
    s = Server(lab, ca.cert("www", "DNS:www.acme.corp"))
    s.srv.service("tcp-echo", "7")
    s.srv.service("tcp-accept", "9")
    run = s.us.sonde('for port in [81, 7, 9]:\n'
                     f'    t = tls("{SRV}", port, timeout=0.5)\n'
                     '    print(port, t.ok, t.version, t.error)\n').ok()
    said = [line.split(" ", 3) for line in run.lines]
    assert [(p, ok, v) for p, ok, v, _ in said] == [("81", "False", "-"), ("7", "False", "-"), ("9", "False", "-")]
    assert "reset" in said[0][3] and "unexpected message" in said[1][3] and said[2][3] == "the handshake did not end in time"


def test_data_both_ways_and_a_stream_that_turns(lab, ca):
    """start_tls in the middle of a connection, then lines there and back, more than a record at once."""
    s = Server(lab, ca.cert("www", "DNS:www.acme.corp"))
    run = s.us.sonde(f'c = connect("{SRV}", 443)\n'
                     't = c.start_tls("www.acme.corp")\n'
                     'print(t.ok, c.eof)\n'
                     'c.send(b"hello\\n")\n'
                     'print(c.recv(until=b"\\n"))\n'
                     'c.send(b"x" * 50000 + b"y\\n")\n'
                     'got = c.recv(max=100000, until=b"\\n", timeout=5)\n'
                     'print(len(got), got[:3], got[-3:])\n'
                     'print(c.start_tls().error)\n'
                     'c.close()\n'
                     'print(c.recv(timeout=1), c.state)\n').ok()
    # s_server -rev reads 16 KB a line
    assert run.lines[0] == "True False" and run.lines[1] == r'b"olleh\n"'
    assert re.match(r"\d+ ", run.lines[2])
    assert run.lines[3] == "TLS was started on this connection before"


def test_the_peer_closes_tls(lab, ca):
    s = Server(lab, ca.cert("www", "DNS:www.acme.corp"), mode=("-www", "-naccept", "1"))
    run = s.us.sonde(f'c = connect("{SRV}", 443)\nprint(c.start_tls().ok)\n'
                     'c.send(b"GET / HTTP/1.0\\r\\n\\r\\n")\n'
                     'n = 0\n'
                     'for i in range(50):\n'
                     '    b = c.recv(timeout=2)\n'
                     '    n += len(b)\n'
                     '    if c.eof:\n'
                     '        break\n'
                     'print(n > 500, c.eof)\n').ok()
    assert run.lines == ["True", "True True"]


def test_a_hostile_certificate_stays_within_its_quotes(lab, ca):
    """Escape sequences and a false line of output in the name that a server gives itself."""
    name = "\x1b[31mx\n| all is well: sonde"
    ca._key("bad")
    ca._ssl("req", "-x509", "-new", "-key", "bad.key", "-days", "3", "-utf8", "-subj", f"/CN={name}", "-out", "bad.pem")
    s = Server(lab, (ca.path("bad.pem"), ca.path("bad.key")))
    run = s.us.sonde(f't = tls("{SRV}")\nprint(t.subject)\nprint(t)\n').ok()
    assert "\x1b" not in run.out and not re.search(r"^\| all is well", run.out, re.M)
    assert run.lines[0].startswith('"') and "\\" in run.lines[0]


def test_names_obey_the_zones(lab, ca):
    s = Server(lab, ca.cert("www", "DNS:www.acme.corp"))
    s.us.policy('zone("acme.corp")\n')
    run = s.us.sonde(f'print(tls("{SRV}", name="www.evil.org").ok)\n')
    assert run.rc == 3 and "www.evil.org lies outside the zones" in run.said
    cap = s.srv.ifaces["eth0"].capture("tcp")
    run = s.us.sonde(f'n = "www." + b"evil.org".decode()\nprint(tls("{SRV}", name=n).ok)\n')
    assert run.rc in (2, 3) and not cap.packets()
    assert s.us.sonde(f'print(tls("{SRV}", name="www.acme.corp").ok)\n').ok().lines == ["True"]


def test_a_record_needs_no_tls_to_replay(lab, ca, tmp_path):
    s = Server(lab, ca.cert("www", "DNS:www.acme.corp"))
    ca.trusted_by(s.us)
    rec = str(tmp_path / "r.rec")
    program = f't = tls("{SRV}", name="www.acme.corp")\nprint(t)\nprint(t.timings.tls)\n'
    first = s.us.sonde(program, args=["--record", rec]).ok()
    again = s.us.run(sonde_binary(), "replay", rec)
    assert [l for l in again.out.splitlines() if l.startswith("|")] == ["| " + l for l in first.lines]


def test_nothing_of_it_without_tls(lab):
    """A run without TLS starts no such process; one with it leaves none behind."""
    us, srv = lab.hosts("us", "srv")
    lab.link(us, srv, US + "/24", SRV + "/24")
    srv.service("tcp-echo", "7")
    program = f'c = connect("{SRV}", 7)\nprint(c.state)\nc.reset()\n'
    for text, starts in ((program, 0), (program + f'tls("{SRV}", 8)\n', 1)):
        log = lab.path("calls")
        us.run("strace", "-f", "-qq", "-e", "trace=execveat", "-o", log, sonde_binary(), "run", "-e", text)
        with open(log, encoding="ascii") as f:
            assert sum("execveat" in line and "sonde-tls" in line for line in f) == starts


def test_an_ordinary_user_and_a_helper_that_is_missing(lab, ca):
    """Behind file capabilities and an own user as well; without the helper a run says so, and goes on."""
    s = Server(lab, ca.cert("www", "DNS:www.acme.corp"))
    ca.trusted_by(s.us)
    add_user(s.us)
    ledger_init(s.us).ok()
    s.us.policy(f'reach("{SRV}", tcp=[443])\nzone(all)\n')
    mine = Installed(lab)
    program = f't = tls("{SRV}", name="www.acme.corp")\nprint(t.ok, t.trusted, t.error)\n'
    assert mine.run(s.us, 1234, program).ok().lines == ["True True -"]
    os.unlink(os.path.join(mine.dir, "sonde-tls"))
    run = mine.run(s.us, 1234, program).ok()
    assert run.lines == ["False False the TLS process has ended"] and "sonde-tls does not lie beside sonde" in run.said


def test_its_process_dies_in_the_middle(lab, ca):
    s = Server(lab, ca.cert("www", "DNS:www.acme.corp"))
    proc = s.us.sonde(f'c = connect("{SRV}", 443)\nprint(c.start_tls().ok)\nc.send(b"a\\n")\nprint(c.recv(until=b"\\n"))\n'
                      'sleep(2)\nc.send(b"b\\n")\nprint(c.recv(timeout=1), c.state)\nping("10.9.0.2", count=1)\nprint("on")\n',
                      background=True)
    proc.until("True", 20)
    found = s.us.run("sh", "-c", f"pgrep -x sonde-tls | while read p; do [ \"$(readlink /proc/$(awk '/PPid/ {{print $2}}' /proc/$p/status)/ns/net)\""
                     " = \"$(readlink /proc/self/ns/net)\" ] && echo $p; done").out.split()
    assert len(found) == 1
    os.kill(int(found[0]), signal.SIGKILL)
    assert proc.wait(30) == 0
    assert [line[2:] for line in proc.out.splitlines() if line.startswith("| ")] == [
        "True", r'b"a\n"', "b'' established", "on"]
