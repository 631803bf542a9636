# SPDX-License-Identifier: Apache-2.0
"""The command line from outside: options, exit codes, JSON shapes, pages.

`check`, `fmt`, `doc` run as uid 65534 here: they need no right at all."""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile

import jsonschema
import pytest

from lab import sonde_binary
from lab.capture import write_pcap

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.sonde


@pytest.fixture(scope="module")
def binary():
    """A copy that anybody may run, wherever the checkout is."""
    folder = tempfile.mkdtemp(prefix="sonde-cmd-", dir="/run")
    os.chmod(folder, 0o755)
    path = shutil.copy(sonde_binary().resolve(), folder)
    yield path
    shutil.rmtree(folder)


def sonde(binary, *args, stdin=None, nobody=True, env=None):
    cmd = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"] if nobody else []
    return subprocess.run([*cmd, binary, *args], input=stdin, capture_output=True, text=True, timeout=30, cwd="/",
                          env={**os.environ, **(env or {})})


def schema(name):
    folder = ROOT / "doc"
    store = {p.name: json.loads(p.read_text()) for p in folder.glob("*.schema.json")}
    resolver = jsonschema.RefResolver(base_uri="", referrer=store[name], store=store)
    return jsonschema.Draft202012Validator(store[name], resolver=resolver)


def test_help_lists_every_command(binary):
    r = sonde(binary, "help")
    assert r.returncode == 0
    for command in ["run", "check", "replay", "fmt", "policy", "approve", "ledger", "audit", "doc", "help", "version"]:
        assert f"\n  {command}" in r.stdout
        one = sonde(binary, command, "--help")
        assert one.returncode == 0 and one.stdout.startswith(f"usage: sonde {command}")


@pytest.mark.parametrize("args, says", [
    (["chekc"], "did you mean check?"),
    (["run", "--polcy", "x"], "did you mean --policy?"),
    (["run", "--seed", "x", "-e", "print(1)"], "not a whole number"),
    (["run", "--seed"], "needs a value"),
    (["run", "--json=1", "-e", "print(1)"], "takes no value"),
    (["check", "a", "b"], "one argument too many"),
    (["check"], "no program"),
    (["check", "-e", "print(1)", "x.sonde"], "not both"),
    (["check", "-e", "print(1)", "-p", "x"], "-p name=value"),
    (["fmt"], "an argument is missing"),
    (["replay"], "an argument is missing"),
    (["replay", "a", "b"], "one argument too many"),
    (["replay", "--seed", "1", "x"], "unknown option"),
    (["run", "--read", "x", "--record", "y", "-e", "print(1)"], "--read stands alone"),
    (["policy", "shwo"], "one of show, check, init, allow"),
    (["audit", "verify"], "which file?"),
    (["audit", "look", "x"], "there is verify only"),
    (["audit", "verify", "x", "--head", "12"], "64 digits"),
    (["doc", "nothing"], "no such topic"),
])
def test_wrong_usage_says_what_to_do(binary, args, says):
    r = sonde(binary, *args)
    assert r.returncode == 6, r
    assert says in r.stderr and r.stdout == ""


@pytest.mark.parametrize("args, code, says", [
    (["check", "/nonexistent.sonde"], 5, "No such file"),
    (["check", "/"], 5, "is a directory"),
    (["replay", "/nonexistent"], 5, "No such file"),
    (["replay", "/etc/passwd"], 5, "no record"),
    (["check", "-e", "print(x"], 2, "E-SYNTAX"),
    (["check", "-e", "print(y)"], 2, "E-NAME"),
    (["policy", "check", "/nonexistent"], 5, "No such file"),
])
def test_exit_codes(binary, args, code, says):
    r = sonde(binary, *args)
    assert r.returncode == code and says in r.stderr


def test_source_is_bounded(binary):
    r = sonde(binary, "check", "-", stdin="# " + "x" * 65536)
    assert r.returncode == 5 and "longer than 65536 bytes" in r.stderr
    assert sonde(binary, "check", "-", stdin="#" + "x" * 65534 + "\n").returncode == 0


