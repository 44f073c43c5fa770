"""When turns are read, and that whatever a service or a disk does, nothing is lost and failed calls
stay few: a turn that is refused is put aside by itself."""

from __future__ import annotations

import asyncio
import errno
import json
import math
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.reflection.model import Completion
from astrbot_plugin_scoped_memory.llm_memory.remember.memory_handlers import MemoryHandlers
from astrbot_plugin_scoped_memory.llm_memory.storage import files
from astrbot_plugin_scoped_memory.tests.fakes.chat import Call, ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, private, running
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

SAID = "第1号柜子里有药箱"
ADMIN = person(9, admin=True)
POISON = "毒药柜的钥匙放在书房"
DUE = with_loop(after_turns=1, daily_tokens=10**7)

type Refuse = Callable[[], str]


def failing(code: str) -> Refuse:
    def refuse() -> str:
        raise ChatFailed(code)

    return refuse


def heard(call: Call) -> list[str]:
    """What the prompt's turns say."""
    lines = call.prompt.partition("<turns>")[2].partition("</turns>")[0].strip()
    return [json.loads(line)["said"] for line in lines.split("\n")]


def is_poisoned(call: Call) -> bool:
    return POISON in call.prompt


def reader(
    refuse: Refuse = str, refuses: Callable[[Call], bool] = is_poisoned
) -> Callable[[Call], str]:
    """A model that learns each turn as it was said, and refuses some prompts."""

    def read(call: Call) -> str:
        if refuses(call):
            return refuse()
        said = enumerate(heard(call), start=1)
        return answer(*(learned(text, turn=number) for number, text in said if "第" in text))

    return read


async def talk(bot: Bot, count: int, *poisoned: int) -> list[str]:
    """So many turns of the family, some of them refused; returns the others."""
    said = [f"第{number}号储物柜里放的是{number}双冬天的靴子" for number in range(count)]
    for number, text in enumerate(said):
        await say(bot, POISON if number in poisoned else text)
    return [text for number, text in enumerate(said) if number not in poisoned]


@pytest.mark.parametrize(
    "refuse",
    [failing("failed: BadRequestError 400"), failing("content"), lambda: "", lambda: " \n"],
    ids=["400", "filter", "empty", "blank"],
)
@pytest.mark.parametrize(
    ("count", "poisoned"), [(7, [2]), (1, [0]), (2, [1]), (40, [0]), (39, [38]), (16, [3, 12])]
)
async def test_the_turn_that_is_refused_is_alone_put_aside_and_the_others_are_learned(
    tmp_path: Path, refuse: Refuse, count: int, poisoned: Sequence[int]
) -> None:
    async with reading(tmp_path, StandingClock(), settings=DUE, words_alone=True) as bot:
        bot.chat.otherwise = reader(refuse)
        others = await talk(bot, count, *poisoned)
        await say(bot, "第9号门的密码锁换了电池", where=group(888))
        report = await bot.read_due()
        assert (report.read, report.dead) == (len(others) + 1, len(poisoned))
        assert (report.waiting, report.resting) == (0, "")
        assert set(texts_of(bot).get("家人", [])) == set(others)
        most = 2 * math.ceil(math.log2(max(count, 2))) * len(poisoned) + 3
        assert len(bot.chat.calls) - 1 <= most
        for letter in dead_letters(bot):
            (turn,) = bot.engine.parts.turns.of_batch(letter.batch_id)
            assert turn.user_text == POISON
        assert POISON in await bot.texts("毒药柜的钥匙放在哪儿", private(1002))
        await bot.read_due()
        assert len(bot.chat.calls) - 1 <= most  # and it costs nothing more
        bot.chat.otherwise = reader(refuse, lambda _: False)
        assert await bot.engine.reflection.retry() == len(poisoned)
        assert (await reflect(bot)).read == len(poisoned)
        assert dead_letters(bot) == []


async def test_turns_that_fail_where_others_do_not_are_put_aside_after_few_calls(
    tmp_path: Path,
) -> None:
    """By any fault of the service: a model of that conversation's own may be broken."""
    chat, clock = ScriptedChat(), StandingClock()
    chat.otherwise = reader(failing("failed: 500"), lambda call: call.conversation == FAMILY.umo)
    async with running(tmp_path, chat=chat, clock=clock, settings=DUE, follow=False) as rig:
        await say(rig, "惹麻烦的话")
        for _ in range(6):
            await say(rig, "普通的话", where=group(888))
            await rig.engine.reflection.read_due()
            clock.forward(hours=7)
        assert [one.conversation for one in dead_letters(rig)] == [FAMILY.umo]
        assert sum(call.conversation == FAMILY.umo for call in chat.calls) <= 5
        assert (await rig.engine.reflection.read_due()).waiting == 0


