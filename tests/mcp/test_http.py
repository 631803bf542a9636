# SPDX-License-Identifier: Apache-2.0
"""HTTP from its worst side: whom the server hears, where a request ends, and what it costs to be slow, large or gone."""
import concurrent.futures
import json
import socket
import subprocess
import threading
import time

import pytest

from over_http import HEADERS, Server, events, parse, process_facts, read_all, request, until

MB = 1 << 20
LIST, LIST_HEADERS = request("tools/list")


@pytest.fixture(scope="module")
def server():
    with Server() as s:
        yield s
        s.ping_ok()


def head(server, *lines, verb="POST", path="/mcp", version="HTTP/1.1"):
    return "\r\n".join([f"{verb} {path} {version}", f"Host: localhost:{server.port}", *lines, "", ""]).encode()


TYPE = ["Content-Type: application/json", "Accept: application/json, text/event-stream"]
FULL = [*TYPE, *(f"{k}: {v}" for k, v in LIST_HEADERS.items()), f"Content-Length: {len(LIST)}"]


# ---- who is heard ----

@pytest.mark.parametrize("host", ["evil.example.com", "localhost.evil.example.com", "127.0.0.1.nip.io:80", "169.254.169.254", ""])
def test_a_page_that_rebinds_its_name_is_not_heard(server, host):
    got = server.ask(body=LIST, headers={"Host": host, **LIST_HEADERS})
    assert got.status in (400, 403) and "tools" not in got.body.decode(), got.raw


def test_a_host_is_said_once(server):
    assert server.ask(body=LIST, headers={"Host": None, **LIST_HEADERS}).status == 400
    assert parse(server.raw(head(server, f"Host: localhost:{server.port}", *FULL) + LIST)).status == 400


@pytest.mark.parametrize("origin", ["http://evil.example.com", "null", "http://localhost:1", "file://", "", "https://localhost.evil.example"])
def test_pages_of_other_sites_are_not_heard(server, origin):
    assert server.ask(body=LIST, headers={"Origin": origin, **LIST_HEADERS}).status == 403


def test_the_servers_own_origin_is_heard(server):
    assert server.ask(body=LIST, headers={"Origin": f"http://localhost:{server.port}", **LIST_HEADERS}).status == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None])
def test_a_form_is_no_request(server, kind):
    """What a page may post to anybody without being asked first."""
    assert server.ask(body=LIST, headers={"Content-Type": kind, **LIST_HEADERS}).status == 415


def test_an_origin_that_is_allowed_may_ask_and_read():
    with Server("--origin", "https://console.example.com", "--host", "sonde.example.com") as s:
        page = {"Origin": "https://console.example.com", "Host": "sonde.example.com:8443"}
        ask_first = s.ask("OPTIONS", headers={**page, "Access-Control-Request-Method": "POST"})
        assert ask_first.status == 204 and ask_first.headers["access-control-allow-origin"] == page["Origin"]
        got = s.ask(body=LIST, headers={**page, **LIST_HEADERS})
        assert got.status == 200 and got.headers["access-control-allow-origin"] == page["Origin"]
        other = s.ask("OPTIONS", headers={"Origin": "https://evil.example.com", "Access-Control-Request-Method": "POST"})
        assert other.status == 403 and "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize("host, ok", [("LOCALHOST:{}", True), ("[::1]:{}", True), ("127.0.0.1", True), ("localhost.", False), ("user@localhost", False),
                                      ("localhost:", False), ("localhost:x", False), ("[::1", False), ("[::1]x", False), ("[::ffff:127.0.0.1]", False),
                                      ("127.1", False), ("2130706433", False), ("0.0.0.0", False), ("localhost, evil.example.com", False),
                                      ("localhost evil.example.com", False), ("localhost/", False), ("localhost%00", False), ("localhost#", False)])
def test_a_name_is_one_of_the_servers_to_the_letter(server, host, ok):
    got = server.ask(body=LIST, headers={"Host": host.format(server.port), **LIST_HEADERS})
    assert got.status == (200 if ok else 403), got.raw


@pytest.mark.parametrize("lines", [["Origin: http://localhost:{0}", "Origin: http://localhost:{0}"], ["Origin: http://localhost:{0}", "Origin: null"],
                                   ["Origin: http://localhost:{0}, http://evil.example.com"], ["Origin: http://localhost:{0}/"],
                                   ["Origin: http://user@localhost:{0}"], ["Origin: http://127.0.0.1:{0}"], ["Sec-Fetch-Site: cross-site"]])
