# SPDX-License-Identifier: Apache-2.0
"""http against nginx (plain and TLS, chunked, redirects, large and slow bodies) and against servers that no server should be."""
import contextlib
import hashlib
import http.client
import re
import socket
import threading
import time

import pytest

from lab.certs import Authority

pytestmark = pytest.mark.sonde

US, SRV = "10.9.0.1", "10.9.0.2"

NGINX = """
daemon off; pid {dir}/nginx.pid; error_log {dir}/error.log info; user root;
events {{ worker_connections 64; }}
http {{
    access_log {dir}/access.log; server_tokens off;
    client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/f; uwsgi_temp_path {dir}/u;
    scgi_temp_path {dir}/s;
    server {{
        listen 80; listen 8080; {tls}
        server_name www.acme.corp; root {dir}/www;
        location /made/ {{ proxy_pass http://127.0.0.1:9000; proxy_buffering off; proxy_set_header Host $http_host; }}
        location /moved {{ return 301 /moved2?a=b; }}
        location /moved2 {{ return 302 http://$host:$server_port/there; }}
        location /there {{ return 200 "there $args"; }}
        location /away {{ return 302 http://10.77.0.1/away; }}
        location /up {{ if ($scheme = http) {{ return 301 https://$host$request_uri; }} return 200 "by $scheme"; }}
        location /loop {{ return 302 /loop; }}
        location /none {{ return 204; }}
        location /fields {{ add_header X-A one; add_header X-A two; add_header set-cookie a=b; return 200 "x"; }}
    }}
}}
"""


def backend(conn):
    """What stands behind nginx: HTTP/1.0 without a length, which nginx passes on in chunks."""
    head, _, body = conn.recv(65536).partition(b"\r\n\r\n")
    method, path, _ = head.split(b"\r\n")[0].split()
    said = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    conn.sendall(b"HTTP/1.0 200 OK\r\n\r\n" if path != b"/made/late" else b"")
    if path == b"/made/chunked":
        conn.sendall(b"chunk " * 3000 + b"end\n")
    elif path == b"/made/slow":
        conn.sendall(b"first")
        time.sleep(0.4)
        conn.sendall(b"second\n")
    elif path == b"/made/late":
        time.sleep(5)
    else:
        conn.sendall(b" ".join([method, said[b"host"], said.get(b"x-word", b"-"), body]))


class Nginx:
    def __init__(self, lab, tls=True):
        self.us, self.srv = lab.hosts("us", "srv")
        lab.link(self.us, self.srv, US + "/24", SRV + "/24")
        self.ca = Authority(lab)
        cert, key = self.ca.cert("www", f"DNS:www.acme.corp,IP:{SRV}")
        self.ca.trusted_by(self.us)
        d = self.dir = lab.path("nginx")
        self.large = b"".join(hashlib.sha256(b"%d" % i).digest() for i in range(40000))
        self.srv.run("mkdir", "-p", d + "/www")
        with open(d + "/www/large", "wb") as f:
            f.write(self.large)
        with open(d + "/www/hello.txt", "w", encoding="ascii") as f:
            f.write("hello, world\n")
        lines = f"listen 443 ssl; ssl_certificate {cert}; ssl_certificate_key {key};" if tls else ""
        with open(d + "/nginx.conf", "w", encoding="ascii") as f:
            f.write(NGINX.format(dir=d, tls=lines))
        self.backend = Liar.listen(lab, self.srv, ("127.0.0.1", 9000), backend)
        self.proc = self.srv.start("nginx", "-c", d + "/nginx.conf", "-p", d)
        self.srv.run("sh", "-c", "for i in $(seq 80); do ss -ltn | grep -q :80 && exit 0; sleep 0.1; done;"
                     f"cat {d}/error.log >&2; exit 1")


@pytest.fixture
def web(lab):
    return Nginx(lab)


def one(us, url, more="", rc=0):
    run = us.sonde(f'print(http("{url}"{more}))', json=True).ok(rc)
    return run.result("Http")


