# SPDX-License-Identifier: Apache-2.0
"""`sonde doc`: each verb has its text and a word on each field of its result."""
import re
import subprocess

import pytest

from lab import sonde_binary

pytestmark = pytest.mark.sonde

VERBS = ["ping", "traceroute", "walk", "tracebox", "pmtu", "resolve", "arp", "ntp", "snmp_get", "dhcp_discover", "http"]


def doc(topic):
    return subprocess.run([sonde_binary(), "doc", topic], capture_output=True, text=True, timeout=10, check=True).stdout


@pytest.mark.parametrize("verb", VERBS)
def test_a_word_on_each_field_and_parameter(verb):
    text = doc(verb)
    head, rest = text.split("\nresult ", 1)
    assert head.startswith(f"def {verb}(") and len(head.split(":\n", 1)[1]) > 40
    decl, words = rest.split(")\n", 1)
    fields = re.findall(r"(\w+): ", decl)
    assert fields and [f for f in fields if not re.search(rf"\b{f}\b", words)] == []
    assert doc("topics").count(f" {verb}") >= 1


def test_what_tls_tells():
    """Its result is C's: a row a field."""
    assert doc("tls").startswith("def tls(")
    rows = doc("Tls")
    for field in ["ok", "version", "cipher", "alpn", "subject", "issuer", "san", "not_before", "not_after", "days_left",
                  "chain", "hostname_ok", "trusted", "reason", "ocsp", "error", "timings"]:
        assert re.search(rf"\b{field}\b", rows), field
