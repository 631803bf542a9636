# SPDX-License-Identifier: Apache-2.0
"""`sonde doc` and doc/: each fact stands in one table, and the pages say what the tables say.

doc/warnings.md is `sonde doc warnings`; the names that it gives of Wireshark and Zeek are
theirs."""
import pathlib
import re
import shutil
import subprocess

import pytest

from lab import sonde_binary

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.sonde

# zeek: scripts/base/frameworks/notice/weird.zeek and scripts/base/protocols/dns/main.zeek
ZEEK = """
DNS_label_forward_compress_offset DNS_label_len_gt_pkt DNS_RR_length_mismatch RST_with_data SYN_inside_connection SYN_with_data
TCP_christmas TCP_scale_range UDP_datagram_length_mismatch bad_ICMP_checksum bad_IP_checksum bad_SYN_ack
bad_TCP_checksum bad_TCP_header_len bad_UDP_checksum baroque_SYN dns_unmatched_reply excessively_small_fragment
fragment_inconsistency fragment_overlap fragment_size_inconsistency fragment_with_DF simultaneous_open
truncated_ARP truncated_IP truncated_header window_recision
""".split()


def doc(*topic):
    return subprocess.run([sonde_binary(), "doc", *topic], capture_output=True, text=True, timeout=30)


def warnings():
    """code -> the names that others have for it."""
    rows = re.findall(r"^- \*\*(\S+)\*\*(?: \(([^)]*)\))?: .+ \*Usually:\* .+ \*Next:\* .+\.$",
                      doc("warnings").stdout, re.M)
    return {code: [tuple(n.split(" ")) for n in known.split("; ") if n] for code, known in rows}


def test_warnings_page_is_the_table():
    text = (ROOT / "doc" / "warnings.md").read_text()
    assert text == doc("warnings").stdout, "build/sonde doc warnings > doc/warnings.md"
    table = (ROOT / "src" / "probe" / "warnings.def").read_text()
    assert list(warnings()) == re.findall(r'^WARN\(\w+, "([^"]+)"', table, re.M)


def test_builtins_page_is_the_tables():
    text = (ROOT / "doc" / "builtins.md").read_text()
    assert text == doc("builtins").stdout, "build/sonde doc builtins > doc/builtins.md"
    pages = dict(re.findall(r"^## (\S+)\n\n```text\n(.*?)^```$", text, re.M | re.S))
    names = {n for row in re.findall(r"^[^:]+:(.*)$", doc("topics").stdout, re.M)[1:] for n in row.split()}
    assert len(pages) == text.count("\n## ") and names == set(pages) - {"policy", "topics"}
    for name in ("ping", "Packet", "IP", "DNSRR", "Hop", "policy", "topics"):
        assert pages[name] == doc(name).stdout


def test_each_word_of_a_policy_is_explained_by_a_line_that_is_one(tmp_path):
    """The words are those of guardrails.md 2; the parser reads the lines."""
    design = (ROOT / "doc" / "design" / "guardrails.md").read_text()
    section = design[design.index("\n## 2. Policy"):design.index("\nBuilt in, when no file")]
    words = set(re.findall(r"`(\w+)\(", section)) | {"approve_by_form", "insecure_dev"}
    lines = re.findall(r"^(([a-z_]+)\(.*\))\n    \S", doc("policy").stdout, re.M)
    assert {w for _, w in lines} == words and len(lines) == len(words) > 12
    known = re.search(r"DECL_WORDS\(X\)(.*?)\n\n", (ROOT / "src" / "lang" / "decl.h").read_text(), re.S)[1]
    assert set(re.findall(r'"(\w+)", (?:true|false), true', known)) == words
    for line, word in lines:
        policy = tmp_path / f"{word}.sonde"
        policy.write_text(line + "\n")
        said = subprocess.run([sonde_binary(), "policy", "check", policy], capture_output=True, text=True, timeout=30)
        assert said.returncode == 0, (line, said.stdout, said.stderr)


