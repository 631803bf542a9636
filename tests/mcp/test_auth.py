# SPDX-License-Identifier: Apache-2.0
"""Who may ask over HTTP: API keys, tokens, TLS.  Tokens are signed by openssl, which shares nothing with us but libcrypto."""
import base64
import json
import pathlib
import re
import ssl
import stat
import subprocess
import time
import types

import pytest

from lab.sonde import sonde_binary
from over_http import Server, request

LIST, LIST_HEADERS = request("tools/list")
ISSUER, AUDIENCE = "https://login.example.com", "https://sonde.example.com/mcp"


def openssl(*args, data=None):
    return subprocess.run(["openssl", *map(str, args)], input=data, capture_output=True, check=True).stdout


def key_command(*args, rc=0):
    r = subprocess.run([sonde_binary(), "mcp", "key", *map(str, args)], capture_output=True, text=True)
    assert r.returncode == rc, r.stderr
    return r.stdout.strip() if rc == 0 else r.stderr


def status(server, **headers):
    return server.ask(body=LIST, headers={**LIST_HEADERS, **{k.replace("_", "-"): v for k, v in headers.items()}}).status


# ---- keys ----

def test_a_key_from_its_making_to_its_end(tmp_path):
    keys = tmp_path / "keys"
    alice, bob = key_command("add", "alice", "--keys", keys), key_command("add", "bob", "--keys", keys)
    assert alice != bob and re.fullmatch(r"sonde_[\w-]{43}", alice)
    text = keys.read_text()
    assert alice not in text and alice[6:] not in text and "alice key=" in text
    assert stat.S_IMODE(keys.stat().st_mode) == 0o644
    with Server("--keys", keys) as s:
        got = s.ask(body=LIST, headers=LIST_HEADERS)
        assert got.status == 401 and got.headers["www-authenticate"].startswith("Bearer") and got.headers["connection"] == "close"
        assert status(s, x_api_key=alice) == status(s, Authorization=f"Bearer {alice}") == status(s, x_api_key=bob) == 200
        for bad in (alice[:-1], alice + "A", alice.lower(), "sonde_", "", "x" * 8000):
            assert status(s, x_api_key=bad) == 401
        assert status(s, Authorization=f"Basic {alice}") == 401
        assert status(s, Authorization=f"Bearer {alice}", x_api_key=alice) == 401
        again = key_command("add", "alice", "--keys", keys)
        assert status(s, x_api_key=again) == status(s, x_api_key=alice) == 200
        old = key_command("list", "--keys", keys).splitlines()[0].split()[1]
        key_command("revoke", old, "--keys", keys)
        assert status(s, x_api_key=alice) == 401 and status(s, x_api_key=again) == 200
        key_command("revoke", "alice", "--keys", keys)
        assert status(s, x_api_key=again) == 401 and status(s, x_api_key=bob) == 200
        key_command("revoke", "alice", "--keys", keys, rc=6)


def test_the_body_is_not_waited_for_before_the_key(tmp_path):
    keys = tmp_path / "keys"
    key_command("add", "alice", "--keys", keys)
    with Server("--keys", keys) as s, s.connect() as c:
        c.sendall(f"POST /mcp HTTP/1.1\r\nHost: localhost:{s.port}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n".encode())
        assert b" 401 " in c.recv(65536)


def test_a_key_has_a_last_day(tmp_path):
    keys = tmp_path / "keys"
    over, good = (key_command("add", f"k{day}", "--until", day, "--keys", keys) for day in ("2998-12-31", "2999-12-31"))
    keys.write_text(keys.read_text().replace("until=2998-", "until=2020-"))
    assert "over" in key_command("list", "--keys", keys)
    with Server("--keys", keys) as s:
        assert status(s, x_api_key=over) == 401 and status(s, x_api_key=good) == 200


