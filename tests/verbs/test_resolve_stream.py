# SPDX-License-Identifier: Apache-2.0
"""resolve over TCP against dnsmasq, over TLS against Python's, and over streams of a server that keeps no rule."""
import contextlib
import socket
import ssl
import struct
import threading
import time

import pytest
from scapy.layers.dns import DNS, DNSQR, DNSRR

from lab.certs import Authority

pytestmark = pytest.mark.sonde

US, SRV = "10.9.0.1", "10.9.0.2"


def wire(lab):
    us, srv = lab.hosts("us", "srv")
    lab.link(us, srv, US + "/24", SRV + "/24")
    return us, srv


def dnsmasq(srv, *more):
    srv.start("dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--user=root", "--pid-file=", "--local=/acme.corp/",
              "--host-record=www.acme.corp,10.20.3.4", *[f"--txt-record=big.acme.corp,{c * 200}" for c in "abcdefghij"], *more)
    srv.run("sh", "-c", "for i in $(seq 100); do ss -ltn | grep -q :53 && exit 0; sleep 0.1; done; exit 1")


def answer(query, addr="10.1.2.3", **more):
    q = DNS(query)
    return bytes(DNS(**{**dict(id=q.id, qr=1, aa=1, rd=1, ra=1, qd=q.qd,
                               an=DNSRR(rrname=q.qd.qname, type="A", ttl=60, rdata=addr)), **more}))


def framed(message):
    return struct.pack(">H", len(message)) + message


def query_of(conn):
    head = conn.recv(2, socket.MSG_WAITALL) if not isinstance(conn, ssl.SSLSocket) else conn.recv(1) + conn.recv(1)
    want, got = struct.unpack(">H", head)[0], b""
    while len(got) < want:
        got += conn.recv(want - len(got))
    return got


class Server:
    """Each connection gets each(conn) in a thread; .seen: how often."""

    def __init__(self, node, port, each, wrap=lambda c: c):
        self.seen = 0
        s = node.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((SRV, port))
        s.listen(16)

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    conn, _ = s.accept()
                    self.seen += 1
                    threading.Thread(target=one, args=(conn,), daemon=True).start()

        def one(conn):
            with contextlib.suppress(OSError), conn:
                conn.settimeout(5)
                each(wrap(conn))

        threading.Thread(target=serve, daemon=True).start()


def ask(us, more, name="www.acme.corp", rc=0):
    run = us.sonde(f'd = resolve("{name}", server="{SRV}", {more})\nprint(d)\nprint(" ".join([str(a.addr) for a in d.answers]))\n',
                   json=True).ok(rc)
    return {**run.result("Dns"), "addrs": run.lines[-1].split()}


def test_over_tcp(lab):
    us, srv = wire(lab)
    dnsmasq(srv)
    cap = srv.ifaces["eth0"].capture("port 53")
    d = ask(us, "tcp=True, count=3")
    assert (d["rcode"], d["sent"], d["received"], d["timeouts"], d["error"]) == ("NOERROR", 3, 3, 0, None)
    assert d["addrs"] == ["10.20.3.4"]
    assert len(d["rtts"]) == 3 and all(0 < t < 0.5 for t in d["rtts"]) and d["rcodes"] == {"NOERROR": 3}
    rows = cap.tshark("dns.id", "tcp.srcport", "dns.qry.name", flt="dns.flags.response == 0")
    assert len({r[0] for r in rows}) == 3 and len({r[1] for r in rows}) == 3 and not cap.tshark("udp.port", flt="udp")


def test_what_udp_cuts_tcp_brings(lab):
    us, srv = wire(lab)
    dnsmasq(srv)
    cut = ask(us, 'type="TXT", edns=512', name="big.acme.corp")
    whole = ask(us, 'type="TXT", tcp=True', name="big.acme.corp")
    assert cut["truncated"] and not whole["truncated"] and len(whole["answers"]) == 10
    assert ask(us, "tcp=True", name="nowhere.acme.corp")["rcode"] == "NXDOMAIN"


def tls_wrap(lab, ca, san="DNS:dns.acme.corp"):
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(*ca.cert("dns", san))
    return lambda conn: ctx.wrap_socket(conn, server_side=True)


def test_over_tls(lab):
    us, srv = wire(lab)
    server = Server(srv, 853, lambda c: c.sendall(framed(answer(query_of(c)))), tls_wrap(lab, Authority(lab)))
    cap = srv.ifaces["eth0"].capture("tcp")
    d = ask(us, "tls=True, count=2")
    assert (d["rcode"], d["sent"], d["received"], d["authoritative"]) == ("NOERROR", 2, 2, True)
    assert d["addrs"] == ["10.1.2.3"] and server.seen == 2
    assert not any(b"acme" in bytes(p) for p in cap.packets()), "the question is for the server alone"


def pieces(c):
    """A byte a segment."""
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for b in framed(answer(query_of(c))):
        c.sendall(bytes([b]))
        time.sleep(0.002)


@pytest.mark.parametrize("each,received,error", [
    (pieces, 1, None),
    (lambda c: c.sendall(framed(answer(query_of(c), id=1)) * 2), 0, None),          # another's answer
    (lambda c: c.sendall(framed(query_of(c))), 0, None),                            # the question itself
    (lambda c: (query_of(c), c.sendall(b"\xff\xff" + b"x" * 100)), 0, None),        # shorter than it says
    (lambda c: (query_of(c), c.sendall(b"\x00\x00")), 0, None),                     # nothing at all
    (lambda c: (query_of(c), c.sendall(b"\x00\x05hello")), 0, None),
    (lambda c: (query_of(c), time.sleep(3)), 0, None),                              # silence
    (lambda c: query_of(c), 0, None)])                                              # the end
def test_streams_that_keep_no_rule(lab, each, received, error):
    us, srv = wire(lab)
    Server(srv, 53, each)
    start = time.monotonic()
    d = ask(us, "tcp=True, timeout=1")
    assert (d["sent"], d["received"], d["error"]) == (1, received, error)
    assert (d["rcode"] is None) == (received == 0) and time.monotonic() - start < 8


def test_nobody_listens(lab):
    us, _ = wire(lab)
    d = ask(us, "tcp=True")
    assert (d["sent"], d["received"], d["rcode"]) == (0, 0, None) and "reset" in d["error"]
    d = ask(us, "tls=True")
    assert d["sent"] == 0 and "reset" in d["error"]


def test_zones_hold_for_questions_that_no_gate_reads(lab):
    us, srv = wire(lab)
    dnsmasq(srv)
    us.policy(f'zone("acme.corp")\nresolver("{SRV}")\n')
    assert ask(us, "tcp=True")["rcode"] == "NOERROR"
    cap = srv.ifaces["eth0"].capture("port 53")
    run = us.sonde(f'print(resolve("www.evil.org", server="{SRV}", tcp=True).rcode)\n')
    assert run.rc == 3 and "www.evil.org lies outside the zones" in run.said and not cap.packets()
