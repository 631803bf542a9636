#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the source tree against ARCHITECTURE.md's laws of structure.

  scripts/arrows.py [BUILD]    checks everything; with BUILD also the object files

Prints one line per breach and exits 1 if there is one.  Reads the table of
arrows below, which is the one in ARCHITECTURE.md.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

# folder -> folders whose headers it may include (its own is always allowed)
ARROWS = {
    "base": "",
    "wire": "base",
    "tcpip": "base wire",
    "deal": "base",
    "probe": "base wire",
    "vm": "base wire tcpip deal probe",
    "lang": "base wire deal",
    "lib": "base",
    "sys": "base",
    "port": "base wire deal sys",
    "gate": "base wire deal sys",
    "tls": "base deal",
    "mcp": "base deal sys",
    "cmd": "base wire deal probe vm lang lib sys port gate tls mcp",
}
# single headers that a folder may include beyond its arrows
EXTRA = {
    "port": {"tcpip/stack.h", "tcpip/tcp.h"}, # of the fake network's hosts, a library for tests
    "lang": {"vm/ops.def", "vm/program.h", "vm/builtins.def", "vm/builtins.h", "probe/filter.h"},
}
PURE = ["base", "wire", "tcpip", "deal", "probe", "vm", "lang"]

# What pure code may ask of libc and libmd: memory, text and hashes, no kernel, no allocation, no clock.
ALLOWED = set("""
memcpy memmove memset memcmp memchr memrchr strlen strcmp strncmp strchr strrchr strtod strstr
vsnprintf snprintf __snprintf_chk __vsnprintf_chk __memcpy_chk __memmove_chk __memset_chk __strcpy_chk
longjmp _setjmp __longjmp_chk __sigsetjmp abort __stack_chk_fail qsort bsearch
fabs cbrt floor ceil fmod pow sqrt llrint llround lrint lround trunc rint round nearbyint modf log2 log log10 exp ldexp frexp isnan isinf
_GLOBAL_OFFSET_TABLE_ __tls_get_addr floorf ceill __isoc99_sscanf strtol strtoull qsort_r hypot fmin fmax sqrtl
__divti3 __divmodti4 __udivti3 __umodti3 __modti3 __multi3 memmem strpbrk strcspn strspn strtoll
SHA256Init SHA256Update SHA256Final
__strcat_chk __strncat_chk strcat strncat strncpy __strncpy_chk __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc
""".split())

MAX_FILE = 800
MAX_FUNCTION = 80
LONG_FUNCTIONS = {("vm", "vm_loop")}  # the dispatch loop

problems = []


def problem(path, line, text):
    problems.append(f"{path.relative_to(ROOT)}:{line}: {text}")


def folder_of(path):
    return path.relative_to(SRC).parts[0]


def is_test(path):
    return bool(re.search(r"_test\.c$|/fuzz_|/bench_|_dump\.c$|_tool\.c$|/test_", str(path)))


def check_includes(path, lines):
    me = folder_of(path)
    allowed = set(ARROWS[me].split()) | {me}
    for n, line in enumerate(lines, 1):
        m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not m:
            continue
        name = m.group(1)
        if "/" not in name:
            problem(path, n, f'#include "{name}": write the folder too')
            continue
        to = name.split("/")[0]
        if to not in allowed and name not in EXTRA.get(me, ()) and not is_test(path):
            problem(path, n, f"{me} may not include {name}: no arrow {me} -> {to}")


def check_text(path, lines):
    if not any("SPDX-License-Identifier: Apache-2.0" in l for l in lines[:3]):
        problem(path, 1, "no SPDX-License-Identifier: Apache-2.0 in the first lines")
    for n, line in enumerate(lines, 1):
        if re.search(r"\b(TODO|FIXME|XXX)\b", line):
            problem(path, n, "unfinished: TODO, FIXME or XXX")
    if path.suffix in (".c", ".h") and len(lines) > MAX_FILE:
        problem(path, MAX_FILE, f"{len(lines)} lines: the most is {MAX_FILE}")


def check_functions(path, lines):
    start, name = 0, ""
    for n, line in enumerate(lines, 1):
        if line == "{" and n > 1:
            head = next((l for l in reversed(lines[max(0, n - 8):n - 1]) if re.match(r"[A-Za-z_].*\(", l)), "")
            m = re.search(r"(\w+)\s*\(", head)
            start, name = n, m.group(1) if m else "?"
        elif line == "}" and start:
            if n - start - 1 > MAX_FUNCTION and (folder_of(path), name) not in LONG_FUNCTIONS and not is_test(path):
                problem(path, start, f"{name}(): {n - start - 1} lines: the most is {MAX_FUNCTION}")
            start = 0


def check_headers_alone():
    for h in sorted(SRC.rglob("*.h")):
        r = subprocess.run(["cc", "-std=c17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-I", SRC, "-fsyntax-only",
                            "-include", h, "-xc", "/dev/null"], capture_output=True, text=True)
        if r.returncode:
            problem(h, 1, "does not compile alone: " + r.stderr.strip().split("\n")[0])


def check_objects(build):
    defined = {}
    undefined = {}
    for folder in PURE:
        lib = build / "src" / folder / f"lib{folder}.a"
        if not lib.exists():
            continue
        out = subprocess.run(["nm", lib], capture_output=True, text=True).stdout
        obj = ""
        for line in out.splitlines():
            if line.endswith(":"):
                obj = line[:-1]
            if len(line.split()) < 2:
                continue
            kind, name = line.split()[-2:]
            if kind == "U":
                undefined.setdefault(folder, {}).setdefault(name, obj)
            else:
                defined[name] = folder
    for folder in PURE:
        lib = build / "src" / folder / f"lib{folder}.a"
        if not lib.exists():
            continue
        for line in subprocess.run(["objdump", "-t", lib], capture_output=True, text=True).stdout.splitlines():
            m = re.search(r"\bO (\.data|\.bss|\*COM\*)(\.(?!rel\.ro)\S+)?\s+[0-9a-f]+\s+(\S+)$", line)
            if m and not m.group(3).startswith("__"):
                problems.append(f"src/{folder}: writable data at file scope: {m.group(3)}")
    for folder, names in undefined.items():
        for name, obj in sorted(names.items()):
            if name not in ALLOWED and name not in defined and not name.startswith(("__asan", "__ubsan", "__gcov")):
                problems.append(f"src/{folder}: {obj} calls {name}(): pure code may not")


def main():
    for path in sorted(SRC.rglob("*")):
        if path.suffix not in (".c", ".h", ".def", ".sonde") or not path.is_file():
            continue
        lines = path.read_text().split("\n")
        check_text(path, lines)
        if path.suffix in (".c", ".h"):
            check_includes(path, lines)
            check_functions(path, lines)
    for folder in sorted(p for p in SRC.iterdir() if p.is_dir()):
        if folder.name not in ARROWS:
            problems.append(f"src/{folder.name}: not in the table of arrows")
        if not (folder / "README.md").exists():
            problems.append(f"src/{folder.name}: no README.md")
    check_headers_alone()
    if len(sys.argv) > 1:
        check_objects(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(problems) if problems else "structure: all laws hold")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
