# SPDX-License-Identifier: Apache-2.0
"""output("measurements"): what a peer sent comes out nowhere. The peer says two markers of 16 bytes, drawn for each run, wherever
a protocol lets it: payloads, banners, DNS records, HTTP's status line, headers and body, a certificate, ICMP. All tools, and
programs that print it in every way, are driven over MCP and by command line; then all that was said is searched, in many
spellings."""
import base64
import json
import os
import re
import secrets
import string

import pytest

from lab import Lab
from lab.certs import Authority
from lab.procs import wait_for
from lab.state import ledger_init
from stdio import Stdio

pytestmark = pytest.mark.sonde
US, PEER = "10.9.0.1", "10.9.0.2"
OPEN = 'zone(all)\nreach("10.9.0.0/24", icmp=True, tcp=[9, 21, 80, 443], udp=[7, 9, 53])\nmay_follow("0.0.0.0/0", "0.0.0.0/0")\nmay_follow("::/0", "0.0.0.0/0")\n'
ALSO = 'output("measurements")\n'

# Says its markers: a letter-like one, which may stand in names, and one of any bytes.
TELLER = r"""
import socket, ssl, struct, sys, threading
mark, any16, cert, key = sys.argv[1].encode(), bytes.fromhex(sys.argv[2]), sys.argv[3], sys.argv[4]
both = mark + b" " + any16

def http(c):
    try:
        while b"\r\n\r\n" not in c.recv(4096):
            pass
        c.sendall(b"HTTP/1.1 299 " + mark + b"\r\nServer: " + mark + b"\r\nX-" + mark + b": " + mark + b"\r\nLocation: http://" + mark +
                  b"/\r\nContent-Length: %d\r\n\r\n" % len(both) + both)
        c.close()
    except OSError:
        pass

def serve(port, then, wrap=lambda c: c):
    s = socket.create_server(("0.0.0.0", port))
    def loop():
        while True:
            c = s.accept()[0]
            try:
                threading.Thread(target=then, args=(wrap(c),), daemon=True).start()
            except OSError:
                pass
    threading.Thread(target=loop, daemon=True).start()

def banner(c):
    c.sendall(both + b"\r\n")
    c.close()

def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("0.0.0.0", 7))
    while True:
        s.sendto(both, s.recvfrom(4096)[1])

def name(*labels):
    return b"".join(bytes([len(x)]) + x for x in labels) + b"\0"

def dns():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("0.0.0.0", 53))
    while True:
        q, who = s.recvfrom(4096)
        end = q.index(b"\0", 12) + 5
        kind, = struct.unpack("!H", q[end - 4:end - 2])
        data = {16: bytes([len(both)]) + both, 5: name(mark, b"corp"), 15: b"\0\1" + name(mark, b"corp")}.get(kind)
        rows = [(5, name(mark, b"corp"))] if data is None else [(kind, data)]
        out = q[:2] + b"\x81\x80" + struct.pack("!4H", 1, len(rows), 0, 0) + q[12:end]
        for kind, data in rows:
            out += b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 60, len(data)) + data
        s.sendto(out, who)

def checksum(b):
    n = sum(struct.unpack("!%dH" % (len(b) // 2), b[:len(b) // 2 * 2])) + (b[-1] << 8 if len(b) % 2 else 0)
    n = (n >> 16) + (n & 0xffff)
    return 0xffff ^ (n + (n >> 16)) & 0xffff

def icmp():
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    while True:
        p, who = s.recvfrom(65535)
        p = p[(p[0] & 15) * 4:]
        if p[0] == 8:
            out = b"\0\0\0\0" + p[4:8] + both + p[8 + len(both):]
            s.sendto(out[:2] + struct.pack("!H", checksum(out)) + out[4:], who)

tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(cert, key)
serve(80, http)
serve(21, banner)
serve(443, http, lambda c: tls.wrap_socket(c, server_side=True))
for f in (udp, dns, icmp):
    threading.Thread(target=f, daemon=True).start()
print("ready", flush=True)
threading.Event().wait(3600)
"""

