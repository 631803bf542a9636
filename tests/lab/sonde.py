# SPDX-License-Identifier: Apache-2.0
"""Runs the program under test inside a node and takes its output apart.

Text (language.md, Output): program lines start with "| ", then `warnings:` and
`stats:`.  JSON: one object {output, results, warnings, stats, manifest, exit}."""
import json
import os
import pathlib
import shutil

from .procs import ROOT, Proc, build_dir


def sonde_binary():
    """The binary under test: $SONDE, else sonde in the build folder."""
    return pathlib.Path(os.environ.get("SONDE", build_dir() / "sonde"))


class Run:
    """What one run said.  .rc, .out, .err; .lines of the program; .json with json=True."""

    def __init__(self, proc, as_json, argv):
        self.argv, self.rc, self.out, self.err = argv, proc.rc, proc.out, proc.err
        self.seconds, self.json = proc.seconds, None
        if as_json:
            try:
                self.json = json.loads(self.out)
            except ValueError:
                raise AssertionError(f"no JSON object on stdout (exit {self.rc}):\n"
                                     f"{self.out[-3000:]}\n{self.err[-3000:]}") from None

    @property
    def lines(self):
        """The program's own lines."""
        if self.json is not None:
            text = "".join(o["text"] if isinstance(o, dict) else o for o in self.json["output"])
            return text.splitlines()
        return [line[2:] for line in self.out.splitlines() if line.startswith("| ")]

    @property
    def text(self):
        return "\n".join(self.lines)

    @property
    def said(self):
        """All that was printed, on both streams."""
        return self.out + self.err

    def results(self, kind=None):
        """The printed result objects (JSON): their fields, of one type if named."""
        return [r["fields"] for r in self.json["results"] if kind in (None, r["type"])]

    def result(self, kind):
        got = self.results(kind)
        assert len(got) == 1, f"{len(got)} results of type {kind}: {self.out[-2000:]}"
        return got[0]

    def warned(self, *words):
        """Whether a warning holds all the words (any case)."""
        if self.json is not None:
            rows = [json.dumps(w) for w in self.json["warnings"]]
        else:
            rows = section(self.out, "warnings:")
        return any(all(w.lower() in row.lower() for w in words) for row in rows)

    def stats_text(self):
        if self.json is not None:
            return json.dumps(self.json["stats"])
        return "\n".join(section(self.out, "stats:"))

    def ok(self, rc=0):
        assert self.rc == rc, f"exit {self.rc}, not {rc}: {' '.join(map(str, self.argv))}\n" \
                              f"{self.out[-3000:]}\n{self.err[-3000:]}"
        return self


def section(text, head):
    """The lines of the section that `head` starts, up to the next unindented line that ends
    in a colon."""
    rows, inside = [], False
    for line in text.splitlines():
        if line.startswith("| "):
            continue
        if line.startswith(head):
            inside = True
            rows.append(line[len(head):])
        elif inside and line and not line[0].isspace() and line.rstrip().endswith(":"):
            inside = False
        elif inside:
            rows.append(line)
    return rows


def sonde_argv(program, args=(), policy=None, json=False, command="run"):
    """A program is a path (Path, or a str that ends in .sonde) or text for -e."""
    argv = [str(sonde_binary()), command]
    argv += ["--json"] if json else []
    argv += ["--policy", str(policy)] if policy else []
    argv += [str(a) for a in args]
    if isinstance(program, pathlib.Path) or str(program).endswith(".sonde"):
        return argv + [str(program)]
    return argv + (["-e", program] if program is not None else [])


def run_sonde(node, program, args=(), installed=None, policy=None, json=False,
              timeout=60, command="run", user=None, background=False):
    """installed: text for the node's own /etc/sonde/policy.sonde.  policy: path or text for
    --policy, which can only narrow.  user: run by setpriv as that uid, no privilege."""
    if installed is not None:
        node.policy(installed)
    if policy is not None and "(" in str(policy):
        path = node.lab.path(f"policy-{id(policy)}.sonde")
        pathlib.Path(path).write_text(policy, encoding="utf-8")
        os.chmod(path, 0o644)
        os.chmod(node.lab.dir, 0o755)
        policy = path
    argv = sonde_argv(program, args, policy, json, command)
    if user is not None:
        argv = [readable(node.lab, a) for a in argv]
        argv = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups",
                "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", *argv]
    if background:
        return node.start(*argv)
    proc = Proc(node.argv(*argv), name="sonde")
    proc.wait(timeout)
    return Run(proc, json, argv)


def readable(lab, path):
    """A copy of the file that any user can read, outside of whosever folder this is."""
    if not str(path).startswith("/") or not os.path.isfile(path):
        return path
    os.chmod(lab.dir, 0o755)
    copy = lab.path(f"public-{os.path.basename(path)}")
    shutil.copy(path, copy)
    os.chmod(copy, 0o755 if os.access(path, os.X_OK) and not path.endswith(".sonde") else 0o644)
    return copy


EXAMPLES = ROOT / "tests" / "examples" / "programs"
