"""Forgetting, editing and moving by command: who may, what is kept of it, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    Edited,
    Expanded,
    Forgotten,
    NotAllowed,
    NotVisible,
    PointerNotVisible,
    Rejected,
    RejectReason,
    Stored,
    Undone,
)
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, group, person, running

pytestmark = pytest.mark.engine

PEANUTS, WALNUTS = "奶奶对花生过敏", "奶奶对核桃过敏"
HERE = group(777)
SPEAKER, STRANGER, ADMIN = person(1), person(2, "小红"), person(3, "管理员", admin=True)
NOBODY = Actor("", "小明")
FILE = "memory/scopes/家人/preferences.md"


@pytest.mark.parametrize("named", [False, True])
async def test_an_edit_changes_the_words_alone_and_can_be_taken_back(
    tmp_path: Path, named: bool
) -> None:
    async with running(tmp_path) as rig:
        memory_id = await rig.stored_id(
            PEANUTS, HERE, SPEAKER, reasoning="她自己说的", tags=("饮食",)
        )
        outcome = await rig.edit(memory_id, WALNUTS, HERE, ADMIN)
        assert isinstance(outcome, Edited)
        assert outcome.before == PEANUTS
        memory = outcome.memory.memory
        kept = (memory.judgment, memory.reasoning, memory.tags, memory.provenance.person)
        assert kept == (WALNUTS, "她自己说的", ("饮食",), SPEAKER.person)
        archive = tmp_path / "memory/scopes/家人/archive/preferences.md"
        assert "改写者：管理员" in archive.read_text("utf-8")
    async with running(tmp_path) as rig:
        assert await rig.newest(HERE) == [WALNUTS]
        outcome = await rig.restore(memory_id if named else "", HERE, ADMIN)
        assert isinstance(outcome, Undone)
        assert not outcome.moved
        assert archive.read_text("utf-8").strip() == ""
        assert await rig.restore("", HERE, ADMIN) == NotVisible("")
        await rig.engine.reconcile()
        assert await rig.newest(HERE) == [PEANUTS]


@pytest.mark.parametrize("who", [SPEAKER, STRANGER, NOBODY, Actor("AIOCQHTTP:1", "小明")])
async def test_only_an_admin_edits_and_moves_and_only_its_speaker_forgets_besides(
    rig: Rig, who: Actor
) -> None:
    memory_id = await rig.stored_id(PEANUTS, HERE, SPEAKER)
    assert await rig.edit(memory_id, WALNUTS, HERE, who) == NotAllowed(memory_id)
    assert await rig.move(memory_id, "公司", HERE, who) == NotAllowed(memory_id)
    await rig.edit(memory_id, WALNUTS, HERE, ADMIN)
    assert await rig.restore(memory_id, HERE, who) == NotAllowed(memory_id)
    assert await rig.restore("", HERE, who) == NotVisible("")
    forgotten = await rig.forget(memory_id, HERE, who)
    assert isinstance(forgotten, Forgotten) is (who is SPEAKER)
    assert await rig.newest(HERE) == ([] if who is SPEAKER else [WALNUTS])
    # Of what nobody is known to have said an admin alone.
    unsigned = await rig.stored_id("门牌是301", HERE, NOBODY)
    assert await rig.forget(unsigned, HERE, who) == NotAllowed(unsigned)
    assert isinstance(await rig.forget(unsigned, HERE, ADMIN), Forgotten)


async def test_what_may_not_be_stored_is_no_edit_and_a_typo_makes_no_scope(rig: Rig) -> None:
    memory_id = await rig.stored_id(PEANUTS, HERE, SPEAKER)
    for text in ("", "  \u200b", "x" * 2001):
        assert isinstance(await rig.edit(memory_id, text, HERE, ADMIN), Rejected)
    for name in ("家人们", "公 司", "", "quarantine", "../公司", "PUBLIC", "con"):
        outcome = await rig.move(memory_id, name, HERE, ADMIN)
        assert isinstance(outcome, Rejected)
        assert outcome.reason is RejectReason.UNKNOWN_SCOPE
    assert await rig.newest(HERE) == [PEANUTS]


async def test_while_the_scope_filter_is_off_nothing_is_changed(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        memory_id = await rig.stored_id(PEANUTS, HERE, SPEAKER)
    off = replace(QUICK, scope_filter_enabled=False)
    async with running(tmp_path, settings=off) as rig:
        assert await rig.edit(memory_id, WALNUTS, HERE, ADMIN) == NotAllowed(memory_id)
        assert await rig.move(memory_id, "公司", HERE, ADMIN) == NotAllowed(memory_id)
        assert await rig.forget(memory_id, HERE, ADMIN) == NotAllowed(memory_id)


async def test_a_pointer_to_nothing_is_not_visible_and_a_path_in_one_opens_no_file(
    rig: Rig,
) -> None:
    memory_id = await rig.stored_id(PEANUTS, HERE, SPEAKER)
    expand = rig.engine.service.expand
    nowhere = ("", "x", "m-00000000000000", "../公司/preferences.md", "m-\0", "m-" + "z" * 400)
    for pointer in nowhere:
        assert await rig.forget(pointer, HERE, ADMIN) == NotVisible(pointer)
        assert await rig.restore(pointer, HERE, ADMIN) == NotVisible(pointer)
        assert await expand(pointer, conversation_id=HERE) == PointerNotVisible(pointer)
    pointer = f"../家人/preferences.md#{memory_id}"
    assert isinstance(await expand(pointer, conversation_id=group(888)), PointerNotVisible)
    assert isinstance(await expand(pointer, conversation_id=HERE), Expanded)


async def test_a_persons_edit_of_the_file_is_not_written_over(rig: Rig) -> None:
    """What is in the file goes to the archive, not what the bot last knew."""
    memory_id = await rig.stored_id(PEANUTS, HERE, SPEAKER)
    path = rig.root / FILE
    path.write_text(path.read_text("utf-8").replace("花生", "虾"), "utf-8")
    assert isinstance(await rig.edit(memory_id, WALNUTS, HERE, ADMIN), Edited)
    assert isinstance(await rig.restore("", HERE, ADMIN), Undone)
    assert await rig.newest(HERE) == ["奶奶对虾过敏"]


async def test_what_a_person_deleted_by_hand_meanwhile_is_gone(rig: Rig) -> None:
    memory_id = await rig.stored_id(PEANUTS, HERE, SPEAKER)
    (rig.root / FILE).unlink()
    assert await rig.forget(memory_id, HERE, SPEAKER) == NotVisible(memory_id)
    assert await rig.newest(HERE) == []
    assert isinstance(await rig.tell(PEANUTS, HERE, SPEAKER), Stored)


async def test_a_move_onto_another_entry_of_that_id_moves_nothing(rig: Rig) -> None:
    memory_id = await rig.stored_id(PEANUTS, HERE, SPEAKER)
    file = rig.root / FILE
    other = rig.root / "memory/scopes/公司"
    other.mkdir()
    text = file.read_text("utf-8").replace(PEANUTS, WALNUTS)
    other.joinpath(file.name).write_text(text, "utf-8")
    assert isinstance(await rig.move(memory_id, "公司", HERE, ADMIN), NotVisible)
    assert PEANUTS in file.read_text("utf-8")
    assert WALNUTS in other.joinpath(file.name).read_text("utf-8")
