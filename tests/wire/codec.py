# SPDX-License-Identifier: Apache-2.0
"""The codec under test, as a filter: wire_dump (src/wire/wire_dump.c)."""
import json
import os
import pathlib
import subprocess

BUILD = pathlib.Path(os.environ.get("SONDE_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
WIRE_DUMP = pathlib.Path(os.environ.get("WIRE_DUMP", BUILD / "src/wire/wire_dump"))


def run(mode, lines):
    """One line of output for each line of input."""
    done = subprocess.run([WIRE_DUMP, mode], input="\n".join(lines) + "\n", text=True,
                          capture_output=True, timeout=120)
    assert done.returncode == 0, f"wire_dump {mode}: exit {done.returncode}\n{done.stderr}"
    out = done.stdout.splitlines()
    assert len(out) == len(lines), f"{len(lines)} lines in, {len(out)} out"
    return out


def run_free(mode):
    """The lines of a mode that reads nothing."""
    return subprocess.run([WIRE_DUMP, mode], text=True, capture_output=True, timeout=120,
                          check=True).stdout.splitlines()


def decode(frames):
    """frames: (first layer, bytes)."""
    return [json.loads(line) for line in run("decode", [f"{first} {raw.hex()}" for first, raw in frames])]


def rebuild(frames):
    return run("rebuild", [f"{first} {raw.hex()}" for first, raw in frames])


def build(lines):
    return run("build", lines)
