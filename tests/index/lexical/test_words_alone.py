"""Without an embedder there are words alone: no index of vectors is opened, or imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, is_stored
from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import Disk, InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

pytestmark = [pytest.mark.engine, pytest.mark.process]

HERE, OFFICE = group(777), group(888)
ROOT = Path(__file__).resolve().parents[3]


class Unasked(InMemoryVectorStore):
    """Of which nothing may be asked but to be gone."""

    def open(self) -> str:
        raise AssertionError("the index of vectors was opened")


async def cached(rig: Rig) -> int:
    """How many vectors lie in the cache."""
    cache = rig.root / "index" / "embeddings.sqlite"
    import sqlite3

    with sqlite3.connect(cache) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM vector").fetchone()[0])


async def test_recall_and_its_status_say_that_words_alone_serve(tmp_path: Path) -> None:
    async with running(tmp_path, words_alone=True, store=Unasked()) as rig:
        stored = await rig.remember("爷爷对花生过敏", HERE)
        await rig.remember("报销要在周五以前交", OFFICE)
        await rig.until_indexed()
        found = await rig.recall("谁对花生过敏？", HERE)
        assert [hit.memory_id for hit in found.hits] == [stored.memory.memory.memory_id]
        assert found.trace.arm is Arm.LEXICAL
        assert found.trace.notes == []
        status = await rig.engine.status()
        assert (status.index, status.embedder) == ("lexical", "lexical")
        assert (status.backlog, status.leaving) == (0, 0)
        assert not rig.engine.parts.trust.cohorts
        again = await rig.engine.service.remember(
            MemoryDraft("爷爷花生过敏", actor=person(10001)), conversation_id=HERE
        )
        assert is_stored(again, "reinforced")
    assert rig.notices == []
    names = {path.name for path in (tmp_path / "index").iterdir()}
    assert {name.split("-")[0] for name in names} == {"lexical.sqlite"}


class InUse(Unasked):
    """Held at first: an earlier bot still closes it."""

    held = True

    def clear(self) -> None:
        if self.held:
            raise IndexUnavailable("held by another process", code="in_use")
        super().clear()


@pytest.mark.parametrize("store", [Unasked, InUse])
async def test_a_model_comes_and_goes_and_its_vectors_wait_for_it(
    tmp_path: Path, store: type[Unasked]
) -> None:
    disk, model, alone = Disk(), FakeEmbedder(), store()
    alone.disk = disk
    async with running(tmp_path, store=InMemoryVectorStore(disk), embedder=model) as rig:
        await rig.remember("爷爷对花生过敏", HERE)
        gone = await rig.remember("奶奶住在四楼", HERE)
        await rig.until_indexed()
        assert await cached(rig) == 2
    async with running(tmp_path, words_alone=True, store=alone) as rig:
        await rig.until_indexed()
        assert await rig.texts("谁对花生过敏？", HERE) == ["爷爷对花生过敏"]
        if isinstance(alone, InUse):  # then it goes with the next that is forgotten
            assert disk.collections
            alone.held = False
        else:
            await until_true(lambda: not disk.collections)
        await rig.engine.service.forget(
            gone.memory.memory.memory_id, conversation_id=HERE, actor=person(10001, admin=True)
        )
        await until_true(lambda: not disk.collections)
        await rig.until_indexed()
    assert await cached(rig) == 1, "a vector of what is forgotten tells of it"
    calls = model.calls
    async with running(tmp_path, store=InMemoryVectorStore(disk), embedder=model) as rig:
        await rig.until_indexed()
        assert model.calls == calls
        assert [len(rows) for rows in disk.collections.values()] == [1]
        assert await rig.texts("谁对花生过敏？", HERE) == ["爷爷对花生过敏"]


def test_nothing_of_chroma_is_imported(tmp_path: Path) -> None:
    program = """
import asyncio, sys
sys.path.insert(0, sys.argv[1] + "/scripts")
import checkout
checkout.register()
from pathlib import Path
from astrbot_plugin_scoped_memory.llm_memory import EnginePaths, EngineSettings, build_engine

async def play():
    engine = build_engine(EnginePaths.under(Path(sys.argv[2])), EngineSettings())
    await engine.open()
    running = asyncio.create_task(engine.run(None))
    while (await engine.status()).words != "ready":
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await engine.close()

asyncio.run(play())
print([name for name in ("chromadb", "torch", "onnxruntime") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, str(ROOT), str(tmp_path)],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
    assert not (tmp_path / "index" / "chroma").exists()
