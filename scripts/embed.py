#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py OUT NAME FILE: FILE as a C array `const char NAME[]` with a zero byte behind it."""
import sys

out, name, path = sys.argv[1:]
data = open(path, "rb").read()
with open(out, "w") as f:
    f.write(f"/* SPDX-License-Identifier: Apache-2.0 */\nextern const char {name}[];\nconst char {name}[] = {{\n")
    for i in range(0, len(data), 16):
        f.write("\t" + ", ".join(f"'\\x{b:02x}'" for b in data[i:i + 16]) + ",\n")
    f.write("\t0,\n};\n")
