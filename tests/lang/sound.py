#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The checker's promise against the VM: random programs that check without an
error must not fail at run time for a reason that the checker excludes.

  sound.py LANG_RUN SEED COUNT

Programs use Python's part of the language: all types of values meet in operators,
built-ins, methods, loops, branches and calls.  Most are wrong, and refused; the
others are run.
"""
import pathlib
import random
import re
import subprocess
import sys
import tempfile

EXCLUDED = {"E-TYPE", "E-NONE", "E-FIELD", "E-LAYER", "E-NAME", "E-ARGS"}
VARS = "abcde"
LITERALS = """1|0|3|-4|2.5|True|None|"x"|"10.0.0.1"|b"ab"|[1, 2]|["x"]|[]|{}|{"k": 1}|{1: "a"}|(1, "y")|{1, 2}
|5ms|2s|[5ms, 2ms]|ip("10.0.0.2")|net("10.0.0.0/30")|mac("aa:bb:cc:dd:ee:ff")|IP(dst="10.0.0.1", ttl=3)/TCP(dport=80)
|[[1], [2]]|[None, 1]|range(3)|[(1, "a"), (2, "b")]""".replace("\n", "").split("|")
CALLS = """sorted max min sum list set tuple reversed enumerate any summarize count_by abs int bool repr bytes hex dict
round float len str""".split()
METHODS = """append(1)|upper()|get("k")|items()|keys()|ms|s|pop()|ttl|src|n|avg|copy()|values()|split()|hex()|version
|summary()|index(1)|count(1)|join(["a"])|union([1])|startswith("x")|sort()|extend([1])""".replace("\n", "").split("|")
ITEMS = '0|1|-1|"k"|1:|IP|TCP|UDP'.split("|")
LAMBDAS = "q|q + 1|str(q)|q == 1|[q]|f(q)".split("|")


class Writer:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def pick(self, items):
        return self.r.choice(items)

    def expr(self, depth):
        if depth == 0 or self.r.random() < 0.25:
            return self.pick(VARS) if self.r.random() < 0.65 else self.pick(LITERALS)
        a, b, v = self.expr(depth - 1), self.expr(depth - 1), self.pick(VARS)
        return self.pick([
            lambda: f"({a} {self.pick(['+', '-', '*', '//', '%', '/', '&', '|'])} {b})",
            lambda: f"({a} {self.pick(['==', '!=', '<', '>=', 'in', 'not in', 'and', 'or'])} {b})",
            lambda: f"({a} if {v} else {b})",
            lambda: f"{v}[{self.pick(ITEMS)}]",
            lambda: f"{self.pick(CALLS)}({a})",
            lambda: f"{v}.{self.pick(METHODS)}",
            lambda: 'f"{%s} {%s}"' % (v, self.pick(VARS)),
            lambda: f"[{a} for x in {b} if {v}]",
            lambda: f"[{a}, {b}]",
            lambda: "{%s: %s}" % (self.pick(["1", '"k"', '"m"']), a),
            lambda: f"({a}, {b})",
            lambda: f"({a} is {self.pick(['None', 'not None'])})",
            lambda: f"{self.pick('fg')}({a})",
            lambda: self.pick(["-", "not "]) + v,
            lambda: f"list({self.pick(['map', 'filter'])}(lambda q: {self.pick(LAMBDAS)}, {a}))",
            lambda: f"zip({a}, {b})",
        ])()

    def stmt(self, indent, depth):
        pad, v, small = "    " * indent, self.pick(VARS), self.expr(1)
        kind = self.r.randrange(12)
        if kind == 0 and depth:
            return [f"{pad}if {small}:"] + self.block(indent + 1, depth - 1) + [pad + "else:"] + self.block(indent + 1, 0)
        if kind == 1 and depth:
            return [f"{pad}for {v} in {small}:"] + self.block(indent + 1, depth - 1)
        if kind == 2:
            return [f"{pad}if {v} is not None:"] + self.block(indent + 1, 0)
        return [pad + self.pick([
            f"{v} = {self.expr(self.pick([1, 1, 2]))}",
            f"{v} {self.pick(['+=', '-=', '*=', '|='])} {small}",
            f"{v}[{self.pick(['0', '1'])}] = {small}",
            f"{v}.append({small})",
            f"{v}, {self.pick(VARS)} = {small}",
            f"print({small})",
        ])]

    def block(self, indent, depth):
        return self.stmt(indent, depth) + (self.stmt(indent, depth) if self.r.random() < 0.4 else [])

    def program(self):
        lines = []
        for name in "fg":
            lines += [f"def {name}(h):", f"    if {self.pick(['h', 'h == 1', 'h is None', 'not h'])}:",
                      f"        return {self.pick(['h', '1', 'None', 'str(h)', '[h]'])}",
                      f"    return {self.pick(['h', '2', '[1]', '(h, 1)', 'None'])}"]
        lines += [f"{v} = {self.pick(LITERALS)}" for v in VARS]
        for _ in range(self.r.randrange(1, 4)):
            lines += self.stmt(0, 2)
        # what it prints is not compared: only that it runs
        return "\n".join(lines + ["print(a, b, c, d, e)", "# expect: -", ""])


def main():
    lang_run, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    writer = Writer(seed)
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            (pathlib.Path(folder) / f"{i}.sonde").write_text(writer.program())
        out = subprocess.run([lang_run, folder], capture_output=True, text=True, errors="replace").stdout
        ran = bad = 0
        for report in out.split("FAIL ")[1:]:
            if "other diagnostics" in report:
                continue
            ran += 1
            code = re.search(r"run-time error:\n(E-[A-Z]+)", report)
            if code and code.group(1) in EXCLUDED:
                bad += 1
                print(report, pathlib.Path(report.split("\n")[0]).read_text(), sep="\n")
    print(f"{count} programs, {ran} without errors, {bad} of them failed at run time (seed {seed})")
    sys.exit(bad > 0 or ran == 0)


main()