async def test_a_batch_that_takes_a_slow_model_too_long_is_read_in_parts(tmp_path: Path) -> None:
    chat, clock = ScriptedChat(), StandingClock()
    chat.otherwise = reader(failing("timeout"), lambda call: len(heard(call)) > 5)
    async with running(tmp_path, chat=chat, clock=clock, settings=DUE, follow=False) as rig:
        bot = Bot(**vars(rig), chat=chat)
        others = await talk(bot, 20)
        for _ in range(4):
            await rig.engine.reflection.read_due()
            clock.forward(hours=7)
        assert set(texts_of(rig)["家人"]) == set(others)
        assert dead_letters(rig) == []


@pytest.mark.parametrize(
    "refuse",
    [*map(failing, ("failed: 500", "busy: 429", "key: 401", "quota", "timeout", "content")), str],
    ids=["500", "busy", "key", "quota", "timeout", "refuses everything", "empty"],
)
async def test_a_day_of_outage_makes_few_calls_and_the_day_after_loses_nothing(
    tmp_path: Path, refuse: Refuse
) -> None:
    chat, clock = ScriptedChat(), StandingClock()
    chat.otherwise = reader(refuse, lambda _: True)
    async with running(tmp_path, chat=chat, clock=clock, settings=DUE, follow=False) as rig:
        for minute in [*range(60), *range(60, 24 * 60, 10)]:
            if minute % 120 == 0:
                for where in (FAMILY, group(888), private(1002)):
                    await say(rig, f"第{minute}分钟说的话", where=where)
            clock.forward(minutes=1 if minute < 60 else 10)
            await rig.engine.reflection.read_due()
            if minute == 59:
                assert len(chat.calls) <= 12
        assert len(chat.calls) <= 25
        assert dead_letters(rig) == []
        chat.otherwise = "{}"
        clock.forward(hours=6)
        report = await rig.engine.reflection.read_due()
        assert (report.read, report.waiting) == (36, 0)


async def test_a_failed_call_is_made_again_when_it_is_time_also_after_a_restart(
    tmp_path: Path,
) -> None:
    chat, clock = ScriptedChat(ChatFailed("busy: 429"), otherwise=reader()), StandingClock()
    async with running(tmp_path, chat=chat, clock=clock, settings=DUE) as rig:
        await say(rig, SAID)
        report = await rig.engine.reflection.read_due()
        assert (report.read, report.waiting, report.error) == (0, 1, "busy: 429")
        assert report.resting == "backoff"
        clock.forward(seconds=59)
    async with running(tmp_path, chat=chat, clock=clock, settings=DUE) as rig:
        assert (await rig.engine.reflection.read_due()).resting == "backoff"
        assert (await rig.engine.status()).loop.resting == "backoff"
        assert len(chat.calls) == 1
        clock.forward(seconds=1)
        assert (await rig.engine.reflection.read_due()).read == 1
        assert texts_of(rig) == {"家人": [SAID]}
        status = (await rig.engine.status()).loop
        assert (status.error, status.resting) == ("", "")


async def test_a_bot_that_dies_in_a_call_does_not_pay_for_it_at_each_start(
    tmp_path: Path,
) -> None:
    chat, clock = ScriptedChat(otherwise=reader()), StandingClock()
    chat.release.clear()
    for _ in range(3):
        async with running(tmp_path, chat=chat, clock=clock, settings=DUE, follow=False) as rig:
            await say(rig, SAID)
            begun = asyncio.create_task(rig.engine.reflection.read_due())
            await asyncio.wait({begun, asyncio.create_task(chat.asked.wait())}, timeout=0.2)
            begun.cancel()
            await asyncio.gather(begun, return_exceptions=True)
    assert len(chat.calls) == 1
    chat.release.set()
    clock.forward(hours=1)
    async with running(tmp_path, chat=chat, clock=clock, settings=DUE, follow=False) as rig:
        assert (await rig.engine.reflection.read_due()).read == 3


async def test_an_answer_that_the_disk_refused_is_not_paid_for_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with reading(tmp_path, settings=DUE) as bot:
        bot.chat.otherwise = reader()
        await say(bot, SAID)
        with monkeypatch.context() as patch:
            patch.setattr(files, "write_all", full)
            report = await reflect(bot)
        assert (report.read, report.waiting, report.error) == (0, 1, "not_written")
    async with reading(tmp_path, settings=DUE) as bot:
        assert (await bot.read_due()).read == 1
        assert texts_of(bot) == {"家人": [SAID]}
        assert bot.chat.calls == []


