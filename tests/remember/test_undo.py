"""Undo without an id takes back the newest deed of this person here that can still be undone, and
never what another one did."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    NotVisible,
    Restored,
    StateUnavailable,
    TaskAction,
    TaskChange,
    Undone,
)
from astrbot_plugin_scoped_memory.tests.remember.test_by_command import ADMIN, HERE, SPEAKER
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

pytestmark = pytest.mark.engine

FIRST, SECOND, REWORDED = "奶奶对花生过敏", "阳台的灯要换了", "阳台的灯换好了"
BROKEN = "阳台的灯又坏了"
WORK = group(888)
OTHER_ADMIN = person(4, "另一个管理员", admin=True)

type Step = Callable[[Rig, str], Awaitable[object]]


def edits(who: Actor = ADMIN, words: str = REWORDED, where: ConversationId = HERE) -> Step:
    return lambda rig, memory_id: rig.edit(memory_id, words, where, who)


def moves(who: Actor = ADMIN) -> Step:
    return lambda rig, memory_id: rig.move(memory_id, "公司", HERE, who)


def forgets(who: Actor = ADMIN, where: ConversationId = HERE, *, for_good: bool = False) -> Step:
    return lambda rig, memory_id: rig.forget(memory_id, where, who, for_good=for_good)


def brings_back(who: Actor) -> Step:
    return lambda rig, memory_id: rig.restore(memory_id, HERE, who)


def by_hand(words: str) -> Step:
    """A person rewords the entry in its file, or deletes it, as long ago as nobody goes on
    writing; the bot follows."""

    async def save(rig: Rig, memory_id: str) -> None:
        files = (rig.root / "memory/scopes/家人").glob("*.md")
        file = next(file for file in files if memory_id in file.read_text("utf-8"))
        before, _, after = file.read_text("utf-8").partition(REWORDED)
        if not words:
            before, after = before.rpartition("\n## ")[0], after.partition("\n## ")[2]
        file.write_text(before + words + after, "utf-8")
        then = time.time() - 60
        os.utime(file, (then, then))
        await rig.engine.reconcile()

    return save


def marks_a_task(who: Actor = ADMIN) -> Step:
    """The bot does, while it talks to somebody."""

    async def mark(rig: Rig, _: str) -> None:
        for action in (TaskAction.ADD, TaskAction.DONE):
            change = TaskChange(action, ("交房租",))
            await rig.engine.service.update_tasks(change, conversation_id=HERE, actor=who)

    return mark


GONE: dict[str, tuple[Step, ...]] = {
    "edited and forgotten by its speaker": (edits(), forgets(SPEAKER)),
    "edited and deleted by hand": (edits(), by_hand("")),
}
PASSED: dict[str, tuple[Step, ...]] = {
    **GONE,
    "edited and changed by hand": (edits(), by_hand(BROKEN)),
    "edited and edited by another": (edits(), edits(OTHER_ADMIN, BROKEN)),
    "edited and moved by another": (edits(), moves(OTHER_ADMIN)),
    "edited and purged": (edits(), forgets(for_good=True)),
    "moved and forgotten there": (moves(), forgets(OTHER_ADMIN, WORK)),
    "moved and edited there": (moves(), edits(where=WORK)),
    "forgotten and purged": (forgets(), forgets(for_good=True)),
    "forgotten and again by another": (forgets(), brings_back(SPEAKER), forgets(SPEAKER)),
    "the bot marked a task": (marks_a_task(),),
}


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """Without an index."""
    async with running(tmp_path, follow=False) as opened:
        yield opened


async def seen(rig: Rig, where: ConversationId) -> list[str]:
    return sorted(await rig.newest(where))


@pytest.mark.parametrize("story", PASSED)
async def test_what_cannot_be_undone_any_more_is_passed_over(rig: Rig, story: str) -> None:
    first = await rig.stored_id(FIRST, HERE, SPEAKER)
    second = await rig.stored_id(SECOND, HERE, SPEAKER)
    await rig.forget(first, HERE, ADMIN)
    for step in PASSED[story]:
        await step(rig, second)
    here, at_work = await seen(rig, HERE), await seen(rig, WORK)
    outcome = await rig.restore("", HERE, ADMIN)
    assert isinstance(outcome, Restored), outcome
    assert await seen(rig, HERE) == sorted([*here, FIRST])
    for _ in range(2):
        assert isinstance(await rig.restore("", HERE, ADMIN), NotVisible)
    await rig.engine.reconcile()
    assert await seen(rig, HERE) == sorted([*here, FIRST])
    assert await seen(rig, WORK) == at_work


@pytest.mark.parametrize("story", GONE)
async def test_of_what_is_gone_the_answer_names_it_and_by_its_id_it_comes_back(
    rig: Rig, story: str
) -> None:
    """The edit can be taken back then, too."""
    memory_id = await rig.stored_id(SECOND, HERE, SPEAKER)
    for step in GONE[story]:
        await step(rig, memory_id)
    assert await rig.restore("", HERE, ADMIN) == NotVisible(memory_id)
    assert await seen(rig, HERE) == []
    assert isinstance(await rig.restore(memory_id, HERE, ADMIN), Restored)
    assert await seen(rig, HERE) == [REWORDED]
    assert isinstance(await rig.restore("", HERE, ADMIN), Undone)
    assert await seen(rig, HERE) == [SECOND]
    assert await rig.restore("", HERE, ADMIN) == NotVisible("")


async def test_a_member_takes_back_what_the_member_did(rig: Rig) -> None:
    """Neither a task that the bot marked nor what an admin did since, who is none any more."""
    first = await rig.stored_id(FIRST, HERE, SPEAKER)
    second = await rig.stored_id(SECOND, HERE, SPEAKER)
    await rig.forget(first, HERE, SPEAKER)
    await marks_a_task(SPEAKER)(rig, "")
    assert isinstance(await rig.restore("", HERE, SPEAKER), Restored)
    once_admin = replace(SPEAKER, admin=True)
    await rig.forget(first, HERE, SPEAKER)
    await rig.edit(second, REWORDED, HERE, once_admin)
    assert isinstance(await rig.restore("", HERE, SPEAKER), Restored)
    assert await rig.restore("", HERE, SPEAKER) == NotVisible("")
    assert REWORDED in await seen(rig, HERE)
    assert isinstance(await rig.restore("", HERE, once_admin), Undone)


async def test_that_nothing_can_be_undone_is_not_said_where_it_is_unknown(rig: Rig) -> None:
    memory_id = await rig.stored_id(FIRST, HERE, SPEAKER)
    await rig.forget(memory_id, HERE, ADMIN)
    (ledger,) = rig.root.rglob("vault.sqlite")
    with sqlite3.connect(ledger) as other:
        other.execute("ALTER TABLE deed RENAME TO away")
    with pytest.raises(StateUnavailable):
        await rig.restore("", HERE, ADMIN)
    with sqlite3.connect(ledger) as other:
        other.execute("ALTER TABLE away RENAME TO deed")
    assert isinstance(await rig.restore("", HERE, ADMIN), Restored)