@pytest.mark.parametrize("damage", ["word", "writable", "gone", "twice"])
def test_a_file_that_cannot_be_trusted_lets_nobody_in(tmp_path, damage):
    keys = tmp_path / "keys"
    alice = key_command("add", "alice", "--keys", keys)
    with Server("--keys", keys) as s:
        assert status(s, x_api_key=alice) == 200
        before = keys.read_text()
        if damage == "word":
            keys.write_text(before + "mallory role=admin\n")
        elif damage == "twice":
            keys.write_text(before + before)
        elif damage == "writable":
            keys.chmod(0o666)
        else:
            keys.unlink()
        assert status(s, x_api_key=alice) == 401
        if damage != "gone":
            key_command("add", "bob", "--keys", keys, rc=5)
            keys.unlink()
        keys.write_text(before)
        assert status(s, x_api_key=alice) == 200
        assert str(keys) in s.proc.stderr.readline()


def test_no_start_on_such_a_file(tmp_path):
    keys = tmp_path / "keys"
    for text in (None, "alice\n"):
        if text:
            keys.write_text(text)
        s = Server("--keys", keys, ok=False)
        assert s.proc.wait(20) == 5 and str(keys) in s.said
        s.proc.stderr.close()


@pytest.mark.parametrize("args", [("add", "x y"), ("add", "a" * 48), ("add", "-x"), ("add", "ä"), ("add", "../x"), ("add", "a/b"), ("add", ""), ("add", "a\nmallory"), ("add", "a=b"), ("add", "a#"),
                                  ("add", "a", "--subject", "x\nmallory key=" + "0" * 64), ("add", "a", "--subject", "x policy=/dev/null"), ("add", "a", "--subject", ""),
                                  ("add", "a", "--until", "2026-12-01 policy=/x"), ("revoke", "../x"), ("add", "a", "--until", "2026-13-01"),
                                  ("add", "a", "--policy", "/nonexistent"), ("add",), ("list", "x"), (), ("frobnicate", "x")])
def test_keys_that_are_not_made(tmp_path, args):
    keys = tmp_path / "keys"
    r = subprocess.run([sonde_binary(), "mcp", "key", *args, "--keys", keys], capture_output=True, text=True)
    assert r.returncode in (5, 6) and r.stderr and not keys.exists()


def test_a_policys_path_is_one_word(tmp_path):
    keys = tmp_path / "keys"
    for name in ("a b", "a\nmallory key=" + "0" * 64):
        policy = tmp_path / name
        policy.write_text("budget(packets=10)\n")
        key_command("add", "alice", "--policy", policy, "--keys", keys, rc=6)
    assert not keys.exists()


def test_a_callers_policy_is_one(tmp_path):
    keys, one, two = (tmp_path / n for n in ("keys", "one.sonde", "two.sonde"))
    for p in (one, two):
        p.write_text("budget(packets=10)\n")
    key_command("add", "alice", "--policy", one, "--keys", keys)
    key_command("add", "alice", "--keys", keys)
    assert keys.read_text().count(f"policy={one}") == 2
    assert "another policy" in key_command("add", "alice", "--policy", two, "--keys", keys, rc=6)


def test_sessions_belong_to_their_caller(tmp_path):
    keys = tmp_path / "keys"
    alice, bob = key_command("add", "alice", "--keys", keys), key_command("add", "bob", "--keys", keys)
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}).encode()
    with Server("--keys", keys) as s:
        session = s.ask(body=hello, headers={"x-api-key": alice}).headers["mcp-session-id"]
        ping = b'{"jsonrpc":"2.0","id":2,"method":"ping"}'
        his = {"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-06-18"}
        assert s.ask(body=ping, headers={"x-api-key": alice, **his}).status == 200
        assert s.ask(body=ping, headers={"x-api-key": bob, **his}).status == 404
        assert s.ask("DELETE", headers={"x-api-key": bob, **his}).status == 404
        assert s.ask("GET", headers={"x-api-key": bob, "Accept": "text/event-stream", **his}).status == 404


# ---- tokens ----

def b64(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b"=").decode()