async def test_without_a_service_nothing_is_called_and_the_rest_works(tmp_path: Path) -> None:
    async with reading(tmp_path, settings=DUE) as bot:
        bot.chat.present, bot.chat.otherwise = False, reader()
        await say(bot, SAID)
        await bot.remember("家里有一只猫", FAMILY)
        report = await bot.read_due()
        assert (report.resting, report.waiting, bot.chat.calls) == ("no_provider", 1, [])
        assert (await bot.engine.status()).loop.resting == "no_provider"
        assert await bot.texts("家里有什么动物，猫吗", FAMILY) == ["家里有一只猫"]
        bot.chat.present = True
        assert (await bot.read_due()).read == 1
    off = replace(DUE, scope_filter_enabled=False)
    for chat, settings, why in ((None, DUE, "off"), (ScriptedChat(), off, "learning_paused")):
        async with running(tmp_path, chat=chat, settings=settings) as rig:
            assert (await rig.engine.reflection.read_due()).resting == why


async def test_what_was_overheard_takes_half_of_the_days_tokens_and_no_more(
    tmp_path: Path,
) -> None:
    chat, clock = ScriptedChat(otherwise=Completion("{}", tokens=4_000)), StandingClock()
    settings = with_loop(after_turns=3, daily_tokens=20_000)
    async with running(tmp_path, chat=chat, clock=clock, settings=settings, follow=False) as rig:
        reader = rig.engine.reflection
        for number in range(8):
            for _ in range(3):
                await say(rig, f"第{number}回闲聊", reply="")
            await reader.read_due()
        assert len(chat.calls) == 3  # with the third, half of it was spent
        status = (await rig.engine.status()).loop
        assert (status.resting, status.queue.waiting) == ("budget", 15)
        for number in range(3):
            await say(rig, f"叫到你的第{number}句")
        report = await reader.read_due()
        assert (report.read, report.waiting, report.resting) == (3, 15, "budget")
        assert all(f"叫到你的第{number}句" in chat.calls[3].prompt for number in range(3))
        assert "闲聊" not in chat.calls[3].prompt
        clock.forward(days=1)
        assert (await reader.read_due()).read == 15
        await say(rig, "闲聊", reply="")
        await reflect(rig)
        assert "闲聊" in chat.calls[-1].prompt  # an admin asks for all of it


async def test_a_conversation_is_read_when_that_pays_and_nothing_waits_for_ever(
    tmp_path: Path,
) -> None:
    clock, settings = StandingClock(), with_loop(after_turns=10, idle_minutes=10)
    async with reading(tmp_path, clock, settings=settings) as bot:
        said: list[tuple[int, str, dict[str, float], int]] = [
            (7, "今天说了一句话", {}, 0),  # they may go on talking
            (0, "", {"minutes": 10}, 7),
            (10, "哈哈", {}, 10),  # as many as are read together
            (1, "又说了一句话", {"days": 6}, 0),
            (0, "", {"days": 1}, 1),
        ]
        for count, text, passing, read in said:
            for _ in range(count):
                await say(bot, text)
            clock.forward(**passing)
            assert (await bot.read_due()).read == read


async def test_one_call_reads_one_conversation_one_scope_and_one_persona(tmp_path: Path) -> None:
    places = [FAMILY, private(1002), group(777, persona="海盗"), group(888), group(999)]
    async with reading(tmp_path, settings=DUE) as bot:
        bot.chat.otherwise = reader()
        for number, where in enumerate(places):
            await say(bot, f"第{number}处说好了周日去爬山", where=where)
        assert (await bot.read_due()).read == 5
        assert [len(heard(call)) for call in bot.chat.calls] == [1] * 5
        assert {call.conversation for call in bot.chat.calls} == {where.umo for where in places}
        assert "海盗" in {stored.memory.role for stored in bot.living()}


async def test_an_admin_has_his_own_conversation_read_however_full_the_queue_is(
    tmp_path: Path,
) -> None:
    async with reading(tmp_path, settings=with_loop(most_queued=20)) as bot:
        for number in range(8):
            await say(bot, POISON, where=group(number))
            bot.chat.add(ChatFailed("content"), ChatFailed("content"), "{}")
            await reflect(bot, group(number))
        assert (await bot.engine.status()).loop.queue.dead == 8
        bot.chat.say([])
        for number in range(9):
            await say(bot, "哈哈", where=group(100 + number))
        await say(bot, SAID)
        bot.chat.otherwise = reader()
        calls = len(bot.chat.calls)
        assert (await bot.read_due()).read == 0  # what was put aside crowds nobody
        assert (await reflect(bot)).read == 1
        assert [call.conversation for call in bot.chat.calls[calls:]] == [FAMILY.umo]


