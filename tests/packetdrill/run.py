# SPDX-License-Identifier: Apache-2.0
"""Runs packetdrill's public scripts against our stack on virtual time.

  /usr/bin/python3 tests/packetdrill/run.py PACKETDRILL [--build build] [--only TEXT]

PACKETDRILL is a checkout of google/packetdrill in which gtests/net/packetdrill was built.
Each script runs in a network namespace of its own, since scripts set kernel switches, which
mean nothing to us.  Many of the public scripts test what is Linux's alone (tcp_info, cmsgs,
zero copy, epoll edges); they fail here, so the figure is how many pass, not that all do."""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

LOCAL, REMOTE, MASK = "192.168.0.1", "192.0.2.1", "255.255.0.0"


def run(tool, so, script):
    # scripts begin with commands that set up Linux, on a device that packetdrill makes where it needs one
    argv = ["unshare", "--net", "--mount", "sh", "-c", "ip tuntap add dev tun0 mode tun && ip link set tun0 up && exec \"$@\"",
            "sh", str(tool), f"--so_filename={so}", f"--so_flags=local={LOCAL}", "--ip_version=ipv4",
            f"--local_ip={LOCAL}", f"--remote_ip={REMOTE}", f"--netmask_ip={MASK}",
            "--gateway_ip=192.168.0.2", "--tolerance_usecs=14000", script.name]
    try:
        p = subprocess.run(argv, cwd=script.parent, capture_output=True, text=True, timeout=30, check=False)
    except subprocess.TimeoutExpired:
        return script, False, "over 30 s"
    lines = (p.stderr + p.stdout).strip().splitlines()
    return script, p.returncode == 0, lines[-1] if lines else f"exit {p.returncode}"


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("packetdrill", type=pathlib.Path)
    p.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    p.add_argument("--only", default="")
    o = p.parse_args()
    tool = (o.packetdrill / "gtests/net/packetdrill/packetdrill").resolve()
    so = (o.build / "tests/libsonde_packetdrill.so").resolve()
    scripts = sorted(s for s in (o.packetdrill / "gtests/net/tcp").rglob("*.pkt") if o.only in str(s))
    for needed in (tool, so):
        if not needed.exists():
            print(f"no {needed}")
            return 2
    passed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for script, ok, why in pool.map(lambda s: run(tool, so, s), scripts):
            passed += ok
            print(f"{'ok    ' if ok else 'FAILED'} {script.relative_to(o.packetdrill)}{'' if ok else '  ' + why}", flush=True)
    print(f"{passed} passed, {len(scripts) - passed} failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