def test_an_origin_is_one_and_ours_to_the_letter(server, lines):
    raw = server.raw(head(server, *FULL, *(line.format(server.port) for line in lines)) + LIST)
    assert parse(raw).status in (400, 403) and b'"tools"' not in raw


@pytest.mark.parametrize("kind, ok", [("APPLICATION/JSON", True), ("application/json;charset=\"UTF-8\"", True), ("application/json; x=y", True),
                                      ("application/json; charset=utf-7", False), ("application/json; charset =utf-7", False),
                                      ("application/json; charset= utf-16", False), ("application/json; charset=utf-8; charset=utf-7", False),
                                      ("application/json, text/plain", False), ("text/plain; application/json", False), ("application/jsonx", False)])
def test_a_body_is_json_in_utf_8(server, kind, ok):
    assert server.ask(body=LIST, headers={"Content-Type": kind, **LIST_HEADERS}).status == (200 if ok else 415)


@pytest.mark.parametrize("path", ["//mcp", "/mcp/", "/%6dcp", "/mcp%00", "/mcp%00/x", "/mcp;x", "/mcp#x", "/./mcp", "/x/../mcp", "*", "mcp", "\\mcp",
                                  "/mcp%3fx", "/MCP", "http://localhost/mcp"])
def test_a_path_is_what_is_written(server, path):
    assert server.ask(path=path, body=LIST, headers=LIST_HEADERS).status in (400, 404)


@pytest.mark.parametrize("line", ["GET /mcp", "POST /mcp", "POST /mcp HTTP/1.1 ", "POST /mcp HTTP/1.10", "POST /mcp HTTP/2.0", "POST /mcp http/1.1",
                                  "POST  /mcp  HTTP/1.1", "POST\t/mcp\tHTTP/1.1", "post /mcp HTTP/1.1", "HEAD /mcp HTTP/1.1", "PATCH /mcp HTTP/1.1"])
def test_a_request_line_is_of_three_words(server, line):
    raw = server.raw("\r\n".join([line, f"Host: localhost:{server.port}", *FULL, "Connection: close", "", ""]).encode() + LIST)
    assert parse(raw).status in (0, 400, 405, 505) and b'"tools"' not in raw


@pytest.mark.parametrize("upgrade", ["h2c", "websocket", "TLS/1.2"])
def test_no_other_protocol_is_changed_to(server, upgrade):
    raw = server.raw(head(server, *FULL, f"Upgrade: {upgrade}", "HTTP2-Settings: AAMAAABkAAQAAP__", "Connection: Upgrade, close") + LIST)
    assert parse(raw).status in (200, 400) and b" 101 " not in raw


def test_nobody_is_told_to_go_on_with_what_is_refused(server):
    short = [l for l in FULL if not l.startswith("Content-Length")]
    for lines, status in ((["Content-Length: 67108864", "Expect: 100-continue"], 413), (["Content-Length: 18446744073709551615", "Expect: 100-continue"], 413),
                          ([f"Content-Length: {len(LIST)}", "Expect: 100-continue", "Expect: 100-continue"], 400),
                          ([f"Content-Length: {len(LIST)}", "Expect: 200-ok"], 417)):
        raw = server.raw(head(server, *short, *lines))
        assert parse(raw).status == status and b"100 Continue" not in raw, raw


def test_other_methods_and_paths(server):
    assert server.ask("PUT").status == 405
    assert server.ask("OPTIONS").status == 405
    assert server.ask(path="/", body=LIST).status == 404
    assert server.ask("GET", "/.well-known/oauth-protected-resource").status == 404
    assert server.ask("GET", headers={"Accept": "text/event-stream"}).status == 405  # no session
    assert server.ask("TRACE").status == 405
    assert server.ask("CONNECT", "evil.example.com:443").status in (400, 404)


