#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the MCP server offers to read, as the tables of mcp/content.h and mcp/skills.h.

embed_content.py OUT REFERENCE BUILTINS WARNINGS --examples FILE... --skill DIR FILE...

Built-ins are the sections of doc/builtins.md, warnings the rows of doc/warnings.md, both
made by `sonde doc`.  A skill's front matter is read here, as the few shapes of YAML that
it needs; tests compare the result with a real reader's.
"""
import hashlib
import json
import os
import re
import sys


def c_string(text):
    return '"' + "".join(c if c.isalnum() or c in " _-./:{}[],()#" else "\\%03o" % c.encode()[0] for c in text) + '"'


class Out:
    def __init__(self):
        self.parts = ['/* SPDX-License-Identifier: Apache-2.0 */\n#include "mcp/content.h"\n#include "mcp/skills.h"\n']
        self.n = 0

    def text(self, data):
        """An array with a zero byte behind it; its name."""
        self.n += 1
        rows = ["\t" + ", ".join(f"'\\x{b:02x}'" for b in data[i:i + 16]) + ",\n" for i in range(0, len(data), 16)]
        self.parts.append(f"static const char text_{self.n}[] = {{\n{''.join(rows)}\t0,\n}};\n")
        return f"text_{self.n}, sizeof text_{self.n} - 1"

    def table(self, declaration, rows):
        body = "".join(f"\t{{ {row} }},\n" for row in rows)
        self.parts.append(f"\n{declaration} = {{\n{body}\t{{ 0 }},\n}};\n\n")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def pages(out, reference, builtins, warnings):
    rows = [(name, out.text(text.encode()), name not in ("policy", "topics")) for name, text in
            re.findall(r"^## (\S+)\n\n```text\n(.*?)^```$", read(builtins).decode(), re.M | re.S)]
    rows += [(code, out.text(line.encode() + b"\n"), False) for line, code in
             re.findall(r"^(- \*\*(\S+)\*\*.*)$", read(warnings).decode(), re.M)]
    rows += [(name, out.text(read(path)), False) for name, path in (("reference", reference), ("warnings", warnings))]
    out.table("const ContentPage content_pages[]",
              [f"{c_string(name)}, {text}, {'true' if builtin else 'false'}" for name, text, builtin in sorted(rows)])


def examples(out, paths):
    rows = []
    for path in sorted(paths):
        data = read(path)
        comment = re.match(r"(?:#.*\n)+", data.decode())[0]
        summary = " ".join(re.sub(r"^# ?", "", line) for line in comment.splitlines())
        rows.append(f'{c_string(os.path.basename(path).removesuffix(".sonde"))}, {out.text(data)}, {c_string(summary)}')
    out.table("const ContentExample content_examples[]", rows)


def front_matter(text):
    """Between the lines of ---: `key: text`, and below `key:` rows of `  key: "text"`."""
    found = {}
    inside = None
    head = re.match(r"---\n(.*?)^---\n", text, re.S | re.M)
    for line in head[1].splitlines():
        row = re.fullmatch(r"(  )?([\w-]+):(?: (.+))?", line)
        key, value = row[2], row[3]
        if value and value.startswith('"'):
            value = json.loads(value)
        if row[1]:
            inside[key] = value
        elif value is None:
            inside = found[key] = {}
        else:
            found[key] = value
    return found


MIME = {".md": "text/markdown", ".sonde": "text/x-sonde"}


def skill(out, folder, paths):
    name = os.path.basename(folder)
    rows = []
    for path in sorted(paths, key=lambda p: (os.path.basename(p) != "SKILL.md", p)):
        data = read(path)
        rows.append(f'"skill://{name}/{os.path.relpath(path, folder)}", {out.text(data)}, '
                    f'"{hashlib.sha256(data).hexdigest()}", "{MIME[os.path.splitext(path)[1]]}"')
    out.table("static const SkillFile skill_files[]", rows)
    front = json.dumps(front_matter(read(os.path.join(folder, "SKILL.md")).decode()))
    out.table("const Skill content_skills[]",
              [f'"skill://{name}", {c_string(front)}, skill_files, {len(rows)}'])


def main(argv):
    target, reference, builtins, warnings, *rest = argv
    at = rest.index("--skill")
    out = Out()
    pages(out, reference, builtins, warnings)
    examples(out, rest[1:at])
    skill(out, rest[at + 1], rest[at + 2:])
    with open(target, "w") as f:
        f.write("".join(out.parts))


main(sys.argv[1:])
