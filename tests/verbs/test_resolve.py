# SPDX-License-Identifier: Apache-2.0
"""resolve against a real dnsmasq, and against a hand-made server for what dnsmasq never says."""
import pytest
from scapy.layers.dns import DNS, DNSQR, DNSRR, DNSRROPT
from scapy.layers.inet import IP, UDP

from lab.puppet import Puppet, flip, silent_kernel

pytestmark = pytest.mark.sonde

RECORDS = ["--host-record=www.acme.corp,10.20.3.4,fd00::34", "--cname=web.acme.corp,www.acme.corp",
           "--mx-host=acme.corp,mail.acme.corp,10", "--txt-record=acme.corp,v=spf1 -all",
           "--srv-host=_ldap._tcp.acme.corp,dc.acme.corp,389,0,100", "--ptr-record=4.3.20.10.in-addr.arpa,www.acme.corp"]
AUTHORITY = ["--auth-zone=auth.corp", "--auth-server=ns.auth.corp,eth0", "--host-record=a.auth.corp,10.9.9.9"]


def wire(lab, version):
    us, srv = lab.hosts("us", "srv")
    a, b = ("fd00:9::1", "fd00:9::2") if version == 6 else ("10.9.0.1", "10.9.0.2")
    lab.link(us, srv, a + ("/64" if version == 6 else "/24"), b + ("/64" if version == 6 else "/24"))
    return us, srv, b


def dnsmasq(srv, *more):
    srv.start("dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--user=root", "--pid-file=",
              "--local=/acme.corp/", *RECORDS, *more)
    srv.run("sh", "-c", "for i in $(seq 100); do ss -lun | grep -q :53 && exit 0; sleep 0.1; done; exit 1")


def test_every_type_and_what_a_name_without_it_says(both, version):
    us, srv, at = wire(both, version)
    dnsmasq(srv)
    asked = [("www.acme.corp", "A"), ("www.acme.corp", "AAAA"), ("web.acme.corp", "A"), ("acme.corp", "MX"),
             ("acme.corp", "TXT"), ("_ldap._tcp.acme.corp", "SRV"), ("4.3.20.10.in-addr.arpa", "PTR"),
             ("www.acme.corp", "MX"), ("nowhere.acme.corp", "A")]
    run = us.sonde("".join(
        f'r = resolve("{n}", type="{t}", server="{at}")\n'
        'print(r.rcode, [f"{a.name} {a.type} {a.rdata} {a.addr}" for a in r.answers])\n' for n, t in asked)).ok()
    assert [x.replace('"', "").replace("'", "") for x in run.lines] == [
        "NOERROR [www.acme.corp A 10.20.3.4 10.20.3.4]",
        "NOERROR [www.acme.corp AAAA fd00::34 fd00::34]",
        "NOERROR [web.acme.corp CNAME www.acme.corp. -, www.acme.corp A 10.20.3.4 10.20.3.4]",
        "NOERROR [acme.corp MX 10 mail.acme.corp. -]",
        r"NOERROR [acme.corp TXT \v=spf1 -all\ -]",
        "NOERROR [_ldap._tcp.acme.corp SRV 0 100 389 dc.acme.corp. -]",
        "NOERROR [4.3.20.10.in-addr.arpa PTR www.acme.corp. -]",
        "NOERROR []", "NXDOMAIN []"]


def test_the_question_is_as_asked(lab):
    """EDNS size and DO bit, none of both, ports, count: as dnsmasq's wire shows them."""
    us, srv, at = wire(lab, 4)
    dnsmasq(srv)
    cap = srv.ifaces["eth0"].capture("udp dst port 53")
    run = us.sonde('n = "www.acme.corp"\n'
                   f'print(resolve(n, server="{at}", count=3).received)\n'
                   f'print(resolve(n, server="{at}", edns=0).received)\n'
                   f'print(resolve(n, server="{at}", dnssec=True, edns=4096).received)\n'
                   f'print(resolve(n, server="{at}", dnssec=True, edns=0).received)\n'
                   f'print(resolve(n, server="{at}", sport=40053, count=2).received)\n').ok()
    assert run.lines == ["3", "1", "1", "1", "2"]
    asked = [(p[UDP].sport, p[DNS].id, p[DNS].rd, p[DNS].ad,
              [(o.rclass, o.z) for o in [p[DNS].ar] if isinstance(o, DNSRROPT)]) for p in cap.packets()]
    assert [a[4] for a in asked] == [[(1232, 0)]] * 3 + [[]] + [[(4096, 0x8000)]] + [[(1232, 0x8000)]] + [[(1232, 0)]] * 2
    assert len({a[0] for a in asked[:3]}) == 3 and [a[0] for a in asked[-2:]] == [40053] * 2
    assert len({a[1] for a in asked}) == len(asked) and all(a[2] for a in asked)


