# SPDX-License-Identifier: Apache-2.0
"""`sonde doc`: each verb has its text and a word on each field of its result; what is not there yet says so."""
import re
import subprocess

import pytest

from lab import sonde_binary

pytestmark = pytest.mark.sonde

VERBS = ["ping", "traceroute", "walk", "tracebox", "pmtu", "resolve", "arp", "ntp", "snmp_get", "dhcp_discover"]


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


@pytest.mark.parametrize("name", ["tls", "http"])
def test_what_is_not_there_says_so(name):
    assert "not in this version" in doc(name).lower()


def test_resolve_says_what_it_lacks():
    assert "this version does" in doc("resolve")