def test_planted(web):
    """The server says what these tests take for given, by Python's client."""
    with web.us.inside():
        c = http.client.HTTPConnection(SRV, timeout=5)
        c.request("GET", "/made/chunked")
        r = c.getresponse()
        assert r.getheader("Transfer-Encoding") == "chunked" and r.read() == b"chunk " * 3000 + b"end\n"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_plain_and_tls(web, scheme):
    r = one(web.us, f"{scheme}://{SRV}/hello.txt")
    assert (r["status"], r["reason"], r["error"]) == (200, "OK", None)
    assert r["body"] == r"b'hello, world\n'" and r["headers"]["Content-Length"] == "13"
    assert r["headers"]["Server"] == "nginx" and r["headers"]["Content-Type"] == "text/plain"
    t = r["timings"]
    assert 0 < t["connect"] < 0.5 and 0 < t["first_byte"] < 1 and t["dns"] is None
    assert (t["tls"] is not None) == (scheme == "https") == (r["tls"] is not None)
    assert t["connect"] + (t["tls"] or 0) + t["first_byte"] <= t["total"] * 1.001
    if r["tls"]:
        assert r["tls"]["trusted"] and r["tls"]["hostname_ok"] and r["tls"]["alpn"] == "http/1.1"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_chunked_and_large(web, scheme):
    run = web.us.sonde(f'budget(packets=5000, bytes=5MB)\nr = http("{scheme}://{SRV}/made/chunked")\n'
                       'print(r.status, r.error, r.body == b"chunk " * 3000 + b"end\\n", r.headers["Transfer-Encoding"])\n'
                       f'r = http("{scheme}://{SRV}/large", max=2000000)\nprint(r.status, r.error, len(r.body))\n'
                       'print([r.body[i:i + 4].hex() for i in range(0, len(r.body), 100000)])\nprint(sum(r.body))\n').ok()
    want = [web.large[i:i + 4].hex() for i in range(0, len(web.large), 100000)]
    assert run.lines == ['200 - True "chunked"', "200 - 1280000", str(want), str(sum(web.large))]


def test_the_request_is_as_asked(web):
    r = one(web.us, f"http://{SRV}/made/echo", ', method="POST", body=b"a=1", headers={"X-Word": "x y", "User-Agent": "me"}')
    assert r["body"] == f"b'POST {SRV} x y a=1'"
    assert one(web.us, f"http://{SRV}:8080/made/echo", ', name="www.acme.corp"')["body"] == "b'GET www.acme.corp:8080 - '"
    assert one(web.us, f"http://{SRV}/hello.txt", ', method="HEAD"')["body"] == "b''"
    assert one(web.us, f"http://{SRV}/none")["status"] == 204
    with open(web.dir + "/access.log", encoding="ascii") as f:
        log = f.read()
    assert '"POST /made/echo HTTP/1.1" 200' in log and '"me"' in log and '"sonde"' in log


def test_fields_of_one_name_are_joined(web):
    h = one(web.us, f"http://{SRV}/fields")["headers"]
    assert h["X-A"] == "one, two" and h["Set-Cookie"] == "a=b"


def test_slow_and_late(web):
    r = one(web.us, f"http://{SRV}/made/slow")
    assert r["body"] == r"b'firstsecond\n'" and 0.3 < r["timings"]["total"] - r["timings"]["first_byte"] < 3
    start = time.monotonic()
    r = one(web.us, f"http://{SRV}/made/late", ", timeout=0.5")
    assert r["status"] is None and r["error"] == "no answer came in time" and time.monotonic() - start < 10


def test_redirects(web):
    assert one(web.us, f"http://{SRV}/moved")["status"] == 301
    r = one(web.us, f"http://{SRV}/moved", ", follow=5")
    assert r["status"] == 200 and r["body"] == "b'there '"
    assert r["redirects"] == [f"http://{SRV}/moved2?a=b", f"http://{SRV}:80/there"]
    r = one(web.us, f"http://{SRV}/loop", ", follow=3")
    assert r["status"] == 302 and len(r["redirects"]) == 3
    # from plain to TLS, the same path on the same host
    r = one(web.us, f"http://{SRV}/up?x=1", ", follow=2")
    assert r["status"] == 200 and r["body"] == "b'by https'" and r["tls"]["trusted"]


def test_a_redirect_that_leads_away_is_told_and_not_followed(web):
    cap = web.srv.ifaces["eth0"].capture("host 10.77.0.1")
    web.us.route("10.77.0.0/16", SRV)
    r = one(web.us, f"http://{SRV}/away", ", follow=5")
    assert r["status"] == 302 and r["redirects"] == ["http://10.77.0.1/away"] and not cap.packets()


def test_https_insists_on_a_certificate_unless_told(web):
    r = one(web.us, f"https://{SRV}/hello.txt", ', name="db.acme.corp"')
    assert r["status"] is None and r["error"].startswith("the certificate is for another name") and r["tls"]["ok"]
    assert one(web.us, f"https://{SRV}/hello.txt", ', name="db.acme.corp", verify=False')["status"] == 200
    web.us.write("/etc/ssl/certs/ca-certificates.crt", "")
    r = one(web.us, f"https://{SRV}/hello.txt")
    assert r["status"] is None and "this host has no trusted roots" in r["error"]


def test_max(web):
    run = web.us.sonde(f'r = http("http://{SRV}/large", max=1000)\nprint(r.status, len(r.body), r.error)\n').ok()
    assert run.lines == ["200 1000 the body is longer than max"]


def test_nobody_there(lab):
    us, srv = lab.hosts("us", "srv")
    lab.link(us, srv, US + "/24", SRV + "/24")
    r = one(us, f"http://{SRV}/")
    assert r["status"] is None and "reset" in r["error"] and r["body"] == "b''" and r["headers"] == {}
    assert r["timings"]["total"] is None


