"""``serve`` as a process: what stands on its stdout, how it ends, and how it fails to begin."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.sharing.endpoint import read_endpoint
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import DirectoryLock
from astrbot_plugin_scoped_memory.tests.support.agents import agent_tools
from astrbot_plugin_scoped_memory.tests.support.agents.mcp_stdio import (
    INITIALIZED,
    StdioClient,
    environ_of,
    hello,
    log_request,
    request,
)
from astrbot_plugin_scoped_memory.tests.support.dictionary import put_dictionary
from astrbot_plugin_scoped_memory.tests.support.programs.program import bind_by_modes

pytestmark = [
    pytest.mark.process,
    pytest.mark.engine,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.name == "nt", reason="signals"),
]

SOON = 200.0
"""Seconds that nothing here may take, on the slowest machine."""


def run(home: Path, code: str, *, text: str = "") -> subprocess.CompletedProcess[str]:
    """A server whose process runs some code of ours first; no mode of a file is ignored, even for
    root."""
    home.parent.mkdir(exist_ok=True)
    whole = "import sys\nimport llm_memory.cli.serve\nfrom llm_memory.__main__ import main\n"
    whole += f"{code}\nsys.exit(main(['serve']))"
    return subprocess.run(
        [sys.executable, "-P", "-c", whole],
        input=text,
        env={**os.environ, **environ_of(home)},
        cwd=home.parent,
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=bind_by_modes,
    )


@pytest.fixture
async def clients(tmp_path: Path) -> AsyncIterator[Callable[..., StdioClient]]:
    """Makes clients of one home, and ends what is left of their servers."""
    made: list[StdioClient] = []
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)

    def make(**options: Any) -> StdioClient:
        made.append(StdioClient(tmp_path / "home", folder, **options))
        return made[-1]

    yield make
    for client in made:
        await client.kill()


def stored(tmp_path: Path) -> str:
    return "".join(p.read_text("utf-8") for p in (tmp_path / "home" / "memory").rglob("*.md"))


@pytest.mark.parametrize("sdk", ["1.x", "2.x"])  # each takes stdout for itself in its own way
def test_nothing_but_the_protocol_stands_on_stdout(tmp_path: Path, sdk: str) -> None:
    """Whatever prints: our code, a library's, a child process, C."""
    variables, python = {**os.environ, **environ_of(tmp_path / "home")}, sys.executable
    put_dictionary(tmp_path / "home")
    if sdk == "2.x":
        found = agent_tools.agent_python()
        if found is None:
            pytest.skip(".venv-agent is not what the checkout is now: make env-agent")
        python = str(found)
        del variables["PYTHONPATH"]
    noisy = """
import os, subprocess, sys
from llm_memory.mcp_server.tools import MemoryTools
calls = MemoryTools.call
async def noisy(self, *given):
    print("noise of print", flush=True)
    sys.stdout.write("noise of stdout\\n")
    sys.__stderr__.write("noise of stderr\\n")
    os.write(1, b"noise of the descriptor\\n")
    subprocess.run(["echo", "noise of a child"])
    return await calls(self, *given)
MemoryTools.call = noisy
from llm_memory.__main__ import main
sys.exit(main(["serve"]))
"""
    process = subprocess.Popen(
        [python, "-P", "-c", noisy],
        env=variables,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(hello("raw") + INITIALIZED)
    process.stdin.write(log_request(1, "The noise comes from the kitchen"))
    process.stdin.write(request(2, "tools/list", {}) + request(3, "nothing/known", {}))
    process.stdin.write("no json\n\n{}\n[]\n\x00\n")
    process.stdin.flush()
    answered: dict[Any, Any] = {}
    while not {0, 1, 2, 3} <= answered.keys():
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        answer = json.loads(line)
        assert answer["jsonrpc"] == "2.0"
        answered[answer.get("id")] = answer
    out, err = process.communicate(timeout=SOON)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert "noise" not in json.dumps(answered[2])
    for word in ("print", "stdout", "stderr", "the descriptor", "a child"):
        assert f"noise of {word}" in err
    assert "stored: " in answered[1]["result"]["content"][0]["text"]
    assert "error" in answered[3]
    assert process.returncode == 0


async def test_stdin_closed_in_the_middle_of_a_write(
    tmp_path: Path, clients: Callable[..., StdioClient]
) -> None:
    """What was acknowledged is there, and the process ends by itself."""
    client = clients()
    await client.start()
    await client.call("memory_search", query="x")
    process = client.process
    assert process.stdout is not None
    lines = [log_request(n, f"Vase of set {n} stands on shelf {n * n}") for n in range(30)]
    await client.send(*lines, '{"jsonrpc": "2.0", "id": "half", "method": "tools/c')
    acknowledged = [await process.stdout.readline() for _ in range(3)]
    client.hang_up()
    async with asyncio.timeout(SOON):
        acknowledged += (await process.stdout.read()).splitlines()
        await process.wait()
    assert process.returncode == 0
    told = [json.loads(line) for line in acknowledged]
    said = [one["id"] for one in told if "stored" in json.dumps(one.get("result", ""))]
    assert len(said) >= 3
    text = stored(tmp_path)
    assert [text.count(f"Vase of set {n} stands") for n in said] == [1] * len(said)
    assert read_endpoint(tmp_path / "home" / "state") is None


@pytest.mark.parametrize(
    ("number", "when"),
    [(signal.SIGINT, "at once"), (signal.SIGTERM, "busy")],
)
async def test_a_signal_ends_it(
    tmp_path: Path, clients: Callable[..., StdioClient], number: signal.Signals, when: str
) -> None:
    client = clients()
    await client.start()
    if when == "busy":
        await client.call("memory_log", content="The bell was cast in Mainz", type="decision")
        await client.send(
            *(log_request(n + 100, f"Bell {n} hangs in tower {n * n}") for n in range(40))
        )
    client.process.send_signal(number)
    async with asyncio.timeout(SOON):
        await client.process.wait()
    assert client.process.returncode == 0
    if when == "busy":
        assert stored(tmp_path).count("The bell was cast in Mainz") == 1
    lock = DirectoryLock(tmp_path / "home")
    lock.acquire()  # nobody has it
    lock.release()


async def test_a_follower_ends_though_its_owner_hangs(clients: Callable[..., StdioClient]) -> None:
    owner, follower = clients(), clients()
    await owner.start()
    await owner.call("memory_search", query="x")
    await follower.start()
    await follower.call("memory_log", content="The swan lives on the pond", type="decision")
    owner.process.send_signal(signal.SIGSTOP)
    await follower.send(log_request(99, "The goose lives on the pond, too"))
    follower.hang_up()
    async with asyncio.timeout(SOON):
        await follower.process.wait()


OLD_SDK = """
from importlib import metadata
def version(name):
    if not {0!r}:
        raise metadata.PackageNotFoundError(name)
    return {0!r}
metadata.version = version
"""
SHUT = "import os; os.chmod(os.environ['SCOPED_MEMORY_HOME'], 0);"


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (OLD_SDK.format(""), "pip install 'mcp>=1.23,<3'"),
        (OLD_SDK.format("1.22.9"), "1.22.9"),
        (SHUT, "home"),
    ],
    ids=["no sdk", "old sdk", "shut home"],
)
def test_what_cannot_be_served_is_a_line_and_exit_code_2(
    tmp_path: Path, code: str, word: str
) -> None:
    home = tmp_path / "place" / "home"
    home.mkdir(parents=True)
    done = run(home, code)
    home.parent.chmod(0o700)
    home.chmod(0o700)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert word in done.stderr
    assert not list(home.iterdir())
