"""A waiting turn is another copy of what a tool stored in it: once a person has corrected that, the
turn is told to nobody, and no reader of it is shown, or learns, what was corrected."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from astrbot_plugin_scoped_memory.llm_memory import StoredMemory, Ticket, Turn
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    Edited,
    Forgotten,
    Moved,
    Purged,
    Restored,
    Undone,
)
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, private, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    StandingClock,
    answer,
    learned,
    reflect,
    say,
    texts_of,
)

pytestmark = pytest.mark.engine

SQUARE, STRANGER, FAMILY = group(999), private(5005), group(777)
ADMIN, MING, HONG = person(9, "管理员", admin=True), person(1), person(3, "小红")
HOME = "小明的家庭住址是幸福路88号三单元"
SAID: Final = (
    "对了，我家住在幸福路88号三单元",
    "我住幸福路那边，88号",
    "我家搬到了幸福路88号三单元那栋楼",
)
"""The last turn is the one in which the tool stored it."""
FOREIGN = "By the way, my place is at 88 Xingfu Road, unit three"
HARMLESS = "同事在东湖学会了划船"
LEARNED = ("小明住在幸福路88号", HOME, "小明的家在幸福路三单元")
OTHER = "小明不愿意说住处"
ASKED = ("幸福路88号三单元", "Xingfu Road", "小明住在哪里")

type Correct = Callable[[Rig, StoredMemory], Awaitable[None]]


def file_of(rig: Rig, stored: StoredMemory) -> Path:
    return rig.root / "memory" / "scopes" / stored.scope.name / stored.path


def entry_of(rig: Rig, stored: StoredMemory) -> str:
    """The text of an entry in its file."""
    whole = file_of(rig, stored).read_text("utf-8")
    (begin,) = [line for line in whole.splitlines() if stored.memory.memory_id in line]
    return begin + whole.partition(begin)[2].partition("\n## ")[0]


def rewrite(rig: Rig, stored: StoredMemory, entry: str) -> None:
    path = file_of(rig, stored)
    whole = path.read_text("utf-8").replace(entry_of(rig, stored), entry)
    path.write_text(whole, "utf-8")


async def forget(rig: Rig, stored: StoredMemory) -> None:
    done = await rig.forget(stored.memory.memory_id, SQUARE, MING)
    assert isinstance(done, Forgotten)


async def purge(rig: Rig, stored: StoredMemory) -> None:
    done = await rig.forget(stored.memory.memory_id, SQUARE, ADMIN, for_good=True)
    assert isinstance(done, Purged)


async def purge_and_sleep(rig: Rig, stored: StoredMemory) -> None:
    await purge(rig, stored)
    report = await rig.night("nightly", patient=False)
    assert not report.errors


async def edit(rig: Rig, stored: StoredMemory) -> None:
    done = await rig.edit(stored.memory.memory_id, OTHER, SQUARE, ADMIN)
    assert isinstance(done, Edited)


async def move(rig: Rig, stored: StoredMemory) -> None:
    done = await rig.move(stored.memory.memory_id, "家人", SQUARE, ADMIN)
    assert isinstance(done, Moved)


async def delete_by_hand(rig: Rig, stored: StoredMemory) -> None:
    rewrite(rig, stored, "")
    await rig.engine.reconcile()


async def edit_by_hand(rig: Rig, stored: StoredMemory) -> None:
    rewrite(rig, stored, entry_of(rig, stored).replace(HOME, OTHER))
    await rig.engine.reconcile()


async def move_by_hand(rig: Rig, stored: StoredMemory) -> None:
    entry = entry_of(rig, stored)
    rewrite(rig, stored, "")
    target = rig.root / "memory" / "scopes" / "家人" / "preferences.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"{entry}\n", "utf-8")
    await rig.engine.reconcile()


async def take_back(rig: Rig, stored: StoredMemory) -> None:
    undone = await rig.restore(stored.memory.memory_id, SQUARE, ADMIN)
    assert isinstance(undone, Restored | Undone)


UNDOABLE: Final[tuple[Correct, ...]] = (forget, edit, move)
CORRECTIONS: Final[tuple[Correct, ...]] = (
    *UNDOABLE,
    purge,
    purge_and_sleep,
    delete_by_hand,
    edit_by_hand,
    move_by_hand,
)


async def talk(rig: Rig, sayings: tuple[str, ...]) -> StoredMemory:
    """Ming says all this in the square; in the last turn a tool stores where he lives."""
    for text in sayings[:-1]:
        await say(rig, text, where=SQUARE, who=MING)
    await rig.remember("家人群在这里", FAMILY, ADMIN)
    stored = (await rig.remember(HOME, SQUARE, MING)).memory
    turn = Turn(MING, sayings[-1], "好的", stored=(stored.memory.memory_id,))
    ticket = await rig.engine.service.observe(turn, conversation_id=SQUARE)
    assert isinstance(ticket, Ticket)
    await say(rig, HARMLESS, where=SQUARE, who=HONG)
    await rig.engine.loop.reflection.follow()
    return stored


async def told(rig: Rig) -> set[str]:
    """What of the turns anybody recalls who does not see the family's scope."""
    found = set[str]()
    for where in (SQUARE, STRANGER, group(888)):
        for asked in (*ASKED, HARMLESS):
            found |= set(await rig.texts(asked, where, limit=20))
    return found


