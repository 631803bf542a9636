# SPDX-License-Identifier: Apache-2.0
"""`sonde mcp install`: each client's file gets a server that starts, and keeps all else that stands in it."""
import json
import os
import pathlib
import subprocess
import tomllib

import pytest

from lab import sonde_binary

CLIENTS = {"claude": (".mcp.json", "mcpServers"), "codex": (".codex/config.toml", "mcp_servers"),
           "vscode": (".vscode/mcp.json", "servers"), "cursor": (".cursor/mcp.json", "mcpServers")}
BEARER = {"claude": "Bearer ${SONDE_MCP_KEY}", "vscode": "Bearer ${env:SONDE_MCP_KEY}", "cursor": "Bearer ${env:SONDE_MCP_KEY}"}
pytestmark = pytest.mark.sonde


class Home:
    def __init__(self, path):
        self.path = path

    def install(self, client, *args, env=None):
        return subprocess.run([sonde_binary(), "mcp", "install", "--client", client, *args], capture_output=True, text=True, timeout=60,
                              cwd=self.path, env={"HOME": str(self.path), "PATH": os.environ["PATH"], **(env or {})})

    def wrote(self, client, *args):
        run = self.install(client, "--write", *args)
        assert run.returncode == 0 and run.stdout == "", run.stderr
        return self.entry(client)

    def file(self, client):
        return self.path / CLIENTS[client][0]

    def entry(self, client):
        return parse(client, self.file(client).read_text())[CLIENTS[client][1]]["sonde"]


def parse(client, text):
    return tomllib.loads(text) if client == "codex" else json.loads(text)


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_printed_is_what_is_written(home, client):
    printed = home.install(client)
    assert printed.returncode == 0 and not home.file(client).exists()
    entry = home.wrote(client)
    assert home.file(client).read_text() == printed.stdout
    assert entry["command"] == str(sonde_binary().resolve()) and entry["args"] == ["mcp"]
    assert entry.get("type", "stdio") == "stdio" and ("type" in entry) == (client in ("claude", "vscode"))
    assert "policy init mcp" in printed.stderr or pathlib.Path("/etc/sonde/policy.sonde").exists()


@pytest.mark.parametrize("client", CLIENTS)
def test_by_url_and_without_a_key_in_the_file(home, client):
    entry = home.wrote(client, "--url", "https://probe.acme.corp:8443/mcp")
    assert entry["url"] == "https://probe.acme.corp:8443/mcp" and "command" not in entry
    if client == "codex":
        assert entry["bearer_token_env_var"] == "SONDE_MCP_KEY"
    else:
        assert entry["headers"] == {"Authorization": BEARER[client]}
        assert entry.get("type", "http") == "http"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_second_time_changes_nothing(home, client):
    home.wrote(client)
    before = home.file(client).read_text()
    run = home.install(client, "--write")
    assert run.returncode == 0 and "already" in run.stderr and home.file(client).read_text() == before


@pytest.mark.parametrize("client", CLIENTS)
def test_another_entry_of_the_name_is_left_alone(home, client):
    home.wrote(client, "--url", "https://other.acme.corp/mcp")
    before = home.file(client).read_text()
    run = home.install(client, "--write")
    assert run.returncode == 5 and "take it out first" in run.stderr and home.file(client).read_text() == before


JSON = [
    "{}", "{ }\n", " \n", '{"other": 1}', '{"other": {"SECTION": {"sonde": 1}}}', '{"SECTION": {}}', '{"SECTION": {"x": {"command": "y"}}, "z": [1, 2]}',
    '{\n  "a": "}{\\"",\n  "SECTION": {\n    "x": {"args": ["{", "]"]}\n  },\n  "b": [{}, {"SECTION": null}]\n}\n',
]


@pytest.mark.parametrize("client", ["claude", "vscode", "cursor"])
@pytest.mark.parametrize("text", JSON)
def test_all_else_in_json_stays(home, client, text):
    section = CLIENTS[client][1]
    text = text.replace("SECTION", section)
    home.file(client).parent.mkdir(exist_ok=True)
    home.file(client).write_text(text)
    home.wrote(client)
    want = json.loads(text) if text.strip() else {}
    want.setdefault(section, {})["sonde"] = home.entry(client)
    assert parse(client, home.file(client).read_text()) == want


