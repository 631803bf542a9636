# SPDX-License-Identifier: Apache-2.0
"""skills/network-investigation: a valid skill whose programs check, and which names nothing that is not there."""
import json
import pathlib
import re
import subprocess

import pytest

from lab import sonde_binary
from front import node

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKILL = ROOT / "skills" / "network-investigation"
MAIN = SKILL / "SKILL.md"
FILES = sorted(SKILL.rglob("*"))
TEXTS = {f.relative_to(SKILL).as_posix(): f.read_text() for f in FILES if f.is_file()}
PROBES = {f.stem: f.read_text() for f in (ROOT / "src" / "mcp" / "probes").glob("*.sonde")}
TOOLS = {"run_program", "check_program", "language_help", "resolve_dns", "tcp_reachability", "ping_host", "traceroute_host",
         "tls_check", "http_probe", "local_state", "result_page"}
pytestmark = pytest.mark.sonde


def front_matter():
    """As a reader of YAML that is not ours takes it."""
    text = re.match(r"---\n(.*?)^---\n", TEXTS["SKILL.md"], re.S | re.M)[1]
    said = subprocess.run([node(), "-e", "console.log(JSON.stringify(require('yaml').parse(require('fs').readFileSync(0, 'utf8'))))"],
                          input=text, capture_output=True, text=True, timeout=60, check=True, cwd=ROOT / "tests" / "mcp")
    return json.loads(said.stdout)


def test_front_matter_is_valid():
    front = front_matter()
    assert set(front) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert front["name"] == SKILL.name and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", front["name"]) and len(front["name"]) <= 64
    assert 1 <= len(front["description"]) <= 1024 and "<" not in front["description"]
    assert 1 <= len(front["compatibility"]) <= 500
    assert all(isinstance(v, str) for v in front["metadata"].values())


def test_it_is_short_and_ascii():
    assert TEXTS["SKILL.md"].count("\n") < 500
    assert len(TEXTS["SKILL.md"]) / 4 < 5000, "tokens of 4 characters"
    for name, text in TEXTS.items():
        assert text.isascii() and "\t" not in text and text.endswith("\n"), name


def test_references_are_one_level_deep_and_all_named():
    assert all(re.fullmatch(r"SKILL\.md|references/[\w-]+\.md", name) for name in TEXTS)
    named = set(re.findall(r"references/[\w-]+\.md", TEXTS["SKILL.md"]))
    assert named == set(TEXTS) - {"SKILL.md"}
    for name, text in TEXTS.items():
        for link in re.findall(r"\]\(([^)]+)\)", text):
            assert name == "SKILL.md" and link in TEXTS, (name, link)


def programs():
    return [pytest.param(code, id=f"{name}-{i}") for name, text in TEXTS.items()
            for i, code in enumerate(re.findall(r"^```sonde\n(.*?)^```$", text, re.M | re.S))]


def test_there_are_programs():
    assert len(programs()) >= 12
    assert not [name for name, text in TEXTS.items() if re.search(r"^```(?!sonde$|$)", text, re.M)]


@pytest.mark.parametrize("code", programs())
def test_each_program_checks(code):
    run = subprocess.run([sonde_binary(), "check", "--json", "-e", code], capture_output=True, text=True, timeout=60)
    said = json.loads(run.stdout)
    assert run.returncode == 0 and said["diagnostics"] == [], said["diagnostics"]
    assert re.search(r"^param \w+: ", code, re.M), "its target is the caller's to name"


def pieces():
    """What stands in backquotes."""
    return {(name, p) for name, text in TEXTS.items()
            for p in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))}


def names_of_language():
    topics = subprocess.run([sonde_binary(), "doc", "topics"], capture_output=True, text=True, timeout=60).stdout
    return set(re.findall(r"[\w.]+", topics))


def test_each_name_in_backquotes_is_one():
    known = names_of_language() | TOOLS | {"source", "params", "content", "param"}
    fields = set(re.findall(r"\w+", subprocess.run([sonde_binary(), "doc", "builtins"], capture_output=True, text=True,
                                                   timeout=60).stdout))
    for name, piece in sorted(pieces()):
        if re.match(r"sonde ", piece):
            assert subprocess.run([sonde_binary(), piece.split()[1], "--help"], capture_output=True, timeout=60).returncode == 0
        elif re.match(r"sonde://|-$|if r:|<content from PEER>", piece):
            continue
        else:
            word = re.match(r"[\w.]+", piece)[0]
            assert word in known or word in fields, (name, piece)


def test_each_tool_is_one_and_all_are_named():
    if PROBES:
        assert set(PROBES) <= TOOLS
    text = "".join(TEXTS.values())
    for tool in TOOLS:
        assert tool in text, tool


def test_each_verdict_is_one_of_the_probes():
    rows = re.split(r"^## ", TEXTS["references/verdicts.md"], flags=re.M)
    told = {r.split("\n")[0]: set(re.findall(r"\b[A-Z][A-Z_]+\b", " ".join(re.findall(r"^\| ([A-Z_, ]+) \|", r, re.M))))
            for r in rows}
    assert PROBES, "src/mcp/probes"
    for probe, source in PROBES.items():
        if probe == "local_state":
            continue
        given = set(json.loads((ROOT / "doc" / "mcp" / f"tool.{probe}.output.json").read_text())["properties"]["verdict"]["enum"])
        assert told[probe] == given, probe
        assert all(word in source for word in given), probe


def test_each_warning_is_one():
    known = set(re.findall(r"^- \*\*(\S+)\*\*", (ROOT / "doc" / "warnings.md").read_text(), re.M))
    rows = re.findall(r"^\| ([\w., ]+) \| ", TEXTS["references/warnings.md"], re.M)
    told = {code for row in rows if row != "code" for code in row.split(", ")}
    assert len(told) > 40 and not told - known, told - known


def test_claims_about_exit_codes_are_true():
    text = subprocess.run([sonde_binary(), "help"], capture_output=True, text=True, timeout=60).stdout
    assert re.search(r"^ +3 .*policy", text, re.M) and re.search(r"^ +4 .*budget or leak", text, re.M)
