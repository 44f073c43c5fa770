"""Forgetting, editing and moving by command: who may, what is kept of it, and what is refused. Undo
without an id takes back the newest deed of this person here that can still be undone, and never
what another one did."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    Changed,
    ConversationId,
    DeedKind,
    Reason,
    Refused,
    Stored,
    TaskAction,
    TaskChange,
    is_changed,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import absent, is_absent
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

pytestmark = pytest.mark.engine

PEANUTS, WALNUTS = "奶奶对花生过敏", "奶奶对核桃过敏"
HERE = group(777)
SPEAKER, STRANGER, ADMIN = person(1), person(2, "小红"), person(3, "管理员", admin=True)
NOBODY = Actor("", "小明")
FILE = "memory/scopes/家人/preferences.md"


WORK = group(888)
OTHER_ADMIN = person(4, "另一个管理员", admin=True)
FIRST, SECOND, REWORDED, BROKEN = PEANUTS, "阳台的灯要换了", "阳台的灯换好了", "阳台的灯又坏了"


def not_for(memory_id: str) -> Refused:
    """Who asks is not the one who may."""
    return Refused(Reason.NOT_ALLOWED, detail=memory_id)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """Without an index."""
    async with running(tmp_path, follow=False) as opened:
        yield opened


async def seen(rig: Rig, where: ConversationId) -> list[str]:
    return sorted(await rig.newest(where))


async def takes_back(
    rig: Rig, kind: DeedKind, who: Actor = ADMIN, *, memory_id: str = ""
) -> Changed:
    """The last deed of this person here, or the last one that was done to an entry."""
    outcome = await rig.restore(memory_id, HERE, who)
    assert is_changed(outcome, kind, undone=True), outcome
    return outcome


@pytest.mark.parametrize("named", [False, True])
async def test_an_edit_changes_the_words_alone_and_can_be_taken_back(
    tmp_path: Path, named: bool
) -> None:
    said = {"reasoning": "她自己说的", "tags": ("饮食",)}
    async with running(tmp_path) as rig:
        memory_id = await rig.stored_id(PEANUTS, HERE, SPEAKER, **said)
        outcome = await rig.edit(memory_id, WALNUTS, HERE, ADMIN)
        assert is_changed(outcome, DeedKind.EDITED)
        assert outcome.before == PEANUTS
        memory = outcome.memory.memory
        kept = (memory.judgment, memory.reasoning, memory.tags, memory.provenance.person)
        assert kept == (WALNUTS, *said.values(), SPEAKER.person)
        archive = tmp_path / "memory/scopes/家人/archive/preferences.md"
        assert "改写者：管理员" in archive.read_text("utf-8")
    async with running(tmp_path) as rig:
        assert await rig.newest(HERE) == [WALNUTS]
        await takes_back(rig, DeedKind.EDITED, memory_id=memory_id if named else "")
        assert archive.read_text("utf-8").strip() == ""
        assert await rig.restore("", HERE, ADMIN) == absent()
        await rig.engine.reconcile()
        assert await rig.newest(HERE) == [PEANUTS]


@pytest.mark.parametrize("who", [SPEAKER, STRANGER, NOBODY, Actor("AIOCQHTTP:1", "小明")])
async def test_only_an_admin_edits_and_moves_and_only_its_speaker_forgets_besides(
    rig: Rig, who: Actor
) -> None:
    memory_id = await rig.stored_id(PEANUTS, HERE, SPEAKER)
    assert await rig.edit(memory_id, WALNUTS, HERE, who) == not_for(memory_id)
    assert await rig.move(memory_id, "公司", HERE, who) == not_for(memory_id)
    await rig.edit(memory_id, WALNUTS, HERE, ADMIN)
    assert await rig.restore(memory_id, HERE, who) == not_for(memory_id)
    assert await rig.restore("", HERE, who) == absent()
    forgotten = await rig.forget(memory_id, HERE, who)
    assert is_changed(forgotten, DeedKind.FORGOTTEN) is (who is SPEAKER)
    assert await rig.newest(HERE) == ([] if who is SPEAKER else [WALNUTS])
    # Of what nobody is known to have said an admin alone.
    unsigned = await rig.stored_id("门牌是301", HERE, NOBODY)
    assert await rig.forget(unsigned, HERE, who) == not_for(unsigned)
    assert is_changed(await rig.forget(unsigned, HERE, ADMIN), DeedKind.FORGOTTEN)


async def test_what_may_not_be_stored_is_no_edit_and_a_typo_makes_no_scope(rig: Rig) -> None:
    memory_id = await rig.stored_id(PEANUTS, HERE, SPEAKER)
    for text in ("", "  \u200b", "x" * 2001):
        assert isinstance(await rig.edit(memory_id, text, HERE, ADMIN), Refused)
    for name in ("家人们", "公 司", "", "quarantine", "../公司", "PUBLIC", "con"):
        refused = Refused(Reason.UNKNOWN_SCOPE, detail=name)
        assert await rig.move(memory_id, name, HERE, ADMIN) == refused
    assert await rig.newest(HERE) == [PEANUTS]


async def test_what_a_person_did_to_the_file_is_neither_written_over_nor_missed(rig: Rig) -> None:
    """What is in the file goes to the archive, not what the bot last knew."""
    memory_id = await rig.stored_id(PEANUTS, HERE, SPEAKER)
    path = rig.root / FILE
    path.write_text(path.read_text("utf-8").replace("花生", "虾"), "utf-8")
    assert is_changed(await rig.edit(memory_id, WALNUTS, HERE, ADMIN), DeedKind.EDITED)
    await takes_back(rig, DeedKind.EDITED)
    assert await rig.newest(HERE) == ["奶奶对虾过敏"]
    path.unlink()
    assert await rig.forget(memory_id, HERE, SPEAKER) == absent(memory_id)
    assert await rig.newest(HERE) == []
    assert isinstance(await rig.tell(PEANUTS, HERE, SPEAKER), Stored)


type Step = Callable[[Rig, str], Awaitable[object]]


async def mark_a_task(rig: Rig, who: Actor) -> None:
    """The bot does, while it talks to somebody."""
    for action in (TaskAction.ADD, TaskAction.DONE):
        change = TaskChange(action, ("交房租",))
        await rig.engine.service.update_tasks(change, conversation_id=HERE, actor=who)


STEPS: dict[str, Step] = {
    "edited": lambda rig, one: rig.edit(one, REWORDED, HERE, ADMIN),
    "edited by another": lambda rig, one: rig.edit(one, BROKEN, HERE, OTHER_ADMIN),
    "moved": lambda rig, one: rig.move(one, "公司", HERE, ADMIN),
    "moved by another": lambda rig, one: rig.move(one, "公司", HERE, OTHER_ADMIN),
    "edited there": lambda rig, one: rig.edit(one, REWORDED, WORK, ADMIN),
    "forgotten there": lambda rig, one: rig.forget(one, WORK, OTHER_ADMIN),
    "forgotten": lambda rig, one: rig.forget(one, HERE, ADMIN),
    "forgotten by its speaker": lambda rig, one: rig.forget(one, HERE, SPEAKER),
    "brought back by its speaker": lambda rig, one: rig.restore(one, HERE, SPEAKER),
    "purged": lambda rig, one: rig.forget(one, HERE, ADMIN, for_good=True),
    "a task is marked": lambda rig, _: mark_a_task(rig, ADMIN),
}
PASSED = [
    "edited, forgotten by its speaker",
    "edited, edited by another",
    "edited, moved by another",
    "edited, purged",
    "moved, forgotten there",
    "moved, edited there",
    "forgotten, purged",
    "forgotten, brought back by its speaker, forgotten by its speaker",
    "a task is marked",
]


@pytest.mark.parametrize("story", PASSED)
async def test_what_cannot_be_undone_any_more_is_passed_over(rig: Rig, story: str) -> None:
    first = await rig.stored_id(FIRST, HERE, SPEAKER)
    second = await rig.stored_id(SECOND, HERE, SPEAKER)
    await rig.forget(first, HERE, ADMIN)
    for step in story.split(", "):
        await STEPS[step](rig, second)
    here, at_work = await seen(rig, HERE), await seen(rig, WORK)
    await takes_back(rig, DeedKind.FORGOTTEN)
    assert await seen(rig, HERE) == sorted([*here, FIRST])
    for _ in range(2):
        assert is_absent(await rig.restore("", HERE, ADMIN))
    await rig.engine.reconcile()
    assert await seen(rig, HERE) == sorted([*here, FIRST])
    assert await seen(rig, WORK) == at_work


async def test_a_member_takes_back_what_the_member_did(rig: Rig) -> None:
    """Neither a task that the bot marked nor what an admin did since, who is none any more."""
    first = await rig.stored_id(FIRST, HERE, SPEAKER)
    second = await rig.stored_id(SECOND, HERE, SPEAKER)
    await rig.forget(first, HERE, SPEAKER)
    await mark_a_task(rig, SPEAKER)
    await takes_back(rig, DeedKind.FORGOTTEN, SPEAKER)
    once_admin = replace(SPEAKER, admin=True)
    await rig.forget(first, HERE, SPEAKER)
    await rig.edit(second, REWORDED, HERE, once_admin)
    await takes_back(rig, DeedKind.FORGOTTEN, SPEAKER)
    assert await rig.restore("", HERE, SPEAKER) == absent()
    assert REWORDED in await seen(rig, HERE)
    await takes_back(rig, DeedKind.EDITED, once_admin)