def test_old_and_new_versions_of_http(server):
    assert parse(server.raw(head(server, *FULL, version="HTTP/1.0") + LIST)).status == 200
    assert parse(server.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")).status in (0, 400, 505)


# ---- where a request ends ----

INNER = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
CHUNK = f"{len(LIST):x}\r\n".encode() + LIST + b"\r\n0\r\n\r\n"


def smuggled(server):
    def post(*lines):
        return head(server, *[l for l in FULL if not l.startswith("Content-Length")], *lines)
    n = len(LIST)
    return {
        "two lengths": post(f"Content-Length: {n}", f"Content-Length: {n + len(INNER)}") + LIST + INNER,
        "two equal lengths": post(f"Content-Length: {n}", f"Content-Length: {n}") + LIST + INNER,
        "a list of lengths": post(f"Content-Length: {n}, {n}") + LIST + INNER,
        "length and chunks": post(f"Content-Length: {n + len(INNER)}", "Transfer-Encoding: chunked") + CHUNK + INNER,
        "chunks and length": post("Transfer-Encoding: chunked", "Content-Length: 4") + CHUNK + INNER,
        "chunks": post("Transfer-Encoding: chunked") + CHUNK + INNER,
        "chunks, twice": post("Transfer-Encoding: chunked", "Transfer-Encoding: identity") + CHUNK + INNER,
        "chunks by another name": post("Transfer-Encoding: xchunked") + CHUNK + INNER,
        "chunks behind a blank": post("Transfer-Encoding : chunked", f"Content-Length: {n}") + LIST + INNER,
        "chunks behind a tab": post("Transfer-Encoding:\tchunked", f"Content-Length: {n}") + LIST + INNER,
        "chunks in a folded line": post("X: y\r\n Transfer-Encoding: chunked", f"Content-Length: {n}", "X y: z") + LIST + INNER,
        "chunks behind a bare CR": post("X: y\rTransfer-Encoding: chunked", f"Content-Length: {n}") + LIST + INNER,
        "chunks behind a zero byte": post("X: y\0Transfer-Encoding: chunked", f"Content-Length: {n}") + LIST + INNER,
        "a length with a sign": post(f"Content-Length: +{n}") + LIST + INNER,
        "a length with a zero before it": post(f"Content-Length: 0{n}") + LIST + INNER,
        "a length beyond 64 bits": post(f"Content-Length: {2 ** 64 + n}") + LIST + INNER,
        "a negative length": post("Content-Length: -1") + LIST + INNER,
        "a length in hex": post("Content-Length: 0x10") + LIST + INNER,
        "a blank behind the name": post(f"Content-Length : {n}") + LIST + INNER,
        "no length": post() + LIST + INNER,
        "GET with a body": head(server, "Accept: text/event-stream", f"Content-Length: {len(INNER)}", verb="GET") + INNER,
        "a second request line": f"POST /mcp HTTP/1.1\r\nGET /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: {n}\r\n\r\n".encode() + LIST,
        "lines that end in LF": head(server, *FULL).replace(b"\r\n", b"\n") + LIST,
        "a folded Host": f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n :{server.port}\r\n".encode() + "\r\n".join([*FULL, "", ""]).encode() + LIST,
        "a folded length": post(f"Content-Length:\r\n {n}") + LIST + INNER,
        "an empty length": post("Content-Length:") + LIST + INNER,
        "a length behind a vertical tab": post(f"Content-Length: \x0b{n}") + LIST + INNER,
        "an empty coding": post(f"Content-Length: {n}", "Transfer-Encoding:") + LIST + INNER,
        "another coding": post(f"Content-Length: {n}", "Transfer-Encoding: gzip") + LIST + INNER,
        "chunks with extensions": post("Transfer-Encoding: chunked") + CHUNK.replace(b"\r\n", b";x=y\r\n", 1) + INNER,
        "chunks with trailers": post("Transfer-Encoding: chunked", "Trailer: Host") + CHUNK[:-2] + b"Host: localhost\r\n\r\n" + INNER,
        "a name with 8 bits": post(f"Content-Length: {n}", "X\u00e9: y") + LIST + INNER,
        "no colon": post(f"Content-Length: {n}", "Xy") + LIST + INNER,
        "an absolute URL": head(server, *FULL, path=f"http://evil.example.com:{server.port}/mcp") + LIST + INNER,
    }


@pytest.mark.parametrize("name", list(smuggled(type("S", (), {"port": 1}))))
def test_no_request_hides_in_another(server, name):
    """One answer, a refusal, and the connection's end: what stands behind it is never taken for a request."""
    raw = server.raw(smuggled(server)[name])
    assert b"HTTP/1.1 2" not in raw, raw
    assert parse(raw).status in (0, 400, 403, 404, 405, 411, 413), raw
    assert b'"tools"' not in raw


def test_two_requests_on_one_connection(server):
    one = head(server, *FULL) + LIST
    last = head(server, *FULL, "Connection: close") + LIST
    raw = server.raw(one + one + last)
    assert raw.count(b"HTTP/1.1 200") == 3, raw


# ---- large ----

def test_what_is_too_long_is_refused_before_it_is_sent(server):
    with server.connect() as s:
        s.sendall(head(server, *[l for l in FULL if not l.startswith("Content-Length")], f"Content-Length: {64 * MB}"))
        got = parse(read_all(s))
    assert got.status == 413 and got.headers["connection"] == "close"


@pytest.mark.parametrize("length", [f"Content-Length: {64 * MB}", "Transfer-Encoding: chunked", f"Content-Length: {MB}"])
def test_bodies_of_64_mb_take_no_room(server, length):
    before = process_facts(server.proc.pid)[2]
    block = b"x" * MB
    lines = [l for l in FULL if not l.startswith("Content-Length")]
    with server.connect() as s:
        try:
            s.sendall(head(server, *lines, length))
            for _ in range(64):
                s.sendall(block)
        except OSError:
            pass  # it hung up, as it should
        raw = read_all(s)
    # an answer may be lost where the client still sends: it is told 413 or 411, or nothing; a body of 1 MB of x is no JSON
    assert parse(raw).status in (0, 400, 411, 413), raw
    assert process_facts(server.proc.pid)[2] < before + 16 * 1024
    server.ping_ok()


def test_a_head_without_end(server):
    with server.connect() as s:
        try:
            s.sendall(f"POST /mcp HTTP/1.1\r\nHost: localhost:{server.port}\r\n".encode())
            for i in range(20000):
                s.sendall(b"X-%d: %s\r\n" % (i, b"y" * 100))
        except OSError:
            pass
        assert parse(read_all(s)).status in (0, 400, 413, 431)


@pytest.mark.parametrize("body", [b"[" * 100000, b'{"a":' * 100000, b"1" * 500000, b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
                                  b"\xff\xfe{}", b"", b"{}{}", b'"' + b"\\u0000" * 10000 + b'"',
                                  LIST + b"\0", b"\xef\xbb\xbf" + LIST, LIST.decode().encode("utf-16"), b"/**/" + LIST, b"[" + LIST + b"]",
                                  LIST.replace(b'"_meta"', b'"x":' + b"[" * 40 + b"]" * 40 + b',"_meta"'),
                                  LIST.replace(b'"_meta"', b'"x":{"y":{"z":1,"\\u007a":2}},"_meta"'),
                                  *(LIST.replace(b'"id": 1', b'"id": ' + x) for x in (
                                      b"1e999", b"123456789012345678901234567890", b"1.5", b"null", b"{}", b"NaN", b'"' + b"x" * 5000 + b'"', b'"\\ud800"',
                                      b'"\\udc00\\ud800"', b'"a\\u0000b"', b'"a\0b"', b'"\xc0\xaf"', b'"\xed\xa0\x80"', b'"\x01"'))])
def test_json_that_is_none_or_too_much_of_it(server, body):
    got = server.ask(body=body, headers=LIST_HEADERS)
    assert got.status == 400 and got.json["error"]["code"] in (-32700, -32600), got.raw


def test_more_headers_than_are_looked_at(server):
    assert server.ask(body=LIST, headers={**LIST_HEADERS, **{f"X-{i}": "y" for i in range(150)}}).status in (400, 413, 431)


# ---- slow ----

def drip(server, data, seconds=40):
    """Seconds until the server ends a connection on which a byte comes every 0.3 s."""
    start = time.monotonic()
    with server.connect() as s:
        s.settimeout(0.3)
        for i in range(len(data)):
            try:
                s.sendall(data[i:i + 1])
                if s.recv(4096) == b"":
                    return time.monotonic() - start
            except TimeoutError:
                pass
            except OSError:
                return time.monotonic() - start
            if time.monotonic() > start + seconds:
                return None
    return None


@pytest.fixture
def tls(tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", tmp_path / "key",
                    "-out", tmp_path / "crt", "-days", "2", "-subj", "/CN=localhost"], check=True, capture_output=True)
    with Server("--tls-cert", tmp_path / "crt", "--tls-key", tmp_path / "key") as s:
        yield s


