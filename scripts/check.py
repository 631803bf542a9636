#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make check: all that must hold, on a clean checkout, as root, on two cores.

  scripts/check.py          everything
  scripts/check.py san      unit and language tests under ASan and UBSan only
  scripts/check.py unit     build and unit tests only

Each step prints how it ended and how long it took; the last line is
"N passed, N failed", and the exit status is 1 if anything failed.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.chdir(ROOT)
PY = "/usr/bin/python3"
LONG = 60  # s: a file of tests above it is worth splitting
# These go first, so that no processor waits for one of them at the end.
FIRST = ["verbs/test_traceroute.py", "examples/test_programs.py", "system/test_warnings.py", "verbs/test_pmtu.py",
         "mcp/test_skill_lab.py", "system/test_start_faults.py", "faults/test_faults.py", "peers/test_peers.py", "faults/test_paths.py", "system/test_replay.py"]


class Count:
    passed = 0
    failed = 0
    lock = threading.Lock()

    @classmethod
    def add(cls, passed, failed):
        with cls.lock:
            cls.passed += passed
            cls.failed += failed


def idle():
    """For what may take as long as it takes beside tests that look at the clock."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def run(title, cmd, seconds=1800, env=None, aside=False):
    """Runs cmd to its end; (ok, output)."""
    start = time.monotonic()
    try:
        r = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                           timeout=seconds, env={**os.environ, **(env or {})}, preexec_fn=idle if aside else None)
        ok, out = r.returncode == 0, r.stdout
    except subprocess.TimeoutExpired as e:
        ok, out = False, (e.stdout or b"").decode(errors="replace") + f"\nstopped after {seconds} s"
    print(f"{'ok    ' if ok else 'FAILED'} {time.monotonic() - start:6.1f} s  {title}", flush=True)
    return ok, out


def step(title, cmd, **kw):
    """A step that counts as one test."""
    ok, out = run(title, cmd, **kw)
    Count.add(ok, not ok)
    if not ok:
        print(out[-8000:], flush=True)
    return ok


def counted(title, cmd):
    """A step that says itself how many passed and failed, in its last line."""
    ok, out = run(title, cmd)
    said = re.search(r"^(\d+) passed, (\d+) failed$", out.strip().splitlines()[-1] if out.strip() else "")
    passed, failed = (int(said[1]), int(said[2])) if said else (0, 1)
    Count.add(passed, failed or int(not ok))
    print(f"                   {passed} passed, {failed} failed", flush=True)
    if failed or not ok:
        print(out[-8000:], flush=True)


def unit_tests(title, build, aside=False):
    """meson test; counts each cmocka case."""
    ok, out = run(title, ["meson", "test", "-C", build, "--no-rebuild", "--timeout-multiplier", "0" if aside else "4"],
                  aside=aside)
    log = pathlib.Path(build, "meson-logs/testlog.txt")
    text = log.read_text(errors="replace") if log.exists() else ""
    passed = sum(int(n) for n in re.findall(r"\[  PASSED  \] (\d+) test", text))
    passed += sum(int(n) for n in re.findall(r"^(\d+) passed, \d+ failed$", text, re.M))
    failed = len(re.findall(r"^\[  FAILED  \] \w+$", text, re.M)) // 2
    failed += sum(int(n) for n in re.findall(r"^\d+ passed, (\d+) failed$", text, re.M))
    if failed == 0 and not (ok and passed):
        failed = 1  # a crash, or nothing ran
    Count.add(passed, failed)
    print(f"                   {passed} passed, {failed} failed", flush=True)
    if not ok:
        print(out[-3000:])
        print("\n".join(l for l in text.splitlines() if re.search(r"FAILED|ERROR|error:|Sanitizer|runtime error", l))[-6000:])


def pytest_file(path, seconds=900):
    cmd = [PY, "-m", "pytest", "-q", "--durations=5", "-p", "no:cacheprovider", str(path)]
    p = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                         env={**os.environ, "SONDE": str(ROOT / "build/sonde")})
    start = time.monotonic()
    try:
        out = p.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        p.kill()
        out = p.communicate()[0] + f"\nstopped after {seconds} s"
    tail = out.strip().splitlines()[-1] if out.strip() else ""
    passed = int((re.search(r"(\d+) passed", tail) or [0, 0])[1])
    # a skipped test hides a layer that is missing: it fails
    bad = sum(int(n) for n in re.findall(r"(\d+) (?:failed|errors?|skipped)", tail))
    return path, passed, bad or int(p.returncode != 0), out, time.monotonic() - start


def pytest(title, workers, *folders):
    """The files of the folders, so many side by side, the longest first."""
    start = time.monotonic()
    first = [pathlib.Path("tests", f) for f in FIRST]
    files = sorted((f for d in folders for f in pathlib.Path("tests", d).glob("test_*.py")),
                   key=lambda f: (f not in first, first.index(f) if f in first else -f.stat().st_size))
    total = [0, 0]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for path, passed, bad, out, seconds in pool.map(pytest_file, files):
            Count.add(passed, bad)
            total[0] += passed
            total[1] += bad
            if bad or seconds > LONG:
                print(f"{'FAILED' if bad else '      '} {seconds:6.1f} s    {path}" + (f"\n{out[-16000:]}" if bad else ""),
                      flush=True)
    print(f"{'FAILED' if total[1] else 'ok    '} {time.monotonic() - start:6.1f} s  {title}\n"
          f"                   {total[0]} passed, {total[1]} failed in {len(files)} files", flush=True)


def build(title, folder, *options, env=None, aside=False):
    if not pathlib.Path(folder, "build.ninja").exists():
        if not step(f"configure {title}", ["meson", "setup", folder, *options], env=env, aside=aside):
            return False
    elif "-Dtests=true" in options:  # `make` may have left them out
        step(f"configure {title} with unit tests", ["meson", "configure", folder, "-Dtests=true"])
    return step(f"build {title}", ["ninja", "-C", folder], aside=aside)


def sanitizers(aside=False):
    # clang: the second compiler, and gcc's warnings don't get on with its sanitizers
    if build("with clang, ASan and UBSan", "build-san", "-Db_sanitize=address,undefined", "-Db_lundef=false",
             "-Doptimization=0", "-Dfuzz=true", "-Dfuzz_guided=false", env={"CC": "clang"}, aside=aside):
        unit_tests("unit and language tests under ASan and UBSan", "build-san", aside=aside)
        step("fuzz targets replay their corpus", [PY, "scripts/fuzz.py", "--replay", "build-san"], aside=aside)


def other_builds():
    step("structure", ["scripts/arrows.py", "build"], aside=True)
    build("for arm64", "build-arm64", "--cross-file", "scripts/arm64.ini", "-Dtests=false", "-Doptimization=1", aside=True)
    sanitizers(aside=True)


def full():
    step("Debian packages for the cross build", ["scripts/deps.sh", "cross"])
    if not build("with gcc", "build", "-Dtests=true"):
        return
    unit_tests("unit and language tests", "build")
    # labs mostly wait: what they leave of the processors, the other builds take
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        others = pool.submit(other_builds)
        pytest("oracles: scapy, tshark, CPython; the command line", 2, "wire", "vm", "cmd", "loops")
        shutil.rmtree("build/mcp-traffic", ignore_errors=True)
        pytest("labs", 6, "examples", "faults", "system", "hostile", "lab", "verbs", "peers", "conn", "mcp")
        counted("what the labs said to the MCP server, by its schemas", ["tests/mcp/node_modules/.bin/node", "tests/mcp/traffic.mjs",
                                                                         "build/mcp-traffic"])
        counted("conformance suite of MCP", ["tests/mcp/conformance.py", "build"])
        step("benches at 1/20 size", [PY, "tests/bench/run.py", "--sonde", "build/sonde", "--scale", "0.05"])
        others.result()


def main():
    start = time.monotonic()
    what = sys.argv[1] if len(sys.argv) > 1 else "all"
    if what == "san":
        sanitizers()
    elif what == "unit":
        if build("with gcc", "build", "-Dtests=true"):
            unit_tests("unit and language tests", "build")
    else:
        full()
    print(f"in {time.monotonic() - start:.0f} s")
    print(f"{Count.passed} passed, {Count.failed} failed")
    return 1 if Count.failed or not Count.passed else 0


if __name__ == "__main__":
    sys.exit(main())
