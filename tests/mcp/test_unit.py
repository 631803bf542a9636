# SPDX-License-Identifier: Apache-2.0
"""The unit, as systemd itself reads it."""
import re
import subprocess

import pytest

from lab.procs import build_dir


@pytest.fixture
def unit(tmp_path):
    """As it is built, with what is built in place of what would be installed."""
    folder = build_dir() / "src" / "cmd"
    path = tmp_path / "sonde-mcp.service"
    path.write_text(re.sub(r"^ExecStart=\S+/sonde ", f"ExecStart={folder.resolve()}/sonde ", (folder / "sonde-mcp.service").read_text(), flags=re.M))
    return path


def analyze(*args):
    return subprocess.run(["systemd-analyze", *map(str, args)], capture_output=True, text=True, timeout=30)


def test_systemd_finds_nothing_wrong(unit):
    got = analyze("verify", "--man=no", unit)
    assert (got.returncode, got.stdout, got.stderr) == (0, "", "")
    unit.write_text(unit.read_text().replace("ProtectClock=yes", "ProtectClok=yes"))
    assert "ProtectClok" in analyze("verify", "--man=no", unit).stderr


def test_its_exposure_is_low(unit):
    """0 is none, 10 all; what is left is being root, its capabilities, kinds of sockets and the engine's namespaces."""
    got = analyze("security", "--offline=true", "--threshold=35", "--no-pager", unit)
    assert got.returncode == 0, got.stdout[-200:]
    unit.write_text(re.sub("^SystemCallFilter.*$", "", unit.read_text(), flags=re.M))
    assert analyze("security", "--offline=true", "--threshold=35", "--no-pager", unit).returncode == 1