class Signer:
    """A key of an authorization server, and tokens that it signs."""

    def __init__(self, folder, alg, kid):
        self.alg, self.kid, self.pem = alg, kid, folder / f"{kid}.pem"
        bits = alg[2:]
        if alg[0] == "E":
            self.curve = {"256": "P-256", "384": "P-384", "512": "P-521"}[bits]
            openssl("genpkey", "-algorithm", "EC", "-pkeyopt", f"ec_paramgen_curve:{self.curve}", "-out", self.pem)
        else:
            openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.pem)
        self.size = {"256": 32, "384": 48, "512": 66}[bits]
        self.digest = f"-sha{bits}"

    def jwk(self, **more):
        text = openssl("pkey", "-in", self.pem, "-noout", "-text_pub").decode()
        number = bytes.fromhex(re.sub(r"[\s:]", "", re.search(r"(?:pub|Modulus):\n((?: {4}.*\n)+)", text)[1]))
        if self.alg[0] == "E":
            x, y = number[1:1 + self.size], number[1 + self.size:]
            return {"kty": "EC", "crv": self.curve, "x": b64(x), "y": b64(y), "kid": self.kid, **more}
        return {"kty": "RSA", "n": b64(number.lstrip(b"\0")), "e": "AQAB", "kid": self.kid, **more}

    def sign(self, data):
        pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"] if self.alg[0] == "P" else []
        raw = openssl("dgst", self.digest, "-sign", self.pem, *pss, data=data)
        if self.alg[0] != "E":
            return raw
        text = openssl("asn1parse", "-inform", "DER", data=raw).decode()
        return b"".join(bytes.fromhex(n).rjust(self.size, b"\0") for n in re.findall(r"INTEGER\s*:([0-9A-F]+)", text))

    def token(self, head=None, **claims):
        head = {"alg": self.alg, "kid": self.kid, "typ": "at+jwt", **(head or {})}
        body = {"iss": ISSUER, "aud": AUDIENCE, "sub": "user|1", "exp": int(time.time()) + 300, "scope": "sonde:mcp", **claims}
        data = ".".join(b64({k: v for k, v in o.items() if v is not None}) for o in (head, body))
        return f"{data}.{b64(self.sign(data.encode()))}"


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    folder, i = tmp_path_factory.mktemp("issuer"), types.SimpleNamespace()
    i.jwks, i.keys = folder / "jwks", folder / "keys"
    for alg, kid in (("ES256", "es"), ("ES256", "es2"), ("RS256", "rs"), ("PS384", "ps"), ("ES512", "es5"), ("ES256", "stranger")):
        setattr(i, kid, Signer(folder, alg, kid))
    known = [i.es.jwk(use="sig"), i.es2.jwk(), i.rs.jwk(alg="RS256"), i.ps.jwk(), i.es5.jwk()]
    i.jwks.write_text(json.dumps({"keys": known + [{"kty": "oct", "k": b64(b"secret" * 8), "kid": "oct"}, {"kty": "OKP"}]}))
    key_command("add", "carol", "--subject", "user|1", "--keys", i.keys)
    i.args = ["--keys", i.keys, "--jwks", i.jwks, "--issuer", ISSUER, "--resource", AUDIENCE]
    with Server(*i.args) as s:
        i.server = s
        yield i


def bearer(i, token):
    return status(i.server, Authorization=f"Bearer {token}")


def test_tokens_of_each_algorithm(issuer):
    for signer in (issuer.es, issuer.es2, issuer.rs, issuer.ps, issuer.es5):
        assert bearer(issuer, signer.token()) == 200, signer.alg
    assert bearer(issuer, issuer.es.token(aud=["https://other", AUDIENCE])) == 200
    assert bearer(issuer, issuer.es.token(head={"kid": None, "typ": None})) == 200
    assert bearer(issuer, issuer.es.token(head={"typ": "JWT"}, nbf=int(time.time()) - 10)) == 200


