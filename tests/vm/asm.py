# SPDX-License-Identifier: Apache-2.0
"""Python expressions as programs of Sonde's VM.

Compiles a Python expression (its `ast`) to the assembly that src/vm/vm_asm.c
reads: `print(repr(expression))`.  The compiler proper is not involved, so that a
difference found is the VM's.
"""

import ast
import subprocess

# name: (parameters by position, defaults); "*" takes the rest as a tuple
FUNCS = {
    "abs": ["x"], "all": ["x"], "any": ["x"], "bool": ["x"], "bytes": ["x", ("encoding", "utf-8")], "chr": ["x"],
    "divmod": ["a", "b"], "enumerate": ["items", ("start", 0)], "filter": ["f", "items"], "float": ["x"],
    "hex": ["x"], "int": ["x", ("base", 10)], "len": ["x"], "list": ["x"], "ord": ["x"], "repr": ["x"],
    "reversed": ["x"], "round": ["x", ("ndigits", ...)], "set": ["x"], "str": ["x"], "sum": ["x", ("start", 0)],
    "tuple": ["x"], "zip": ["*"], "range": ["start", ("stop", ...), ("step", 1)],
    "sorted": ["x", ("key", None), ("reverse", False)],
    "max": ["*", ("key", None), ("default", ...)], "min": ["*", ("key", None), ("default", ...)],
    "print": ["*", ("sep", " "), ("end", "\n"), ("full", False)], "pack": ["fmt", "*"], "unpack": ["fmt", "data"],
}

BIN = {ast.Add: "ADD", ast.Sub: "SUB", ast.Mult: "MUL", ast.Div: "DIV", ast.FloorDiv: "FLOOR", ast.Mod: "MOD",
       ast.Pow: "POW", ast.BitAnd: "AND", ast.BitOr: "OR", ast.BitXor: "XOR", ast.LShift: "SHL", ast.RShift: "SHR"}
UN = {ast.USub: "NEG", ast.UAdd: "POS", ast.Invert: "INV", ast.Not: "NOT"}
CMP = {ast.Eq: "EQ", ast.NotEq: "NE", ast.Lt: "LT", ast.LtE: "LE", ast.Gt: "GT", ast.GtE: "GE", ast.In: "IN",
       ast.NotIn: "NOTIN"}