@pytest.mark.parametrize("last", [SAID[0], FOREIGN], ids=["same words", "another language"])
@pytest.mark.parametrize("correct", CORRECTIONS)
async def test_no_correction_leaves_another_copy_in_the_queue(
    correct: Correct, last: str, tmp_path: Path
) -> None:
    sayings = (*SAID, last)
    chat = ScriptedChat(otherwise=answer(*(learned(text, who="s1") for text in LEARNED)))
    clock = StandingClock()
    async with running(tmp_path, chat=chat, clock=clock, words_alone=True) as rig:
        stored = await talk(rig, sayings)
        assert await told(rig) >= {HARMLESS, SAID[0]}
        clock.forward(minutes=1)
        await correct(rig, stored)
        assert await told(rig) - {OTHER} == {HARMLESS}
    async with running(tmp_path, chat=chat, clock=clock, words_alone=True) as rig:
        await rig.engine.reconcile()
        assert await told(rig) - {OTHER} == {HARMLESS}
        await reflect(rig, SQUARE)
        prompts = [call.prompt for call in chat.calls]
        shown_turns = [one.partition("<turns>")[2] for one in prompts if "<turns>" in one]
        assert shown_turns  # what is in no turn is asked for once more
        for shown in shown_turns:
            assert HARMLESS in shown
            assert not any(word in shown for word in ("幸福路", "三单元", "Xingfu"))
        # Of what was purged only hashes are left, and no reader can repeat what is in no turn.
        forbidden = HOME if correct is purge_and_sleep else "幸福路"
        assert not any(forbidden in text for text in texts_of(rig).get("public", []))


@pytest.mark.parametrize("correct", UNDOABLE)
async def test_what_was_undone_is_told_and_read_again(correct: Correct, tmp_path: Path) -> None:
    chat, clock = ScriptedChat(), StandingClock()
    async with running(tmp_path, chat=chat, clock=clock, words_alone=True) as rig:
        stored = await talk(rig, SAID)
        before = await told(rig)
        clock.forward(minutes=1)
        await correct(rig, stored)
        assert SAID[0] not in await told(rig)
        await take_back(rig, stored)
        assert await told(rig) == before >= set(SAID[:2])
        await reflect(rig, SQUARE)
        assert all(text in chat.calls[0].prompt for text in SAID)


async def test_what_was_said_anew_after_the_correction_is_told_and_read(tmp_path: Path) -> None:
    chat, clock = ScriptedChat(), StandingClock()
    async with running(tmp_path, chat=chat, clock=clock, words_alone=True) as rig:
        stored = await talk(rig, SAID)
        clock.forward(minutes=1)
        await forget(rig, stored)
        clock.forward(minutes=1)
        await say(rig, SAID[1], where=SQUARE, who=MING)
        await say(rig, SAID[0], where=SQUARE, who=HONG)
        await rig.engine.loop.reflection.follow()
        assert await told(rig) == {HARMLESS, SAID[1], SAID[0]}
        await reflect(rig, SQUARE)
        assert chat.calls[0].prompt.count("幸福路") == 2


async def test_of_a_copy_only_what_was_corrected_is_kept_from_the_reader(tmp_path: Path) -> None:
    chat, clock = ScriptedChat(), StandingClock()
    whole = f"{SAID[0]}，妹妹在北京学画画"
    async with running(tmp_path, chat=chat, clock=clock, words_alone=True) as rig:
        stored = await talk(rig, (whole,))
        clock.forward(minutes=1)
        await forget(rig, stored)
        assert await told(rig) == {HARMLESS}
        await reflect(rig, SQUARE)
        assert "妹妹在北京学画画" in chat.calls[0].prompt
        assert "幸福路" not in chat.calls[0].prompt


async def test_a_forgotten_turn_goes_with_what_its_preview_did_not_show(tmp_path: Path) -> None:
    chat, clock = ScriptedChat(), StandingClock()
    long = f"{SAID[0]}，{'门口有一棵很老的槐树，' * 60}妹妹在北京学画画"
    async with running(tmp_path, chat=chat, clock=clock, words_alone=True) as rig:
        await say(rig, long, where=SQUARE, who=MING)
        await say(rig, HARMLESS, where=SQUARE, who=HONG)
        await rig.engine.loop.reflection.follow()
        (hit,) = (await rig.recall("幸福路88号", SQUARE)).hits
        clock.forward(minutes=1)
        forgotten = await rig.forget(hit.memory_id, SQUARE, MING)
        assert isinstance(forgotten, Purged)
        await reflect(rig, SQUARE)
        assert "妹妹" not in chat.calls[0].prompt
        assert HARMLESS in chat.calls[0].prompt


async def test_what_was_answered_before_the_correction_is_not_learned_in_other_words(
    tmp_path: Path,
) -> None:
    chat, clock = ScriptedChat(answer(learned("小明住在幸福路88号"))), StandingClock()
    async with running(tmp_path, chat=chat, clock=clock, words_alone=True) as rig:
        stored = await talk(rig, SAID)
        clock.forward(minutes=1)
        chat.release.clear()
        reading = asyncio.create_task(reflect(rig, SQUARE))
        await chat.asked.wait()
        await forget(rig, stored)
        chat.release.set()
        await reading
        assert texts_of(rig)["家人"] and not texts_of(rig).get("public")
