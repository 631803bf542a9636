# SPDX-License-Identifier: Apache-2.0
"""ntp against a real chronyd, and against a hand-made server with a clock of its own."""
import time

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ntp import NTPHeader
from scapy.packet import Raw

from lab.puppet import Puppet, flip, silent_kernel

pytestmark = pytest.mark.sonde

ERA = 2208988800  # RFC 5905 6: from 1900 to 1970


def wire(lab, version):
    us, srv = lab.hosts("us", "srv")
    a, b, bits = ("fd00:9::1", "fd00:9::2", "/64") if version == 6 else ("10.9.0.1", "10.9.0.2", "/24")
    lab.link(us, srv, a + bits, b + bits)
    return us, srv, b


def test_a_real_server(both, version):
    us, srv, at = wire(both, version)
    conf = both.path("chrony.conf")
    with open(conf, "w", encoding="utf-8") as f:
        f.write(f"local stratum 8\nallow all\nport 123\ncmdport 0\npidfile {both.path('chronyd.pid')}\n")
    srv.start("chronyd", "-x", "-d", "-u", "root", "-f", conf)
    srv.run("sh", "-c", "for i in $(seq 100); do ss -lun | grep -q :123 && exit 0; sleep 0.1; done; exit 1")
    cap = srv.ifaces["eth0"].capture("udp dst port 123")
    run = us.sonde(f'n = ntp("{at}", count=2)\n'
                   'print(n.sent, n.received, len(n.rtts), n.stratum, n.leap, n.reference, n.refused)\n'
                   'print(abs(n.offset) < 0.05, 0 <= n.delay < 0.05, n.precision < 0.001, n.root_delay >= 0, '
                   'n.root_dispersion >= 0)').ok()
    assert run.lines == ["2 2 2 8 no-warning 127.127.1.1 -", "True True True True True"]
    asked = [NTPHeader(bytes(p[UDP].payload)) for p in cap.packets()]
    assert [(p.version, p.mode, p.leap) for p in asked] == [(4, 3, 0)] * 2
    assert len({str(p.sent) for p in asked}) == 2


def stamp(seconds):
    whole = int(seconds)
    return (whole + ERA).to_bytes(4, "big") + int((seconds - whole) * 2**32).to_bytes(4, "big")


def server(iface, ahead=0.0, hold=0.0, stratum=2, ref=b"\x0a\x01\x02\x03", orig=None, leap=0):
    """A server whose clock is ahead by so many seconds and that keeps a question for a while."""
    silent_kernel(iface.node)

    def answer(p):
        if UDP not in p or p[UDP].dport != 123:
            return []
        got = time.time() + ahead
        time.sleep(hold)
        ask = bytes(p[UDP].payload)
        version = ask[0] >> 3 & 7
        body = bytes([leap << 6 | version << 3 | 4, stratum, 6, 0xec]) + (3 << 14).to_bytes(4, "big") + \
            (1 << 15).to_bytes(4, "big") + ref + stamp(got - 10) + (orig or ask[40:48]) + stamp(got) + \
            stamp(time.time() + ahead)
        return [flip(p) / UDP(sport=123, dport=p[UDP].sport) / Raw(body)]
    return Puppet(iface, answer)


SAY = ('n = ntp("10.9.0.2", timeout=0.5{})\n'
       'print(n.received, n.stratum, n.reference, n.refused, n.leap, n.root_delay, n.root_dispersion, n.precision, '
       'round(n.offset.s, 1) + 0.0 if n.received and not n.refused else "-", n.delay < 0.05)')


@pytest.mark.parametrize("kw,more,want", [
    (dict(ahead=3.5, hold=0.1), "", "1 2 10.1.2.3 - no-warning 750.0 ms 500.0 ms 954 ns 3.5 True"),
    (dict(ahead=-100, leap=1), ", version=3", "1 2 10.1.2.3 - 61-seconds 750.0 ms 500.0 ms 954 ns -100.0 True"),
    (dict(stratum=1, ref=b"GPS\0"), "", "1 1 GPS - no-warning 750.0 ms 500.0 ms 954 ns 0.0 True"),
    (dict(stratum=0, ref=b"RATE"), "", "1 - - RATE - - - - - False"),
    (dict(orig=bytes(range(8))), "", "0 - - - - - - - - False"),
], ids=["ahead", "behind", "gps", "refused", "not-ours"])
def test_offset_delay_and_refusal(lab, kw, more, want):
    us, srv, _ = wire(lab, 4)
    server(srv.ifaces["eth0"], **kw)
    run = us.sonde(SAY.format(more)).ok()
    assert [x.replace('"', "") for x in run.lines] == [want]
