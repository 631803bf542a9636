# SPDX-License-Identifier: Apache-2.0
"""traffic.mjs, by traffic made up here: each kind of fault is one, and what is none passes."""
import copy
import json
import pathlib
import subprocess

import pytest

from front import node

SCRIPT = pathlib.Path(__file__).with_name("traffic.mjs")
HINTS = dict.fromkeys(("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"), True)
TOOL = {"name": "t", "description": "d", "annotations": HINTS,
        "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False},
        "outputSchema": {"type": "object", "required": ["evidence"], "properties": {"evidence": {"type": "object"}, "more": {"type": "string"}}}}
LIST = {"era": "2026-07-28", "method": "tools/list", "params": {}, "result": {"tools": [TOOL]}}
OLD = {**LIST, "era": "2025-03-26", "result": {"tools": [{k: v for k, v in TOOL.items() if k != "outputSchema"}]}}
CALL = {"era": "2026-07-28", "method": "tools/call", "params": {"name": "t", "arguments": {"n": 1}},
        "result": {"content": [{"type": "text", "text": "sent 3,\n  lost false"}], "structuredContent": {"evidence": {"sent": 3, "lost": False}}}}
REFUSED = {**CALL, "params": {"name": "t", "arguments": {"x": 1}}, "result": {"isError": True, "content": [{"type": "text", "text": "no"}]}}
UNKNOWN = {**CALL, "params": {"name": "none"}}
UNKNOWN_REFUSED = {k: v for k, v in {**UNKNOWN, "error": {"code": -32602, "message": "no such tool"}}.items() if k != "result"}
FORGED = {k: v for k, v in {**CALL, "params": {**CALL["params"], "requestState": "x"}, "error": {"code": -32602, "message": "no"}}.items() if k != "result"}
ASKED = {**CALL, "result": {"resultType": "input_required", "inputRequests": {}}}


def but(message, *path):
    """A copy with another value at that place."""
    *path, last, value = path
    copied = at = copy.deepcopy(message)
    for key in path:
        at = at[key]
    at[last] = value
    return copied


def judge(folder, *lines):
    folder.mkdir(exist_ok=True)
    (folder / "1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run(folder)


def run(folder):
    r = subprocess.run([node(), SCRIPT, folder], capture_output=True, text=True, timeout=60)
    passed, failed = (int(w) for w in r.stdout.splitlines()[-1].replace(" passed, ", " ").replace(" failed", "").split())
    assert r.returncode == (1 if failed else 0) and not r.stderr, r.stderr
    return passed, failed, r.stdout


FINDING = {"evidence": {"sent": 3, "lost": False}, "verdict": "UP", "remediation_hint": "", "next_steps": ["t {}"], "vantage": {"host": "here"},
           "window": {"start": "2026-11-30T09:00:00.000Z", "seconds": 0.5}, "bounds_used": {"packets": 3, "bytes": 4, "syn": 0, "max_packets": 5}}
FINDING_SAID = "UP sent 3, lost false; t {}; here 2026-11-30T09:00:00.000Z 0.5 s, 3 of 5 packets, 4 bytes, 0 SYNs"
FOUND = but(but(CALL, "result", "structuredContent", FINDING), "result", "content", 0, "text", FINDING_SAID)
NO_FINDINGS = [("remediation_hint", None), ("remediation_hint", 7), ("next_steps", None), ("next_steps", [""]), ("next_steps", [{}]), ("vantage", {}),
               ("vantage", {"host": ""}), ("window", None), ("window", {"start": "today", "seconds": 0.5}), ("bounds_used", {"packets": 3}),
               ("bounds_used", {**FINDING["bounds_used"], "packets": 6})]


@pytest.mark.parametrize("name, value", NO_FINDINGS)
def test_a_verdict_comes_with_all_that_it_rests_on(tmp_path, name, value):
    assert judge(tmp_path, LIST, FOUND)[:2] == (2, 0)
    other = but(FOUND, "result", "structuredContent", {k: v for k, v in {**FINDING, name: value}.items() if v is not None})
    other["result"]["content"].append({"type": "text", "text": json.dumps(value)})
    said = judge(tmp_path, LIST, FOUND, other)
    assert said[1] == 1 and f"{name} is not as it is to be" in said[2], said


def test_what_conforms(tmp_path):
    assert judge(tmp_path, LIST, OLD, CALL, REFUSED, UNKNOWN_REFUSED, FORGED, ASKED)[:2] == (2, 0)


RESULT = ("result", "structuredContent")
FAULTS = {
    "a tool that no test called with success": (LIST, REFUSED, ASKED),
    "arguments that were taken and do not fit": (LIST, CALL, but(CALL, "params", "arguments", {"x": 1})),
    "an answer without what is required": (LIST, CALL, but(CALL, *RESULT, {})),
    "the same in an answer that is an error": (LIST, CALL, but(but(CALL, "result", "isError", True), *RESULT, {})),
    "an answer of another kind": (LIST, CALL, but(CALL, *RESULT, "more", 7)),
    "no structuredContent": (LIST, CALL, but(CALL, "result", {"content": CALL["result"]["content"]})),
    "structuredContent in a revision without": (LIST, CALL, but(CALL, "era", "2025-03-26")),
    "a number that the text lacks": (LIST, CALL, but(CALL, *RESULT, "evidence", "sent", 4)),
    "a number that the text has for something else": (LIST, CALL, but(CALL, *RESULT, "evidence", {"received": 3})),
    "a truth that the text denies": (LIST, CALL, but(CALL, *RESULT, "evidence", "lost", True)),
    "a text that the text lacks": (LIST, CALL, but(CALL, *RESULT, "more", "and so on")),
    "no text": (LIST, CALL, but(CALL, "result", "content", [])),
    "a protocol error": (LIST, CALL, {**UNKNOWN_REFUSED, "params": CALL["params"]}),
    "a finding_id of something else": (LIST, CALL, but(CALL, *RESULT, "finding_id", "f-0123456789abcdef")),
    "a call that is in no list": (LIST, CALL, UNKNOWN),
    "two lists": (LIST, CALL, but(LIST, "result", "tools", 0, "description", "another")),
    "two schemas": (LIST, CALL, but(LIST, "result", "tools", 0, "outputSchema", {"type": "object"})),
    "one tool more": (LIST, CALL, but(LIST, "result", "tools", [TOOL, {**TOOL, "name": "u"}])),
    "a hint less": (but(LIST, "result", "tools", 0, "annotations", {}), CALL),
    "a schema that is none": (but(LIST, "result", "tools", 0, "inputSchema", "type", "objekt"), CALL),
    "no list": (CALL,),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(tmp_path, fault):
    passed, failed, said = judge(tmp_path, *FAULTS[fault])
    assert failed, said


def test_nothing_is_no_traffic(tmp_path):
    assert run(tmp_path)[:2] == run(tmp_path / "none")[:2] == (0, 1)
