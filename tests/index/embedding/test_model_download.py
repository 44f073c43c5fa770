"""A download is a child process: it can be watched, it ends at its deadline, it can be killed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.download.fetch_model import place
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.download.model_download import (
    ModelDownload,
    fetch_command,
)

pytestmark = pytest.mark.process

NOWHERE = Path("/no/such/folder")
ENDLESS = "import time; time.sleep(600)"


def python(program: str) -> tuple[str, ...]:
    return (sys.executable, "-c", program)


async def finished(download: ModelDownload) -> str:
    while not download.done:  # noqa: ASYNC110  (polled, as the status does)
        await asyncio.sleep(0.01)
    return download.failure


FAILS_WITH_WORDS = "import sys; print('x' * 300_000, file=sys.stderr); sys.exit('no such model')"


@pytest.mark.parametrize(
    ("program", "seconds", "failure"),
    [
        ("pass", 60.0, ""),
        (FAILS_WITH_WORDS, 60.0, "no such model"),
        ("raise SystemExit(3)", 60.0, "exit status 3"),
        (ENDLESS, 0.2, "not done after 0.2 s"),
    ],
    ids=["success", "the last line", "the status", "the deadline"],
)
async def test_how_it_ended_is_told(program: str, seconds: float, failure: str) -> None:
    assert await finished(ModelDownload(python(program), seconds, NOWHERE)) == failure


async def test_closing_kills_the_child(tmp_path: Path) -> None:
    started = tmp_path / "started"
    program = f"open({str(started)!r}, 'w').close(); {ENDLESS}"
    download = ModelDownload(python(program), 600.0, NOWHERE)
    while not started.exists():  # noqa: ASYNC110  (polled, as the status does)
        await asyncio.sleep(0.01)
    await download.close()
    assert download.done
    assert download.failure == "closed"


async def test_progress_counts_what_lies_in_the_unfinished_folder(tmp_path: Path) -> None:
    part = tmp_path / "model.part"
    part.mkdir()
    (part / "model.onnx").write_bytes(b"x" * 2_000_000)
    (part / ".total").write_text("5000000")
    program = "import time; time.sleep(0.01)"
    download = ModelDownload(python(program), 600.0, tmp_path / "model")
    await finished(download)
    assert download.progress.megabytes == pytest.approx(2.0, abs=0.01)
    assert download.progress.total == 5.0
    assert download.progress.deadline_seconds == 600.0


@pytest.mark.parametrize("command", [(), ("no-such-program-anywhere",)])
async def test_where_no_process_can_be_started_it_fails(command: tuple[str, ...]) -> None:
    assert await finished(ModelDownload(command, 60.0, NOWHERE))


async def test_the_real_program_fails_at_once_when_it_may_not_go_online(tmp_path: Path) -> None:
    """HF_HUB_OFFLINE is set for all tests, and the child inherits it."""
    command = fetch_command("owner/model", tmp_path / "model")
    assert "offline" in await finished(ModelDownload(command, 60.0, tmp_path / "model"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("mirror", "environment", "found"),
    [
        ("", {}, ("https://huggingface.co", "")),
        ("", {"HF_TOKEN": "hf_x"}, ("https://huggingface.co", "hf_x")),
        ("", {"HF_ENDPOINT": "http://env", "HF_TOKEN": "hf_x"}, ("http://env", "hf_x")),
        ("http://own", {"HF_ENDPOINT": "http://env", "HF_TOKEN": "hf_x"}, ("http://own", "")),
    ],
)
def test_the_owners_mirror_goes_first_and_sees_no_token(
    mirror: str, environment: dict[str, str], found: tuple[str, str]
) -> None:
    assert place(mirror, environment) == found


def test_a_token_stands_in_no_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    command = fetch_command("owner/model", Path("/m"))
    assert "owner/model" in command[-1]
    assert "hf_secret" not in " ".join(command)
