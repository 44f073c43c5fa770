"""A waiting turn is another copy of what a tool stored in it: once a person has corrected that, the
turn is told to nobody, and no reader of it is shown, or learns, what was corrected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from astrbot_plugin_scoped_memory.llm_memory import DeedKind, StoredMemory, Ticket, Turn, is_changed
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    Refused,
)
from astrbot_plugin_scoped_memory.llm_memory.text.third_person import third_person
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, private
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    Bot,
    StandingClock,
    answer,
    learned,
    reading,
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

type Correct = Callable[[Rig, StoredMemory], Awaitable[object]]


def by_hand(words: str | None, to: str = "") -> Correct:
    """A person rewords an entry in its file, or takes it out, and puts it into another scope."""

    async def save(rig: Rig, stored: StoredMemory) -> None:
        path = rig.root / "memory" / "scopes" / stored.scope.name / stored.path
        whole = path.read_text("utf-8")
        (begin,) = [line for line in whole.splitlines() if stored.memory.memory_id in line]
        entry = begin + whole.partition(begin)[2].partition("\n## ")[0]
        left = "" if words is None else entry.replace(HOME, words)
        path.write_text(whole.replace(entry, left), "utf-8")
        if to:
            target = rig.root / "memory" / "scopes" / to / "preferences.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(f"{entry}\n", "utf-8")
        await rig.engine.reconcile()

    return save


async def purge_and_sleep(rig: Rig, stored: StoredMemory) -> object:
    done = await rig.forget(stored.memory.memory_id, SQUARE, ADMIN, for_good=True)
    assert not (await rig.night(patient=False)).errors
    return done


UNDOABLE: dict[str, Correct] = {
    "forgotten": lambda rig, one: rig.forget(one.memory.memory_id, SQUARE, MING),
    "edited": lambda rig, one: rig.edit(one.memory.memory_id, OTHER, SQUARE, ADMIN),
    "moved": lambda rig, one: rig.move(one.memory.memory_id, "家人", SQUARE, ADMIN),
}
CORRECTIONS: dict[str, Correct] = {
    **UNDOABLE,
    "purged": lambda rig, one: rig.forget(one.memory.memory_id, SQUARE, ADMIN, for_good=True),
    "purged and slept on": purge_and_sleep,
    "deleted by hand": by_hand(None),
    "edited by hand": by_hand(OTHER),
    "moved by hand": by_hand(None, "家人"),
}


async def correct(bot: Bot, how: str, stored: StoredMemory) -> None:
    """A minute later a person does it, and may."""
    bot.clock.forward(minutes=1)
    done = await CORRECTIONS[how](bot, stored)
    assert not isinstance(done, Refused), done


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
    await rig.engine.reflection.follow()
    return stored


async def told(rig: Rig) -> set[str]:
    """What of the turns anybody recalls who does not see the family's scope, as it was said."""
    found = set[str]()
    for where in (SQUARE, STRANGER, group(888)):
        for asked in (*ASKED, HARMLESS):
            found |= set(await rig.texts(asked, where, limit=20))
    retold = {third_person(text, who.name): text for text in SAID for who in (MING, HONG)}
    return {retold.get(text, text) for text in found}