def test_check_json_has_its_shape(binary):
    for program in ["r = sr1(IP(dst='10.1.2.3')/TCP(dport=80, sport=4000))\nprint(r)", "print(y)", "x = 1 +",
                    "spoof('10.1.2.4')\nbudget(packets=9, time=3)\nsend(IP(src='10.1.2.4', dst='10.9.0.0/30')/ICMP())",
                    "reach('10.2.0.0/16', tcp=[80, (90, 99)], icmp=True)\nprint(interfaces(), route('10.1.1.1'))",
                    "l = listen(8080, '10.3.0.0/24')\nc = connect('10.1.2.3', 80)\nprint(c, l.accept())"]:
        r = sonde(binary, "check", "--json", "-e", program)
        data = json.loads(r.stdout)
        schema("check.schema.json").validate(data)
        assert data["exit"] == r.returncode
        assert (r.returncode == 0) == (data["manifest"] is not None)


def test_check_json_says_who_is_sent_what(binary):
    r = sonde(binary, "check", "--json", "-e", "for p in [80, 443]:\n    sr1(IP(dst='10.1.2.3')/TCP(dport=p))")
    m = json.loads(r.stdout)["manifest"]
    assert [(e["peer"], e["protocol"], e["ports"]) for e in m["emissions"]] == [("10.1.2.3", "TCP", "80, 443")]
    assert m["worst_case"]["packets"] == 2 and m["worst_case"]["syn"] == 2
    assert m["budget"]["packets"] == {"value": 2000, "unit": "packets", "declared": False}


def test_check_says_who_may_connect(binary):
    program = "l = listen(8080, '10.3.0.0/24')\nprint(l.accept())"
    m = json.loads(sonde(binary, "check", "--json", "-e", program).stdout)["manifest"]
    assert m["listen"] == ["port 8080 for 10.3.0.0/24"] and m["emissions"] == [] and m["worst_case"]["connections"]
    text = sonde(binary, "check", "-e", program).stdout
    assert "accepts connections: port 8080 for 10.3.0.0/24" in text and "what its connections carry" in text


def test_check_hashes_the_programs_bytes(binary):
    text = "print(1)\n"
    r = sonde(binary, "check", "-", stdin=text)
    sha = subprocess.run(["sha256sum"], input=text, capture_output=True, text=True).stdout.split()[0]
    assert f"sha256 {sha}" in r.stdout


def test_diagnostics_have_a_position_and_no_control_characters(binary):
    r = sonde(binary, "check", "-e", "x = 'a\x1b[2Jb'\nprint(y)")
    assert r.returncode == 2
    assert "\x1b" not in r.stderr and "\\x1b" in r.stderr


def test_fmt_is_idempotent_and_checks(binary):
    r = sonde(binary, "fmt", "-", stdin="x=[1,2 ,3]\nif x:print( x )# why\n")
    assert r.returncode == 0 and "# why" in r.stdout
    again = sonde(binary, "fmt", "-", stdin=r.stdout)
    assert again.stdout == r.stdout
    assert sonde(binary, "fmt", "--check", "-", stdin=r.stdout).returncode == 0
    assert sonde(binary, "fmt", "--check", "-", stdin="x=1\n").returncode == 2
    bad = sonde(binary, "fmt", "-", stdin="x = (\n")
    assert bad.returncode == 2 and bad.stdout == "" and "E-SYNTAX" in bad.stderr


def test_fmt_writes_whole_files(binary, tmp_path):
    f = tmp_path / "a.sonde"
    f.write_text("x=1\n")
    f.chmod(0o640)
    assert sonde(binary, "fmt", "-w", str(f), nobody=False).returncode == 0
    assert f.read_text() == "x = 1\n" and f.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["a.sonde"]


def test_doc_has_a_page_for_each_topic(binary):
    topics = sonde(binary, "doc", "topics").stdout
    assert sonde(binary, "doc").stdout == (ROOT / "doc" / "reference.md").read_text()
    for line in topics.splitlines()[1:]:
        for topic in line.split(": ", 1)[1].split():
            r = sonde(binary, "doc", topic)
            assert r.returncode == 0 and len(r.stdout) > 20, topic


