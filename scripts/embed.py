#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Files as C arrays of char, each with a zero byte behind it.

embed.py OUT NAME FILE       `const char NAME[]`
embed.py --lib OUT FILE...   the verbs, as the table of lib/lib.h
embed.py --named OUT NAME... FILE...   `const char NAME[]` for each, as many names as files
"""
import os
import sys


def array(f, declaration, path):
    with open(path, "rb") as source:
        data = source.read()
    f.write(f"{declaration} = {{\n")
    for i in range(0, len(data), 16):
        f.write("\t" + ", ".join(f"'\\x{b:02x}'" for b in data[i:i + 16]) + ",\n")
    f.write("\t0,\n};\n")


def one(f, name, path):
    f.write(f"extern const char {name}[];\n")
    array(f, f"const char {name}[]", path)


def lib(f, paths):
    f.write('#include "lib/lib.h"\n\n')
    for i, path in enumerate(paths):
        array(f, f"static const char text_{i}[]", path)
    f.write("\nconst LibFile lib_files[] = {\n")
    for i, name in enumerate(map(os.path.basename, paths)):
        f.write(f'\t{{ {{ "{name}", {len(name)} }}, {{ text_{i}, sizeof text_{i} - 1 }} }},\n')
    f.write(f"\t{{ {{ 0, 0 }}, {{ 0, 0 }} }},\n}};\nconst unsigned lib_count = {len(paths)};\n")


args = sys.argv[1:]
how = args.pop(0) if args[0].startswith("--") else ""
with open(args.pop(0), "w") as out:
    out.write("/* SPDX-License-Identifier: Apache-2.0 */\n")
    if how == "--lib":
        lib(out, args)
    elif how == "--named":
        for name, path in zip(args[:len(args) // 2], args[len(args) // 2:], strict=True):
            one(out, name, path)
    else:
        one(out, *args)