@pytest.mark.parametrize("last", [SAID[0], FOREIGN], ids=["same words", "another language"])
@pytest.mark.parametrize("how", CORRECTIONS)
async def test_no_correction_leaves_another_copy_in_the_queue(
    how: str, last: str, tmp_path: Path
) -> None:
    clock = StandingClock()
    async with reading(tmp_path, clock, words_alone=True) as bot:
        stored = await talk(bot, (*SAID, last))
        assert await told(bot) >= {HARMLESS, SAID[0]}
        await correct(bot, how, stored)
        assert await told(bot) - {OTHER} == {HARMLESS}
    async with reading(tmp_path, clock, words_alone=True) as bot:
        bot.chat.otherwise = answer(*(learned(text, who="s1") for text in LEARNED))
        await bot.engine.reconcile()
        assert await told(bot) - {OTHER} == {HARMLESS}
        await reflect(bot, SQUARE)
        prompts = [call.prompt for call in bot.chat.calls]
        shown_turns = [one.partition("<turns>")[2] for one in prompts if "<turns>" in one]
        assert shown_turns  # what is in no turn is asked for once more
        for shown in shown_turns:
            assert HARMLESS in shown
            assert not any(word in shown for word in ("幸福路", "三单元", "Xingfu"))
        # Of what was purged only hashes are left, and no reader can repeat what is in no turn.
        forbidden = HOME if how == "purged and slept on" else "幸福路"
        assert not any(forbidden in text for text in texts_of(bot).get("public", []))


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    """With an index of words alone, and a clock that stands."""
    async with reading(tmp_path, StandingClock(), words_alone=True) as opened:
        yield opened


@pytest.mark.parametrize("how", UNDOABLE)
async def test_what_was_undone_is_told_and_read_again(bot: Bot, how: str) -> None:
    stored = await talk(bot, SAID)
    before = await told(bot)
    await correct(bot, how, stored)
    assert SAID[0] not in await told(bot)
    await bot.restore(stored.memory.memory_id, SQUARE, ADMIN)
    assert await told(bot) == before >= set(SAID[:2])
    await reflect(bot, SQUARE)
    assert all(text in bot.chat.calls[0].prompt for text in SAID)


async def test_what_was_said_anew_after_the_correction_is_told_and_read(bot: Bot) -> None:
    stored = await talk(bot, SAID)
    await correct(bot, "forgotten", stored)
    bot.clock.forward(minutes=1)
    await say(bot, SAID[1], where=SQUARE, who=MING)
    await say(bot, SAID[0], where=SQUARE, who=HONG)
    await bot.engine.reflection.follow()
    assert await told(bot) == {HARMLESS, SAID[1], SAID[0]}
    await reflect(bot, SQUARE)
    assert bot.chat.calls[0].prompt.count("幸福路") == 2


async def test_of_a_copy_only_what_was_corrected_is_kept_from_the_reader(bot: Bot) -> None:
    stored = await talk(bot, (f"{SAID[0]}，妹妹在北京学画画",))
    await correct(bot, "forgotten", stored)
    assert await told(bot) == {HARMLESS}
    await reflect(bot, SQUARE)
    assert "妹妹在北京学画画" in bot.chat.calls[0].prompt
    assert "幸福路" not in bot.chat.calls[0].prompt


async def test_a_forgotten_turn_goes_with_what_its_preview_did_not_show(bot: Bot) -> None:
    long = f"{SAID[0]}，{'门口有一棵很老的槐树，' * 60}妹妹在北京学画画"
    await say(bot, long, where=SQUARE, who=MING)
    await say(bot, HARMLESS, where=SQUARE, who=HONG)
    await bot.engine.reflection.follow()
    (hit,) = (await bot.recall("幸福路88号", SQUARE)).hits
    bot.clock.forward(minutes=1)
    assert is_changed(await bot.forget(hit.memory_id, SQUARE, MING), DeedKind.FORGOTTEN)
    await reflect(bot, SQUARE)
    assert "妹妹" not in bot.chat.calls[0].prompt
    assert HARMLESS in bot.chat.calls[0].prompt


async def test_what_was_answered_before_the_correction_is_not_learned_in_other_words(
    bot: Bot,
) -> None:
    bot.chat.add(answer(learned("小明住在幸福路88号")))
    stored = await talk(bot, SAID)
    bot.chat.release.clear()
    begun = asyncio.create_task(reflect(bot, SQUARE))
    await bot.chat.asked.wait()
    await correct(bot, "forgotten", stored)
    bot.chat.release.set()
    await begun
    assert texts_of(bot)["家人"] and not texts_of(bot).get("public")
