# SPDX-License-Identifier: Apache-2.0
"""snmp_get against a real net-snmp agent."""
import pytest

pytestmark = pytest.mark.sonde

POLICY = 'reach("10.9.0.0/24", udp=[161])\nreach("fd00:9::/64", udp=[161])\n'


def agent(lab, version):
    us, srv = lab.hosts("us", "srv")
    a, b, bits = ("fd00:9::1", "fd00:9::2", "/64") if version == 6 else ("10.9.0.1", "10.9.0.2", "/24")
    lab.link(us, srv, a + bits, b + bits)
    conf = lab.path("snmpd.conf")
    with open(conf, "w", encoding="utf-8") as f:
        f.write("rocommunity secret\nrocommunity6 secret\nsysName lab-switch\nsysDescr A switch\nsysServices 72\n"
                "sysObjectID .1.3.6.1.4.1.8072.3.2.10\n")
    srv.start("snmpd", "-f", "-Lo", "-C", "-c", conf, "-p", lab.path("snmpd.pid"),
              f"udp6:[{b}]:161" if version == 6 else f"udp:{b}:161")
    srv.run("sh", "-c", "for i in $(seq 100); do ss -lun | grep -q :161 && exit 0; sleep 0.1; done; exit 1")
    return us, b


def test_what_an_agent_says(both, version):
    us, at = agent(both, version)
    run = us.sonde(f's = snmp_get("{at}", community="secret")\n'
                   'print(s.sent, s.received, s.error, s.rtt > 0)\n'
                   'for v in s.values:\n    print(v.oid, v.type, v.value, v.number is not None)\n'
                   f's = snmp_get("{at}", "1.3.6.1.2.1.1.7.0 1.3.6.1.2.1.1.2.0 1.3.6.1.2.1.1.99.0", community="secret")\n'
                   'for v in s.values:\n    print(v.oid, v.type, v.value, v.number)\n'
                   f'print(snmp_get("{at}", "1.3.6.1.2.1.1.99.0", community="secret", version="v1").error)\n'
                   f's = snmp_get("{at}", timeout=0.3, retry=1)\n'
                   'print(s.sent, s.received, s.values, s.rtt)', installed=POLICY).ok()
    lines = [x.replace('"', "") for x in run.lines]
    assert lines[0] == "1 1 - True"
    assert lines[1] == "1.3.6.1.2.1.1.1.0 OCTET STRING A switch False"
    assert lines[2].startswith("1.3.6.1.2.1.1.3.0 TimeTicks ") and lines[2].endswith(" True")
    assert lines[3] == "1.3.6.1.2.1.1.5.0 OCTET STRING lab-switch False"
    assert lines[4:7] == ["1.3.6.1.2.1.1.7.0 INTEGER 72 72",
                          "1.3.6.1.2.1.1.2.0 OBJECT IDENTIFIER 1.3.6.1.4.1.8072.3.2.10 -",
                          "1.3.6.1.2.1.1.99.0 noSuchObject noSuchObject -"]
    assert lines[7:] == ["no_such_name", "1 0 [] -"]


def test_a_device_that_policy_does_not_name_is_not_asked(lab):
    us, at = agent(lab, 4)
    cap = us.ifaces["eth0"].capture("udp")
    run = us.sonde(f'print(snmp_get("{at}", timeout=0.3))')
    assert run.rc == 3 and "161" in run.said and cap.frames() == []