def test_the_hosts_own_resolver_is_asked_if_none_is_given(lab):
    """From /etc/resolv.conf or the policy, by UDP and by TCP; a route to a name is that to its address."""
    us, srv, at = wire(lab, 4)
    us.run("ip", "route", "add", "10.20.3.0/24", "via", at)
    dnsmasq(srv)
    ask = 'print(resolve("www.acme.corp").answers[0].addr)\nr = route("www.acme.corp")\nif r:\n    print(r.gateway)\n'
    us.write("/etc/resolv.conf", f"nameserver {at}\n")
    run = us.sonde(ask + 'print(resolve("www.acme.corp", tcp=True).rcode)\n').ok()
    assert run.lines == ["10.20.3.4", at, "NOERROR"], run.said
    run = us.sonde(ask, installed=f'reach("{at}", udp=[53])\nreach("10.20.3.0/24")\nresolver("{at}")\nzone("acme.corp")\n').ok()
    assert run.lines == ["10.20.3.4", at], run.said
    refused = us.sonde(ask, installed='reach("10.20.3.0/24")\n')
    assert refused.rc == 3 and at in refused.said


def test_authority_counts_and_times(lab):
    us, srv, at = wire(lab, 4)
    dnsmasq(srv, *AUTHORITY)
    run = us.sonde(f'r = resolve("a.auth.corp", server="{at}", count=4)\n'
                   'print(r.authoritative, r.truncated, r.authenticated, r.rcodes, r.sent, r.received, r.timeouts, len(r.rtts), '
                   'r.rtt == r.rtts[0], r.rtt < 0.5)\n'
                   'q = resolve("x.acme.corp", server="10.9.0.77", count=2, timeout=0.3)\n'
                   'print(q.rcode, q.rtt, q.answers, q.rcodes, q.sent, q.timeouts)').ok()
    assert run.lines == ["True False False {'NOERROR': 4} 4 4 0 4 True True", "- - [] {} 0 0"]


def server(iface, reply):
    """A puppet that answers each query with reply(query, number)."""
    silent_kernel(iface.node)
    seen = []

    def answer(p):
        if UDP not in p or p[UDP].dport != 53:
            return []
        seen.append(p)
        made = reply(p[DNS], len(seen))
        return [] if made is None else [flip(p) / UDP(sport=53, dport=p[UDP].sport) / made]
    Puppet(iface, answer)
    return seen


def test_what_a_server_may_say(lab):
    """Truncated, validated, an extended rcode, refusals, silence, an answer to another question."""
    us, srv, at = wire(lab, 4)

    def reply(q, n):
        base = {"id": q.id, "qr": 1, "qd": q.qd}
        return [DNS(tc=1, **base), DNS(ad=1, an=DNSRR(rrname=q.qd.qname, rdata="1.2.3.4", ttl=7), **base),
                DNS(ar=DNSRROPT(rclass=1232, extrcode=1), **base), DNS(rcode=5, **base), None,
                DNS(rcode=2, **base), DNS(id=q.id, qr=1, qd=DNSQR(qname="other.example")), None][n - 1]
    server(srv.ifaces["eth0"], reply)
    run = us.sonde(f'for i in range(4):\n    r = resolve("a.example", server="{at}")\n'
                   '    print(r.rcode, r.truncated, r.authenticated, [(str(a.addr), a.ttl) for a in r.answers])\n'
                   f'r = resolve("a.example", server="{at}", count=2, timeout=0.3)\n'
                   'print(r.rcode, r.rcodes, r.timeouts, r.received)\n'
                   f'r = resolve("a.example", server="{at}", timeout=0.3)\n'
                   'print(r.rcode, r.timeouts)').ok()
    assert run.lines == ["NOERROR True False []", "NOERROR False True [('1.2.3.4', 7)]", "BADVERS False False []",
                         "REFUSED False False []", "SERVFAIL {'SERVFAIL': 1} 1 1", "- 1"]
    assert run.warned("dns_unmatched_reply")
