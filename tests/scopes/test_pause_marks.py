"""A pause survives an older state: what was off the record is not queued again without a word."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    EnginePaths,
    EngineSettings,
    NoticeCode,
    NotObserved,
    Paused,
    Resting,
    Resumed,
    Turn,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.scopes.pause_mark_file import NAME
from astrbot_plugin_scoped_memory.llm_memory.storage import files
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.lexical_index import NoWords
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, private, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import FAMILY, reflect, say

pytestmark = pytest.mark.engine

ADMIN = person(9, "管理员", admin=True)
TURN = Turn(person(1), "我把礼物藏在柜子里", "好")
WORK = group(888)


async def pause(rig: Rig, *places: ConversationId) -> None:
    for where in places:
        done = await rig.engine.service.pause(conversation_id=where, actor=ADMIN)
        assert isinstance(done, Paused)


async def note_of(rig: Rig, where: ConversationId = FAMILY) -> str:
    """What became of a turn: empty for a ticket."""
    outcome = await rig.engine.service.observe(TURN, conversation_id=where)
    return outcome.note if isinstance(outcome, NotObserved) else ""


def codes(rig: Rig) -> list[NoticeCode]:
    return [notice.code for notice in rig.notices]


def keep_copy(root: Path) -> None:
    shutil.copytree(root / "state", root / "state.before")


def put_back(root: Path) -> None:
    """A backup of the state, from before the pause."""
    shutil.rmtree(root / "state")
    shutil.copytree(root / "state.before", root / "state")


def put_back_the_loop(root: Path) -> None:
    """The loop's file alone."""
    (root / "state" / "loop.sqlite").unlink()
    for left in (root / "state").glob("loop.sqlite-*"):
        left.unlink()
    shutil.copy(root / "state.before" / "loop.sqlite", root / "state" / "loop.sqlite")


def delete_the_state(root: Path) -> None:
    shutil.rmtree(root / "state")


def delete_the_loop(root: Path) -> None:
    for left in (root / "state").glob("loop.sqlite*"):
        left.unlink()


@pytest.mark.parametrize("older", [put_back, put_back_the_loop, delete_the_state, delete_the_loop])
async def test_with_an_older_state_nothing_is_queued_or_read_until_an_admin_confirms(
    tmp_path: Path, older: Callable[[Path], None]
) -> None:
    chat = ScriptedChat()
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, "那时还没有暂停")
    keep_copy(tmp_path)
    async with running(tmp_path, chat=chat) as rig:
        await pause(rig, FAMILY, private(5))
        assert await note_of(rig) == "paused"
    older(tmp_path)
    for start in range(2):  # what was lost is not known after the next start, either
        async with running(tmp_path, chat=chat) as rig:
            (notice,) = [one for one in rig.notices if one.code is NoticeCode.PAUSES_LOST]
            assert notice.params == {"count": "2"}
            for where in (FAMILY, WORK):
                assert await note_of(rig, where) == "pauses_unknown"
            await rig.remember(f"第{start}件特意要记的事", WORK)
            assert (await reflect(rig)).resting is Resting.PAUSES_UNKNOWN
            assert chat.calls == []
    async with running(tmp_path, chat=chat) as rig:
        await pause(rig, FAMILY)
        assert await rig.engine.service.conversations.confirm_pauses(person(1)) is None
        assert await rig.engine.service.conversations.confirm_pauses(ADMIN) is True
        standing = {notice.code for notice in (await rig.engine.status()).notices}
        assert NoticeCode.PAUSES_LOST not in standing
        assert await note_of(rig) == "paused"
        assert await note_of(rig, private(5)) == ""
    async with running(tmp_path, chat=chat) as rig:
        assert NoticeCode.PAUSES_LOST not in codes(rig)
        assert await note_of(rig) == "paused"