def test_each_warning_has_a_page():
    for code in warnings():
        page = doc(code)
        assert page.returncode == 0 and f"- **{code}**" in page.stdout, code


@pytest.mark.skipif(not shutil.which("tshark"), reason="needs tshark")
def test_names_of_wireshark_are_wiresharks():
    fields = subprocess.run(["tshark", "-G", "fields"], capture_output=True, text=True, timeout=60).stdout
    theirs = {line.split("\t")[2] for line in fields.splitlines() if line.count("\t") > 2}
    ours = {name for known in warnings().values() for whose, name in known if whose == "Wireshark"}
    assert ours and not ours - theirs
    assert not {c for c in warnings() if c.startswith("tcp.analysis.")} - theirs


def test_names_of_zeek_are_zeeks():
    known = {name for names in warnings().values() for whose, name in names if whose == "Zeek"}
    assert known and not known - set(ZEEK)
    # who has a Zeek name for a code says so
    assert {c for c in warnings() if c in ZEEK} <= known


def provoked():
    """code -> where a test provokes it: in a lab with real frames, by crafted packets, in virtual time."""
    table = (ROOT / "src" / "probe" / "warnings.def").read_text()
    ids = dict(re.findall(r'^WARN\((\w+), "([^"]+)"', table, re.M))
    unit = "".join((ROOT / "src" / "probe" / f).read_text() for f in ("expert_test.c", "expert_path_test.c", "probe_test.c"))
    unit += "".join(f"WARN_{name})" for name in re.findall(r"^DNS_CASE_\((\w+),", unit, re.M))
    conn = (ROOT / "src" / "vm" / "conn_warn_test.c").read_text()  # of counters that tests/tcp makes count
    labs = (ROOT / "tests" / "system" / "test_warnings.py").read_text()
    virtual = "".join(p.read_text() for p in (ROOT / "tests" / "lang" / "net").glob("*.sonde"))
    return {code: {"unit": f"WARN_{name})" in unit or f"w[WARN_{name}].count" in unit
                   or f", WARN_{name}, " in conn,
                   "lab": f'"{code}": (' in labs or f"def test_{code}(" in labs, "virtual": f"# warns: {code}\n" in virtual}
            for name, code in ids.items()}


def test_each_warning_is_provoked_by_a_test():
    where = provoked()
    assert [c for c, w in where.items() if not any(w.values())] == []
    assert len(where) >= 40
    assert sum(w["lab"] for w in where.values()) * 3 >= len(where)


def topics():
    """kind -> names, as `sonde doc topics` lists them."""
    lines = re.findall(r"^([\w ]+): (.+)$", doc("topics").stdout, re.M)
    return {kind: names.replace(",", "").split() for kind, names in lines}


def test_each_topic_has_a_page():
    listed = topics()
    assert len(listed["verbs and functions"]) > 60 and len(listed["results"]) >= 5
    for kind, names in listed.items():
        assert not [n for n in names if n.startswith("_")]  # lib's own
        for name in names:
            page = doc(name)
            assert page.returncode == 0 and len(page.stdout) > 30, (kind, name)
    assert doc("_mtu").returncode == 6


def test_verbs_say_what_they_give():
    for verb in ("ping", "traceroute", "walk", "tracebox", "pmtu", "resolve", "arp"):
        page = doc(verb).stdout
        assert '"""' in page.split("\n\n")[0] and re.search(r"^result \w+\(", page, re.M), page
    assert "loss: float" in doc("Ping").stdout


def test_functions_say_what_they_take_and_give():
    """A signature, a sentence, what the result carries."""
    for name in topics()["verbs and functions"]:
        page = doc(name).stdout
        if page.startswith("def "):
            continue
        assert re.match(rf"{name}\(.*\) -> \S+.*\n    \S.+\.\n    \[\w+", page), page