UDP = f'r = sr1(IP(dst="{PEER}")/UDP(dport=7)/b"?")\nif r:\n    p = r.payload\n'
TCP = f'c = connect("{PEER}", 21)\nb = c.recv(timeout=1)\n'
DNS = f'd = resolve("a.acme.corp", type="TXT", server="{PEER}")\n'
PROGRAMS = [
    UDP + "    print(p)\n    print(p, full=True)\n    print(r)\n    print(r.summary())\n    print(r.show())\n",
    UDP + '    print(p.hex(), f"{p}", str(p), [p], {p: 1}, (p, p))\n    print(len(p), p[0], list(p), sum(p))\n    print(sep=str(p), end=str(p))\n',
    UDP + "    for c in p:\n        print(c, chr(c), end='')\n    print(bytes(reversed(list(p))))\n    table([(1, p)])\n    table([{'a': p}], 'a')\n",
    UDP + "    print(int(str(p)))\n",
    UDP + "    print({'a': 1}[str(p)])\n",
    TCP + "print(b)\nprint(c)\nprint(c.packets)\ntable(c.events)\nfor q in c.packets:\n    print(q.payload)\n    print(q.show())\nprint(c.error)\n",
    DNS + "print(d)\nprint(d.answers)\ntable(d.answers)\nfor a in d.answers:\n    print(a, a.rdata, a.name)\nprint(d.error)\n",
    f'd = resolve("a.acme.corp", server="{PEER}")\nprint(d)\ntable(d.answers, "name rdata")\nd = resolve("a.acme.corp", type="MX", server="{PEER}")\nprint(d)\n',
    f'h = http("http://{PEER}/")\nprint(h)\nprint(h.headers, h.reason, h.body)\nfor k in h.headers:\n    print(k, h.headers[k])\ntable([h])\n',
    f'h = http("http://{PEER}/", follow=1)\nprint(h)\nprint(h.error, h.redirects)\n',
    f't = tls("{PEER}", name="other.acme.corp")\nprint(t)\nprint(t.subject, t.san, t.issuer, t.chain, t.reason, t.error)\n',
    f'h = http("https://{PEER}/")\nprint(h)\nprint(h.error)\n',
    f'r = sr1(IP(dst="{PEER}")/ICMP()/b"{"." * 40}")\nif r:\n    print(r.payload, r)\nh = ping("{PEER}", count=1)\nprint(h)\n',
    f'ans, unans = sr(IP(dst="{PEER}")/UDP(dport=7, sport=range(61001, 61003))/b"?")\nprint(ans)\nfor s, r in ans:\n    print(s, r, r.payload)\n',
    f'send(IP(dst="{PEER}")/UDP(dport=7, sport=61000)/b"?")\nfor q in sniff(timeout=0.3):\n    print(q, q.payload)\n',
    UDP + "    for i in range(2000):\n        print(p, full=True)\n",  # more than an answer takes: pages
]
TOOLS = [("ping_host", {"target": PEER, "count": 1}), ("traceroute_host", {"target": PEER, "proto": "icmp", "max_hops": 2}),
         ("tcp_reachability", {"target": PEER, "port": 21}), ("tcp_reachability", {"target": PEER, "port": 9}),
         ("resolve_dns", {"name": "a.acme.corp", "type": "TXT", "server": PEER}), ("resolve_dns", {"name": "a.acme.corp", "server": PEER}),
         ("resolve_dns", {"name": "a.acme.corp", "type": "MX", "server": PEER}), ("tls_check", {"target": PEER}),
         ("tls_check", {"target": PEER, "port": 21}), ("tls_check", {"target": PEER, "server_name": "other.acme.corp"}),
         ("http_probe", {"url": f"http://{PEER}/"}), ("http_probe", {"url": f"https://{PEER}/"}), ("http_probe", {"url": f"http://{PEER}:21/"}),
         ("local_state", {}), ("local_state", {"what": "neighbors"})]
ASKED = [*TOOLS, *(("run_program", {"source": p}) for p in PROGRAMS)]


