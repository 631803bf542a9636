#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make conformance: the suite of the Model Context Protocol against our dispatcher and transport.

  tests/mcp/conformance.py [BUILD]

The server is sonde-mcp-fixtures: the library of sonde-mcp with the tools that the suite asks
for.  Each scenario that a revision requires counts once for each revision; of those that the
suite runs without counting, the ones in ALSO must pass too.
The last line is "N passed, N failed".
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODULES = ROOT / "tests/mcp/node_modules"
SUITE = MODULES / "@modelcontextprotocol/conformance"
NODE = MODULES / ".bin/node"
ALSO = {
    "2025-11-25": {"server-session-lifecycle", "json-schema-2020-12", "server-sse-polling"},
    "2026-07-28": {"json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation"},
}
REQUIRED = {"2025-11-25": 30, "2026-07-28": 37}


def required(revision):
    """The server's scenarios of a requirement set: the list behind `server:`."""
    text = (SUITE / "requirements" / f"{revision}.yaml").read_text()
    part = re.search(r"^server:\n((?:  - \S+\n|\s*\n)+)", text, re.M)[1]
    return re.findall(r"- (\S+)", part)


def start(build):
    server = subprocess.Popen([build / "tests/mcp/sonde-mcp-fixtures", "--http", "127.0.0.1:0"],
                              stderr=subprocess.PIPE, text=True)
    for line in server.stderr:
        url = re.search(r"http://\S+", line)
        if url:
            return server, url[0]
    raise SystemExit("the server did not say where it listens")


def run(build, revision):
    """(how many passed, what failed)"""
    server, url = start(build)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            r = subprocess.run([NODE, SUITE / "dist/index.js", "server", "--url", url, "--requirements", revision], cwd=scratch,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
                               env={**os.environ, "NO_COLOR": "1"})
        finally:
            server.terminate()
            ended = server.wait(10)
    summary = r.stdout[r.stdout.find("=== SUMMARY"):]
    how = {name: mark == "✓" for mark, name in re.findall(r"^(✓|✗) (\S+): \d+ passed, \d+ failed", summary, re.M)}
    names = required(revision)
    failed = [n for n in names if not how.get(n)] + sorted(n for n in ALSO[revision] if not how.get(n))
    if len(names) != REQUIRED[revision]:
        failed.append(f"{len(names)} scenarios instead of {REQUIRED[revision]}")
    if ended:
        failed.append(f"the server ended with {ended}")
    if not failed and r.returncode:
        failed.append(f"the suite ended with {r.returncode}")
    passed = sum(1 for n in names if how.get(n))
    print(f"{revision}: {passed} of {len(names)} required scenarios; also {', '.join(sorted(ALSO[revision]))}")
    if failed:
        print("\n".join(f"{revision}: FAILED: {n}" for n in failed) + "\n" + r.stdout[-12000:])
    return passed, failed


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for p, bad in pool.map(lambda revision: run(build, revision), REQUIRED):
            passed += p
            failed += len(bad)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
