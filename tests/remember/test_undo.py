"""Undo without an id takes back the newest deed of this person here that can still be undone, and
never what another one did."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    NotVisible,
    Restored,
    StateUnavailable,
    TaskAction,
    TaskChange,
    Undone,
)
from astrbot_plugin_scoped_memory.tests.remember.test_edit_and_move import (
    HERE,
    OTHER_ADMIN,
    WORK,
    edit,
    move,
    texts,
    undo,
)
from astrbot_plugin_scoped_memory.tests.remember.test_forget import ADMIN, SPEAKER, forget
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, running

pytestmark = pytest.mark.engine

FIRST, SECOND, REWORDED = "奶奶对花生过敏", "阳台的灯要换了", "阳台的灯换好了"
RENT = "交房租"


def file_of(rig: Rig, words: str) -> Path:
    """The living file that holds the words."""
    files = (rig.root / "memory/scopes/家人").glob("*.md")
    return next(file for file in files if words in file.read_text("utf-8"))


async def rewrite(rig: Rig, file: Path, text: str) -> None:
    """A person saves the file, as long ago as nobody goes on writing; the bot follows."""
    file.write_text(text, "utf-8")
    then = time.time() - 60
    os.utime(file, (then, then))
    await rig.engine.reconcile()


async def change_by_hand(rig: Rig, words: str, to: str) -> None:
    file = file_of(rig, words)
    await rewrite(rig, file, file.read_text("utf-8").replace(words, to))


async def delete_by_hand(rig: Rig, words: str) -> None:
    file = file_of(rig, words)
    before, _, after = file.read_text("utf-8").partition(words)
    await rewrite(rig, file, before.rpartition("\n## ")[0] + after.partition("\n## ")[2])


async def edited_and_changed_by_hand(rig: Rig, memory_id: str) -> None:
    await edit(rig, memory_id, REWORDED)
    await change_by_hand(rig, REWORDED, "阳台的灯又坏了")


async def edited_and_edited_by_another(rig: Rig, memory_id: str) -> None:
    await edit(rig, memory_id, REWORDED)
    await edit(rig, memory_id, "阳台的灯又坏了", OTHER_ADMIN)


async def edited_and_forgotten_by_its_speaker(rig: Rig, memory_id: str) -> None:
    await edit(rig, memory_id, REWORDED)
    await forget(rig, memory_id, HERE, SPEAKER)


async def edited_and_deleted_by_hand(rig: Rig, memory_id: str) -> None:
    await edit(rig, memory_id, REWORDED)
    await delete_by_hand(rig, REWORDED)


async def edited_and_moved_by_another(rig: Rig, memory_id: str) -> None:
    await edit(rig, memory_id, REWORDED)
    await move(rig, memory_id, "公司", OTHER_ADMIN)


async def edited_and_purged(rig: Rig, memory_id: str) -> None:
    await edit(rig, memory_id, REWORDED)
    await purge(rig, memory_id)


async def moved_and_forgotten_there(rig: Rig, memory_id: str) -> None:
    await move(rig, memory_id, "公司")
    await forget(rig, memory_id, WORK, OTHER_ADMIN)


async def moved_and_edited_there(rig: Rig, memory_id: str) -> None:
    await move(rig, memory_id, "公司")
    await edit(rig, memory_id, REWORDED, where=WORK)


async def purge(rig: Rig, memory_id: str) -> None:
    await rig.engine.service.forget(memory_id, conversation_id=HERE, actor=ADMIN, for_good=True)


async def forgotten_and_purged(rig: Rig, memory_id: str) -> None:
    await forget(rig, memory_id, HERE, ADMIN)
    await purge(rig, memory_id)


async def forgotten_and_again_by_another(rig: Rig, memory_id: str) -> None:
    await forget(rig, memory_id, HERE, ADMIN)
    assert isinstance(await undo(rig, memory_id, SPEAKER), Restored)
    await forget(rig, memory_id, HERE, SPEAKER)


async def its_task_is_done_by_the_bot(rig: Rig, memory_id: str) -> None:
    for action in (TaskAction.ADD, TaskAction.DONE):
        change = TaskChange(action, (RENT,))
        await rig.engine.service.update_tasks(change, conversation_id=HERE, actor=ADMIN)


PASSED: tuple[Callable[[Rig, str], Awaitable[None]], ...] = (
    edited_and_changed_by_hand,
    edited_and_edited_by_another,
    edited_and_forgotten_by_its_speaker,
    edited_and_deleted_by_hand,
    edited_and_moved_by_another,
    edited_and_purged,
    moved_and_forgotten_there,
    moved_and_edited_there,
    forgotten_and_purged,
    forgotten_and_again_by_another,
    its_task_is_done_by_the_bot,
)


@pytest.mark.parametrize("deed", PASSED, ids=lambda deed: deed.__name__)
async def test_what_cannot_be_undone_any_more_is_passed_over(
    tmp_path: Path, deed: Callable[[Rig, str], Awaitable[None]]
) -> None:
    async with running(tmp_path, follow=False) as rig:
        first = (await rig.remember(FIRST, HERE, SPEAKER)).memory.memory.memory_id
        second = (await rig.remember(SECOND, HERE, SPEAKER)).memory.memory.memory_id
        await forget(rig, first, HERE, ADMIN)
        await deed(rig, second)
        before = await texts(rig, HERE), await texts(rig, WORK)
        outcome = await undo(rig)
        assert isinstance(outcome, Restored), outcome
        assert await texts(rig, HERE) == sorted([*before[0], FIRST])
        for _ in range(2):
            assert isinstance(await undo(rig), NotVisible)
        await rig.engine.reconcile()
        assert await texts(rig, HERE) == sorted([*before[0], FIRST])
        assert await texts(rig, WORK) == before[1]


@pytest.mark.parametrize("deed", PASSED[2:4], ids=lambda deed: deed.__name__)
async def test_of_what_is_gone_the_answer_names_it_and_by_its_id_it_comes_back(
    tmp_path: Path, deed: Callable[[Rig, str], Awaitable[None]]
) -> None:
    """The edit can be taken back then, too."""
    async with running(tmp_path, follow=False) as rig:
        memory_id = (await rig.remember(SECOND, HERE, SPEAKER)).memory.memory.memory_id
        await deed(rig, memory_id)
        assert await undo(rig) == NotVisible(memory_id)
        assert await texts(rig, HERE) == []
        assert isinstance(await undo(rig, memory_id), Restored)
        assert await texts(rig, HERE) == [REWORDED]
        assert isinstance(await undo(rig), Undone)
        assert await texts(rig, HERE) == [SECOND]
        assert await undo(rig) == NotVisible("")


async def test_a_member_takes_back_what_the_member_did(tmp_path: Path) -> None:
    """Neither a task that the bot marked nor what an admin did since, who is none any more."""
    async with running(tmp_path, follow=False) as rig:
        first = (await rig.remember(FIRST, HERE, SPEAKER)).memory.memory.memory_id
        second = (await rig.remember(SECOND, HERE, SPEAKER)).memory.memory.memory_id
        await forget(rig, first, HERE, SPEAKER)
        for action in (TaskAction.ADD, TaskAction.DONE):
            change = TaskChange(action, (RENT,))
            await rig.engine.service.update_tasks(change, conversation_id=HERE, actor=SPEAKER)
        assert isinstance(await undo(rig, who=SPEAKER), Restored)
        once_admin = type(SPEAKER)(SPEAKER.person, SPEAKER.name, admin=True)
        await forget(rig, first, HERE, SPEAKER)
        await edit(rig, second, REWORDED, once_admin)
        assert isinstance(await undo(rig, who=SPEAKER), Restored)
        assert await undo(rig, who=SPEAKER) == NotVisible("")
        assert REWORDED in await texts(rig, HERE)
        assert isinstance(await undo(rig, who=once_admin), Undone)


async def test_that_nothing_can_be_undone_is_not_said_where_it_is_unknown(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        memory_id = (await rig.remember(FIRST, HERE, SPEAKER)).memory.memory.memory_id
        await forget(rig, memory_id, HERE, ADMIN)
        (ledger,) = rig.root.rglob("vault.sqlite")
        with sqlite3.connect(ledger) as other:
            other.execute("ALTER TABLE deed RENAME TO away")
        with pytest.raises(StateUnavailable):
            await undo(rig)
        with sqlite3.connect(ledger) as other:
            other.execute("ALTER TABLE away RENAME TO deed")
        assert isinstance(await undo(rig), Restored)