# ---- what no server should say ----

OK = b"HTTP/1.1 200 OK\r\n"


class Liar:
    """Answers each connection on port 80 with the next of these; a function sends by itself."""

    def __init__(self, lab, *answers):
        self.us, self.srv = lab.hosts("us", "srv")
        lab.link(self.us, self.srv, US + "/24", SRV + "/24")
        self.answers = list(answers)
        self.socket = self.listen(lab, self.srv, (SRV, 80), self.answer)

    @staticmethod
    def listen(lab, node, at, each):
        s = node.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(at)
        s.listen(16)

        def serve():
            while True:
                try:
                    conn, _ = s.accept()
                except OSError:
                    return
                threading.Thread(target=one_conn, args=(conn,), daemon=True).start()

        def one_conn(conn):
            with contextlib.suppress(OSError), conn:
                conn.settimeout(8)
                each(conn)

        threading.Thread(target=serve, daemon=True).start()
        return s

    def answer(self, conn):
        conn.recv(65536)
        answer = self.answers.pop(0)
        answer(conn) if callable(answer) else conn.sendall(answer)


@pytest.mark.parametrize("answer,status,error", [
    (b"SSH-2.0-OpenSSH_9.2\r\n", None, "what came is no HTTP answer"),
    (OK + b"Content-Length: 100\r\n\r\nfew", 200, "the body is cut"),
    (OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 200,
     "the answer has Content-Length and chunks"),
    (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 200, "a chunk has no size"),
    (OK + b"A\x00B: c\r\n\r\n", 200, "a field has a name that none can have"),
    (b"", None, "the connection ended before an answer came")])
def test_lies(lab, answer, status, error):
    liar = Liar(lab, answer)
    r = one(liar.us, f"http://{SRV}/")
    assert (r["status"], r["error"]) == (status, error)


def forever(piece):
    def send(conn):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            conn.sendall(piece)
    return send


def drip(conn):
    """A byte now and then, as long as somebody listens."""
    conn.sendall(OK + b"Content-Length: 1000\r\n\r\n")
    for _ in range(100):
        conn.sendall(b"x")
        time.sleep(0.1)


@pytest.mark.parametrize("answer,error", [
    (forever(b"X: " + b"y" * 1000 + b"\r\n"), "what came is no HTTP answer"),
    (lambda c: (c.sendall(OK), forever(b"X: " + b"y" * 1000 + b"\r\n")(c)), "the head is longer than 64 KB"),
    (lambda c: (c.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n"), forever(b"1" * 1000)(c)), "a chunk's first line is too long"),
    (lambda c: (c.sendall(OK + b"\r\n"), forever(b"x" * 1000)(c)), "the body is longer than max"),
    (forever(b"HTTP/1.1 100 Continue\r\n\r\n"), "the server goes on with interim answers"),
    (drip, "the answer was not whole in time")])
def test_without_end(lab, answer, error):
    """Neither time nor memory is at the server's mercy."""
    liar = Liar(lab, answer)
    start = time.monotonic()
    r = one(liar.us, f"http://{SRV}/", ", timeout=2, max=200000")
    assert r["error"] == error and time.monotonic() - start < 8


def test_what_a_server_writes_stays_within_its_quotes(lab):
    liar = Liar(lab, b"HTTP/1.1 200 \xc3\xa9| ok\r\nX-\x41: \xff\x9b31m\r\nServer: a\tb\r\nContent-Length: 12\r\n\r\n\x1b[2J\n| sonde\n")
    run = liar.us.sonde(f'r = http("http://{SRV}/")\nprint(r.reason)\nprint(r.headers)\nprint(r.body)\nprint(r)\n').ok()
    assert "\x1b" not in run.out and not re.search(r"^\| sonde", run.out, re.M)


def test_urls_are_strict(lab):
    us = lab.host("us")
    for url in ["http://user:pw@10.9.0.2/", "ftp://10.9.0.2/", "http://10.9.0.2/a b", "http://0x7f.1/", "http://10.9.0.2:0/",
                "http://10.9.0.2\\\\@evil/"]:
        run = us.sonde(f'http("{url}")\n')
        assert run.rc == 2 and "E-VALUE" in run.said, url


def test_a_request_holds_nothing_else(lab):
    liar = Liar(lab, OK + b"\r\n")
    for more in ['headers={"Host": "x"}', 'headers={"content-length": "5"}', 'headers={"A": "b\\r\\nC: d"}',
                 'headers={"A B": "c"}', 'method="GET /"', 'method="CONNECT"', 'follow=21', 'name="a b"']:
        run = liar.us.sonde(f'http("http://{SRV}/", {more})\n')
        assert run.rc in (1, 2, 3), (more, run.said)
