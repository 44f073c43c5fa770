"""Forgetting and bringing back: by its speaker or an admin, inside its own scope, undoable."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    EngineSettings,
    Expanded,
    Forgotten,
    MemoryDraft,
    NotAllowed,
    NotVisible,
    PointerNotVisible,
    Reinforced,
    Restored,
    Stored,
)
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    Rig,
    group,
    person,
    private,
    running,
)

pytestmark = pytest.mark.engine

PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"
SPEAKER, STRANGER, ADMIN = person(1), person(2, "小红"), person(3, "管理员", admin=True)
NOBODY = Actor("", "小明")


async def forget(rig: Rig, memory_id: str, where: ConversationId, who: Actor) -> object:
    """The outcome of forgetting."""
    return await rig.engine.service.forget(memory_id, conversation_id=where, actor=who)


async def restore(rig: Rig, memory_id: str, where: ConversationId, who: Actor) -> object:
    """The outcome of bringing back."""
    return await rig.engine.service.restore(memory_id, conversation_id=where, actor=who)


async def told(rig: Rig, where: ConversationId, who: Actor = SPEAKER) -> str:
    """The id of a stored memory."""
    return (await rig.remember(PEANUTS, where, who)).memory.memory.memory_id


@pytest.mark.parametrize("who", [SPEAKER, ADMIN])
async def test_its_speaker_and_an_admin_forget_a_memory_and_bring_it_back(
    tmp_path: Path, who: Actor
) -> None:
    store = InMemoryVectorStore()
    async with running(tmp_path, store=store) as rig:
        memory_id = await told(rig, group(777))
        await rig.until_indexed()
        gone = await forget(rig, memory_id, private(1002), who)
        assert isinstance(gone, Forgotten)
        assert gone.archived_to == "archive/preferences.md"
        assert await rig.texts(QUESTION, group(777)) == []
        expansion = await rig.engine.service.expand(memory_id, conversation_id=group(777))
        assert isinstance(expansion, PointerNotVisible)
        assert await forget(rig, memory_id, group(777), who) == NotVisible(memory_id)
        await rig.until_indexed()
    async with running(tmp_path, store=InMemoryVectorStore(store.disk)) as rig:
        await rig.until_indexed()
        # Looked at with nothing awaited: what is worn is thrown away and made anew in a moment.
        assert [len(rows) for rows in store.disk.collections.values()] == [0]
        assert await rig.texts(QUESTION, group(777)) == []
        back = await restore(rig, memory_id, group(777), who)
        assert isinstance(back, Restored)
        assert await rig.texts(QUESTION, group(777)) == [PEANUTS]
        assert await restore(rig, memory_id, group(777), who) == NotVisible(memory_id)
    async with running(tmp_path) as rig:
        assert await rig.texts(QUESTION, group(777)) == [PEANUTS]


@pytest.mark.parametrize("who", [STRANGER, NOBODY, Actor("AIOCQHTTP:1", "小明")])
async def test_no_other_speaker_forgets_it_or_restores_it(tmp_path: Path, who: Actor) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig, group(777))
        assert await forget(rig, memory_id, group(777), who) == NotAllowed(memory_id)
        assert await rig.texts(QUESTION, group(777)) == [PEANUTS]
        assert isinstance(await forget(rig, memory_id, group(777), SPEAKER), Forgotten)
        assert await restore(rig, memory_id, group(777), who) == NotAllowed(memory_id)
        assert await rig.texts(QUESTION, group(777)) == []


async def test_only_an_admin_forgets_an_entry_without_a_speaker(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig, group(777), NOBODY)
        assert await forget(rig, memory_id, group(777), NOBODY) == NotAllowed(memory_id)
        assert isinstance(await forget(rig, memory_id, group(777), ADMIN), Forgotten)


@pytest.mark.parametrize("who", [SPEAKER, ADMIN])
async def test_no_one_reaches_into_another_scope(tmp_path: Path, who: Actor) -> None:
    async with running(tmp_path) as rig:
        secret = await told(rig, group(777))
        shared = await told(rig, group(999))
        for where in (group(888), group(999), private(1001)):
            assert await forget(rig, secret, where, who) == NotVisible(secret)
        assert await forget(rig, shared, group(777), who) == NotAllowed(shared)
        assert isinstance(await forget(rig, secret, group(777), who), Forgotten)
        for where in (group(888), group(999), private(1001)):
            assert await restore(rig, secret, where, who) == NotVisible(secret)
        assert isinstance(await restore(rig, secret, group(777), who), Restored)


async def test_a_linked_id_is_the_speaker_too(tmp_path: Path) -> None:
    settings = EngineSettings(identity_links={"aiocqhttp:1": "小明", "telegram:7": "小明"})
    async with running(tmp_path, settings=settings) as rig:
        memory_id = await told(rig, group(777))
        other = Actor("telegram:7", "Ming")
        assert isinstance(await forget(rig, memory_id, group(777), other), Forgotten)


async def test_where_nothing_is_written_nothing_is_forgotten(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig, group(999))
    async with running(tmp_path, {**MAP, "aiocqhttp:GroupMessage:999": "家 人"}) as rig:
        assert await forget(rig, memory_id, group(999), ADMIN) == NotAllowed(memory_id)
        assert await restore(rig, memory_id, group(999), ADMIN) == NotVisible(memory_id)
    off = EngineSettings(scope_filter_enabled=False)
    async with running(tmp_path, settings=off) as rig:
        assert await forget(rig, memory_id, group(999), ADMIN) == NotAllowed(memory_id)


@pytest.mark.parametrize(
    "pointer", ["", "x", "m-00000000000000", "../公司/preferences.md", "m-\0", "m-" + "z" * 400]
)
async def test_a_pointer_to_nothing_is_not_visible(tmp_path: Path, pointer: str) -> None:
    async with running(tmp_path) as rig:
        await told(rig, group(777))
        assert await forget(rig, pointer, group(777), ADMIN) == NotVisible(pointer)
        assert await restore(rig, pointer, group(777), ADMIN) == NotVisible(pointer)
        expansion = await rig.engine.service.expand(pointer, conversation_id=group(777))
        assert expansion == PointerNotVisible(pointer)


async def test_a_path_in_a_pointer_opens_no_file(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig, group(777))
        pointer = f"../家人/preferences.md#{memory_id}"
        expansion = await rig.engine.service.expand(pointer, conversation_id=group(888))
        assert isinstance(expansion, PointerNotVisible)
        seen = await rig.engine.service.expand(pointer, conversation_id=group(777))
        assert isinstance(seen, Expanded)


async def test_what_a_person_deleted_by_hand_meanwhile_is_gone(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig, group(777))
        (tmp_path / "memory/scopes/家人/preferences.md").unlink()
        assert await forget(rig, memory_id, group(777), SPEAKER) == NotVisible(memory_id)
        assert await rig.texts(QUESTION, group(777)) == []
        again = await rig.engine.service.remember(
            MemoryDraft(PEANUTS, actor=SPEAKER), conversation_id=group(777)
        )
        assert isinstance(again, Stored)


async def test_said_again_it_grows_stronger_and_forgotten_it_is_written_anew(
    tmp_path: Path,
) -> None:
    draft = MemoryDraft(PEANUTS, actor=SPEAKER, strength=97)
    async with running(tmp_path) as rig:
        service = rig.engine.service
        first = await service.remember(draft, conversation_id=group(777))
        second = await service.remember(draft, conversation_id=private(1002))
        assert isinstance(first, Stored)
        assert isinstance(second, Reinforced)
        assert second.memory.memory.memory_id == first.memory.memory.memory_id
        assert second.memory.memory.strength == 100
        for where, who in ((group(888), SPEAKER), (group(999), SPEAKER), (group(777), STRANGER)):
            other = await service.remember(MemoryDraft(PEANUTS, actor=who), conversation_id=where)
            assert isinstance(other, Stored)
        await forget(rig, first.memory.memory.memory_id, group(777), SPEAKER)
        anew = await service.remember(draft, conversation_id=group(777))
        assert isinstance(anew, Stored)
        assert anew.memory.memory.memory_id != first.memory.memory.memory_id
    async with running(tmp_path) as rig:
        assert (await rig.engine.status()).by_scope == {"家人": 2, "公司": 1, "public": 1}
