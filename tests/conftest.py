# SPDX-License-Identifier: Apache-2.0
"""Common to all system tests: the path of `lab`, progress with times, skips
without a binary or without root, and the closing line `N passed, N failed`."""
import os
import pathlib
import sys
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from lab import Lab, sonde_binary  # noqa: E402

_counts = {"passed": 0, "failed": 0, "skipped": 0}
_start = time.monotonic()


def pytest_addoption(parser):
    parser.addoption("--scale", type=float, default=0.05, help="size of benches (1: full)")


def pytest_configure(config):
    config.addinivalue_line("markers", "sonde: needs the binary under test")


def pytest_collection_modifyitems(config, items):
    if os.geteuid() != 0:
        for item in items:
            item.add_marker(pytest.mark.skip(reason="labs need root"))
    elif not sonde_binary().exists():
        for item in items:
            if item.get_closest_marker("sonde"):
                item.add_marker(pytest.mark.skip(reason=f"no {sonde_binary()}"))


def pytest_runtest_logreport(report):
    if report.when == "call" or report.failed or (report.when == "setup" and report.skipped):
        kind = report.outcome
        _counts[kind] += 1
        if report.duration > 5:
            sys.stderr.write(f"  [{time.monotonic() - _start:5.0f} s] {report.nodeid} took "
                             f"{report.duration:.1f} s\n")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(
        f"labs: {_counts['passed']} passed, {_counts['failed']} failed"
        + (f", {_counts['skipped']} skipped" if _counts["skipped"] else ""))


@pytest.fixture
def lab(request):
    with Lab(request.node.name) as made:
        yield made
