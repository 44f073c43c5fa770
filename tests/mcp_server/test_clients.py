"""Real clients of a real server process: the SDK's own on both its lines, and the inspector."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import checkout
import pytest

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.sdk import INSTRUCTIONS
from astrbot_plugin_scoped_memory.tests.house.source import metadata
from astrbot_plugin_scoped_memory.tests.support.agents import agent_tools
from astrbot_plugin_scoped_memory.tests.support.agents.mcp_stdio import environ_of, hello
from astrbot_plugin_scoped_memory.tests.support.agents.own_user import own_user
from astrbot_plugin_scoped_memory.tests.support.dictionary import put_dictionary

__all__ = ["own_user"]

pytestmark = [pytest.mark.engine, pytest.mark.process]

CLIENT = checkout.ROOT / "tests" / "support" / "agents" / "sdk_client.py"
TOKEN = "a token that is long enough"
TOOLS = [
    "memory_primer",
    "memory_search",
    "memory_log",
    "memory_session_end",
    "memory_update_tasks",
    "memory_read",
]
SERVE = [sys.executable, "-P", "-m", "llm_memory", "serve"]


@dataclass(frozen=True)
class Machine:
    """An interpreter with the engine and an SDK, a home, and a folder to work in."""

    python: Path
    environ: Mapping[str, str]
    home: Path
    folder: Path

    @property
    def command(self) -> list[str]:
        return [str(self.python), "-P", "-m", "llm_memory"]

    def client(self, **where: object) -> Any:
        """Returns what the SDK's own client was told by a server."""
        asked = {"env": dict(self.environ), "cwd": str(self.folder), **where}
        done = subprocess.run(
            [str(self.python), "-P", str(CLIENT), json.dumps(asked)],
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert "Traceback" not in done.stderr
        return json.loads(done.stdout)

    @contextmanager
    def serving(self, *arguments: str) -> Iterator[str]:
        """A server over HTTP, by its address."""
        token = self.home.with_name("token")
        token.write_text(f"{TOKEN}\n", "utf-8")
        process = subprocess.Popen(
            [*self.command, "serve", "--http", "0", "--token-file", str(token), *arguments],
            cwd=self.folder,
            env={**os.environ, **self.environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("http://127.0.0.1:"), line
            yield line.strip()
        finally:
            process.terminate()
            out, err = process.communicate(timeout=10)
        assert (process.returncode, out) == (0, "")
        assert "llm_memory/" not in err, err  # the SDK's line 1.x tells of its own tracebacks


@pytest.fixture(params=["mcp 1.x", "mcp 2.x"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    environ = environ_of(tmp_path / "home")
    put_dictionary(tmp_path / "home")
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    python = Path(sys.executable)
    if request.param == "mcp 2.x":
        found = agent_tools.agent_python()
        if found is None:
            pytest.skip(".venv-agent is not what the checkout is now: make env-agent")
        python = found
        del environ["PYTHONPATH"]
    return Machine(python, environ, tmp_path / "home", tmp_path / "shop")


def assert_all_is_told(told: Any) -> None:
    """What the client was told is what each tool is to say."""
    hello = told["hello"]
    assert hello["serverInfo"]["name"] == "scoped-memory"
    assert hello["instructions"] == INSTRUCTIONS
    assert told["tools"] == TOOLS
    answers = told["answers"]
    assert [failed for _, _, failed in answers] == [
        False, False, False, True, False, True, False, False, True, True, True, True, False, True,
    ]  # fmt: skip
    texts = [text for _, text, _ in answers]
    assert texts[1].startswith("stored: project/decisions.md#m-")
    assert "deploy the shop on Thursdays" in texts[2]
    assert "谁：sdk-client" in texts[7]
    assert told["resources"] == ["memory://primer"]
    assert "Write the release notes" in told["primer"]
    assert len(told["many"]) == 50
    assert len({text for text, failed in told["many"] if not failed}) == 50


def test_the_sdks_own_client_over_stdio(machine: Machine) -> None:
    told = machine.client(command=[*machine.command, "serve"])
    assert_all_is_told(told)
    ours = str(metadata()["version"]).removeprefix("v")
    version = told["hello"]["serverInfo"]["version"].removeprefix("v")
    assert version == ours or "PYTHONPATH" in machine.environ
    assert_nothing_is_left(machine)


def assert_nothing_is_left(machine: Machine) -> None:
    """No process has the home open, and all that was logged stands in it once."""
    assert not (machine.home / "state" / "endpoint.json").exists()
    text = "".join(p.read_text("utf-8") for p in (machine.home / "memory").rglob("patterns*.md"))
    assert all(text.count(f"Crate {n * n} holds") == 1 for n in range(50))


def test_the_sdks_own_client_over_http(machine: Machine) -> None:
    with machine.serving() as url:
        assert_all_is_told(machine.client(url=url, token=TOKEN))
        # Another session of the same server knows what the first one has stored.
        again = machine.client(url=url, token=TOKEN)
        assert again["answers"][1][1].startswith("known already")
        assert_strangers_are_refused(url)
    assert_nothing_is_left(machine)


def status(url: str, method: str = "POST", **headers: str) -> int:
    """Of a request of the first message."""
    host, _, path = url.removeprefix("http://").partition("/")
    sent = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **headers,
    }
    connection = HTTPConnection(host, timeout=10)
    connection.request(method, f"/{path}", hello("x"), sent)
    found = connection.getresponse()
    assert b"Traceback" not in found.read(2000)
    connection.close()
    return found.status


def assert_strangers_are_refused(url: str) -> None:
    """By the token, and a page of a browser by where it says that it comes from."""
    known = {"Authorization": f"Bearer {TOKEN}"}
    port = url.split(":")[2].split("/")[0]
    assert status(url, **known) == 200
    assert status(url) == 401
    for shown in ("", "Bearer", f"Bearer {TOKEN}x", f"bearer{TOKEN}", f"Basic {TOKEN}", TOKEN):
        assert status(url, Authorization=shown) == 401
    assert status(url, "GET") == 401
    assert status(url.replace("/mcp", "/other")) == 401
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""):
        assert status(url, Host=host, **known) in (400, 421), host
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", "http://localhost"):
        assert status(url, Origin=origin, **known) == 403, origin
    assert status(url, Origin=f"http://localhost:{port}", **known) == 200
    assert status(url, Host=f"localhost:{port}", **known) == 200


def test_http_that_cannot_be_served_is_a_line_and_exit_code_2(
    own_user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = own_user / "token"
    token.write_text(TOKEN, "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, word in (
            (["--http", "0", "--token-file", "/nowhere"], "/nowhere"),
            (["--http", "99999", "--token-file", str(token)], "99999"),
            (["--http", port, "--token-file", str(token)], port),
            (["--http", "0", "--host", "nowhere.invalid", "--token-file", str(token)], "nowhere.i"),
        ):
            assert main(["serve", *arguments]) == 2
            said = capsys.readouterr()
            assert (said.out, word in said.err, said.err.count("\n")) == ("", True, 1), said


def test_the_inspector(tmp_path: Path) -> None:
    program = agent_tools.inspector()
    if program is None:
        pytest.skip("npm has not brought the MCP inspector: make env-node")
    put_dictionary(tmp_path / "home")
    environ = environ_of(tmp_path / "home")
    command = [*program, "--cli", *(f"-e{k}={v}" for k, v in environ.items()), *SERVE]
    asked = ["--tool-name", "memory_search", "--tool-arg", "query=x", "--tool-arg", "scope=家人"]
    done = subprocess.run(
        [*command, "--method", "tools/call", *asked],
        env={**os.environ, **environ},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 5, (done.stdout, done.stderr)
    told = json.loads(done.stdout)
    assert told["isError"]
    assert told["content"][0]["text"].startswith("scope can only be")
