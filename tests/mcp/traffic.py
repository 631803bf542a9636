# SPDX-License-Identifier: Apache-2.0
"""What the real server and its clients say to each other about tools, kept for traffic.mjs: a line for each answered
tools/list and tools/call, in a file for each process.  The fixtures' server is none of it."""
import json
import os

from lab.procs import build_dir

METHODS = ("tools/list", "tools/call")


def keep(era, method, params, answer):
    """answer: the whole message, with its result or its error."""
    if method not in METHODS:
        return
    line = {"era": era, "method": method, "params": params or {}, **{k: answer[k] for k in ("result", "error") if k in answer}}
    folder = build_dir() / "mcp-traffic"
    folder.mkdir(parents=True, exist_ok=True)
    fd = os.open(folder / f"{os.getpid()}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(fd, json.dumps(line).encode() + b"\n")  # whole lines, whichever thread
    finally:
        os.close(fd)
