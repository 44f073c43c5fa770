"""What was said before a person corrected it: a waiting turn that says it is told to nobody, no
reader of it is shown, or learns, what was corrected, and the entry stays as it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    DeedKind,
    Refused,
    StoredMemory,
    Ticket,
    Turn,
    is_changed,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.closing import closed_by
from astrbot_plugin_scoped_memory.llm_memory.text.third_person import third_person
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, private
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
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

SQUARE, STRANGER = group(999), private(5005)
ADMIN, MING, HONG, TOM = person(9, admin=True), person(1), person(3, "小红"), person(1, "Tom")
HOME, HOME_IS = "小明的家庭住址是幸福路88号三单元", "小明不愿意说住处"
SAID: Final = (
    "对了，我家住在幸福路88号三单元",
    "我住幸福路那边，88号",
    "我家搬到了幸福路88号三单元那栋楼",
)
"""The last turn is the one in which the tool stored it."""
FOREIGN = "By the way, my place is at 88 Xingfu Road, unit three"
HARMLESS = "同事在东湖学会了划船"
LEARNED = ("小明住在幸福路88号", HOME, "小明的家在幸福路三单元")

type Correct = Callable[[Rig, StoredMemory, str], Awaitable[object]]


async def by_hand(rig: Rig, stored: StoredMemory, words: str, to: str = "") -> None:
    """A person rewords an entry in its file, or takes it out, and puts it into another scope."""
    path = rig.root / "memory" / "scopes" / stored.scope.name / stored.path
    whole = path.read_text("utf-8")
    (begin,) = [line for line in whole.splitlines() if stored.memory.memory_id in line]
    entry = begin + whole.partition(begin)[2].partition("\n## ")[0]
    left = entry.replace(stored.memory.judgment, words) if words else ""
    path.write_text(whole.replace(entry, left), "utf-8")
    if to:
        target = rig.root / "memory" / "scopes" / to / "preferences.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"{entry}\n", "utf-8")
    await rig.engine.reconcile()


async def purge_and_sleep(rig: Rig, stored: StoredMemory, _: str) -> object:
    done = await rig.forget(stored.memory.memory_id, SQUARE, ADMIN, for_good=True)
    assert not (await rig.night(patient=False)).errors
    return done


def edit(rig: Rig, one: StoredMemory, words: str) -> Awaitable[object]:
    where = FAMILY if one.scope.name == "家人" else SQUARE
    return rig.edit(one.memory.memory_id, words, where, ADMIN)


UNDOABLE: dict[str, Correct] = {
    "forgotten": lambda rig, one, _: rig.forget(one.memory.memory_id, SQUARE, MING),
    "edited": edit,
    "moved": lambda rig, one, _: rig.move(one.memory.memory_id, "家人", SQUARE, ADMIN),
}
CORRECTIONS: dict[str, Correct] = {
    **UNDOABLE,
    "purged": lambda rig, one, _: rig.forget(one.memory.memory_id, SQUARE, ADMIN, for_good=True),
    "purged and slept on": purge_and_sleep,
    "deleted by hand": lambda rig, one, _: by_hand(rig, one, ""),
    "edited by hand": by_hand,
    "moved by hand": lambda rig, one, _: by_hand(rig, one, "", "家人"),
}


async def correct(bot: Bot, how: str, stored: StoredMemory, words: str = HOME_IS) -> None:
    """A minute later a person does it, and may."""
    bot.clock.forward(minutes=1)
    done = await CORRECTIONS[how](bot, stored, words)
    assert not isinstance(done, Refused), done
    bot.clock.forward(minutes=1)


async def correct_while_it_is_read(
    bot: Bot, how: str, stored: StoredMemory, where: ConversationId, words: str = ""
) -> None:
    bot.chat.release.clear()
    task = asyncio.create_task(reflect(bot, where))
    await bot.chat.asked.wait()
    await correct(bot, how, stored, words)
    bot.chat.release.set()
    await task


async def talk(rig: Rig, *sayings: str) -> StoredMemory:
    """Ming says all this in the square; in the last turn a tool stores where he lives."""
    for text in sayings[:-1]:
        await say(rig, text, where=SQUARE, who=MING)
    await rig.remember("家人群在这里", FAMILY, ADMIN)
    stored = (await rig.remember(HOME, SQUARE, MING)).memory
    turn = Turn(MING, sayings[-1], "好的", stored=(stored.memory.memory_id,))
    assert isinstance(await rig.engine.service.observe(turn, conversation_id=SQUARE), Ticket)
    await say(rig, HARMLESS, where=SQUARE, who=HONG)
    await rig.engine.reflection.follow()
    return stored


async def told(rig: Rig) -> set[str]:
    """What of the turns anybody recalls who does not see the family's scope, as it was said."""
    found = set[str]()
    for where in (SQUARE, STRANGER, group(888)):
        for asked in ("幸福路88号三单元", "Xingfu Road", "小明住在哪里", HARMLESS):
            found |= set(await rig.texts(asked, where, limit=20))
    retold = {third_person(text, who.name): text for text in SAID for who in (MING, HONG)}
    return {retold.get(text, text) for text in found} - {HOME_IS}


