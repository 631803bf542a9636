#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py OUT FILE...: the verbs' texts as the table lib_files of lib/lib.h."""
import os
import sys

out, files = sys.argv[1], sys.argv[2:]
with open(out, "w", encoding="ascii") as f:
    f.write('/* SPDX-License-Identifier: Apache-2.0 */\n#include "lib/lib.h"\n')
    for n, path in enumerate(files):
        data = open(path, "rb").read()
        f.write(f"\nstatic const char text_{n}[] = {{\n")
        for i in range(0, len(data), 16):
            f.write("\t" + ", ".join(f"'\\x{b:02x}'" if b < 128 else f"(char){b}" for b in data[i:i + 16]) + ",\n")
        f.write("};\n")
    f.write("\nconst LibFile lib_files[] = {\n")
    for n, path in enumerate(files):
        f.write(f'\t{{ {{ "{os.path.basename(path)}", {len(os.path.basename(path))} }}, {{ text_{n}, sizeof text_{n} }} }},\n')
    f.write("};\nconst unsigned lib_count = sizeof lib_files / sizeof *lib_files;\n")