class Compiler:
    def __init__(self):
        self.consts, self.names, self.sites, self.code = [], [], [], []
        self.next = self.most = 0

    def reg(self, n=1):
        r = self.next
        self.next += n
        self.most = max(self.most, self.next)
        return r

    def op(self, name, x=0, a=0, b=0, c=0):
        self.code.append(f"op {name} {x} {a} {b} {c}")

    def const(self, text):
        if text not in self.consts:
            self.consts.append(text)
        return self.consts.index(text)

    def name(self, text):
        if text not in self.names:
            self.names.append(text)
        return self.names.index(text)

    def load(self, v, to):
        if v is None:
            self.op("LOADNONE", 0, to)
        elif v is ...:
            self.op("LOADUNSET", 0, to)
        elif isinstance(v, bool):
            self.op("LOADBOOL", int(v), to)
        else:
            if isinstance(v, int):
                k = self.const(f"int {v}")
            elif isinstance(v, float):
                k = self.const(f"float {v.hex()}")
            elif isinstance(v, str):
                k = self.const(f"str {v.encode().hex()}")
            else:
                k = self.const(f"bytes {v.hex()}")
            self.op("LOADK", 0, to, k & 0xffff, k >> 16)

    def many(self, nodes):
        """Values in consecutive registers; the first."""
        base = self.reg(len(nodes))
        for i, n in enumerate(nodes):
            self.expr(n, base + i)
        return base

    def temp(self, node):
        r = self.reg()
        self.expr(node, r)
        return r

    def expr(self, n, to):
        mark = self.next
        getattr(self, "e_" + type(n).__name__)(n, to)
        self.next = mark

    def e_Expression(self, n, to):
        self.expr(n.body, to)

    def e_Constant(self, n, to):
        self.load(n.value, to)

    def e_BinOp(self, n, to):
        a, b = self.temp(n.left), self.temp(n.right)
        self.op(BIN[type(n.op)], 0, to, a, b)

    def e_UnaryOp(self, n, to):
        if isinstance(n.op, ast.USub) and isinstance(n.operand, ast.Constant) and type(n.operand.value) is int:
            return self.load(-n.operand.value, to)
        self.op(UN[type(n.op)], 0, to, self.temp(n.operand))

    def e_Compare(self, n, to):
        assert len(n.ops) == 1
        a, b = self.temp(n.left), self.temp(n.comparators[0])
        self.op(CMP[type(n.ops[0])], 0, to, a, b)

    def display(self, name, nodes, to):
        base = self.many(nodes)
        self.op(name, 0, to, base, len(nodes))

    def e_List(self, n, to):
        self.display("LIST", n.elts, to)

    def e_Tuple(self, n, to):
        self.display("TUPLE", n.elts, to)

    def e_Set(self, n, to):
        self.display("SET", n.elts, to)

    def e_Dict(self, n, to):
        base = self.many([x for pair in zip(n.keys, n.values) for x in pair])
        self.op("DICT", 0, to, base, len(n.keys))

    def e_Subscript(self, n, to):
        v = self.temp(n.value)
        if not isinstance(n.slice, ast.Slice):
            return self.op("INDEX", 0, to, v, self.temp(n.slice))
        none = ast.Constant(None)
        base = self.many([n.slice.lower or none, n.slice.upper or none, n.slice.step or none])
        self.op("SLICE", 0, to, v, base)

    def e_JoinedStr(self, n, to):
        parts = n.values
        base = self.reg(len(parts))
        for i, p in enumerate(parts):
            if isinstance(p, ast.Constant):
                self.load(p.value, base + i)
            else:
                v, spec = self.temp(p.value), self.temp(p.format_spec or ast.Constant(None))
                self.op("FORMAT", p.conversion if p.conversion > 0 else 0, base + i, v, spec)
        self.op("CONCAT", 0, to, base, len(parts))

    def e_Call(self, n, to):
        if isinstance(n.func, ast.Attribute):
            return self.method(n, to)
        name = {"struct_pack": "pack", "struct_unpack": "unpack"}.get(n.func.id, n.func.id)
        params = FUNCS[name]
        base = self.reg(len(params))
        kw = {k.arg: k.value for k in n.keywords}
        args = list(n.args)
        for i, p in enumerate(params):
            if p == "*":
                self.expr(ast.Tuple(args), base + i)
                args = []
            elif args:
                self.expr(args.pop(0), base + i)
            elif isinstance(p, tuple) and p[0] in kw:
                self.expr(kw[p[0]], base + i)
            else:
                self.load(p[1] if isinstance(p, tuple) else ..., base + i)
        self.code.append(f"opb {name} {len(params)} {to} {base}")

    def method(self, n, to):
        base = self.many([n.func.value] + n.args + [k.value for k in n.keywords])
        kws = "".join(f" {self.name(k.arg)}" for k in n.keywords)
        self.sites.append(f"site {self.name(n.func.attr)} {len(n.args)}{kws}")
        self.op("CALLM", 0, to, len(self.sites) - 1, base)


def program(text):
    c = Compiler()
    tree = ast.parse(f"print(repr({text}))", mode="eval")
    to = c.reg()
    c.expr(tree, to)
    c.op("RETNONE")
    lines = [f"const {k}" for k in c.consts] + [f"name {k}" for k in c.names] + c.sites
    return "\n".join(lines + [f"fn {c.most + 1} 0 1"] + c.code + ["run"]) + "\n"


def run(tool, texts, *options):
    """The output of each expression, or its error."""
    done = subprocess.run([tool, *options], input="".join(program(t) for t in texts), capture_output=True, text=True, check=True)
    out = []
    for line in done.stdout.splitlines():
        kind, _, rest = line.partition(" ")
        out.append((kind, bytes.fromhex(rest).decode() if kind == "ok" else rest))
    return out