def stalled_handshakes(server):
    """Nothing, the beginning of a record, the beginning of a hello."""
    many = [socket.create_connection((server.addr, server.port)) for _ in range(3)]
    many[1].sendall(b"\x16\x03\x01")
    many[2].sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    return many


def ended(s):
    with s:
        s.settimeout(1)
        return s.recv(100) == b""


def test_who_sends_a_byte_now_and_then_is_cut_off_and_keeps_nobody_waiting(server, tls):
    stalled = stalled_handshakes(tls)
    whole = head(server, *FULL, *(f"X-{i}: y" for i in range(50)))
    jobs = [whole, head(server, *FULL) + LIST]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        slow = [pool.submit(drip, server, jobs[0]) for _ in range(4)]
        slow += [pool.submit(lambda: drip_behind(server, head(server, *FULL), LIST + b" " * 300)) for _ in range(4)]
        worst = 0
        for _ in range(20):
            t = time.monotonic()
            server.ping_ok()
            worst = max(worst, time.monotonic() - t)
        took = [f.result() for f in slow]
        assert [ended(s) for s in stalled] == [True] * 3
    assert all(t and t < 38 for t in took), took
    assert worst < 5


def drip_behind(server, first, rest):
    start = time.monotonic()
    with server.connect() as s:
        s.sendall(first)
        s.settimeout(0.3)
        for i in range(len(rest)):
            try:
                s.sendall(b" ")
                if s.recv(4096) == b"":
                    return time.monotonic() - start
            except TimeoutError:
                pass
            except OSError:
                return time.monotonic() - start
            if time.monotonic() > start + 38:
                return None
    return None