class Markers:
    def __init__(self):
        self.text = "".join(secrets.choice(string.ascii_lowercase) for _ in range(16))
        self.bytes = os.urandom(16)
        self.wanted = {k for s in self.spellings() if len(k := squeeze(s)) >= 6}

    def spellings(self):
        """Of each, and of its beginning: what to look for in texts without case, blanks and what separates."""
        for m in (self.text.encode(), self.bytes, self.text[:9].encode(), self.bytes[:6], self.bytes[-6:]):
            for b in (m, m[::-1]):
                yield b.decode("latin-1")
                yield b.hex()
                yield "".join(f"{x:02x}" if not 32 <= x < 127 else chr(x) for x in b)  # \xNN, once backslash and x are gone
                yield "".join(map(str, b))
                for at in range(3):  # in base64, whatever stands before
                    yield base64.b64encode(b"\0" * at + b).decode()[(0, 2, 3)[at]:][:len(b) * 8 // 6 - 1]

    def found(self, said):
        plain = {squeeze(s) for s in (said, said.replace("\\x", ""), said.replace("\\u00", ""))}
        return [s for s in self.wanted if any(s in p for p in plain)]


def squeeze(s):
    return re.sub(r"[\s\\\"'|,.:()\[\]+-]+", "", s).lower()


@pytest.fixture(scope="module")
def scene():
    with Lab() as lab:
        us, peer = lab.hosts("us", "peer")
        lab.link(us, peer, f"{US}/24", f"{PEER}/24")
        ledger_init(us)
        peer.run("sysctl", "-qw", "net.ipv4.icmp_echo_ignore_all=1")
        us.markers = Markers()
        ca = Authority(lab, name=us.markers.text)
        cert = ca.cert(us.markers.text, f"DNS:{us.markers.text}.corp,IP:{PEER}")
        ca.trusted_by(us)
        peer.start("/usr/bin/python3", "-I", "-c", TELLER, us.markers.text, us.markers.bytes.hex(), *cert).until("ready", 20)
        yield us


def drive(us):
    """All that a client is told: the answers to ASKED, then the rest."""
    s, said = Stdio(us, "--max-runs", "16", "--max-runs-caller", "16"), []  # a run is there a moment longer than its answer
    for at in range(0, len(ASKED), 4):
        idents = [s.send("tools/call", {"name": name, "arguments": args, "_meta": {"progressToken": f"{at} {name}"}})
                  for name, args in ASKED[at:at + 4]]
        said += [json.dumps(s.answer(ident)["result"]) for ident in idents]
    page = json.loads(said[-1])["structuredContent"].get("page")
    said += [json.dumps(s.call("result_page", page=page, offset=0))] if page else []
    said += [json.dumps(s.request("resources/read", {"uri": "sonde://policy"})), json.dumps(s.notes), s.err]
    s.stop()
    return said


SAYS = {"resolve_dns", "tls_check", "http_probe"}


def test_the_search_finds_it_where_it_is_shown(scene):
    """Without the word of policy: else the next tests say nothing. And of the peer's words none stands outside of its block."""
    scene.policy(OPEN)
    said = drive(scene)
    assert len(said) == len(ASKED) + 4 and scene.markers.found(said[-4]), "a page, too"
    for (name, args), answer in zip(ASKED, said):
        if (name in SAYS and "21" not in str(args)) or name == "run_program":
            assert scene.markers.found(answer), (name, args, answer)
        got = json.loads(answer)
        own = [x["text"] for x in got["content"] if not x["text"].startswith("data received from")]
        assert not scene.markers.found("\n".join(own)), (name, args, own)


def test_nothing_of_it_reaches_an_agent(scene):
    scene.policy(OPEN + ALSO)
    for answer in drive(scene):
        assert not scene.markers.found(answer), answer


@pytest.mark.parametrize("as_json", [False, True])
def test_nothing_of_it_reaches_a_terminal(scene, as_json):
    scene.policy(OPEN + ALSO)
    for program in PROGRAMS[as_json::2]:  # each costs a quarter of a second
        got = scene.sonde(program, json=as_json)
        assert not scene.markers.found(got.said), (program, got.said)
    assert not scene.markers.found(scene.read("/var/lib/sonde/log"))


@pytest.mark.parametrize("option", ["--write", "--record"])
def test_nothing_of_it_is_kept_in_a_file(scene, tmp_path, option):
    for policy, kept in ((OPEN, True), (OPEN + ALSO, False)):
        scene.policy(policy)
        file = tmp_path / str(kept)
        got = scene.sonde(PROGRAMS[0], args=[option, file])
        assert (scene.markers.bytes in file.read_bytes()) == kept and got.rc == (0 if kept else 3), got.said