def test_man_pages_and_completion(binary, tmp_path):
    for option, name in [("--man", "sonde.1"), ("--man-language", "sonde.7")]:
        page = tmp_path / name
        page.write_text(sonde(binary, "help", option).stdout)
        lint = subprocess.run(["mandoc", "-Tlint", "-Werror", page], capture_output=True, text=True)
        assert lint.returncode == 0, lint.stdout
    script = tmp_path / "c.bash"
    script.write_text(sonde(binary, "help", "--completion").stdout)
    r = subprocess.run(["bash", "-c", f"source {script}; COMP_WORDS=(sonde run --po); COMP_CWORD=2; _sonde; "
                        "echo ${COMPREPLY[@]}; COMP_WORDS=(sonde ch); COMP_CWORD=1; _sonde; echo ${COMPREPLY[@]}"],
                       capture_output=True, text=True)
    assert r.stdout.split() == ["--policy", "check"], r


def in_etc(script):
    """Runs a shell script as root with an empty /etc/sonde of its own."""
    prepare = "mount -t tmpfs none /etc/sonde 2>/dev/null || { mkdir -p /tmp/x && mount -t tmpfs none /etc && mkdir /etc/sonde; }"
    return subprocess.run(["unshare", "-m", "sh", "-c", f"{prepare}; chmod 755 /etc/sonde; {script}"],
                          capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)


def test_policy_of_a_host(binary):
    r = in_etc(f"""
        {binary} policy show && {binary} policy allow 10.1.0.0/16; echo "code $?"
        {binary} policy init; echo "code $?"
        {binary} policy init --reach 10.0.0.0/8 --zone acme.corp && {binary} policy init --reach 10.0.0.0/8; echo "code $?"
        {binary} policy allow 192.0.2.7 --tcp 80 --tcp 8000-8100 && {binary} policy allow 10.0.0.1/8; echo "code $?"
        {binary} policy check /etc/sonde/policy.sonde && {binary} policy show
        chmod 666 /etc/sonde/policy.sonde; {binary} policy check /etc/sonde/policy.sonde; echo "code $?"
        ls /etc/sonde""")
    out = r.stdout
    assert "built-in policy" in out and "packets=20000" in out
    assert out.count("code 5") == 2  # allow before init; init over an existing file
    assert "code 6" in out  # init without reach, without a terminal
    assert 'adds: reach("192.0.2.7", tcp=[80, (8000, 8100)], icmp=True)' in out
    assert "a valid policy" in out and 'zone("acme.corp")' in out
    assert out.count("code 2") == 2, r  # host bits; a file that others may write
    assert out.rstrip().endswith("policy.sonde") and ".new" not in out


def test_policy_check_points_at_the_word(binary, tmp_path):
    f = tmp_path / "p.sonde"
    f.write_text('reach("10.0.0.0/8")\nallow("10.0.0.1")\n')
    r = sonde(binary, "policy", "check", str(f), nobody=False)
    assert r.returncode == 2 and f"{f}:2:1: error" in r.stderr


def test_run_without_rights_says_what_is_missing(binary):
    r = sonde(binary, "run", "-e", "print(1)")
    assert r.returncode == 5 and r.stdout == ""
    assert "CAP_NET_RAW" in r.stderr and "CAP_NET_ADMIN" in r.stderr and "setcap" in r.stderr


def test_what_a_key_function_allocates_is_bounded(binary):
    """Nothing is collected while a built-in calls back: what that costs has an end, and it
    is an error of the program's with its place."""
    capture = pathlib.Path(binary).parent / "empty.pcap"
    write_pcap(capture, [])
    os.chmod(capture, 0o644)
    few = sonde(binary, "run", "--read", str(capture), "--quiet", "-e",
                'print(sorted(range(20000), key=lambda i: -len("a" * 2000) - i)[:3])')
    assert (few.returncode, few.stdout) == (0, "[19999, 19998, 19997]\n"), few
    many = sonde(binary, "run", "--read", str(capture), "-e",
                 'print("start")\nprint(sorted(range(5000), key=lambda i: len("a" * 200000) + i)[:3])')
    assert many.returncode == 1 and "-e:2:" in many.stderr and "E-MEMORY" in many.stderr, many
    assert "| start" in many.stdout and "sorted" not in many.stdout
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 600 * 1024
