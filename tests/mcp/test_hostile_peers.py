# SPDX-License-Identifier: Apache-2.0
"""http_probe and tls_check against hostile_peers.py and against an openssl that wants a certificate of the client: bounded
in time, packets and words, and the verdict says what was seen."""
import json
import time

import pytest

import hostile_peers
from lab import Lab
from lab.certs import Authority
from lab.procs import wait_for
from lab.state import ledger_init
from stdio import Stdio

pytestmark = pytest.mark.sonde
US, PEER = "10.9.0.1", "10.9.0.2"
OPENSSL = 7999
HTTP = {
    "slow_head": ("NO_HTTP_ANSWER", "no answer came in time"),
    "slow_body": ("INCOMPLETE_ANSWER", "not whole in time"),
    "silent": ("NO_HTTP_ANSWER", "no answer came in time"),
    "ends_in_head": ("NO_HTTP_ANSWER", "ended before an answer"),
    "ends_in_body": ("INCOMPLETE_ANSWER", "the body is cut"),
    "resets": ("NO_HTTP_ANSWER", "ended before an answer"),
    "ten_megabytes_of_fields": ("NO_HTTP_ANSWER", "longer than 64 KB"),
    "one_endless_field": ("NO_HTTP_ANSWER", "longer than 64 KB"),
    "endless_body": ("OK", "of the body 65536 bytes were read"),
    "endless_chunks": ("OK", "of the body 65536 bytes were read"),
    "redirects_to_itself": ("REDIRECT", "was not followed"),
    "endless_interim": ("NO_HTTP_ANSWER", "interim answers"),
    "other_protocol": ("NO_HTTP_ANSWER", "no HTTP answer"),
    "endless_noise": ("NO_HTTP_ANSWER", "no HTTP answer"),
    "slow_tls": ("NO_HTTP_ANSWER", "no HTTP answer"),
}
TLS = {
    "silent": ("HANDSHAKE_FAILED", "did not end in time"),
    "slow_tls": ("HANDSHAKE_FAILED", "did not end in time"),
    "other_protocol": ("HANDSHAKE_FAILED", "wrong version number"),
    "endless_noise": ("HANDSHAKE_FAILED", "wrong version number"),
    "resets": ("HANDSHAKE_FAILED", "ended during the handshake"),
    "openssl": ("HANDSHAKE_FAILED", "handshake failure"),
}
PORT = {**hostile_peers.PORT, "openssl": OPENSSL}
CALLS = {("http_probe", name): ({"url": f"http://{PEER}:{PORT[name]}/"}, want) for name, want in HTTP.items()} \
    | {("tls_check", name): ({"target": PEER, "port": PORT[name]}, want) for name, want in TLS.items()}


@pytest.fixture(scope="module")
def answers():
    """{(tool, peer): (seconds, result)}, of all at once."""
    with Lab("hostile-peers") as lab:
        us, peer = lab.hosts("us", "peer")
        lab.link(us, peer, f"{US}/24", f"{PEER}/24")
        us.policy("zone(all)\nmay_follow(\"10.9.0.0/24\", \"10.9.0.0/24\")\n")
        ledger_init(us).ok()
        peer.start("/usr/bin/python3", "-I", hostile_peers.__file__).until("ready", 10)
        cert, key = Authority(lab).cert("peer", f"IP:{PEER}")
        peer.start("openssl", "s_server", "-accept", OPENSSL, "-cert", cert, "-key", key, "-tls1_2", "-Verify", "1",
                   "-verify_return_error", "-www").until("ACCEPT", 10)
        client = Stdio(us, "--max-runs", "32", "--max-runs-caller", "32")
        begun = time.monotonic()
        sent = {client.send("tools/call", {"name": call[0], "arguments": args}): call for call, (args, _) in CALLS.items()}
        took = {}

        def all_answered():
            for ident in client.answers.keys() & sent.keys():
                took.setdefault(ident, time.monotonic() - begun)
            return len(took) == len(sent)
        wait_for(all_answered, 60, why="all answers")
        yield {call: (took[ident], client.answers[ident]["result"]) for ident, call in sent.items()}


@pytest.mark.parametrize("call", CALLS, ids="-".join)
def test_it_is_bounded_and_told(answers, call):
    seconds, got = answers[call]
    assert not got.get("isError"), got
    s, (verdict, word) = got["structuredContent"], CALLS[call][1]
    assert s["verdict"] == verdict and word in s["summary"], s
    assert seconds < 30 and s["bounds_used"]["packets"] < 300  # as the description says
    assert len(json.dumps(got)) < 12_000


def test_each_peer_was_one(answers):
    assert set(HTTP) == set(hostile_peers.PORT) and len(answers) == len(CALLS)