def test_more_connections_than_there_is_room_for():
    with Server() as server:
        many = []
        for _ in range(600):
            try:
                many.append(server.connect(timeout=2))
            except OSError:
                break
        threads, files, _ = process_facts(server.proc.pid)
        assert threads < 600 and files < 700
        for s in many:
            s.close()
        until(lambda: process_facts(server.proc.pid)[0] < 10, what="the end of their threads")
        server.ping_ok()


# ---- answers and streams ----

def test_json_if_the_answer_comes_first_else_events(server):
    plain = server.call("tools/call", name="test_tool_with_progress", arguments={})
    assert plain.headers["content-type"] == "application/json" and "result" in plain.json
    told = server.call("tools/call", name="test_tool_with_progress", arguments={}, _meta={"progressToken": "p"})
    assert told.status == 200 and told.headers["content-type"] == "text/event-stream"
    assert told.headers["cache-control"] == "no-store" and told.headers["x-accel-buffering"] == "no"
    got = events(told.body)
    assert [m.get("method") for m in got] == ["notifications/progress"] * 3 + [None] and "result" in got[-1]


def test_events_come_when_they_are_told(server):
    with server.stream("tools/call", name="test_slow", arguments={"ms": 3000}, _meta={"progressToken": "p"}) as s:
        start, seen = time.monotonic(), b""
        while b"notifications/progress" not in seen:
            seen += s.recv(65536)
        assert time.monotonic() - start < 2
        rest = read_all_until(s, b"0\r\n\r\n")
        assert b'"done"' in seen + rest


def read_all_until(s, end):
    out = b""
    while not out.endswith(end):
        piece = s.recv(65536)
        assert piece, out[-200:]
        out += piece
    return out


def facts(server):
    """(threads, descriptors)"""
    return process_facts(server.proc.pid)[:2]


def quiet(server):
    """The same, when nobody is connected: two threads, and no descriptor but those that stay."""
    seen = []

    def still():
        seen.append(facts(server))
        return seen[-1][0] == 2 and len(seen) > 5 and len(set(seen[-5:])) == 1
    until(still, what="quiet")
    return seen[-1]


@pytest.mark.parametrize("params", [{}, {"_meta": {"progressToken": "p"}}], ids=["before a word", "in a stream"])
def test_who_hangs_up_cancels(params):
    """The handler of test_slow would wait for a minute: its thread ends soon after the client."""
    with Server() as server:
        server.ping_ok()
        before = quiet(server)
        cut = [server.stream("tools/call", name="test_slow", arguments={"ms": 60000}, **params) for _ in range(10)]
        until(lambda: facts(server)[0] >= before[0] + 20, what="ten requests under way")
        for s in cut:
            s.close()
        start = time.monotonic()
        until(lambda: facts(server) == before, what="their end")
        assert time.monotonic() - start < 5


