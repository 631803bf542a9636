#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Python as the oracle of what programs compute.

  oracle_run.py LANG_RUN SEED COUNT

Programs made at random from control flow, functions, comprehensions and lambdas
over small ints run in both; they must print the same.
"""
import contextlib
import io
import pathlib
import random
import subprocess
import sys
import tempfile


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.out = []
        self.vars = ["a", "b", "c"]
        self.loops = 0
        self.fresh = 0

    def new(self):
        self.fresh += 1
        return f"v{self.fresh}"

    def cond(self, d):
        r = self.r
        if d > 0 and r.random() < 0.4:
            return r.choice([
                lambda: f"({self.cond(d - 1)} and {self.cond(d - 1)})",
                lambda: f"({self.cond(d - 1)} or {self.cond(d - 1)})",
                lambda: f"(not {self.cond(d - 1)})",
                lambda: f"any(w > {self.num(0)} for w in {self.seq(d - 1)})",
                lambda: f"all(w != {self.num(0)} for w in {self.seq(d - 1)})",
            ])()
        ops = ["<", "<=", ">", ">=", "==", "!="]
        if r.random() < 0.3:
            return f"{self.num(d)} {r.choice(ops)} {self.num(d)} {r.choice(ops)} {self.num(d)}"
        if r.random() < 0.2:
            return f"{self.num(d)} {r.choice(['in', 'not in'])} {self.seq(d)}"
        return f"{self.num(d)} {r.choice(ops)} {self.num(d)}"

    def num(self, d):
        r = self.r
        if d <= 0 or r.random() < 0.3:
            return r.choice([r.choice(self.vars), str(r.randint(-3, 9))])
        return r.choice([
            lambda: f"({self.num(d - 1)} {r.choice('+-')} {self.num(d - 1)})",
            lambda: f"({self.num(d - 1)} * {self.num(d - 1)} % 97)",
            lambda: f"({self.num(d - 1)} // {r.randint(1, 5)})",
            lambda: f"({self.num(d - 1)} if {self.cond(d - 1)} else {self.num(d - 1)})",
            lambda: f"({self.num(d - 1)} or {self.num(d - 1)})",
            lambda: f"({self.num(d - 1)} and {self.num(d - 1)})",
            lambda: f"sum({self.seq(d - 1)})",
            lambda: f"len({self.seq(d - 1)})",
            lambda: f"f{r.randint(0, 2)}({self.num(d - 1)}, {self.num(d - 1)})",
            lambda: f"f{r.randint(0, 2)}({self.num(d - 1)}, c={self.num(d - 1)}, b={self.num(d - 1)})",
            lambda: f"f{r.randint(0, 2)}(a={self.num(d - 1)})",
            lambda: f"-{self.num(d - 1)}",
        ])()

    def seq(self, d):
        r = self.r
        if d <= 0 or r.random() < 0.3:
            return r.choice(["[3, 1, 2]", "[]", "list(range(4))", "[5, 5]"])  # a range prints as the list that it is
        v = self.new()
        self.vars.append(v)
        inner = self.num(d - 1)
        test = f" if {self.cond(d - 1)}" if r.random() < 0.5 else ""
        self.vars.remove(v)
        w = self.new()
        return r.choice([
            lambda: f"[{inner} for {v} in {self.seq(d - 1)}{test}]",
            lambda: f"[{v} + {w} for {v} in {self.seq(d - 1)} for {w} in [1, {v}]]",
            lambda: f"sorted({self.seq(d - 1)}, key=lambda {v}: {inner})",
            lambda: f"sorted({self.seq(d - 1)}, key=lambda {v}, {w}={self.num(0)}: {v} * {w})",
            lambda: f"({self.seq(0) if r.random() < 0.1 else '[1, 2, 3, 4]'})[{r.randint(-2, 2)}:{r.randint(0, 4)}]",
            lambda: f"list(map(lambda {v}: {inner}, {self.seq(d - 1)}))",
        ])()

    def put(self, indent, line):
        self.out.append("    " * indent + line)

    def stmt(self, i, d):
        r = self.r
        simple = [
            lambda: self.put(i, f"{r.choice('abc')} = {self.num(3)}"),
            lambda: self.put(i, f"{r.choice('abc')} {r.choice(['+=', '-='])} {self.num(2)}"),
            lambda: self.put(i, "a, b = b, a"),
            lambda: self.put(i, f"c, (a, b) = {self.num(1)}, [{self.num(1)}, {self.num(1)}]"),
            lambda: self.put(i, f"print(a, b, c, {self.seq(2)}, {self.cond(2)})"),
            lambda: self.put(i, f"print(f\"{{a}} {{{self.num(1)}:>4}} {{c!r}}\")"),
        ]
        if self.loops:
            simple.append(lambda: self.put(i, f"if {self.cond(1)}: {r.choice(['break', 'continue'])}"))
        deep = [self.branch, self.loop, self.countdown]
        if d > 0 and r.random() < 0.5:
            r.choice(deep)(i, d)
        else:
            r.choice(simple)()

    def block(self, i, d):
        for _ in range(self.r.randint(1, 3)):
            self.stmt(i, d)

    def branch(self, i, d):
        self.put(i, f"if {self.cond(2)}:")
        self.block(i + 1, d - 1)
        if self.r.random() < 0.5:
            self.put(i, f"elif {self.cond(2)}:")
            self.block(i + 1, d - 1)
        if self.r.random() < 0.5:
            self.put(i, "else:")
            self.block(i + 1, d - 1)

    def looped(self, i, d):
        self.loops += 1
        self.block(i + 1, d - 1)
        self.loops -= 1
        if self.r.random() < 0.4:
            self.put(i, "else:")
            self.block(i + 1, d - 1)

    def loop(self, i, d):
        v = self.new()
        self.put(i, f"for {v} in {self.seq(2)}:")
        self.put(i + 1, f"a = {v} + a % 7")
        self.looped(i, d)

    def countdown(self, i, d):
        v = self.new()
        self.put(i, f"{v} = {self.r.randint(1, 4)}")
        self.put(i, f"while {v} > 0 and a < 1000000:")
        self.put(i + 1, f"{v} -= 1")
        self.looped(i, d)

    def program(self):
        for k in range(3):
            self.put(0, f"def f{k}(a, b=2, c=3):")
            names, self.vars = self.vars, ["a", "b", "c"]
            body = self.num
            self.num = lambda d: body(0)  # functions call no functions: no recursion
            for _ in range(2):
                self.stmt(1, 1)
            self.num = body
            self.vars = names
            self.put(1, "return a % 13 + b % 7 - c % 5")
        self.put(0, "a, b, c = 1, 2, 3")
        for _ in range(6):
            self.stmt(0, 2)
        self.put(0, "print(a, b, c)")
        return "\n".join(self.out) + "\n"


def run_python(source):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "program", "exec"), {})  # our own text, made above
    return out.getvalue()


def main():
    lang_run, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            source = Maker(seed * 1000003 + i).program()
            lines = run_python(source).splitlines()
            if len(lines) > 3000 or any(abs(int(w)) > 2**60 for l in lines for w in l.split() if w.lstrip("-").isdigit()):
                continue
            head = "".join(f"# expect: {line}\n" for line in lines)
            if len(head) + len(source) < 60000:
                (pathlib.Path(folder) / f"{i:06}.sonde").write_text(head + source)
        r = subprocess.run([lang_run, folder], capture_output=True, text=True)
        sys.stdout.write(r.stdout[-6000:])
        return r.returncode


if __name__ == "__main__":
    sys.exit(main())
