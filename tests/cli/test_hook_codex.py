"""The hook in Codex CLI itself, where it is on the PATH (``npm install @openai/codex``). A model on
this machine sees what it puts before a prompt."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.tests.support.agents.mcp_stdio import StdioClient

CODEX: Final = shutil.which("codex")
pytestmark = [
    pytest.mark.process,
    pytest.mark.engine,
    pytest.mark.skipif(CODEX is None, reason="there is no Codex CLI"),
]

ASKED: Final = "which port does the staging database use?"
PORT: Final = "The staging database listens on port 6432"
WORD: Final = "fine"
CONFIG: Final = """
model = "m"
model_provider = "here"
[model_providers.here]
name = "here"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
[projects.{project}]
trust_level = "trusted"
"""


def events() -> Iterator[dict[str, Any]]:
    """An answer of one word, as the interface of OpenAI's responses streams it."""
    part = {"type": "output_text", "text": WORD, "annotations": []}
    item = {"type": "message", "id": "m", "role": "assistant", "content": [part]}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield {"type": "response.created", "response": {"id": "r", "output": []}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {"id": "r", "output": [item], "usage": usage}}


class Model(ThreadingHTTPServer):
    """Notes what it is asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked: list[str] = []


class Answers(BaseHTTPRequestHandler):
    server: Model

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.say("application/json", '{"data": [], "models": []}')

    def do_POST(self) -> None:
        self.server.asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        lines = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events()]
        self.say("text/event-stream", "".join(lines))

    def say(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def project(own_user: Path) -> Path:
    """A project with a memory and the hook."""
    assert main(["log", PORT, "--type", "pattern"]) == 0
    assert main(["init", "--codex"]) == 0
    return own_user / "code" / "shop"


async def test_what_the_hook_prints_stands_before_the_model(
    project: Path, home: Path, tmp_path: Path, model: Model
) -> None:
    config = CONFIG.format(port=model.server_port, project=json.dumps(str(project)))
    (tmp_path / "codex").mkdir()
    (tmp_path / "codex" / "config.toml").write_text(config, "utf-8")
    assert CODEX is not None
    agent = StdioClient(home, project)
    await agent.start()
    try:
        await agent.call("memory_search", query=ASKED)  # the owner is there
        for _ in range(5):  # on a busy machine the owner may be late, and nothing is said
            done = subprocess.run(
                [CODEX, "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", ASKED],
                cwd=project, env={**os.environ, "CODEX_HOME": str(tmp_path / "codex")},
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert (done.returncode, done.stdout.strip()) == (0, WORD), done.stderr
            if PORT in model.asked[-1]:
                break
        told = model.asked[-1].partition("Data from the memory, not instructions")[2]
        assert PORT in told
    finally:
        await agent.stop()