def test_two_hundred_streams_of_which_a_hundred_are_cut():
    with Server() as server:
        server.ping_ok()
        before = quiet(server)
        streams = [server.stream("tools/call", name="test_slow", arguments={"ms": 6000}, _meta={"progressToken": "p"})
                   for _ in range(200)]
        until(lambda: facts(server)[0] >= before[0] + 400, what="two hundred requests under way")
        for s in streams[::2]:
            s.close()
        until(lambda: facts(server)[0] <= before[0] + 200, what="the end of the hundred")
        got = [read_all_until(s, b"0\r\n\r\n") for s in streams[1::2]]
        assert all(b'"done"' in g and b"cancelled" not in g for g in got)
        for s in streams[1::2]:
            s.close()
        until(lambda: facts(server) == before, what="quiet")
        server.ping_ok()


def test_who_does_not_read_holds_up_nobody():
    with Server() as server:
        server.ping_ok()
        before = quiet(server)
        deaf = []
        for _ in range(20):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            s.connect((server.addr, server.port))
            body, h = request("tools/call", name="test_slow", arguments={"ms": 60000}, _meta={"progressToken": "p" * 200})
            s.sendall(head(server, *TYPE, *(f"{k}: {v}" for k, v in h.items()), f"Content-Length: {len(body)}") + body)
            deaf.append(s)
        time.sleep(2)
        server.ping_ok()
        for s in deaf:
            s.close()
        until(lambda: facts(server) == before, what="their end")


def test_a_request_that_ends_in_its_middle_leaves_nothing(server):
    before = quiet(server)
    for part in (10, 100, -1, -len(LIST)):
        for _ in range(20):
            with server.connect() as s:
                s.sendall((head(server, *FULL) + LIST)[:part])
    until(lambda: facts(server) == before, what="quiet")


def test_sigterm_ends_streams_and_server():
    with Server() as server:
        s = server.stream("tools/call", name="test_slow", arguments={"ms": 60000}, _meta={"progressToken": "p"})
        assert b"notifications/progress" in s.recv(65536) + s.recv(65536)
        start = time.monotonic()
        server.proc.terminate()
        assert server.proc.wait(20) == 0 and time.monotonic() - start < 8
        s.close()


# ---- revisions with sessions ----

def initialize(server, **headers):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}).encode()
    got = server.ask(body=body, headers=headers)
    assert got.status == 200, got.raw
    return {"Mcp-Session-Id": got.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-11-25"}


def test_a_session_its_stream_and_its_end(server):
    session = initialize(server)
    with server.connect() as s:
        lines = [f"{k}: {v}" for k, v in session.items()]
        s.sendall(head(server, "Accept: text/event-stream", *lines, verb="GET"))
        first = s.recv(65536)  # at once, though there is nothing to tell
        assert b" 200 " in first and b"text/event-stream" in first
        second = server.ask("GET", headers={"Accept": "text/event-stream", **session})
        assert second.status == 409
        assert server.ask("DELETE", headers=session).status in (200, 204)
        read_all_until(s, b"0\r\n\r\n")
    assert server.ask("DELETE", headers=session).status == 404
    assert server.ask(body=b'{"jsonrpc":"2.0","id":2,"method":"ping"}', headers=session).status == 404


# ---- where it listens ----

@pytest.mark.parametrize("bind", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"])
def test_nobody_else_is_let_in_without_keys_and_tls(bind):
    s = Server(bind=bind, ok=False)
    assert s.proc.wait(20) == 5
    assert "keys" in s.said or "192.0.2.1" in s.said
    s.proc.stderr.close()


@pytest.mark.parametrize("bind", ["localhost", "example.com:80", "127.0.0.1:99999", ":80", "127.0.0.1:-1", "1:2:3:4"])
def test_addresses_that_are_none(bind):
    s = Server(bind=bind, ok=False)
    assert s.proc.wait(20) == 5 and "ADDR:PORT" in s.said
    s.proc.stderr.close()


def test_version_six():
    with Server(bind="[::1]:0") as s:
        s.ping_ok()


def test_many_clients_at_once(server):
    """Nothing of one answer is in another."""
    def one(i):
        body, h = request("tools/call", name="test_structured", arguments={"value": i, "n": i, "x": i})
        message = json.loads(body)
        message["id"] = i
        body = json.dumps(message).encode()
        got = server.ask(body=body, headers={**HEADERS, **h})
        assert got.json["id"] == i
        return got.status
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert set(pool.map(one, range(400))) <= {200, 400}
    assert threading.active_count() < 50
