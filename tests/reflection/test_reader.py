"""When turns are read, and that whatever a service or a disk does, nothing is lost and failed calls
stay few: a turn that is refused is put aside by itself."""

from __future__ import annotations

import asyncio
import errno
import json
import math
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.reflection.model import Completion
from astrbot_plugin_scoped_memory.llm_memory.remember.memory_handlers import MemoryHandlers
from astrbot_plugin_scoped_memory.llm_memory.storage import files
from astrbot_plugin_scoped_memory.tests.fakes.chat import Call
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, private
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    Bot,
    StandingClock,
    answer,
    dead_letters,
    learned,
    reading,
    reflect,
    say,
    texts_of,
    with_loop,
)

pytestmark = pytest.mark.engine

SAID, OTHER = "第1号柜子里有药箱", "第2号柜子里有伞"
POISON = "毒药柜的钥匙放在书房"
DUE = with_loop(after_turns=1, daily_tokens=10**7)
WORK = group(888)


def heard(call: Call) -> list[str]:
    """What the prompt's turns say."""
    lines = call.prompt.partition("<turns>")[2].partition("</turns>")[0].strip()
    return [json.loads(line)["said"] for line in lines.split("\n")]


def reads(call: Call) -> str:
    """A model that learns each turn as it was said."""
    said = enumerate(heard(call), start=1)
    return answer(*(learned(text, turn=number) for number, text in said if "第" in text))


def refusing(how: str, refused: Callable[[Call], bool]) -> Callable[[Call], str]:
    """The same, but for some prompts: the code of an error, or an answer without a word."""

    def read(call: Call) -> str:
        if not refused(call):
            return reads(call)
        if how.strip():
            raise ChatFailed(how)
        return how

    return read


@pytest.fixture
async def due(tmp_path: Path) -> AsyncIterator[Bot]:
    """Whatever is said is due at once, and learned as it was said."""
    async with reading(tmp_path, StandingClock(), settings=DUE, words_alone=True) as bot:
        bot.chat.otherwise = reads
        yield bot


async def talk(bot: Bot, count: int, *poisoned: int) -> list[str]:
    """So many turns of the family, some of them refused; returns the others."""
    said = [f"第{number}号储物柜里放的是{number}双冬天的靴子" for number in range(count)]
    for number, text in enumerate(said):
        await say(bot, POISON if number in poisoned else text)
    return [text for number, text in enumerate(said) if number not in poisoned]


@pytest.mark.parametrize("how", ["failed: BadRequestError 400", "content", "", " \n"])
@pytest.mark.parametrize(("count", "poisoned"), [(1, [0]), (2, [1]), (39, [38]), (16, [3, 12])])
async def test_the_turn_that_is_refused_is_alone_put_aside_and_the_others_are_learned(
    due: Bot, how: str, count: int, poisoned: list[int]
) -> None:
    due.chat.otherwise = refusing(how, lambda call: POISON in call.prompt)
    others = await talk(due, count, *poisoned)
    await say(due, "第9号门的密码锁换了电池", where=WORK)
    report = await due.read_due()
    assert (report.read, report.dead) == (len(others) + 1, len(poisoned))
    assert (report.waiting, report.resting) == (0, "")
    assert set(texts_of(due).get("家人", [])) == set(others)
    for letter in dead_letters(due):
        (turn,) = due.engine.parts.turns.of_batch(letter.batch_id)
        assert turn.user_text == POISON
    assert POISON in await due.texts("毒药柜的钥匙放在哪儿", private(1002))
    await due.read_due()  # costs nothing more
    most = 2 * math.ceil(math.log2(max(count, 2))) * len(poisoned) + 3
    assert len(due.chat.calls) - 1 <= most
    due.chat.otherwise = reads
    assert await due.engine.reflection.retry() == len(poisoned)
    assert (await reflect(due)).read == len(poisoned)
    assert dead_letters(due) == []


@pytest.mark.parametrize(
    ("how", "refused", "count", "is_learned"),
    [
        # Any fault of the service: a model of that conversation's own may be broken.
        ("failed: 500", lambda call: call.conversation == FAMILY.umo, 1, False),
        ("timeout", lambda call: len(heard(call)) > 5, 20, True),
    ],
)
async def test_turns_that_fail_where_others_do_not_are_read_in_parts_and_put_aside_in_the_end(
    due: Bot, how: str, refused: Callable[[Call], bool], count: int, is_learned: bool
) -> None:
    due.chat.otherwise = refusing(how, refused)
    others = await talk(due, count)
    for _ in range(6):
        await say(due, "普通的话", where=WORK)
        await due.read_due()
        due.clock.forward(hours=7)
    assert set(texts_of(due).get("家人", [])) == (set(others) if is_learned else set())
    assert [one.conversation for one in dead_letters(due)] == [FAMILY.umo] * (not is_learned)
    assert is_learned or sum(call.conversation == FAMILY.umo for call in due.chat.calls) <= 5
    assert (await due.read_due()).waiting == 0


