# SPDX-License-Identifier: Apache-2.0
"""Runs a command with what a unit takes from it: capabilities, calls of the system, writable code. Without systemd.

  as_unit.py UNIT COMMAND [ARG ...]"""
import ctypes
import os
import re
import subprocess
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_MDWE, PR_CAPBSET_DROP, CAP_LAST = 38, 65, 24, 40
SCMP_ACT_ALLOW, SCMP_ACT_ERRNO_EPERM = 0x7fff0000, 0x00050001
CAPS = {"CAP_CHOWN": 0, "CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7, "CAP_SETPCAP": 8, "CAP_NET_BIND_SERVICE": 10, "CAP_NET_ADMIN": 12,
        "CAP_NET_RAW": 13}
libc = ctypes.CDLL(None, use_errno=True)


def calls(groups):
    """The names of systemd's groups."""
    out = set()
    for group in groups:
        said = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", group], capture_output=True, text=True, check=True).stdout
        names = re.findall(r"^ {4}(@?[a-z0-9_-]+)$", said, re.M)
        out |= {n for n in names if n[0] != "@"} | calls(n for n in names if n[0] == "@")
    return out


def prctl(option, value):
    if libc.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def refuse(names):
    """EPERM for each of these from now on; how many this machine has."""
    seccomp = ctypes.CDLL("libseccomp.so.2")
    seccomp.seccomp_init.restype = ctypes.c_void_p
    filter_ = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(SCMP_ACT_ALLOW)))
    numbers = [n for name in names if (n := seccomp.seccomp_syscall_resolve_name(name.encode())) >= 0]
    for n in numbers:
        assert seccomp.seccomp_rule_add(filter_, ctypes.c_uint32(SCMP_ACT_ERRNO_EPERM), n, 0) == 0
    assert seccomp.seccomp_load(filter_) == 0
    return len(numbers)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        unit = dict(line.rstrip("\n").split("=", 1) for line in f if "=" in line and line[0] not in "#[")
    denied = calls(unit["SystemCallFilter"].removeprefix("~").split())
    kept = {CAPS[c] for c in unit["CapabilityBoundingSet"].split()}
    for cap in set(range(CAP_LAST + 1)) - kept:
        prctl(PR_CAPBSET_DROP, cap)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if unit["MemoryDenyWriteExecute"] == "yes":
        prctl(PR_SET_MDWE, 1)
    assert refuse(denied) > 40
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
