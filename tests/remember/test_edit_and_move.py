"""Editing and moving by command: by admins, in the memory's own scope, undoable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    Edited,
    EngineSettings,
    Forgotten,
    MemoryDraft,
    Moved,
    NotAllowed,
    NotVisible,
    Rejected,
    RejectReason,
    Restored,
    Stored,
    Undone,
)
from astrbot_plugin_scoped_memory.tests.remember.test_forget import ADMIN, SPEAKER, STRANGER
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

pytestmark = pytest.mark.engine

PEANUTS, WALNUTS = "奶奶对花生过敏", "奶奶对核桃过敏"
HERE, WORK, OPEN = group(777), group(888), group(999)
OTHER_ADMIN = person(4, "另一个管理员", admin=True)


async def told(rig: Rig, where: ConversationId = HERE, who: Actor = SPEAKER) -> str:
    """The id of a stored memory."""
    draft = MemoryDraft(PEANUTS, reasoning="她自己说的", tags=("饮食",), actor=who)
    outcome = await rig.engine.service.remember(draft, conversation_id=where)
    assert isinstance(outcome, Stored)
    return outcome.memory.memory.memory_id


async def texts(rig: Rig, where: ConversationId) -> list[str]:
    """What a conversation may see."""
    newest = await rig.engine.service.newest(conversation_id=where, limit=100)
    return sorted(stored.memory.judgment for stored in newest)


async def edit(rig: Rig, memory_id: str, text: str, who: Actor = ADMIN, where: Any = HERE) -> Any:
    """The outcome of an edit."""
    return await rig.engine.service.edit(memory_id, text, conversation_id=where, actor=who)


async def move(rig: Rig, memory_id: str, to: str, who: Actor = ADMIN, where: Any = HERE) -> Any:
    """The outcome of a move."""
    return await rig.engine.service.move(memory_id, to, conversation_id=where, actor=who)


async def undo(rig: Rig, memory_id: str = "", who: Actor = ADMIN, where: Any = HERE) -> Any:
    """The outcome of taking back."""
    return await rig.engine.service.restore(memory_id, conversation_id=where, actor=who)


@pytest.mark.parametrize("named", [False, True])
async def test_an_edit_changes_the_words_alone_and_can_be_taken_back(
    tmp_path: Path, named: bool
) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig)
        outcome = await edit(rig, memory_id, WALNUTS)
        assert isinstance(outcome, Edited)
        assert outcome.before == PEANUTS
        memory = outcome.memory.memory
        assert (memory.judgment, memory.reasoning, memory.tags) == (
            WALNUTS,
            "她自己说的",
            ("饮食",),
        )
        assert memory.provenance.person == SPEAKER.person
        archive = tmp_path / "memory/scopes/家人/archive/preferences.md"
        assert "改写者：管理员" in archive.read_text("utf-8")
    async with running(tmp_path) as rig:
        assert await texts(rig, HERE) == [WALNUTS]
        outcome = await undo(rig, memory_id if named else "")
        assert isinstance(outcome, Undone)
        assert not outcome.moved
        assert await texts(rig, HERE) == [PEANUTS]
        assert archive.read_text("utf-8").strip() == ""
        assert await undo(rig) == NotVisible("")
        await rig.engine.reconcile()
        assert await texts(rig, HERE) == [PEANUTS]


async def test_edits_are_taken_back_one_after_the_other(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig)
        for text in (WALNUTS, "奶奶对腰果过敏"):
            await edit(rig, memory_id, text)
        assert isinstance(await undo(rig), Undone)
        assert await texts(rig, HERE) == [WALNUTS]
        assert isinstance(await undo(rig), Undone)
        assert await texts(rig, HERE) == [PEANUTS]


async def test_edited_and_forgotten_it_comes_back_as_it_was_forgotten(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig)
        await edit(rig, memory_id, WALNUTS)
        gone = await rig.engine.service.forget(memory_id, conversation_id=HERE, actor=ADMIN)
        assert isinstance(gone, Forgotten)
        assert isinstance(await undo(rig), Restored)
        assert await texts(rig, HERE) == [WALNUTS]
        assert isinstance(await undo(rig), Undone)
        assert await texts(rig, HERE) == [PEANUTS]


@pytest.mark.parametrize("text", ["", "  \u200b", "x" * 2001])
async def test_words_that_may_not_be_stored_are_no_edit(tmp_path: Path, text: str) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig)
        assert isinstance(await edit(rig, memory_id, text), Rejected)
        assert await texts(rig, HERE) == [PEANUTS]


async def test_a_persons_edit_of_the_file_is_not_written_over(tmp_path: Path) -> None:
    """What is in the file goes to the archive, not what the bot last knew."""
    async with running(tmp_path) as rig:
        memory_id = await told(rig)
        path = tmp_path / "memory/scopes/家人/preferences.md"
        path.write_text(path.read_text("utf-8").replace("花生", "虾"), "utf-8")
        assert isinstance(await edit(rig, memory_id, WALNUTS), Edited)
        assert isinstance(await undo(rig), Undone)
        assert await texts(rig, HERE) == ["奶奶对虾过敏"]


async def test_a_moved_memory_belongs_to_the_other_scope_alone(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig)
        outcome = await move(rig, memory_id, "公司")
        assert isinstance(outcome, Moved)
        assert (outcome.source, outcome.memory.scope.name) == ("家人", "公司")
        assert (await texts(rig, HERE), await texts(rig, WORK)) == ([], [PEANUTS])
        await rig.engine.reconcile()
        assert (await texts(rig, HERE), await texts(rig, WORK)) == ([], [PEANUTS])
        assert not (tmp_path / "memory/scopes/家人/archive").exists()
    async with running(tmp_path) as rig:
        assert (await texts(rig, HERE), await texts(rig, WORK)) == ([], [PEANUTS])
        outcome = await undo(rig)
        assert isinstance(outcome, Undone)
        assert outcome.moved
        assert (await texts(rig, HERE), await texts(rig, WORK)) == ([PEANUTS], [])


async def test_to_public_everybody_sees_it(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig)
        assert isinstance(await move(rig, memory_id, "public"), Moved)
        for where in (HERE, WORK, OPEN):
            assert await texts(rig, where) == [PEANUTS]
        assert await undo(rig, where=OPEN) == NotVisible("")
        assert isinstance(await undo(rig), Undone)
        assert await texts(rig, OPEN) == []


@pytest.mark.parametrize("name", ["家人们", "公 司", "", "quarantine", "../公司", "PUBLIC", "con"])
async def test_a_scope_that_is_not_there_is_not_made_by_a_typo(tmp_path: Path, name: str) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig)
        outcome = await move(rig, memory_id, name)
        assert isinstance(outcome, Rejected)
        assert outcome.reason is RejectReason.UNKNOWN_SCOPE
        assert await texts(rig, HERE) == [PEANUTS]


@pytest.mark.parametrize("who", [SPEAKER, STRANGER, Actor("", "小明")])
async def test_only_an_admin_edits_and_moves_and_takes_it_back(tmp_path: Path, who: Actor) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig)
        assert await edit(rig, memory_id, WALNUTS, who) == NotAllowed(memory_id)
        assert await move(rig, memory_id, "公司", who) == NotAllowed(memory_id)
        await edit(rig, memory_id, WALNUTS)
        assert await undo(rig, memory_id, who) == NotAllowed(memory_id)
        assert await undo(rig, "", who) == NotVisible("")
        assert await texts(rig, HERE) == [WALNUTS]


async def test_no_command_reaches_into_another_scope(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        secret, shared = await told(rig), await told(rig, OPEN)
        for where in (WORK, OPEN):
            assert await edit(rig, secret, WALNUTS, where=where) == NotVisible(secret)
            assert await move(rig, secret, "公司", where=where) == NotVisible(secret)
        assert await edit(rig, shared, WALNUTS) == NotAllowed(shared)
        assert await move(rig, shared, "家人") == NotAllowed(shared)
        await edit(rig, secret, WALNUTS)
        assert await undo(rig, secret, where=WORK) == NotVisible(secret)
        assert await undo(rig, "", OTHER_ADMIN) == NotVisible("")
        assert isinstance(await undo(rig, secret, OTHER_ADMIN), Undone)


async def test_while_learning_is_paused_nothing_is_changed(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig)
    off = EngineSettings(scope_filter_enabled=False)
    async with running(tmp_path, settings=off) as rig:
        assert await edit(rig, memory_id, WALNUTS) == NotAllowed(memory_id)
        assert await move(rig, memory_id, "公司") == NotAllowed(memory_id)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("by_hand", [False, True])
async def test_what_was_written_after_a_move_is_not_told_by_undoing_it(
    tmp_path: Path, named: bool, by_hand: bool
) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig, OPEN)
        assert isinstance(await move(rig, memory_id, "家人", where=OPEN), Moved)
        if by_hand:
            (file,) = (tmp_path / "memory/scopes/家人").glob("*.md")
            file.write_text(file.read_text("utf-8").replace(PEANUTS, WALNUTS), "utf-8")
        else:
            await edit(rig, memory_id, WALNUTS)
        outcome = await undo(rig, memory_id if named else "", where=OPEN)
        assert isinstance(outcome, NotVisible)
        await rig.engine.reconcile()
        assert await texts(rig, OPEN) == []
        assert await texts(rig, HERE) == [WALNUTS]


async def test_who_is_no_admin_hears_nothing_of_where_a_memory_was_moved(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig, OPEN)
        await move(rig, memory_id, "家人", where=OPEN)
        living = await undo(rig, memory_id, who=STRANGER, where=OPEN)
        await rig.engine.service.forget(memory_id, conversation_id=HERE, actor=ADMIN)
        assert await undo(rig, memory_id, who=STRANGER, where=OPEN) == living
        assert isinstance(living, NotVisible)


async def test_a_move_onto_another_entry_of_that_id_moves_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig)
        (file,) = (tmp_path / "memory/scopes/家人").glob("*.md")
        other = tmp_path / "memory/scopes/公司"
        other.mkdir()
        other.joinpath(file.name).write_text(
            file.read_text("utf-8").replace(PEANUTS, WALNUTS), "utf-8"
        )
        assert isinstance(await move(rig, memory_id, "公司"), NotVisible)
        assert PEANUTS in file.read_text("utf-8")
        assert WALNUTS in other.joinpath(file.name).read_text("utf-8")


async def test_what_was_written_by_hand_after_an_edit_is_not_thrown_away_by_undoing_it(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        memory_id = await told(rig)
        await edit(rig, memory_id, WALNUTS)
        (file,) = (tmp_path / "memory/scopes/家人").glob("*.md")
        file.write_text(file.read_text("utf-8").replace(WALNUTS, "奶奶对腰果过敏"), "utf-8")
        assert isinstance(await undo(rig, memory_id), NotVisible)
        await rig.engine.reconcile()
        assert await texts(rig, HERE) == ["奶奶对腰果过敏"]
