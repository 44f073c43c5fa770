"""The bundled model itself, weights and all: whatever becomes of memories and of the setting, what
lies in another scope is found by no meaning either."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    EnginePaths,
    IndexState,
    Moved,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vectors
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import WorkerStore
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.tests.support.arms_alone import recall_by
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    QUICK,
    Rig,
    Ticker,
    group,
    person,
)

pytestmark = [pytest.mark.engine, pytest.mark.model, pytest.mark.timeout(300)]

HOME, WORK, OPEN = group(777), group(888), group(999)
ADMIN = person(1, "管理员", admin=True)
SETTINGS = replace(
    QUICK,
    scope_map=MAP,
    relevance_floor=0.0,
    embed_query_seconds=60.0,
    embed_write_seconds=60.0,
)
SAID = {
    HOME: ["奶奶一吃花生就起疹子", "小雯换到银行上班了", "周末全家去爬香山"],
    WORK: ["机房的空调坏了没人修", "新来的实习生坐在窗边", "季度报表要在周五以前交"],
    OPEN: ["公园的湖面结冰了", "图书馆周一不开门", "楼下新开了一家面馆"],
}
OTHER_WORDS = {
    "老人家对什么坚果过敏？": "奶奶一吃花生就起疹子",
    "制冷设备出了什么故障？": "机房的空调坏了没人修",
    "星期一能去借书吗？": "图书馆周一不开门",
}


class Embedded:
    """Texts that the model was given to embed, but for its own probes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        embed = WorkerStore.embed

        def counted(store: WorkerStore, texts: Sequence[str], *, is_query: bool) -> Vectors:
            self.texts += () if is_query else texts
            return embed(store, texts, is_query=is_query)

        monkeypatch.setattr(WorkerStore, "embed", counted)

    def of(self, memories: Sequence[str]) -> list[str]:
        """Those of these memories that were embedded."""
        return [memory for memory in memories if any(memory in text for text in self.texts)]


@contextlib.asynccontextmanager
async def living(root: Path, *, model: bool = True) -> AsyncIterator[Rig]:
    """An engine as a default installation has it, caught up; without the model, words alone."""
    engine = build_engine(EnginePaths.under(root), SETTINGS, clock=(clock := Ticker()))
    assert engine.bundled is not None
    rig = Rig(engine, engine.bundled, root, [], clock)
    await engine.open()
    following = asyncio.create_task(engine.run(engine.bundled if model else None))
    try:
        await settled(rig, model=model)
        yield rig
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await engine.close()


async def settled(rig: Rig, *, model: bool) -> None:
    """Wait for both indexes, and for the model's examination."""
    await rig.until_indexed()
    async with asyncio.timeout(60):
        while (await rig.engine.status()).words is not IndexState.READY or (  # noqa: ASYNC110
            model and not rig.engine.trust.cohorts
        ):
            await asyncio.sleep(0.01)


async def check(rig: Rig, said: Mapping[ConversationId, Sequence[str]], *, model: bool) -> None:
    """Every reader, by words, by meaning and by both: its own scope and public, and with the model
    all of that; the best answer to a question in other words is the memory that it is about."""
    await settled(rig, model=model)
    for where in said:
        visible = {*said[where], *said[OPEN]}
        for question, answer in OTHER_WORDS.items():
            for only in ((Arm.LEXICAL,), (Arm.DENSE,), None):
                recall = await recall_by(
                    rig.engine, only, question, conversation_id=where, limit=60, token_budget=9000
                )
                found = [hit.preview for hit in recall.hits]
                assert set(found) <= visible, (where, question, only)
                if model and only == (Arm.DENSE,):
                    assert recall.trace.arm is Arm.DENSE
                    assert set(found) == visible
                    assert answer not in visible or found[0] == answer
    assert (await rig.engine.status()).scope_check_drops == 0


async def fill(rig: Rig, said: Mapping[ConversationId, Sequence[str]]) -> dict[str, str]:
    """Memories; their ids by their words."""
    stored = [(text, await rig.remember(text, where)) for where in said for text in said[where]]
    return {text: outcome.memory.memory.memory_id for text, outcome in stored}


async def test_no_reader_finds_another_scope_whatever_is_moved_forgotten_and_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    embedded, said = Embedded(monkeypatch), {where: list(texts) for where, texts in SAID.items()}
    first = tmp_path / "first"
    async with living(first) as rig:
        ids = await fill(rig, said)
        await check(rig, said, model=True)
        service: Any = rig.engine.service
        moved = await service.move(ids[said[HOME][0]], "公司", conversation_id=HOME, actor=ADMIN)
        assert isinstance(moved, Moved)
        said[WORK].append(said[HOME].pop(0))
        await service.forget(ids[said[OPEN].pop(0)], conversation_id=OPEN, actor=ADMIN)
        await check(rig, said, model=True)

    chroma = first / "index" / "chroma"
    assert (chroma / "chroma.sqlite3").exists()
    async with living(first, model=False) as rig:
        gone = said[WORK].pop(0)
        await rig.engine.service.forget(ids[gone], conversation_id=WORK, actor=ADMIN)
        new = "外婆把老房子卖了"
        await rig.remember(new, HOME)
        said[HOME].append(new)
        await check(rig, said, model=False)
        assert not (chroma / "chroma.sqlite3").exists()

    everything = [text for texts in SAID.values() for text in texts]
    assert embedded.of(everything) == everything
    embedded.texts.clear()
    # Another engine in the same bot: with the same scopes, and other memories in them.
    others = {HOME: ["爷爷牙疼得睡不着"], WORK: ["打印机又卡纸了"], OPEN: ["地铁末班车改到十一点"]}
    async with living(first) as rig, living(tmp_path / "second") as other:
        await fill(other, others)
        await check(rig, said, model=True)
        for where in others:
            recall = await other.recall("家里和公司都出了什么事？", where, 60)
            assert {hit.preview for hit in recall.hits} <= {*others[where], *others[OPEN]}
    assert embedded.of([*everything, new]) == [new]