async def read(bot: Bot) -> str:
    """What a reader of the square is shown as said."""
    await reflect(bot, SQUARE)
    return bot.chat.calls[0].prompt.partition("<turns>")[2]


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    """With an index of words alone, and a clock that stands."""
    async with reading(tmp_path, StandingClock(), words_alone=True) as opened:
        yield opened


@pytest.mark.parametrize("last", [SAID[0], FOREIGN], ids=["same words", "another language"])
@pytest.mark.parametrize("how", CORRECTIONS)
async def test_no_correction_leaves_another_copy_in_the_queue(
    how: str, last: str, tmp_path: Path
) -> None:
    clock = StandingClock()
    async with reading(tmp_path, clock, words_alone=True) as bot:
        stored = await talk(bot, *SAID, last)
        assert await told(bot) >= {HARMLESS, SAID[0]}
        await correct(bot, how, stored)
        assert await told(bot) == {HARMLESS}
    async with reading(tmp_path, clock, words_alone=True) as bot:
        bot.chat.otherwise = answer(*(learned(text, who="s1") for text in LEARNED))
        await bot.engine.reconcile()
        assert await told(bot) == {HARMLESS}
        shown = await read(bot)
        assert HARMLESS in shown
        assert not any(word in shown for word in ("幸福路", "三单元", "Xingfu"))
        # Of what was purged only hashes are left, and no reader can repeat what is in no turn.
        forbidden = HOME if how == "purged and slept on" else "幸福路"
        assert not any(forbidden in text for text in texts_of(bot).get("public", []))


@pytest.mark.parametrize("how", UNDOABLE)
async def test_what_was_undone_is_told_and_read_again(bot: Bot, how: str) -> None:
    stored = await talk(bot, *SAID)
    before = await told(bot)
    await correct(bot, how, stored)
    assert SAID[0] not in await told(bot)
    await bot.restore(stored.memory.memory_id, SQUARE, ADMIN)
    assert await told(bot) == before >= set(SAID[:2])
    shown = await read(bot)
    assert all(text in shown for text in SAID)


async def test_what_was_said_anew_or_beside_what_was_corrected_is_read(bot: Bot) -> None:
    await correct(bot, "forgotten", await talk(bot, *SAID[:2], f"{SAID[0]}，妹妹在北京学画画"))
    assert await told(bot) == {HARMLESS}
    await say(bot, SAID[1], where=SQUARE, who=MING)
    await say(bot, SAID[0], where=SQUARE, who=HONG)
    assert await told(bot) == {HARMLESS, SAID[1], SAID[0]}
    shown = await read(bot)
    assert shown.count("幸福路") == 2 and "妹妹在北京学画画" in shown


async def test_a_forgotten_turn_goes_with_what_its_preview_did_not_show(bot: Bot) -> None:
    long = f"{SAID[0]}，{'门口有一棵很老的槐树，' * 60}妹妹在北京学画画"
    await say(bot, long, where=SQUARE, who=MING)
    await say(bot, HARMLESS, where=SQUARE, who=HONG)
    (hit,) = (await bot.recall("幸福路88号", SQUARE)).hits
    bot.clock.forward(minutes=1)
    for who, is_done in ((HONG, False), (MING, True)):
        outcome = await bot.forget(hit.memory_id, SQUARE, who)
        assert is_changed(outcome, DeedKind.FORGOTTEN) is is_done
    assert await told(bot) == {HARMLESS}
    shown = await read(bot)
    assert HARMLESS in shown and "妹妹" not in shown


