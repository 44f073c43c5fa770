"""While a conversation is paused nothing of it is kept, and nothing recalled in it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    OFF_THE_RECORD,
    Actor,
    ConversationId,
    ConversationKind,
    Expanded,
    Forgotten,
    LoopSettings,
    MemoryDraft,
    NotAllowed,
    NotObserved,
    Paused,
    PointerNotVisible,
    Rejected,
    RejectReason,
    Resumed,
    Source,
    StateUnavailable,
    Stored,
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_facts import SqliteLoopFacts
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import (
    ADAPTER,
    QUICK,
    Rig,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.searched_files import files_holding

pytestmark = pytest.mark.engine

PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"
FAMILY = group(777)
ADMIN = person(9, "管理员", admin=True)
MING = person(10001)
GIFT = Turn(MING, "我把礼物藏在柜子里", "好")


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """An engine with the usual map."""
    async with running(tmp_path) as made:
        yield made


async def pause(rig: Rig, where: ConversationId = FAMILY, who: Actor = ADMIN) -> object:
    """What the service answers."""
    return await rig.engine.service.pause(conversation_id=where, actor=who)


async def resume(rig: Rig, where: ConversationId = FAMILY, who: Actor = ADMIN) -> object:
    """What the service answers."""
    return await rig.engine.service.resume(conversation_id=where, actor=who)


def conversations(root: Path) -> list[str]:
    """Whose turns lie in the queue."""
    with closing(sqlite3.connect(root / "state" / "loop.sqlite")) as connection:
        return [row[0] for row in connection.execute("SELECT conversation FROM turn")]


async def test_a_paused_conversation_queues_stores_recalls_and_shows_nothing(
    rig: Rig,
) -> None:
    stored = await rig.remember(PEANUTS, FAMILY)
    assert isinstance(await pause(rig), Paused)
    service = rig.engine.service
    turn = Turn(MING, "我把礼物藏在柜子里", "好", ("m-1",))
    assert await service.observe(turn, conversation_id=FAMILY) == NotObserved(note="paused")
    for source in (Source.TOOL, Source.COMMAND):
        draft = MemoryDraft("礼物藏在柜子里了", source=source, actor=MING)
        refused = await service.remember(draft, conversation_id=FAMILY)
        assert refused == Rejected(RejectReason.OFF_THE_RECORD)
    recall = await rig.recall(QUESTION, FAMILY)
    assert (recall.hits, recall.trace.notes) == ((), (OFF_THE_RECORD,))
    assert await service.explain(conversation_id=FAMILY) == []
    assert [told.query for told in service.last_recalls()] == []
    pointer = stored.memory.pointer
    assert isinstance(await service.expand(pointer, conversation_id=FAMILY), PointerNotVisible)
    report = await service.describe(conversation_id=FAMILY)
    assert report.paused == service.conversations.paused_since(FAMILY) is not None
    assert (await rig.engine.status()).loop.paused == 1
    assert files_holding(rig.root, "柜子") == set()
    assert conversations(rig.root) == []
    # A person may look after what is there, and take something out.
    assert await service.newest(conversation_id=FAMILY, limit=5)
    memory_id = stored.memory.memory.memory_id
    forgotten = await service.forget(memory_id, conversation_id=FAMILY, actor=ADMIN)
    assert isinstance(forgotten, Forgotten)


async def test_other_conversations_of_the_same_scope_go_on(rig: Rig) -> None:
    stored = await rig.remember(PEANUTS, FAMILY)
    await pause(rig)
    assert await rig.texts(QUESTION, private(1002)) == [PEANUTS]
    turn = Turn(person(1002), "花生酱也不行吗", "不行")
    service = rig.engine.service
    assert isinstance(await service.observe(turn, conversation_id=private(1002)), Ticket)
    shown = await service.expand(stored.memory.pointer, conversation_id=private(1002))
    assert isinstance(shown, Expanded)
    assert service.conversations.paused_since(private(1002)) is None


async def test_what_was_queued_before_the_pause_stays_and_after_it_all_goes_on(
    rig: Rig,
) -> None:
    service = rig.engine.service
    turn = Turn(MING, "奶奶吃了花生就起疹子", "记下了")
    assert isinstance(await service.observe(turn, conversation_id=FAMILY), Ticket)
    await pause(rig)
    await service.observe(turn, conversation_id=FAMILY)
    assert len(conversations(rig.root)) == 1
    assert await resume(rig) == Resumed()
    assert isinstance(await service.observe(turn, conversation_id=FAMILY), Ticket)
    await rig.remember(PEANUTS, FAMILY)
    assert await rig.texts(QUESTION, FAMILY) == [PEANUTS]
    assert len(conversations(rig.root)) == 2


async def test_a_pause_holds_over_restarts_and_is_said_once(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        first = await pause(rig)
        again = await pause(rig)
        assert isinstance(first, Paused)
        assert again == Paused(first.since, before=True)
    for _ in range(2):
        async with running(tmp_path) as rig:
            assert rig.engine.service.conversations.paused_since(FAMILY) == first.since
            observed = await rig.engine.service.observe(GIFT, conversation_id=FAMILY)
            assert observed == NotObserved(note="paused")
    async with running(tmp_path) as rig:
        assert await resume(rig) == Resumed()
        assert await resume(rig) == Resumed(before=True)
    async with running(tmp_path) as rig:
        assert rig.engine.service.conversations.paused_since(FAMILY) is None


async def test_a_pause_of_one_member_holds_for_the_group_that_a_platform_splits(
    rig: Rig,
) -> None:
    def member(number: int) -> ConversationId:
        return replace(FAMILY, umo=f"{ADAPTER}:GroupMessage:{number}_777")

    await pause(rig, member(1))
    service = rig.engine.service
    for where in (member(1), member(2), FAMILY):
        observed = await service.observe(GIFT, conversation_id=where)
        assert observed == NotObserved(note="paused")
    observed = await service.observe(GIFT, conversation_id=replace(member(1), group="778"))
    assert isinstance(observed, Ticket)
    assert await resume(rig, member(2)) == Resumed()
    assert isinstance(await service.observe(GIFT, conversation_id=member(1)), Ticket)


@pytest.mark.parametrize("begun", [False, True])
async def test_what_a_member_had_queued_is_not_read_while_the_whole_group_is_paused(
    tmp_path: Path, begun: bool
) -> None:
    chat = ScriptedChat(*([ChatFailed("failed")] if begun else []))
    at_once = replace(QUICK, loop=LoopSettings(after_turns=1, retry_seconds=(0.0,)))
    members = [replace(FAMILY, umo=f"{ADAPTER}:GroupMessage:{n}_777") for n in (1, 2)]
    async with running(tmp_path, chat=chat, settings=at_once) as rig:
        assert isinstance(
            await rig.engine.service.observe(GIFT, conversation_id=members[0]), Ticket
        )
        if begun:
            await rig.engine.loop.reflection.read_due()
        await pause(rig, members[1])
        assert (await rig.engine.loop.reflection.read_due()).read == 0
        assert len(chat.calls) == begun
        await resume(rig, members[1])
        assert (await rig.engine.loop.reflection.read_due()).read == 1


@pytest.mark.parametrize(
    ("where", "who", "allowed"),
    [
        (private(1002), person(1002), True),
        (private(5), person(5), True),
        (group(777), person(10001), False),
        (group(777), ADMIN, True),
        (group(999), person(1), False),
        (replace(private(5), kind=ConversationKind.OTHER), person(5), False),
    ],
)
async def test_a_private_chat_is_its_persons_to_pause_and_a_group_an_admins(
    tmp_path: Path, where: ConversationId, who: Actor, *, allowed: bool
) -> None:
    async with running(tmp_path, follow=False) as rig:
        assert isinstance(await pause(rig, where, who), Paused if allowed else NotAllowed)
        if not allowed:
            await pause(rig, where, ADMIN)
        outcome = await resume(rig, where, who)
        assert isinstance(outcome, Resumed if allowed else NotAllowed)
        assert (rig.engine.service.conversations.paused_since(where) is None) is allowed


async def test_a_conversation_that_only_reads_public_can_be_paused_and_one_without_a_name_not(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, {"aiocqhttp:GroupMessage:777": "家 人"}) as rig:
        assert isinstance(await pause(rig), Paused)
        assert (await rig.recall(QUESTION, FAMILY)).trace.notes == (OFF_THE_RECORD,)
        nowhere = await pause(rig, replace(FAMILY, umo="x", group=None))
        assert isinstance(nowhere, Rejected)
    with closing(sqlite3.connect(tmp_path / "state" / "loop.sqlite")) as connection:
        assert connection.execute("SELECT scope FROM pause").fetchall() == [("public",)]


async def test_a_pause_that_the_disk_refused_is_none_and_a_resume_neither(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> bool:
        raise StateUnavailable("database or disk is full", "loop.sqlite")

    service = rig.engine.service
    with monkeypatch.context() as patch:
        patch.setattr(SqliteLoopFacts, "pause", full)
        with pytest.raises(StateUnavailable):
            await pause(rig)
        assert service.conversations.paused_since(FAMILY) is None
        stored = await service.remember(MemoryDraft(PEANUTS), conversation_id=FAMILY)
        assert isinstance(stored, Stored)
    await pause(rig)
    with monkeypatch.context() as patch:
        patch.setattr(SqliteLoopFacts, "resume", full)
        with pytest.raises(StateUnavailable):
            await resume(rig)
    assert service.conversations.paused_since(FAMILY) is not None


async def test_an_import_into_a_paused_conversation_stores_nothing(rig: Rig) -> None:
    await pause(rig)
    outcome = await rig.engine.service.import_("x.jsonl", conversation_id=FAMILY, actor=ADMIN)
    assert outcome == Rejected(RejectReason.OFF_THE_RECORD)