async def test_the_latest_state_put_back_needs_no_confirmation(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        await pause(rig, FAMILY)
    keep_copy(tmp_path)
    delete_the_state(tmp_path)
    async with running(tmp_path) as rig:
        assert NoticeCode.PAUSES_LOST in codes(rig)
        await pause(rig, WORK)  # the mark still knows what it knew
    put_back(tmp_path)
    async with running(tmp_path) as rig:
        assert NoticeCode.PAUSES_LOST not in codes(rig)
        assert await note_of(rig) == "paused"


async def test_what_was_resumed_is_no_pause_that_is_lost(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        await pause(rig, FAMILY)
    keep_copy(tmp_path)
    async with running(tmp_path) as rig:
        resumed = await rig.engine.service.resume(conversation_id=FAMILY, actor=ADMIN)
        assert resumed == Resumed()
    shutil.copytree(tmp_path / "state", tmp_path / "state.after")
    delete_the_loop(tmp_path)
    async with running(tmp_path) as rig:
        assert codes(rig) == []
        assert await note_of(rig) == ""
    put_back(tmp_path)  # it was paused then: it stays so until somebody resumes it again
    async with running(tmp_path) as rig:
        assert codes(rig) == []
        assert await note_of(rig) == "paused"
        await pause(rig, WORK)
    put_back(tmp_path)  # and what is counted goes on from what the mark said
    async with running(tmp_path) as rig:
        assert codes(rig) == [NoticeCode.PAUSES_LOST]


async def test_older_memories_beside_the_latest_state_are_no_loss(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        await pause(rig, FAMILY, WORK)
    mark = (tmp_path / "memory" / NAME).read_bytes()
    async with running(tmp_path) as rig:
        await rig.engine.service.resume(conversation_id=WORK, actor=ADMIN)
    (tmp_path / "memory" / NAME).write_bytes(mark)
    async with running(tmp_path) as rig:
        assert codes(rig) == []
        assert await note_of(rig) == "paused"
        assert await note_of(rig, WORK) == ""
    text = (tmp_path / "memory" / NAME).read_text("utf-8")
    assert json.loads(text)["generation"] == 3
    assert "Message" not in text, "it names no conversation"


async def test_without_a_pause_there_is_no_mark_and_no_question(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        assert await note_of(rig) == ""
    assert not (tmp_path / "memory" / NAME).exists()
    delete_the_loop(tmp_path)
    async with running(tmp_path) as rig:
        assert codes(rig) == []
        assert await note_of(rig) == ""


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[" * 50_000,
        b'{"generation": true, "paused": {"x": ["0123456789abcdef0123456789abcdef"]}}',
        b'{"generation": 9, "paused": {"x": ["y"]}}',
        b'{"generation": 9}',
    ],
)
async def test_a_mark_that_makes_no_sense_counts_for_nothing_and_is_written_anew(
    tmp_path: Path, content: bytes
) -> None:
    async with running(tmp_path) as rig:
        await pause(rig, FAMILY)
    mark = tmp_path / "memory" / NAME
    before = mark.read_bytes()
    mark.write_bytes(content)
    async with running(tmp_path) as rig:
        assert codes(rig) == []
        assert await note_of(rig) == "paused"
    assert mark.read_bytes() == before


async def test_a_pause_holds_though_the_mark_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    async with running(tmp_path) as rig:
        with monkeypatch.context() as patch:
            patch.setattr(files, "write_all", full)
            await pause(rig, FAMILY)
        assert await note_of(rig) == "paused"
    async with running(tmp_path) as rig:
        assert await note_of(rig) == "paused"
    assert (tmp_path / "memory" / NAME).exists()


async def test_an_engine_without_conversations_leaves_the_mark_alone(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        await pause(rig, FAMILY)
    mark = tmp_path / "memory" / NAME
    before = mark.read_bytes(), mark.stat().st_mtime_ns
    parts = {"words": NoWords(), "bundled": None}
    engine = build_engine(
        EnginePaths.under(tmp_path), EngineSettings(), remembers=False, replacing=parts
    )
    await engine.open()
    notices = {notice.code for notice in (await engine.status()).notices}
    assert NoticeCode.PAUSES_LOST not in notices
    await engine.close()
    assert (mark.read_bytes(), mark.stat().st_mtime_ns) == before