def test_comments_and_commas_of_vscode_stay(home):
    text = '// mine\n{\n  /* a "servers": { */\n  "servers": {\n    "x": {"command": "y"}, // why\n  },\n}\n'
    home.file("vscode").parent.mkdir()
    home.file("vscode").write_text(text)
    assert home.install("vscode", "--write").returncode == 0
    new = home.file("vscode").read_text()
    at = new.index('\n    "sonde"')
    end = new.index("    },", at) + len("    },")
    assert new[:at] + new[end:] == text
    assert json.loads("{" + new[at:end - 1] + "}")["sonde"]["args"] == ["mcp"]


@pytest.mark.parametrize("text", ["[]", "7", '{"mcpServers": []}', '{"mcpServers": null}', '{"a": 1', '{"a" 1}', '{"a": 1 "b": 2}', "{} {}", "{/*",
                                  '{"a": "', "[" * 100, '{"mcpServers": {"x": {}}'])
def test_what_can_t_be_read_is_not_written(home, text):
    home.file("claude").write_text(text)
    run = home.install("claude", "--write")
    assert run.returncode == 5 and "can't be read" in run.stderr and home.file("claude").read_text() == text


@pytest.mark.parametrize("text", ["", "a = 1", "# only this\n", '[mcp_servers.other]\ncommand = "x"\n', '[mcp_servers]\n\n[mcp_servers.sonde_old]\ncommand = "x"\n'])
def test_all_else_in_toml_stays(home, text):
    home.file("codex").parent.mkdir()
    home.file("codex").write_text(text)
    entry = home.wrote("codex")
    new = home.file("codex").read_text()
    assert new.startswith(text) and tomllib.loads(new)["mcp_servers"]["sonde"] == entry
    before = tomllib.loads(text)
    assert {k: v for k, v in tomllib.loads(new).items() if k != "mcp_servers"} == {k: v for k, v in before.items() if k != "mcp_servers"}


@pytest.mark.parametrize("text", ['[mcp_servers.sonde]\ncommand = "x"\n', '[ mcp_servers . "sonde" ] # mine\n', "[mcp_servers.sonde.env]\nA = '1'\n",
                                  'mcp_servers = { sonde = {} }\n', 'mcp_servers.sonde = { command = "x" }\n'])
def test_a_table_that_is_there_is_left_alone(home, text):
    home.file("codex").parent.mkdir()
    home.file("codex").write_text(text)
    assert home.install("codex", "--write").returncode == 5
    assert home.file("codex").read_text() == text


def test_another_file_and_codex_home(home):
    assert home.install("claude", "--write", "--file", "x.json").returncode == 0
    assert json.loads((home.path / "x.json").read_text())["mcpServers"]["sonde"]
    assert home.install("codex", "--write", env={"CODEX_HOME": str(home.path / "here")}).returncode == 0
    assert (home.path / "here" / "config.toml").exists() and not home.file("codex").exists()


def test_policies_by_their_whole_path(home):
    (home.path / "narrow 1.sonde").write_text('reach("10.0.0.1")\n')
    entry = home.wrote("cursor", "--policy", "narrow 1.sonde")
    assert entry["args"] == ["mcp", "--policy", str(home.path / "narrow 1.sonde")]
    assert home.install("cursor", "--policy", "nothing.sonde").returncode == 5


def test_a_link_is_followed_and_modes_stay(home):
    (home.path / "real.json").write_text("{}")
    (home.path / "real.json").chmod(0o600)
    home.file("claude").symlink_to("real.json")
    home.wrote("claude")
    assert home.file("claude").is_symlink() and (home.path / "real.json").stat().st_mode & 0o777 == 0o600


def test_another_user_s_file_is_not_touched(home):
    home.file("claude").write_text("{}")
    os.chown(home.file("claude"), 12345, 12345)
    run = home.install("claude", "--write")
    assert run.returncode == 5 and "another user" in run.stderr and home.file("claude").read_text() == "{}"


@pytest.mark.parametrize("args", [("--client", "emacs"), (), ("--client", "claude", "more"), ("--client", "claude", "--url", "ftp://x"),
                                  ("--client", "claude", "--url", "https://x/${HOME}"), ("--client", "claude", "--url", "https://u@x/"),
                                  ("--client", "claude", "--url", "https://x/", "--policy", "p")])
def test_what_makes_no_sense_is_refused(home, args):
    run = subprocess.run([sonde_binary(), "mcp", "install", *args], capture_output=True, text=True, timeout=60, cwd=home.path)
    assert run.returncode == 6 and run.stdout == ""
