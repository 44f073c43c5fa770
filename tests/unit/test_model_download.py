"""A download is a child process: it can be watched, it ends at its deadline, it can be killed."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.components.embedding import fetch_model
from astrbot_plugin_scoped_memory.llm_memory.components.embedding.model_download import (
    ModelDownload,
    fetch_command,
)

ENDLESS = "import time; time.sleep(600)"


def python(program: str) -> tuple[str, ...]:
    return (sys.executable, "-c", program)


async def finished(download: ModelDownload) -> str:
    while not download.done:  # noqa: ASYNC110  (polled, as the status does)
        await asyncio.sleep(0.01)
    return download.failure


async def test_exit_status_zero_is_success() -> None:
    assert await finished(ModelDownload(python("pass"), 60.0, None)) == ""


async def test_a_failure_is_told_by_the_last_line() -> None:
    program = "import sys; print('x' * 300_000, file=sys.stderr); sys.exit('no such model')"
    assert await finished(ModelDownload(python(program), 60.0, None)) == "no such model"


async def test_a_silent_failure_is_told_by_its_status() -> None:
    assert await finished(ModelDownload(python("raise SystemExit(3)"), 60.0, None)) == (
        "exit status 3"
    )


async def test_the_deadline_ends_it() -> None:
    assert await finished(ModelDownload(python(ENDLESS), 0.2, None)) == "not done after 0.2 s"


async def test_closing_kills_the_child(tmp_path: Path) -> None:
    started = tmp_path / "started"
    program = f"open({str(started)!r}, 'w').close(); {ENDLESS}"
    download = ModelDownload(python(program), 600.0, None)
    while not started.exists():  # noqa: ASYNC110  (polled, as the status does)
        await asyncio.sleep(0.01)
    await download.close()
    assert download.done
    assert download.failure == "closed"


async def test_progress_counts_what_lies_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "blob.incomplete").write_bytes(b"x" * 2_000_000)
    download = ModelDownload(python("import sys; sys.stdin.read()"), 600.0, tmp_path)
    await finished(download)
    assert download.progress.megabytes == pytest.approx(2.0)
    assert download.progress.deadline_seconds == 600.0


@pytest.mark.parametrize("command", [(), ("no-such-program-anywhere",)])
async def test_where_no_process_can_be_started_it_fails(command: tuple[str, ...]) -> None:
    assert await finished(ModelDownload(command, 60.0, None))


async def test_a_frozen_application_is_not_started_a_second_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert fetch_command("owner/model", None) == ()


@pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None,
    reason="without the package nothing is downloaded",
)
async def test_the_real_program_fails_at_once_when_it_may_not_go_online(tmp_path: Path) -> None:
    """HF_HUB_OFFLINE is set for all tests, and the child inherits it."""
    failure = await finished(ModelDownload(fetch_command("owner/model", tmp_path), 60.0, tmp_path))
    assert "ffline" in failure


def test_nothing_is_downloaded_that_could_not_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SystemExit, match="sentence-transformers is not installed"):
        fetch_model.main("owner/model", str(tmp_path))
    assert list(tmp_path.iterdir()) == []
