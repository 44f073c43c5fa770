"""What a person has corrected stays corrected: nothing said before brings it back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import ConversationId, DeedKind, is_changed
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.day_journal import digest_id
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.timeline import (
    DIGEST_TAG,
    MADE_OF_ENTRIES,
)
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, private, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    Bot,
    StandingClock,
    answer,
    learned,
    reflect,
    say,
    texts_of,
)

pytestmark = pytest.mark.engine

PEANUTS = "奶奶对花生过敏"
PRAWNS = "奶奶对虾过敏"
MING, ADMIN = person(1), person(9, "管理员", admin=True)


async def forget(bot: Bot, memory_id: str, where: ConversationId = FAMILY) -> None:
    """Some seconds later, and some before what comes next."""
    bot.clock.forward(seconds=5)
    assert is_changed(await bot.forget(memory_id, where, ADMIN), DeedKind.FORGOTTEN)
    bot.clock.forward(seconds=5)


async def test_what_the_bot_repeats_after_a_correction_is_not_said_anew(timed_bot: Bot) -> None:
    """Its chat history still holds the words."""
    timed_bot.chat.add(answer(), answer())
    memory_id = await timed_bot.stored_id(PEANUTS, FAMILY, MING)
    await forget(timed_bot, memory_id)
    await say(timed_bot, "刚才说到哪了", reply=f"你说周六去爬山。还说{PEANUTS}。")
    await reflect(timed_bot)
    assert "周六去爬山" in timed_bot.chat.calls[0].prompt
    assert "花生" not in timed_bot.chat.calls[0].prompt
    await say(timed_bot, f"还是记一下，{PEANUTS}", reply=f"好，{PEANUTS}。")
    await reflect(timed_bot)
    assert timed_bot.chat.calls[1].prompt.count("花生") == 2


async def test_words_to_which_an_entry_was_edited_back_are_not_removed(timed_bot: Bot) -> None:
    memory_id = await timed_bot.stored_id(PEANUTS, FAMILY, MING)
    for words in (PRAWNS, PEANUTS):
        timed_bot.clock.forward(seconds=5)
        edited = await timed_bot.edit(memory_id, words, FAMILY, ADMIN)
        assert is_changed(edited, DeedKind.EDITED)
    assert [one.words for one in timed_bot.engine.parts.corrected.of_scope("家人")] == [PRAWNS]


async def test_what_a_person_says_of_himself_is_distinguished_from_what_others_say(
    timed_bot: Bot,
) -> None:
    """What says the same is not learned, what only resembles it is: ``rules/test_corrected.py``."""
    timed_bot.chat.add(
        answer(learned("小明爱吃榴莲", who="s1"), {**learned("小红爱吃榴莲", who="s2"), "turn": 2})
    )
    outcome = await timed_bot.remember("我爱吃榴莲", FAMILY, MING)
    await say(timed_bot, "我爱吃榴莲", who=MING, reply="原来你爱吃榴莲")
    await say(timed_bot, "我爱吃榴莲", who=person(2, "小红"))
    await forget(timed_bot, outcome.memory.memory.memory_id)
    await reflect(timed_bot)
    assert texts_of(timed_bot) == {"家人": ["小红爱吃榴莲"]}
    assert timed_bot.chat.calls[0].prompt.count("榴莲") == 1


async def test_what_is_adopted_again_stays_out_though_its_id_is_another(timed_bot: Bot) -> None:
    outcome = await timed_bot.remember(PEANUTS, FAMILY, MING)
    scope, memory = outcome.memory.scope, outcome.memory.memory
    again = replace(memory, memory_id="m-legacy0001")
    later = replace(
        again, memory_id="m-legacy0002", created_at=timed_bot.clock.now + timedelta(days=1)
    )
    await forget(timed_bot, memory.memory_id)
    taken = await timed_bot.engine.parts.intake.take(scope, [again, later])
    assert [one.memory for one in taken] == [later]


async def test_what_its_speaker_took_back_does_not_come_back_from_an_older_turn(
    tmp_path: Path,
) -> None:
    clock = StandingClock()
    oats, soy = "妈妈早上喝燕麦奶", "妈妈早上改喝豆奶了"
    async with running(tmp_path, chat=(chat := ScriptedChat()), clock=clock) as rig:
        await say(rig, oats, where=private(1002), who=person(1002, "妈妈"))
        clock.forward(minutes=1)
        outcome = await rig.remember(oats, FAMILY, person(1002, "妈妈"))
        clock.forward(minutes=1)
        await say(rig, "我早上改喝豆奶了，不喝燕麦奶了", who=person(1002, "妈妈"))
        new = learned(soy, who="s1")
        old_id = outcome.memory.memory.memory_id
        chat.add(answer(contradictions=[{"old_id": old_id, "new": new}]))
        await reflect(rig)
        assert texts_of(rig) == {"家人": [soy]}
        chat.add(answer(learned(oats, who="s1")))
        await reflect(rig, private(1002))
        assert texts_of(rig) == {"家人": [soy]}


async def test_an_entry_that_is_being_typed_is_one_correction(timed_bot: Bot) -> None:
    """An editor that saves at each key: only what stood there before counts as removed."""
    await timed_bot.stored_id(PEANUTS, FAMILY, MING)
    path = timed_bot.root / "memory/scopes/家人/preferences.md"
    for words in ("奶奶对花生", "奶奶对", "奶奶对虾", "奶奶对虾过敏"):
        before = path.read_text("utf-8").splitlines()[0].split(" ^m-")[0]
        path.write_text(path.read_text("utf-8").replace(before, f"## {words}"), "utf-8")
        timed_bot.clock.forward(seconds=2)
        await timed_bot.engine.reconcile()
    corrections = timed_bot.engine.parts.corrected.of_scope("家人")
    assert [one.words for one in corrections] == [PEANUTS]


async def test_an_entry_that_a_person_puts_back_by_hand_is_corrected_no_more(
    timed_bot: Bot,
) -> None:
    await timed_bot.stored_id(PEANUTS, FAMILY, MING)
    path = timed_bot.root / "memory/scopes/家人/preferences.md"
    before = path.read_text("utf-8")
    for text, count in (("", 1), (before, 0)):
        path.write_text(text, "utf-8")
        await timed_bot.engine.reconcile()
        assert len(timed_bot.engine.parts.corrected.of_scope("家人")) == count
    assert texts_of(timed_bot) == {"家人": [PEANUTS]}


async def test_a_journal_of_that_scope_is_told_without_what_is_corrected_since(
    timed_bot: Bot,
) -> None:
    day = timed_bot.clock.now - timedelta(days=3)
    for where in (FAMILY, group(888)):
        outcome = await timed_bot.remember(PEANUTS, where, MING)
        scope, memory = outcome.memory.scope, outcome.memory.memory
        journal = replace(
            memory,
            memory_id=digest_id(scope.name, day.date()),
            judgment=f"{day:%Y-%m-%d}记下了 2 条：小明：{PEANUTS}；小明：书在架上",
            created_at=day,
            tags=(DIGEST_TAG,),
            extra=(MADE_OF_ENTRIES,),
        )
        await timed_bot.engine.parts.intake.take(scope, [journal])
    await forget(timed_bot, memory.memory_id, group(888))
    told = [one for one in timed_bot.living() if "书在架上" in one.memory.judgment]
    assert {one.scope.name: PEANUTS in one.memory.judgment for one in told} == {
        "家人": True,
        "公司": False,
    }
