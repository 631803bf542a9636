#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""embed_lib.py OUT FILE...: the verbs as the table of lib/lib.h."""
import os
import sys

out, *paths = sys.argv[1:]
with open(out, "w") as f:
    f.write('/* SPDX-License-Identifier: Apache-2.0 */\n#include "lib/lib.h"\n\n')
    for i, path in enumerate(paths):
        data = open(path, "rb").read()
        f.write(f"static const char text_{i}[] = {{\n")
        for at in range(0, len(data), 16):
            f.write("\t" + ", ".join(f"'\\x{b:02x}'" for b in data[at:at + 16]) + ",\n")
        f.write("\t0,\n};\n")
    f.write("\nconst LibFile lib_files[] = {\n")
    for i, path in enumerate(paths):
        f.write(f'\t{{ {{ "{os.path.basename(path)}", {len(os.path.basename(path))} }}, {{ text_{i}, sizeof text_{i} - 1 }} }},\n')
    f.write("\t{ { 0, 0 }, { 0, 0 } },\n};\n" + f"const unsigned lib_count = {len(paths)};\n")