def test_tokens_that_are_not_for_here_or_now(issuer):
    now = int(time.time())
    bad = [{"iss": "https://evil.example.com"}, {"iss": None}, {"iss": ISSUER + "/"}, {"aud": "https://other.example.com/mcp"}, {"aud": None},
           {"aud": [AUDIENCE + "x"]}, {"aud": {}}, {"exp": now - 60}, {"exp": None}, {"exp": "never"}, {"nbf": now + 600},
           {"nbf": "x"}, {"sub": None}, {"sub": ""}, {"sub": "user|2"}, {"sub": 1}, {"sub": "x" * 300}]
    for claims in bad:
        assert bearer(issuer, issuer.es.token(**claims)) == 401, claims


def test_tokens_that_nobody_we_know_has_signed(issuer):
    good = issuer.es.token()
    head, body, sig = good.split(".")
    assert bearer(issuer, good) == 200
    forged = {
        "none": f"{b64({'alg': 'none'})}.{body}.",
        "none, with a signature": f"{b64({'alg': 'none'})}.{body}.{sig}",
        "None": f"{b64({'alg': 'None', 'kid': 'es'})}.{body}.{sig}",
        "another's key": issuer.stranger.token(head={"kid": "es"}),
        "another's key, without a name": issuer.stranger.token(head={"kid": None}),
        "its own key": issuer.stranger.token(head={"jwk": issuer.stranger.jwk()}),
        "its own place of keys": issuer.stranger.token(head={"jku": "https://evil.example.com/jwks"}),
        "a certificate's place": issuer.stranger.token(head={"x5u": "https://evil.example.com/c", "kid": None}),
        "its own certificate": issuer.stranger.token(head={"x5c": ["MIIB"], "kid": None}),
        "a file as key": f"{b64({'alg': 'HS256', 'kid': '../../../../dev/null'})}.{body}.{b64(bytes(32))}",
        "a file as key's name": issuer.es.token(head={"kid": "../../../../etc/passwd"}),
        "a name with an end": issuer.stranger.token(head={"kid": "es\0"}),
        "names of keys": issuer.es.token(head={"kid": ["es"]}),
        "an empty name": issuer.es.token(head={"kid": ""}),
        "a long name": issuer.es.token(head={"kid": "e" * 3000}),
        "lower case": issuer.es.token(head={"alg": "es256"}),
        "a list of algorithms": issuer.es.token(head={"alg": ["ES256"]}),
        "encrypted": f"{head}.{sig}.{sig}.{body}.{sig}",
        "a token in it": f"{head}.{b64(good.encode())}.{b64(issuer.es.sign(f'{head}.{b64(good.encode())}'.encode()))}",
        "a short signature": f"{head}.{body}.{sig[:-2]}",
        "a long signature": f"{head}.{body}.{sig}AAAA",
        "a signature of one byte": f"{head}.{body}.AA",
        "half of a signature": f"{head}.{body}.{sig[:43]}",
        "RSA's, cut": issuer.rs.token()[:-4],
        "RSA's, longer": issuer.rs.token() + "AAAA",
        "unknown key": issuer.es.token(head={"kid": "nobody"}),
        "the other key's name": issuer.es.token(head={"kid": "es2"}),
        "an extension we don't know": issuer.es.token(head={"crit": ["b64"], "b64": False}),
        "for something else": issuer.es.token(head={"typ": "dpop+jwt"}),
        "changed body": f"{head}.{b64({'iss': ISSUER, 'aud': AUDIENCE, 'sub': 'user|1', 'exp': 99999999999})}.{sig}",
        "no signature": f"{head}.{body}.",
        "two parts": f"{head}.{body}",
        "four parts": f"{good}.{sig}",
        "padding": f"{head}.{body}.{sig}==",
        "padding inside": f"{head}.{body}.{sig[:40]}={sig[41:]}",
        "a blank": f"{head}.{body} .{sig}",
        "long": f"{head}.{body}.{'A' * 9000}",
        "zeros": f"{head}.{body}.{b64(bytes(64))}",
    }
    # public keys are no secrets for HMAC: not the JWK, not its PEM
    import hashlib
    import hmac
    data = f"{b64({'alg': 'HS256', 'kid': 'rs'})}.{body}"
    pem = openssl("pkey", "-in", issuer.rs.pem, "-pubout")
    for name, secret in (("HMAC by PEM", pem), ("HMAC by JWK", json.dumps(issuer.rs.jwk(alg="RS256")).encode())):
        forged[name] = f"{data}.{b64(hmac.new(secret, data.encode(), hashlib.sha256).digest())}"
    data = f"{b64({'alg': 'HS256', 'kid': 'oct'})}.{body}"
    forged["HMAC by a listed secret"] = f"{data}.{b64(hmac.new(b'secret' * 8, data.encode(), hashlib.sha256).digest())}"
    # an algorithm that is not the key's
    forged["RS512 by a key for RS256"] = issuer.rs.token(head={"alg": "RS512"})
    issuer.rs.digest = "-sha512"
    forged["RS512, well signed, by a key for RS256"] = issuer.rs.token(head={"alg": "RS512"})
    issuer.rs.digest = "-sha256"
    for name, token in forged.items():
        assert bearer(issuer, token) == 401, name
    assert bearer(issuer, good) == 200