@pytest.mark.parametrize("how", ["failed: 500", "busy: 429", "key: 401", "quota", "content", ""])
async def test_a_day_of_outage_makes_few_calls_and_the_day_after_loses_nothing(
    due: Bot, how: str
) -> None:
    due.chat.otherwise = refusing(how, lambda _: True)
    for minute in range(0, 24 * 60, 10):
        if minute % 120 == 0:
            for where in (FAMILY, WORK, private(1002)):
                await say(due, f"第{minute}分钟说的话", where=where)
        await due.read_due()
        due.clock.forward(minutes=10)
    assert len(due.chat.calls) <= 25
    assert dead_letters(due) == []
    due.chat.otherwise = "{}"
    due.clock.forward(hours=6)
    report = await due.read_due()
    assert (report.read, report.waiting) == (36, 0)


@pytest.mark.parametrize("dies", [False, True])
async def test_a_call_that_failed_or_in_which_the_bot_died_is_made_again_when_it_is_time(
    tmp_path: Path, dies: bool
) -> None:
    clock, calls = StandingClock(), list[Call]()
    for _ in range(3):
        async with reading(tmp_path, clock, settings=DUE) as bot:
            bot.chat.otherwise = ChatFailed("busy: 429")
            if dies:
                bot.chat.release.clear()
            await say(bot, SAID)
            begun = asyncio.create_task(bot.read_due())
            await asyncio.wait({begun, asyncio.create_task(bot.chat.asked.wait())}, timeout=0.2)
            begun.cancel()
            await asyncio.gather(begun, return_exceptions=True)
            calls += bot.chat.calls
    assert len(calls) == 1
    async with reading(tmp_path, clock, settings=DUE) as bot:
        assert (await bot.read_due()).resting == "backoff"
        assert (await bot.engine.status()).loop.resting == "backoff"
        clock.forward(hours=1)
        assert (await bot.read_due()).read == 3
        assert (await bot.engine.status()).loop.resting == ""


async def test_without_a_service_nothing_is_called_and_the_rest_works(due: Bot) -> None:
    due.chat.present = False
    await say(due, SAID)
    await due.remember("家里有一只猫", FAMILY)
    report = await due.read_due()
    assert (report.resting, report.waiting, due.chat.calls) == ("no_provider", 1, [])
    assert await due.texts("家里有什么动物，猫吗", FAMILY) == ["家里有一只猫"]
    due.chat.present = True
    assert (await due.read_due()).read == 1


async def test_what_was_overheard_takes_half_of_the_days_tokens_and_no_more(
    tmp_path: Path,
) -> None:
    settings = with_loop(after_turns=3, daily_tokens=20_000)
    async with reading(tmp_path, StandingClock(), settings=settings) as bot:
        bot.chat.otherwise = Completion("{}", tokens=4_000)
        for number in range(8):
            for _ in range(3):
                await say(bot, f"第{number}回闲聊", reply="")
            await bot.read_due()
        assert len(bot.chat.calls) == 3  # with the third, half of it was spent
        for number in range(3):
            await say(bot, f"叫到你的第{number}句")
        report = await bot.read_due()
        assert (report.read, report.waiting, report.resting) == (3, 15, "budget")
        assert heard(bot.chat.calls[3]) == [f"叫到你的第{number}句" for number in range(3)]
        bot.clock.forward(days=1)
        assert (await bot.read_due()).read == 15
        await say(bot, "闲聊", reply="")
        assert (await reflect(bot)).read == 1  # an admin asks for all of it


async def test_one_call_reads_one_conversation_one_scope_and_one_persona(due: Bot) -> None:
    places = [FAMILY, private(1002), group(777, persona="海盗"), WORK, group(999)]
    for number, where in enumerate(places):
        await say(due, f"第{number}处说好了周日去爬山", where=where)
    assert (await due.read_due()).read == 5
    assert [len(heard(call)) for call in due.chat.calls] == [1] * 5
    assert {call.conversation for call in due.chat.calls} == {where.umo for where in places}
    assert "海盗" in {stored.memory.role for stored in due.living()}


