"""The hook in Codex CLI and in Gemini CLI themselves, where they are on the PATH (``npm install
@openai/codex @google/gemini-cli``). A model on this machine sees what they put before a prompt."""

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

pytestmark = [pytest.mark.process, pytest.mark.engine]

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


def chunks() -> Iterator[dict[str, Any]]:
    """The same of Gemini's interface."""
    content = {"parts": [{"text": WORD}], "role": "model"}
    yield {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}


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
        answer = events() if "/responses" in self.path else chunks()
        lines = [f"data: {json.dumps(one)}\r\n\r\n" for one in answer]
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


def codex(user: Path, project: Path, port: int) -> tuple[list[str], dict[str, str]]:
    """The command line before the prompt, and the environment; settings are written."""
    (user / "codex").mkdir()
    config = CONFIG.format(port=port, project=json.dumps(str(project)))
    (user / "codex" / "config.toml").write_text(config, "utf-8")
    command = ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
    return command, {"CODEX_HOME": str(user / "codex")}


def gemini(user: Path, project: Path, port: int) -> tuple[list[str], dict[str, str]]:
    (user / ".gemini").mkdir()
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (user / ".gemini" / "settings.json").write_text(json.dumps(settings), "utf-8")
    trusted = json.dumps({str(project): "TRUST_FOLDER"})
    (user / ".gemini" / "trustedFolders.json").write_text(trusted, "utf-8")
    url = f"http://127.0.0.1:{port}"
    return ["-m", "m", "-p"], {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "none"}


CLIENTS: Final = {"codex": codex, "gemini": gemini}


@pytest.fixture
def project(own_user: Path) -> Path:
    """A project with a memory."""
    assert main(["log", PORT, "--type", "pattern"]) == 0
    return own_user / "code" / "shop"


@pytest.mark.parametrize("client", CLIENTS)
async def test_what_the_hook_prints_stands_before_the_model(
    client: str, project: Path, own_user: Path, home: Path, model: Model
) -> None:
    program = shutil.which(client)
    if program is None:
        pytest.skip(f"{client} is not on the PATH")
    assert main(["init", f"--{client}"]) == 0
    command, environ = CLIENTS[client](own_user, project, model.server_port)
    agent = StdioClient(home, project)
    await agent.start()
    try:
        await agent.call("memory_search", query=ASKED)  # the owner is there
        for _ in range(5):  # on a busy machine the owner may be late, and nothing is said
            done = subprocess.run(
                [program, *command, ASKED],
                cwd=project, env={**os.environ, **environ},
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert (done.returncode, done.stdout.strip()) == (0, WORD), done.stderr
            if PORT in model.asked[-1]:
                break
        told = model.asked[-1].partition("Data from the memory, not instructions")[2]
        assert PORT in told
    finally:
        await agent.stop()