@pytest.mark.parametrize("first", ["{}", "不是 JSON"])
async def test_while_a_conversation_is_off_the_record_nothing_of_it_is_asked_or_learned(
    tmp_path: Path, first: str
) -> None:
    async with reading(tmp_path, settings=DUE) as bot:
        service = bot.engine.service
        bot.chat.otherwise = reader()
        if first == "不是 JSON":
            bot.chat.add(first)
        bot.chat.release.clear()
        await say(bot, SAID)
        begun = asyncio.create_task(bot.read_due())
        await bot.chat.asked.wait()
        await service.pause(conversation_id=FAMILY, actor=ADMIN)
        bot.chat.release.set()
        report = await begun
        assert (report.read, report.waiting, texts_of(bot)) == (0, 1, {})
        for read in (await bot.read_due(), await reflect(bot)):
            assert read.read == 0
        assert len(bot.chat.calls) == 1
        await service.resume(conversation_id=FAMILY, actor=ADMIN)
        assert (await bot.read_due()).read == 1
        assert texts_of(bot) == {"家人": [SAID]}
        assert len(bot.chat.calls) == 2


@pytest.mark.parametrize("how", ["moved", "dropped", "reworded"])
async def test_an_answer_about_turns_that_are_no_longer_as_they_were_teaches_nothing(
    tmp_path: Path, how: str
) -> None:
    async with reading(tmp_path, settings=DUE) as bot:
        turns = bot.engine.parts.turns
        bot.engine.parts.vault.ensure(Scope.parse("公司"))
        bot.chat.add(answer(learned(SAID), learned("第2号柜子漏水", turn=2)))
        bot.chat.otherwise = reader()
        bot.chat.release.clear()
        ticket = (await say(bot, SAID)).ticket_id
        await say(bot, "第2号柜子里有伞")
        begun = asyncio.create_task(bot.read_due())
        await bot.chat.asked.wait()
        (one,) = turns.turns([ticket])
        if how == "moved":
            turns.rescope([t.ticket_id for t in turns.of_scope("家人")], "家人", "公司")
        elif how == "dropped":
            turns.drop([ticket])
        else:
            turns.reword([replace(one, user_text="第1号柜子说不得")])
        bot.chat.release.set()
        await begun
        await bot.read_due()
        kept = {"moved": SAID, "dropped": None, "reworded": "第1号柜子说不得"}[how]
        scope = "公司" if how == "moved" else "家人"
        assert texts_of(bot) == {scope: sorted(filter(None, [kept, "第2号柜子里有伞"]))}


async def test_an_answer_that_breaks_what_applies_it_is_put_aside_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = MemoryHandlers.write

    async def breaks(handlers: Any, draft: Any, *rest: Any, **more: Any) -> object:
        if draft.judgment == SAID:
            raise RuntimeError("a fault of ours")
        return await write(handlers, draft, *rest, **more)

    monkeypatch.setattr(MemoryHandlers, "write", breaks)
    async with reading(tmp_path, settings=DUE) as bot:
        bot.chat.otherwise = reader()
        await say(bot, SAID)
        await say(bot, "第2号柜子里有伞", where=group(888))
        report = await bot.read_due()
        assert (report.dead, report.read) == (1, 1)
        assert texts_of(bot) == {"公司": ["第2号柜子里有伞"]}
        assert [letter.error for letter in dead_letters(bot)] == ["internal: RuntimeError"]


async def test_a_scope_whose_folder_is_gone_costs_no_call_and_its_turns_wait(bot: Bot) -> None:
    folder, aside = bot.root / "memory" / "scopes" / "家人", bot.root / "aside"
    bot.chat.otherwise = reader()
    await say(bot, SAID)
    shutil.move(folder, aside)
    report = await reflect(bot)
    assert (report.dead, bot.chat.calls, texts_of(bot)) == (1, [], {})
    (letter,) = dead_letters(bot)
    assert (letter.error, letter.conversation) == ("scope_gone", FAMILY.umo)
    shutil.move(aside, folder)
    assert await bot.engine.reflection.retry() == 1
    assert (await reflect(bot)).read == 1
    assert texts_of(bot) == {"家人": [SAID]}