async def test_what_was_answered_before_the_correction_is_not_learned(bot: Bot) -> None:
    bot.chat.add(answer(learned(LEARNED[0])))
    await correct_while_it_is_read(bot, "forgotten", await talk(bot, *SAID), SQUARE)
    assert texts_of(bot)["家人"] and not texts_of(bot).get("public")


CAR: Final = (
    "小明的车停在B2层",
    "我的车换到C3层了",
    "小明的车停在C3层",
    "小明的车停在D1层，靠电梯",
)
PHONE: Final = ("小明的分机是8021", "我分机改成8025了", "小明的分机是8025", "小明的分机是8031")
BIKE: Final = (
    "Tom's bike is in the attic",
    "I moved my bike to the cellar",
    "Tom's bike is in the cellar",
    "Tom's bike is in the garden shed",
)
DEBT: Final = (
    "小明向妈妈借了三千",
    "小明那三千还清了",
    "小明借妈妈的三千还清了",
    "小明向妈妈借了五千，还没还",
)
"""What stands, what is said, what a reader makes of it, and how a person corrects what stands."""


async def test_nor_does_one_of_which_the_model_names_no_turn(bot: Bot) -> None:
    stored = (await bot.remember("小明住在上海浦东", FAMILY, MING)).memory
    bot.clock.forward(hours=1)
    for said in ("我家在苏州河边的老房子里", "今天下了一天雨"):
        await say(bot, said, who=MING)
    bot.clock.forward(hours=1)
    await correct(bot, "edited", stored, "小明住在深圳南山")
    item = {"judgment": "小明的家在苏州河边的老房子里"}
    changes = [{"old_id": stored.memory.memory_id, "new": item}]
    bot.chat.otherwise = answer(contradictions=changes)
    await reflect(bot)
    assert [one.memory.judgment for one in bot.living()] == ["小明住在深圳南山"]


@pytest.mark.parametrize("plain", [False, True], ids=["contradiction", "new memory"])
@pytest.mark.parametrize("begun", [False, True], ids=["read later", "being read"])
@pytest.mark.parametrize(
    ("words", "who", "speaker", "how"),
    [
        (CAR, MING, MING, "edited"),
        (CAR, MING, MING, "edited by hand"),
        ((*CAR[:3], "小明的车停在B2层，靠电梯"), MING, MING, "edited by hand"),
        (PHONE, MING, MING, "edited"),
        (BIKE, TOM, TOM, "edited by hand"),
        (DEBT, MING, HONG, "edited"),
    ],
)
async def test_a_turn_from_before_a_correction_changes_nothing_of_the_entry(
    bot: Bot,
    words: tuple[str, str, str, str],
    who: Actor,
    speaker: Actor,
    how: str,
    begun: bool,
    plain: bool,
) -> None:
    was, said, found, corrected = words
    stored = (await bot.remember(was, FAMILY, who)).memory
    name, item = stored.memory.memory_id, learned(found, who="s1")
    bot.chat.otherwise = answer(
        *[item] * plain, contradictions=[{"old_id": name, "new": item}] * (not plain)
    )
    bot.clock.forward(hours=1)
    await say(bot, said, who=speaker)
    if begun:
        await correct_while_it_is_read(bot, how, stored, FAMILY, corrected)
    else:
        await correct(bot, how, stored, corrected)
        await reflect(bot)
    living = {one.memory.memory_id: one.memory for one in bot.living()}
    assert living[name].judgment == corrected
    assert not closed_by(living[name])
    assert speaker != who or len(living) == 1
    # What is said after it counts.
    if speaker == who and not plain and words is CAR:
        await bot.hears(said, contradictions=[{"old_id": name, "new": item}], who=who)
        assert [one.memory.judgment for one in bot.living()] == [found]