def test_a_name_twice_in_a_token(issuer):
    body = '{"iss":"%s","aud":"%s","sub":"mallory","sub":"user|1","exp":99999999999}' % (ISSUER, AUDIENCE)
    data = f"{b64({'alg': 'ES256', 'kid': 'es'})}.{b64(body.encode())}"
    assert bearer(issuer, f"{data}.{b64(issuer.es.sign(data.encode()))}") == 401


IN_SCOPE = [{"scope": "openid sonde:mcp email"}, {"scope": "  sonde:mcp"}, {"scope": None, "scp": "sonde:mcp"},
            {"scope": None, "scp": ["openid", "sonde:mcp"]}]
OUT_OF_SCOPE = [{"scope": None}, {"scope": ""}, {"scope": "sonde:mc"}, {"scope": "sonde:mcp2"}, {"scope": "SONDE:MCP"}, {"scope": "sonde:mcp,x"},
                {"scope": "x-sonde:mcp"}, {"scope": 1}, {"scope": {"sonde:mcp": True}}, {"scope": "openid", "scp": "sonde:mcp"},
                {"scope": None, "scp": ["openid sonde:mcp"]}, {"scope": None, "scp": [1, None]}]


def challenge(got):
    """The parameters of WWW-Authenticate (RFC 9110, 11.6.1)."""
    kind, _, rest = got.headers["www-authenticate"].partition(" ")
    assert kind == "Bearer"
    return dict(re.findall(r'([a-z_]+)="([^"]*)"(?:, |$)', rest))


def ask(server, token):
    return server.ask(body=LIST, headers={**LIST_HEADERS, **({"Authorization": f"Bearer {token}"} if token else {})})


def test_a_token_has_the_scope(issuer):
    for claims in IN_SCOPE:
        assert bearer(issuer, issuer.es.token(**claims)) == 200, claims
    for claims in OUT_OF_SCOPE:
        got = ask(issuer.server, issuer.es.token(**claims))
        assert got.status == 403 and got.headers["connection"] == "close", claims
        said = challenge(got)
        assert said["error"] == "insufficient_scope" and said["scope"] == "sonde:mcp" and said["resource_metadata"].startswith("https://sonde")
    # a scope opens nothing for who is not let in anyway, and nobody is sent for one in vain
    for claims in ({"sub": "user|2"}, {"aud": "https://other"}, {"exp": int(time.time()) - 60}):
        got = ask(issuer.server, issuer.es.token(scope="openid", **claims))
        assert got.status == 401 and challenge(got)["error"] == "invalid_token", claims
    assert ask(issuer.server, issuer.stranger.token(head={"kid": "es"}, scope="openid")).status == 401


