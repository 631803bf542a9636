#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make fuzz: every fuzz target, side by side; crashes are kept as regressions.

  scripts/fuzz.py --seconds 60     run each target that long, two at a time
  scripts/fuzz.py --replay DIR     run corpus and regressions once, with the targets built in DIR (make check)
  scripts/fuzz.py --only NAME      one target

A target is src/<folder>/fuzz_<name>.c; its corpus and regressions live in
tests/fuzz/<name>/, its dictionary, if there is one, in tests/fuzz/<name>.dict.  What
reads programs starts from the corpora of the language tests as well.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-fuzz"
CORPUS = ROOT / "tests" / "fuzz"
PROGRAMS = [ROOT / "tests/lang", ROOT / "tests/attacks/programs", ROOT / "tests/loops/programs"]
SEEDS = {"compile": PROGRAMS, "parse": PROGRAMS, "policy": [ROOT / "tests/lang/decl"]}


def build():
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["meson", "setup", BUILD, "-Dfuzz=true", "-Dtests=false", "-Db_lundef=false",
                        "-Db_sanitize=address,undefined"], check=True, cwd=ROOT, stdout=subprocess.DEVNULL,
                       env={**os.environ, "CC": "clang"})
    subprocess.run(["ninja", "-C", BUILD], check=True, stdout=subprocess.DEVNULL)


def targets(folder):
    return sorted(p for p in (folder / "src").rglob("fuzz_*") if p.is_file() and os.access(p, os.X_OK))


def one(path, args):
    name = path.name[len("fuzz_"):]
    kept = CORPUS / name
    dictionary = CORPUS / f"{name}.dict"
    extra = [f"-dict={dictionary}"] if dictionary.exists() else []
    with tempfile.TemporaryDirectory() as scratch:
        if args.replay:
            files = [str(f) for f in sorted(kept.glob("*"))] if kept.exists() else []
            cmd = [path, "-runs=0", *files] if files else [path, "-runs=1000", "-seed=1", *extra]
        else:
            corpus = [str(f) for f in [kept, *SEEDS.get(name, [])] if f.exists()]
            cmd = [path, f"-max_total_time={args.seconds}", "-timeout=10", "-rss_limit_mb=2048",
                   f"-artifact_prefix={scratch}/", *extra, scratch, *corpus]
        r = subprocess.run(cmd, capture_output=True, text=True, errors="replace", cwd=ROOT)
        if r.returncode:
            kept.mkdir(parents=True, exist_ok=True)
            for crash in pathlib.Path(scratch).glob("crash-*"):
                (kept / crash.name).write_bytes(crash.read_bytes())
        tail = [l for l in r.stderr.splitlines() if "cov:" in l or "ERROR" in l or "runtime error" in l]
        return path.name, r.returncode == 0, (tail or r.stderr.splitlines() or [""])[-1].strip(), r.stderr


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=int, default=60)
    p.add_argument("--replay", type=pathlib.Path, metavar="DIR")
    p.add_argument("--only")
    args = p.parse_args()
    if not args.replay:
        build()
    run = [t for t in targets((args.replay or BUILD).resolve()) if not args.only or t.name == "fuzz_" + args.only]
    if not run:
        print("no fuzz target was built")
        return 1
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, ok, last, log in pool.map(lambda t: one(t, args), run):
            print(f"{name}: {'ok' if ok else 'FAILED'}  {last}", flush=True)
            if not ok:
                print(log[-3000:])
                bad += 1
    print(f"{len(run) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