async def test_an_admin_has_his_own_conversation_read_however_full_the_queue_is(
    tmp_path: Path,
) -> None:
    async with reading(tmp_path, settings=with_loop(most_queued=20)) as bot:
        for number in range(8):
            await say(bot, POISON, where=group(number))
            bot.chat.add(ChatFailed("content"), ChatFailed("content"), "{}")
            await reflect(bot, group(number))
            await say(bot, "哈哈", where=group(100 + number))
        assert (await bot.engine.status()).loop.queue.dead == 8
        await say(bot, SAID)
        bot.chat.calls.clear()
        assert (await bot.read_due()).read == 0  # what was put aside crowds nobody
        assert (await reflect(bot)).read == 1
        assert [call.conversation for call in bot.chat.calls] == [FAMILY.umo]


async def test_while_a_conversation_is_off_the_record_nothing_of_it_is_asked_or_learned(
    due: Bot,
) -> None:
    service = due.engine.service
    here: Any = {"conversation_id": FAMILY, "actor": person(9, admin=True)}
    due.chat.add("不是 JSON")
    due.chat.release.clear()
    await say(due, SAID)
    begun = asyncio.create_task(due.read_due())
    await due.chat.asked.wait()
    await service.pause(**here)
    due.chat.release.set()
    for report in (await begun, await due.read_due(), await reflect(due)):
        assert (report.read, report.waiting, texts_of(due)) == (0, 1, {})
    assert len(due.chat.calls) == 1
    await service.resume(**here)
    assert (await due.read_due()).read == 1
    assert texts_of(due) == {"家人": [SAID]}


@pytest.mark.parametrize(
    ("how", "learns"),
    [
        ("moved", {"公司": [SAID, OTHER]}),
        ("dropped", {"家人": [OTHER]}),
        ("reworded", {"家人": ["第1号柜子说不得", OTHER]}),
    ],
)
async def test_an_answer_about_turns_that_are_no_longer_as_they_were_teaches_nothing(
    due: Bot, how: str, learns: dict[str, list[str]]
) -> None:
    turns = due.engine.parts.turns
    due.engine.parts.vault.ensure(Scope.parse("公司"))
    due.chat.release.clear()
    tickets = [(await say(due, text)).ticket_id for text in (SAID, OTHER)]
    begun = asyncio.create_task(due.read_due())
    await due.chat.asked.wait()
    if how == "moved":
        turns.rescope(tickets, "家人", "公司")
    elif how == "dropped":
        turns.drop(tickets[:1])
    else:
        turns.reword([replace(turns.turns(tickets)[0], user_text="第1号柜子说不得")])
    due.chat.release.set()
    await begun
    await due.read_due()
    assert texts_of(due) == learns


@pytest.mark.parametrize(
    ("owner", "name", "error", "why"),
    [
        (files, "write_all", OSError(errno.ENOSPC, "No space left on device"), "not_written"),
        (MemoryHandlers, "write", RuntimeError("a fault of ours"), "internal: RuntimeError"),
    ],
)
async def test_an_answer_that_could_not_be_applied_is_applied_later_and_not_paid_for_twice(
    due: Bot, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, error: Exception, why: str
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise error

    is_ours = why != "not_written"
    await say(due, SAID)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, breaks)
        report = await due.read_due()
    assert (report.read, report.dead, report.error) == (0, is_ours, why)
    await say(due, OTHER, where=WORK)
    assert (await due.read_due()).read == 2 - is_ours
    assert len(due.chat.calls) == 2
    assert await due.engine.reflection.retry() == is_ours  # it was put aside
    assert (await due.read_due()).read == is_ours
    assert texts_of(due) == {"公司": [OTHER], "家人": [SAID]}


async def test_a_scope_whose_folder_is_gone_costs_no_call_and_its_turns_wait(due: Bot) -> None:
    folder, aside = due.root / "memory/scopes/家人", due.root / "aside"
    await say(due, SAID)
    shutil.move(folder, aside)
    assert ((await due.read_due()).dead, due.chat.calls, texts_of(due)) == (1, [], {})
    assert [letter.error for letter in dead_letters(due)] == ["scope_gone"]
    shutil.move(aside, folder)
    assert await due.engine.reflection.retry() == 1
    assert (await due.read_due()).read == 1
    assert texts_of(due) == {"家人": [SAID]}
