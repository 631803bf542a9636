# SPDX-License-Identifier: Apache-2.0
"""The official inspector's command line, in its three eras, over a pipe and over HTTP.

`--strict` on sonde-mcp's own tools must find nothing: no word of it on standard error."""
import concurrent.futures
import contextlib
import json
import os
import re
import socket
import subprocess

import pytest

from lab.procs import DIE_WITH_US, build_dir
from mcp.front import node
from mcp.pipe import FIXTURES
from mcp.traffic import keep

SONDE_MCP = build_dir() / "src" / "cmd" / "sonde-mcp"
INSPECTOR = build_dir().parent / "tests/mcp/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
ERAS = ("legacy", "auto", "modern")


def inspect(tmp, era, target, *args):
    """(exit code, result, standard error)"""
    r = subprocess.run([node(), INSPECTOR, "--cli", "--protocol-era", era, "--format", "json", *target, *args], timeout=240, text=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp,
                       env={**os.environ, "HOME": str(tmp), "NO_COLOR": "1", "NODE_NO_WARNINGS": "1"})
    try:
        return r.returncode, json.loads(r.stdout)["result"], r.stderr
    except (ValueError, KeyError):
        return r.returncode, None, r.stdout + r.stderr


@contextlib.contextmanager
def served(binary):
    """The binary over HTTP, with nobody behind its launcher's descriptors; yields the URL."""
    pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]

    def descriptors():
        os.dup2(pairs[0][1].fileno(), 30)
        os.dup2(pairs[1][1].fileno(), 31)
        os.dup2(30, 3)
        os.dup2(31, 4)

    proc = subprocess.Popen(DIE_WITH_US + [str(binary), "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True,
                            close_fds=False, preexec_fn=descriptors)
    try:
        yield next(m[0] for m in (re.search(r"http://\S+", line) for line in proc.stderr) if m)
    finally:
        proc.kill()
        proc.wait()
        for pair in pairs:
            for end in pair:
                end.close()


def everywhere(tmp, binary, check):
    """check(era, target) in each era over both transports, three at a time."""
    with served(binary) as url, concurrent.futures.ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(check, era, target) for era in ERAS for target in ([str(binary)], ["--server-url", url])]
        for job in jobs:
            job.result()


def test_own_tools_strictly(tmp_path):
    def check(era, target):
        code, result, err = inspect(tmp_path, era, target, "--method", "tools/list", "--strict")
        assert code == 0 and not err.strip(), (era, target, err)
        assert len(result["tools"]) >= 10
        keep({"legacy": "2025-11-25"}.get(era, "2026-07-28"), "tools/list", {}, {"result": result})
        for tool in result["tools"]:
            assert len(tool["annotations"]) == 4 and tool["outputSchema"]["type"] == "object", tool["name"]

    everywhere(tmp_path, SONDE_MCP, check)


def test_a_call_and_its_arguments(tmp_path):
    def check(era, target):
        code, result, err = inspect(tmp_path, era, target, "--method", "tools/call", "--tool-name", "test_structured", "--tool-arg", "n=21")
        assert code == 0, (era, target, err)
        assert result["structuredContent"] == {"twice": 42}

    everywhere(tmp_path, FIXTURES, check)


@pytest.mark.parametrize("args, find", [
    (["--method", "resources/read", "--uri", "test://template/77/data"], "77"),
    (["--method", "prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=one", "arg2=two"], "arg2='two'"),
])
def test_resources_and_prompts(tmp_path, args, find):
    for era in ("legacy", "modern"):
        code, result, err = inspect(tmp_path, era, [str(FIXTURES)], *args)
        assert code == 0 and find in json.dumps(result), (era, err)
