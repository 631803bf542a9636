#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Python's own parser as the oracle of ours.

  oracle.py LANG_RUN SEED COUNT [FILE|FOLDER...]

Programs made at random from the grammar that both have, and those of the files
given that Python can parse: both parsers must give the same tree.
"""
import ast
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

BIN = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
       ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}
UN = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
CMP = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
       ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}


class Beyond(Exception):
    """What Sonde has not."""


# ---- Python's tree as our dump ----

def text(b):
    out = ""
    for c in b:
        out += {10: "\\n", 9: "\\t", 13: "\\r", 34: '\\"', 92: "\\\\"}.get(c) or (
            chr(c) if 32 <= c < 127 else f"\\x{c:02x}")
    return f'"{out}"'


def node(name, *parts):
    return "(" + " ".join([name, *parts]) + ")"


def opt(n):
    return "-" if n is None else expr(n)


def constant(n):
    v = n.value
    if v is None:
        return "(NONE 0)"
    if isinstance(v, bool):
        return f"(BOOL {int(v)})"
    if isinstance(v, int):
        if v >= 2**63:
            raise Beyond
        return f"(INT {v})"
    if isinstance(v, float):
        return f"(FLOAT {v:.17g})"
    if isinstance(v, str):
        return f"(STR {text(v.encode())})"
    if isinstance(v, bytes):
        return f"(BYTES {text(v)})"
    raise Beyond


def field(n):
    conv = {-1: [], 114: ["!r"], 115: ["!s"]}.get(n.conversion)
    if conv is None:
        raise Beyond
    spec = "-"
    if n.format_spec is not None:
        parts = n.format_spec.values
        one = len(parts) == 1 and isinstance(parts[0], ast.Constant)
        spec = constant(parts[0]) if one else joined(n.format_spec)
    return node("FIELD", *conv, expr(n.value), spec)


def joined(n):
    return node("FSTRING", *[constant(v) if isinstance(v, ast.Constant) else field(v) for v in n.values])


def comp(name, n, key, value):
    clauses = []
    for g in n.generators:
        clauses.append((expr(g.target), expr(g.iter)))
        clauses += [("-", expr(c)) for c in g.ifs]
    return node(name, str(len(clauses)), key, value, *[p for c in clauses for p in c])


def params(a, annotations):
    if a.vararg or a.kwarg or a.kwonlyargs or a.posonlyargs:
        raise Beyond
    dflt = [None] * (len(a.args) - len(a.defaults)) + a.defaults
    parts = []
    for p, d in zip(a.args, dflt):
        parts += [kind(p.annotation) if annotations else "-", opt(d)]
    return [p.arg for p in a.args], parts


def call(n):
    if any(isinstance(a, ast.Starred) for a in n.args) or any(k.arg is None for k in n.keywords):
        raise Beyond
    names = [f"{len(n.args) + i}={k.arg}" for i, k in enumerate(n.keywords)]
    return node("CALL", *names, expr(n.func), *[expr(a) for a in n.args], *[expr(k.value) for k in n.keywords])


def boolop(n):
    op, tree = ("and" if isinstance(n.op, ast.And) else "or"), expr(n.values[0])
    for v in n.values[1:]:
        tree = node(op, tree, expr(v))
    return tree


def expr(n):
    t = type(n)
    if t is ast.Constant:
        return constant(n)
    if t is ast.JoinedStr:
        return joined(n)
    if t is ast.Name:
        return node("NAME", n.id)
    if t in (ast.List, ast.Tuple, ast.Set):
        return node(t.__name__.upper(), *map(expr, n.elts))
    if t is ast.Dict:
        if None in n.keys:
            raise Beyond
        return node("DICT", *[expr(x) for kv in zip(n.keys, n.values) for x in kv])
    if t is ast.ListComp:
        return comp("LISTCOMP", n, "-", expr(n.elt))
    if t is ast.SetComp:
        return comp("SETCOMP", n, "-", expr(n.elt))
    if t is ast.GeneratorExp:
        return comp("GENEXP", n, "-", expr(n.elt))
    if t is ast.DictComp:
        return comp("DICTCOMP", n, expr(n.key), expr(n.value))
    if t is ast.UnaryOp:
        return node(UN[type(n.op)], expr(n.operand))
    if t is ast.BinOp:
        return node(BIN[type(n.op)], expr(n.left), expr(n.right))
    if t is ast.BoolOp:
        return boolop(n)
    if t is ast.Compare:
        return node("COMPARE", *[CMP[type(o)] for o in n.ops], expr(n.left), *map(expr, n.comparators))
    if t is ast.IfExp:
        return node("COND", expr(n.body), expr(n.test), expr(n.orelse))
    if t is ast.Call:
        return call(n)
    if t is ast.Attribute:
        return node("ATTR", n.attr, expr(n.value))
    if t is ast.Subscript:
        return node("INDEX", expr(n.value), expr(n.slice))
    if t is ast.Slice:
        return node("SLICE", opt(n.lower), opt(n.upper), opt(n.step))
    if t is ast.Lambda:
        names, parts = params(n.args, False)
        return node("LAMBDA", "-", *names, *parts, "-", expr(n.body))
    raise Beyond


def kind(n):
    if n is None:
        return "-"
    if isinstance(n, ast.Name):
        return node("TYPE", n.id)
    if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name):
        args = n.slice.elts if isinstance(n.slice, ast.Tuple) else [n.slice]
        return node("TYPE", n.value.id, *map(kind, args))
    raise Beyond


def body(v):
    return [stmt(s) for s in v]


def block(name, n, *head):
    return node(name, str(len(n.body)), str(len(n.orelse)), *head, *body(n.body), *body(n.orelse))


def stmt(n):
    t = type(n)
    if t is ast.Expr:
        return node("EXPR", expr(n.value))
    if t is ast.Assign:
        return node("ASSIGN", str(len(n.targets)), *map(expr, n.targets), expr(n.value))
    if t is ast.AugAssign:
        return node("AUGMENT " + BIN[type(n.op)], expr(n.target), expr(n.value))
    if t is ast.AnnAssign:
        return node("ANNOTATE", expr(n.target), kind(n.annotation), opt(n.value))
    if t is ast.If:
        return block("IF", n, expr(n.test))
    if t is ast.While:
        return block("WHILE", n, expr(n.test))
    if t is ast.For:
        return block("FOR", n, expr(n.target), expr(n.iter))
    if t is ast.Return:
        return node("RETURN", opt(n.value))
    if t in (ast.Break, ast.Continue, ast.Pass):
        return node(t.__name__.upper(), "0")
    if t is ast.FunctionDef and not n.decorator_list:
        names, parts = params(n.args, True)
        return node("DEF", n.name, *names, *parts, kind(n.returns), *body(n.body), "-")
    raise Beyond


def module(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return node("MODULE", *body(ast.parse(source).body))


# ---- programs at random ----

class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def name(self):
        return ast.Name(self.r.choice(["a", "b", "xs", "probe", "r2"]), ast.Load())

    def literal(self):
        v = self.r.choice([0, 7, 10**12, 2**63 - 1, 0.5, 1e20, True, None, "", "a'b", 'q"', "\u00e9\n\t\\x", "{}",
                           b"", b"\x00\xff'", "10.0.0.1"])
        return ast.Constant(v)

    def fstring(self, d):
        values = []
        for _ in range(self.r.randint(0, 3)):
            values.append(ast.Constant(self.r.choice(["x ", "{", "}", "::"])))
            spec = None
            if self.r.random() < 0.4:
                spec = ast.JoinedStr([ast.Constant(">"), ast.FormattedValue(self.name(), -1, None)]
                                     if self.r.random() < 0.3 else [ast.Constant("08.2f")])
            values.append(ast.FormattedValue(self.name(), self.r.choice([-1, 114, 115]), spec))
        return ast.JoinedStr(values)

    def comp(self, d):
        gens = [ast.comprehension(self.target(), self.expr(d - 1), [self.expr(d - 1)] * self.r.randint(0, 1), 0)
                for _ in range(self.r.randint(1, 2))]
        pick = self.r.randint(0, 3)
        if pick == 0:
            return ast.ListComp(self.expr(d - 1), gens)
        if pick == 1:
            return ast.SetComp(self.expr(d - 1), gens)
        if pick == 2:
            return ast.DictComp(self.expr(d - 1), self.expr(d - 1), gens)
        return ast.Call(self.name(), [ast.GeneratorExp(self.expr(d - 1), gens)], [])

    def call(self, d):
        args = [self.expr(d - 1) for _ in range(self.r.randint(0, 2))]
        if self.r.random() < 0.2:
            a = ast.arguments([], [ast.arg("v"), ast.arg("w")], None, [], [], None, [self.expr(d - 1)])
            args.append(ast.Lambda(a, self.expr(d - 1)))
        keys = [ast.keyword(k, self.expr(d - 1)) for k in self.r.sample(["dst", "ttl", "key"], self.r.randint(0, 2))]
        return ast.Call(self.expr(d - 1) if self.r.random() < 0.2 else self.name(), args, keys)

    def compare(self, d):
        ops = self.r.choices([o for o in CMP if o not in (ast.Is, ast.IsNot)], k=self.r.randint(1, 3))
        if self.r.random() < 0.2:
            return ast.Compare(self.expr(d - 1), [self.r.choice([ast.Is(), ast.IsNot()])], [ast.Constant(None)])
        return ast.Compare(self.expr(d - 1), [o() for o in ops], [self.expr(d - 1) for _ in ops])

    def index(self, d):
        lo, hi, step = (self.expr(d - 1) if self.r.random() < 0.6 else None for _ in range(3))
        at = ast.Slice(lo, hi, step) if self.r.random() < 0.5 else self.expr(d - 1)
        return ast.Subscript(self.expr(d - 1), at, ast.Load())

    def expr(self, d):
        if d <= 0 or self.r.random() < 0.15:
            return self.literal() if self.r.random() < 0.5 else self.name()
        e = lambda: self.expr(d - 1)
        items = lambda lo: [e() for _ in range(self.r.randint(lo, 3))]
        return self.r.choice([
            lambda: ast.BinOp(e(), self.r.choice([o for o in BIN if o is not ast.Mod])(), e()),
            lambda: ast.BinOp(self.name(), ast.Mod(), e()),  # a literal before % is formatting
            lambda: ast.UnaryOp(self.r.choice(list(UN))(), e()),
            lambda: ast.BoolOp(self.r.choice([ast.And(), ast.Or()]), items(2)),
            lambda: self.compare(d),
            lambda: ast.IfExp(e(), e(), e()),
            lambda: ast.List(items(0), ast.Load()),
            lambda: ast.Tuple(items(0), ast.Load()),
            lambda: ast.Set(items(1)),
            lambda: ast.Dict(*(lambda k: (k, [e() for _ in k]))(items(0))),
            lambda: self.comp(d),
            lambda: self.call(d),
            lambda: self.index(d),
            lambda: ast.Attribute(e(), "ttl", ast.Load()),
            lambda: self.fstring(d),
        ])()

    def target(self):
        n = lambda: ast.Name(self.r.choice("stu"), ast.Store())
        return self.r.choice([n, n, lambda: ast.Tuple([n(), ast.Tuple([n(), n()], ast.Store())], ast.Store())])()

    def block(self, d):
        return [self.stmt(d - 1) for _ in range(self.r.randint(1, 3))]

    def orelse(self, d):
        return self.block(d) if self.r.random() < 0.4 else []

    def stmt(self, d):
        e = lambda: self.expr(3)
        simple = [
            lambda: ast.Expr(e()),
            lambda: ast.Assign([self.target() for _ in range(self.r.randint(1, 2))], e()),
            lambda: ast.Assign([ast.Attribute(self.name(), "ttl", ast.Store())], e()),
            lambda: ast.Assign([ast.Subscript(self.name(), e(), ast.Store())], e()),
            lambda: ast.AugAssign(ast.Name("a", ast.Store()), self.r.choice(list(BIN))(), e()),
            lambda: ast.AnnAssign(ast.Name("a", ast.Store()), ast.Name("int", ast.Load()), e(), 1),
            lambda: ast.Pass(),
        ]
        deep = [
            lambda: ast.If(e(), self.block(d), self.orelse(d)),
            lambda: ast.While(e(), self.block(d) + [ast.Break()], self.orelse(d)),
            lambda: ast.For(self.target(), e(), self.block(d) + [ast.Continue()], self.orelse(d)),
        ]
        return self.r.choice(simple + (deep if d > 0 else []))()

    def program(self):
        a = ast.arguments([], [ast.arg("p", ast.Name("ip", ast.Load())), ast.arg("q")], None, [], [], None,
                          [ast.Constant(1)])
        f = ast.FunctionDef("f", a, self.block(2) + [ast.Return(self.expr(3))], [], ast.Name("int", ast.Load()))
        tree = ast.Module([f] + [self.stmt(3) for _ in range(4)], [])
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def made(seed, count):
    for i in range(count):
        source = Maker(seed * 1000003 + i).program()
        try:
            yield f"made {seed} {i}", source, module(source)
        except (Beyond, SyntaxError, ValueError):
            pass


def found(paths):
    for path in paths:
        path = pathlib.Path(path)
        for f in sorted(path.rglob("*.sonde")) if path.is_dir() else [path]:
            try:
                source = f.read_text()
                yield str(f), source, module(source)
            except (Beyond, SyntaxError, ValueError, RecursionError):
                pass


def main():
    lang_run, seed, count, paths = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    cases = list(made(seed, count)) + list(found(paths))
    with tempfile.TemporaryDirectory() as folder:
        for i, (_, source, _) in enumerate(cases):
            (pathlib.Path(folder) / f"{i:06}.sonde").write_text(source)
        out = subprocess.run([lang_run, "-dump", folder], capture_output=True, text=True, check=True).stdout
    failed = 0
    for (name, source, want), got in zip(cases, out.split("\n")):
        if got == want:
            continue
        failed += 1
        if failed <= 5:
            print(f"FAIL {name}\n{source}\n  ours   {got}\n  python {want}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return failed > 0 or len(cases) < count // 2


if __name__ == "__main__":
    sys.exit(main())