def test_scopes_of_the_operators_own(issuer):
    with Server(*issuer.args, "--scope", "net:read net:probe") as s:
        assert ask(s, issuer.es.token(scope="net:probe x net:read")).status == 200
        for scope in ("net:read", "net:probe", "sonde:mcp", "net:read,net:probe"):
            got = ask(s, issuer.es.token(scope=scope))
            assert got.status == 403 and challenge(got)["scope"] == "net:read net:probe", "all that are needed, in one challenge"
        assert s.ask("GET", "/.well-known/oauth-protected-resource/mcp").json["scopes_supported"] == ["net:read", "net:probe"]
    with Server(*issuer.args, "--scope", "") as s:
        assert ask(s, issuer.es.token(scope=None)).status == 200
        assert "scopes_supported" not in s.ask("GET", "/.well-known/oauth-protected-resource/mcp").json
        assert "scope" not in challenge(ask(s, None))


def test_clients_find_the_authorization_server(issuer):
    got = issuer.server.ask(body=LIST, headers=LIST_HEADERS)
    assert got.status == 401
    url = re.search(r'resource_metadata="([^"]+)"', got.headers["www-authenticate"])[1]
    assert url == "https://sonde.example.com/.well-known/oauth-protected-resource/mcp"
    for path in ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"):
        about = issuer.server.ask("GET", path)
        assert about.status == 200 and about.headers["content-type"] == "application/json"
        assert about.json["resource"] == AUDIENCE and about.json["authorization_servers"] == [ISSUER]
        assert about.json["bearer_methods_supported"] == ["header"] and about.json["scopes_supported"] == ["sonde:mcp"]
    assert challenge(got)["scope"] == "sonde:mcp" and "error" not in challenge(got)
    bad = issuer.server.ask(body=LIST, headers={**LIST_HEADERS, "Authorization": "Bearer x"})
    assert 'error="invalid_token"' in bad.headers["www-authenticate"]
    assert issuer.server.ask(path=f"/mcp?access_token={issuer.es.token()}", body=LIST, headers=LIST_HEADERS).status in (400, 401)


def test_keys_of_the_issuer_change(issuer, tmp_path):
    jwks = tmp_path / "jwks"
    jwks.write_text(json.dumps({"keys": [issuer.es.jwk()]}))
    with Server("--keys", issuer.keys, "--jwks", jwks, "--issuer", ISSUER, "--resource", AUDIENCE) as s:
        assert status(s, Authorization=f"Bearer {issuer.es.token()}") == 200
        assert status(s, Authorization=f"Bearer {issuer.rs.token()}") == 401
        new = pathlib.Path(f"{jwks}.new")
        new.write_text(json.dumps({"keys": [issuer.rs.jwk()]}))
        new.rename(jwks)
        assert status(s, Authorization=f"Bearer {issuer.es.token()}") == 401
        assert status(s, Authorization=f"Bearer {issuer.rs.token()}") == 200
        jwks.write_text("{}")
        assert status(s, Authorization=f"Bearer {issuer.rs.token()}") == 401


def test_no_start_without_what_tokens_need(issuer, tmp_path):
    weak = tmp_path / "weak"
    weak.write_text(json.dumps({"keys": [{"kty": "oct", "k": "AAAA"}, {"kty": "RSA", "n": "AQAB", "e": "AQAB"}]}))
    for args in (["--jwks", issuer.jwks], ["--jwks", issuer.jwks, "--keys", issuer.keys], ["--issuer", ISSUER, "--keys", issuer.keys],
                 ["--jwks", weak, "--keys", issuer.keys, "--issuer", ISSUER], [*issuer.args, "--resource", 'https://a/"'],
                 [*issuer.args, "--resource", "https://a"], ["--keys", issuer.keys, "--scope", "x"],
                 *([*issuer.args, "--scope", bad] for bad in ("a  b", " a", "a ", 'a"', "a\\", "\u00e4", "x" * 201))):
        s = Server(*args, ok=False)
        assert s.proc.wait(20) == 5, s.said
        s.proc.stderr.close()


