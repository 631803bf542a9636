# SPDX-License-Identifier: Apache-2.0
"""Our stack against the kernel's: 24 of the transfers of all.py, ends of all kinds,
datagrams, and what the peer must never see."""
import pathlib
import sys
import time

import pytest

from lab import tool

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from transfers import PORT, Pair, sample, side_by_side, told  # noqa: E402


@pytest.fixture(scope="module")
def transfers():
    return side_by_side(sample(), 8)


@pytest.mark.parametrize("case", sample(), ids=lambda c: c.name)
def test_transfer(transfers, case):
    r = transfers[case]
    assert not r.wrong, (r.ours, r.theirs)


# ---- what the path did is seen ----

def of(transfers, name):
    return next(r.ours for c, r in transfers.items() if c.path.name == name)


def test_a_smaller_mtu_is_found_by_what_the_router_says(transfers):
    for case, r in transfers.items():
        if case.path.step and case.up:
            assert r.ours["mtu"] == 1400 and r.ours["icmp"] >= 1, r.ours
            assert r.ours["timeouts"] <= 2, r.ours


def test_damaged_segments_are_counted(transfers):
    """Bits flip behind the headers, so a checksum must have told."""
    assert of(transfers, "corrupt 10 %")["csum_errors"] > 0 or of(transfers, "corrupt 2 %")["csum_errors"] > 0


# ---- ends ----

def end_of(pair, *args, limit=30):
    p = pair.ours("connect", *args)
    p.wait(limit)
    assert p.rc == 0, p.err
    (r,) = told(p)
    assert r["check"] == ""
    return r


@pytest.mark.parametrize("v", [4, 6])
def test_nobody_listens(v):
    with Pair(v) as pair:
        r = end_of(pair)
        assert (r["state"], r["tcp_state"]) == ("refused", "CLOSED")


@pytest.mark.parametrize("v", [4, 6])
def test_a_firewall_says_prohibited(v):
    kind = "icmpx type admin-prohibited"
    with Pair(v) as pair:
        pair.peer.nft(f"table inet f {{ chain in {{ type filter hook input priority 0; tcp dport {PORT} reject with {kind}; }}; }}")
        assert end_of(pair)["state"] == "unreachable"


def test_a_peer_that_dies_with_bytes_unread_resets():
    with Pair(4, ("delay=5ms",)) as pair:
        b = pair.theirs("listen", "hold=30")
        b.until("ready")
        a = pair.ours("connect", "send=10000000")
        time.sleep(1)
        b.kill()
        a.wait(20)
        (r,) = told(a)
        assert r["state"] == "reset" and r["resets"] == 1, r


def test_a_link_that_is_pulled_for_a_while_is_survived():
    with Pair(4, ("rate=20mbit", "delay=5ms")) as pair:
        b = pair.theirs("listen")
        b.until("ready")
        a = pair.ours("connect", "send=3000000")
        time.sleep(0.5)
        pair.far.set("down")
        time.sleep(1.5)
        pair.far.set("up")
        pair.lab.warm()
        a.wait(30), b.wait(30)
        (x,), (y,) = told(a), told(b)
        assert y["complete"] and x["sent_sha"] == y["received_sha"] and x["timeouts"] >= 1, (x, y)


# ---- black holes ----

@pytest.mark.parametrize("v", [4, 6])
def test_a_black_hole_is_found_without_a_word(v):
    with Pair(v, ("sizeloss=1", "sizemin=1401", "delay=2ms")) as pair:
        b = pair.theirs("listen")
        b.until("ready")
        a = pair.ours("connect", "send=4000000")
        a.wait(30), b.wait(30)
        (x,), (y,) = told(a), told(b)
        assert y["complete"] and x["sent_sha"] == y["received_sha"], (x, y)
        # what passes is found, to 16 bytes, and no probe's loss was taken for congestion
        assert 1384 <= x["mtu"] <= 1400 and x["icmp"] == x["recoveries"] == 0, x


# ---- what the peer sees of our kernel ----

def test_the_kernel_keeps_still():
    """During 1,000 connections and 5 s after them the peer sees no reset and no ICMP."""
    n = 1000
    with Pair(4) as pair:
        cap = pair.far.capture(f"src host {pair.src} and (tcp[tcpflags] & tcp-rst != 0 or icmp)")
        b = pair.theirs("listen", f"n={n}", "send=100")
        b.until("ready")
        a = pair.ours("connect", f"n={n}", "send=1000", "linger=5")
        a.wait(60), b.wait(60)
        assert len(told(a)) == len(told(b)) == n
        assert all(x["state"] == "closed" and x["received"] == 100 for x in told(a))
        assert cap.frames() == []


# ---- datagrams ----

@pytest.mark.parametrize("v", [4, 6])
@pytest.mark.parametrize("size", [0, 100, 1472, 8000, 60000])
def test_datagrams_come_back_as_they_went(v, size):
    with Pair(v) as pair:
        pair.peer.service("udp-echo", PORT, pair.dst)
        p = pair.ours("udp", f"send={size}", "n=5", "time=10")
        p.wait(15)
        (r,) = told(p)
        assert r["sent"] == r["same"] == 5, r
        whole = size + 8 + (40 if v == 6 else 20) <= 1500
        assert (r["fragments"] == 0) == whole and (r["fragmented"] == 0) == whole, r


@pytest.mark.parametrize("v, want", [(4, 3 * 256 + 3), (6, 256 + 4)])
def test_a_closed_port_is_shown(v, want):
    with Pair(v) as pair:
        p = pair.ours("udp", "send=10", "n=2", "time=5")
        p.wait(10)
        (r,) = told(p)
        assert r["same"] == 0 and r["icmp"] == want, r
