# SPDX-License-Identifier: Apache-2.0
"""`sonde check --json` says of each shape what its file says."""
import json
import pathlib
import re
import subprocess

import pytest

from lab import sonde_binary

PROGRAMS = sorted((pathlib.Path(__file__).parent / "programs").glob("*.sonde"))


def told(text, key):
    value = re.search(rf"^# {key}: (\w+)$", text, re.M)[1]
    return None if value == "none" else int(value)


@pytest.mark.sonde
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_check_says_the_worst_case(path):
    r = subprocess.run([sonde_binary(), "check", "--json", path], stdout=subprocess.PIPE, timeout=60)
    worst = json.loads(r.stdout)["manifest"]["worst_case"]
    text = path.read_text()
    assert (worst["packets"], worst["least_packets"], worst["syn"]) == tuple(
        told(text, key) for key in ("packets", "least", "syn"))