# ---- TLS ----

@pytest.fixture(scope="module")
def cert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cert")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", folder / "key", "-out", folder / "crt",
            "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    return ["--tls-cert", folder / "crt", "--tls-key", folder / "key"], folder / "crt"


def test_tls_and_others_reach_it_only_with_it(tmp_path, cert):
    keys = tmp_path / "keys"
    alice = key_command("add", "alice", "--keys", keys)
    for args in (["--keys", keys], cert[0]):
        s = Server(*args, bind="0.0.0.0:0", ok=False)
        assert s.proc.wait(20) == 5 and "keys" in s.said and "TLS" in s.said
        s.proc.stderr.close()
    with Server("--keys", keys, *cert[0], "--host", "localhost", bind="0.0.0.0:0") as s:
        s.trust(cert[1]).addr = "127.0.0.1"
        assert status(s, x_api_key=alice) == 200 and status(s) == 401
        got = s.call("tools/call", name="test_tool_with_progress", arguments={}, headers={"x-api-key": alice}, _meta={"progressToken": 1})
        assert got.headers["content-type"] == "text/event-stream" and got.body.count(b"notifications/progress") == 3
        assert s.ask(body=LIST, headers={**LIST_HEADERS, "Host": "0.0.0.0", "x-api-key": alice}).status == 403
        s.tls = False  # plain text to a TLS port
        assert b"200" not in s.raw(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
        s.tls = True


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_tls_is_not_spoken(cert):
    with Server(*cert[0]) as s:
        for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
            s.trust(cert[1])
            s.context.minimum_version, s.context.maximum_version = ssl.TLSVersion.TLSv1, version
            s.context.set_ciphers("ALL:@SECLEVEL=0")
            with pytest.raises((ssl.SSLError, ConnectionError)):
                s.connect()
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            s.trust(cert[1])
            s.context.minimum_version = s.context.maximum_version = version
            s.ping_ok()


def test_no_handshake_within_a_connection(cert):
    """Renegotiation, which costs the server more than who asks for it."""
    with Server(*cert[0]) as s:
        s.trust(cert[1])
        got = subprocess.Popen(["openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{s.port}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
        said = b""
        while b"Extended master secret" not in said:  # it takes commands from now on
            said += got.stdout.readline()
        got.stdin.write(b"R\n")
        got.stdin.flush()
        said = got.stdout.read()  # to its end, though nobody ends its input
        assert b"RENEGOTIATING" in said and said.rstrip().endswith(b"closed"), said
        got.stdin.close()
        got.stdout.close()
        got.wait(20)
        s.ping_ok()


def test_who_hangs_up_over_tls_cancels(cert):
    from test_http import facts, quiet
    from over_http import until
    with Server(*cert[0]) as s:
        s.trust(cert[1]).ping_ok()
        before = quiet(s)
        cut = [s.stream("tools/call", name="test_slow", arguments={"ms": 60000}, _meta={"progressToken": "p"}) for _ in range(10)]
        until(lambda: facts(s)[0] >= before[0] + 20, what="ten requests under way")
        for c in cut:
            c.close()
        until(lambda: facts(s) == before, what="their end")


@pytest.mark.parametrize("args", [("--tls-cert",), ("--tls-key",), ("swapped",), ("absent",)])
def test_certificates_that_are_none(cert, args, tmp_path):
    crt, key = cert[0][1], cert[0][3]
    argv = {"--tls-cert": ["--tls-cert", crt], "--tls-key": ["--tls-key", key], "swapped": ["--tls-cert", key, "--tls-key", crt],
            "absent": ["--tls-cert", tmp_path / "x", "--tls-key", key]}[args[0]]
    s = Server(*argv, ok=False)
    assert s.proc.wait(20) == 5 and s.said
    s.proc.stderr.close()
