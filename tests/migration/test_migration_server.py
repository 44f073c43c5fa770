"""A scope migration over a real Chroma server, by a process that is killed in the middle of it."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory import (
    Engine,
    EnginePaths,
    EngineSettings,
    MigrationState,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.cli.paths import NAME
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.support.engines import group
from astrbot_plugin_scoped_memory.tests.support.migrating import fields, legacy
from astrbot_plugin_scoped_memory.tests.support.programs import program
from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import ServerProcess

pytestmark = [pytest.mark.engine, pytest.mark.process, pytest.mark.timeout(240)]

COLLECTION = "personal_memory_v1"
ODD: dict[str, dict[str, Any]] = {
    "home": fields("奶奶的存折在衣柜里", memory_scope="家人"),
    "blank": fields("空白也是公共的", memory_scope=""),
    "number": fields("这是数字域的密语", memory_scope=7),
    "wild": fields("这是越界的密语", memory_scope="../../etc"),
    "text": fields("强度是文本的一条", strength="80"),
    "no-time": {k: v for k, v in fields("没有时间的一条").items() if k != "created_at"},
    "word-time": fields("时间是文本的一条", created_at="2025-06-01T12:00:00"),
    "milli": fields("时间是毫秒的一条", created_at=1_750_000_000_000),
    "future": fields("时间在将来的一条", created_at=9_750_000_000),
    "broken-json": fields("关联坏了的一条", associations="{not json", state_snapshot="["),
    "empty": {"judgment": "", "strength": 5},
    "long": fields("很长的一条" + "长" * 35_000),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("server") / "data")
    process.start()
    yield process
    process.kill()


@pytest.fixture
def theirs(server: ServerProcess) -> Iterator[Any]:
    """A pre-scope plugin's collection, as that plugin made it."""
    import chromadb

    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.HttpClient("127.0.0.1", server.port, settings=settings)
    collection = client.create_collection(COLLECTION, embedding_function=None)
    records = {**legacy(180), **ODD}
    ids = list(records)
    collection.add(
        ids=ids,
        documents=[
            f"{one['judgment']},  日常" if one["judgment"] else "" for one in records.values()
        ],
        metadatas=list(records.values()),
        embeddings=[[random.random(), 1.0] for _ in ids],
    )
    collection.add(ids=["bare"], documents=["只有文本的一条,  日常"], embeddings=[[0.1, 1.0]])
    collection.add(ids=["void"], embeddings=[[0.2, 1.0]])
    yield collection
    client.delete_collection(COLLECTION)
    client.close()


def everything(collection: Any) -> dict[str, tuple[Any, ...]]:
    """Document, metadata and vector of each record."""
    found = collection.get(include=["documents", "metadatas", "embeddings"])
    return {
        identifier: (document, metadata, tuple(vector))
        for identifier, document, metadata, vector in zip(
            found["ids"], found["documents"], found["metadatas"], found["embeddings"], strict=True
        )
    }


async def done(engine: Engine) -> bool:
    """Whether all is in."""
    return (await engine.status()).migration.state is MigrationState.DONE


async def killed(root: Path, url: str, *, after: int) -> int:
    """How many it had looked at when it was killed."""
    script = program.PROGRAMS / "migration_child.py"
    process = program.start(script, root, url, after)
    out, errors = await asyncio.to_thread(process.communicate, timeout=120)
    assert process.returncode == -signal.SIGKILL, errors[-4000:]
    return int(out)


async def test_killed_in_the_middle_twice_every_record_is_there_once_and_can_be_given_back(
    tmp_path: Path, server: ServerProcess, theirs: Any
) -> None:
    snapshot = everything(theirs)
    root = tmp_path / "plugin_data" / NAME
    first = await killed(root, server.url, after=35)
    second = await killed(root, server.url, after=110)
    assert first < second < len(snapshot)
    family = "aiocqhttp:GroupMessage:777"
    settings = EngineSettings(chroma_url=server.url, scope_map={family: "家人"})
    engine = build_engine(EnginePaths.under(root), settings)
    migrating = None
    try:
        await engine.open()
        migrating = asyncio.create_task(engine.migrate())
        await until(lambda: done(engine), within=60, what="the end of the migration")
        status = await engine.status()
        tally = status.migration.tally
        assert tally.scanned == len(snapshot) == tally.patched + tally.skipped
        assert (tally.adopted, tally.merged, tally.quarantined, tally.broken) == (190, 0, 2, 2)
        assert status.by_scope == {"public": 189, "家人": 1, "quarantine": 2}

        async def texts(query: str, number: int) -> list[str]:
            found = await engine.service.recall(
                query, conversation_id=group(number), limit=5, token_budget=5000
            )
            return [hit.preview for hit in found.hits]

        for number in range(3, 180, 25):
            best = (await texts(f"第{number}号柜子放了什么工具", 1))[0]
            assert best == f"小明在第{number}号柜子放了工具{number}x"
        for words in (
            "强度是文本",
            "没有时间",
            "时间是文本",
            "时间是毫秒",
            "时间在将来",
            "关联坏了",
        ):
            assert any(words in text for text in await texts(f"{words}的一条", 1))
        assert "奶奶的存折在衣柜里" in await texts("奶奶的存折在哪里", 777)
        assert not [text for text in await texts("奶奶的存折在哪里", 1) if "存折" in text]
        for number in (1, 777):
            assert not [text for text in await texts("密语", number) if "密语" in text]

        now = everything(theirs)
        for name, (document, metadata, vector) in now.items():
            before = dict(snapshot[name][1] or {})
            if name not in {"home", "number", "wild", "empty", "void"}:
                before["memory_scope"] = "public"
            assert (document, dict(metadata or {}), vector) == (
                snapshot[name][0], before, snapshot[name][2],
            )  # fmt: skip
    finally:
        if migrating is not None:
            migrating.cancel()
            await asyncio.gather(migrating, return_exceptions=True)
        await engine.close()
    memories = {
        stored.memory.judgment: stored.memory
        for stored in MarkdownVault(root / "memory").read(PUBLIC).memories
    }
    assert memories["强度是文本的一条"].strength == 80
    assert memories["时间是文本的一条"].created_at.replace(tzinfo=None) == datetime(2025, 6, 1, 12)  # noqa: DTZ001
    assert memories["时间是毫秒的一条"].created_at == datetime.fromtimestamp(1_750_000_000, UTC)
    assert memories["没有时间的一条"].undated
    assert abs(datetime.now(UTC) - memories["时间在将来的一条"].created_at) < timedelta(hours=1)
    (long,) = [one for judgment, one in memories.items() if judgment.startswith("很长的一条")]
    assert long.reasoning.startswith(ODD["long"]["judgment"])

    # As the owner does it: the server stands in the panel's settings.
    config = tmp_path / "config" / f"{NAME}_config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"advanced": {"chroma_url": server.url}}), "utf-8")
    asked = ["--data", str(root), "migrate-scope"]
    assert await asyncio.to_thread(main, [*asked, "--reverse"]) == 0
    assert everything(theirs) == snapshot
