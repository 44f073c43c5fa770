"""While a conversation is paused nothing of it is kept, and nothing recalled in it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    OFF_THE_RECORD,
    Actor,
    ConversationId,
    ConversationKind,
    LoopSettings,
    MemoryDraft,
    Pause,
    Refused,
    StateUnavailable,
    TaskChange,
    TaskReport,
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import is_denied
from astrbot_plugin_scoped_memory.llm_memory.scopes.paused_conversations import NAME
from astrbot_plugin_scoped_memory.llm_memory.storage import files
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

pytestmark = pytest.mark.engine

FAMILY = group(777)
ADMIN, MING = person(9, "管理员", admin=True), person(10001)
GIFT = Turn(MING, "我把礼物藏在柜子里", "好")


async def pause(
    rig: Rig,
    where: ConversationId = FAMILY,
    who: Actor = ADMIN,
    until: datetime | None = None,
) -> object:
    return await rig.engine.service.pause(conversation_id=where, actor=who, until=until)


async def resume(rig: Rig, where: ConversationId = FAMILY) -> object:
    return await rig.engine.service.resume(conversation_id=where, actor=ADMIN)


async def is_queued(rig: Rig, where: ConversationId = FAMILY) -> bool:
    return isinstance(await rig.engine.service.observe(GIFT, conversation_id=where), Ticket)


@pytest.mark.parametrize("begun", [False, True])
async def test_what_a_member_had_queued_is_not_read_while_the_whole_group_is_paused(
    tmp_path: Path, begun: bool
) -> None:
    chat = ScriptedChat(*([ChatFailed("failed")] if begun else []))
    at_once = replace(QUICK, loop=LoopSettings(after_turns=1, retry_seconds=(0.0,)))
    members = [replace(FAMILY, umo=f"{ADAPTER}:GroupMessage:{n}_777") for n in (1, 2)]
    async with running(tmp_path, chat=chat, settings=at_once) as rig:
        assert await is_queued(rig, members[0])
        if begun:
            await rig.engine.reflection.read_due()
        await pause(rig, members[1])
        assert (await rig.engine.reflection.read_due()).read == 0
        assert len(chat.calls) == begun
        await resume(rig, members[1])
        assert (await rig.engine.reflection.read_due()).read == 1


async def test_a_conversation_that_only_reads_public_can_be_paused_and_one_without_a_name_not(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, {FAMILY.umo: "家 人"}) as rig:
        assert isinstance(await pause(rig), Pause)
        assert (await rig.recall("奶奶能吃花生吗", FAMILY)).trace.notes == [OFF_THE_RECORD]
        outcome = await rig.engine.service.import_("x.jsonl", conversation_id=FAMILY, actor=ADMIN)
        assert outcome == Refused("off_the_record")
        assert isinstance(await pause(rig, replace(FAMILY, umo="x", group=None)), Refused)
        unknown = replace(private(5), kind=ConversationKind.OTHER)
        assert is_denied(await pause(rig, unknown, person(5)))
    told = json.loads((tmp_path / "memory" / NAME).read_text("utf-8"))["paused"]
    assert [one["scope"] for one in told.values()] == ["public"]


async def test_a_pause_that_the_disk_refused_is_none_and_a_resume_neither(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for deed, paused in ((pause, False), (resume, True)):
        with monkeypatch.context() as patch, pytest.raises(StateUnavailable):
            patch.setattr(files, "write_all", full)
            await deed(rig)
        outcome = await rig.engine.service.remember(MemoryDraft("好"), conversation_id=FAMILY)
        assert (rig.engine.service.pause_of(FAMILY) is not None) is paused
        assert (outcome == Refused("off_the_record")) is paused
        await pause(rig)


async def test_a_pause_for_a_time_outlasts_a_lost_state_and_ends_by_itself(tmp_path: Path) -> None:
    begin = now = datetime(2026, 11, 28, 15, tzinfo=UTC)
    end = begin + timedelta(minutes=10)

    def clock() -> datetime:
        return now

    async with running(tmp_path, chat=ScriptedChat(), clock=clock) as rig:
        await pause(rig)
        # The end that was said last.
        assert await pause(rig, until=end) == Pause("家人", begin, end)
    shutil.rmtree(tmp_path / "state")  # it stands beside the memories
    async with running(tmp_path, chat=ScriptedChat(), clock=clock) as rig:
        view = await rig.engine.service.view(conversation_id=FAMILY)
        now = end - timedelta(seconds=1)
        assert not await is_queued(rig)
        assert await is_queued(rig, group(888))
        now = end
        assert (await rig.engine.status()).loop.paused == 0
        late = replace(GIFT, view=view)
        outcome = await rig.engine.service.observe(late, conversation_id=FAMILY)
        assert outcome == Refused("off_the_record"), "it was said off the record"
        assert await is_queued(rig)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"[" * 50_000, b'{"paused": {"x": 1}}', b'{"paused": {"x": {}}}']
)
async def test_where_the_pauses_cannot_be_read_nothing_is_on_the_record(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / NAME).write_bytes(content)
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        assert [one.code for one in rig.notices] == ["pauses_unread"]
        assert not await is_queued(rig)
        with pytest.raises(StateUnavailable):
            await resume(rig)
    assert (tmp_path / "memory" / NAME).read_bytes() == content


async def test_a_message_that_is_not_to_be_kept_is_neither_queued_nor_stored(
    tmp_path: Path,
) -> None:
    said, refused = "这句别记：我把礼物藏在柜子里", Refused("not_to_be_kept")
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        turn, service = replace(GIFT, user_text=said), rig.engine.service
        assert await service.observe(turn, conversation_id=FAMILY) == refused
        assert await rig.tell("小明把礼物藏在柜子里", FAMILY, MING, heard=said) == refused
        task = TaskChange("add", ("把柜子里的礼物拿出来",), heard=said)
        done = await service.update_tasks(task, conversation_id=FAMILY, actor=MING)
        assert isinstance(done, TaskReport)
        assert done.open == ()
