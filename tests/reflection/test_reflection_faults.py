"""Whatever a service does, nothing is lost, nothing hangs, and failed calls stay few."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.reflection.chat_port import Completion
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.forgiving_json import MOST_CHARS
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.prompt import LEAST_TOKENS
from astrbot_plugin_scoped_memory.llm_memory.storage import files
from astrbot_plugin_scoped_memory.tests.fakes.chat import Call, ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, group, private, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    StandingClock,
    answer,
    dead_letters,
    learned,
    reflect,
    say,
    texts_of,
    with_loop,
)

pytestmark = pytest.mark.engine

PEANUTS = "奶奶对花生过敏"
GOOD = answer(learned(PEANUTS))
REFUSAL = "抱歉，我不能处理这些内容。"
BAD = {
    "truncated": GOOD[:-3],
    "refusal": REFUSAL,
    "a megabyte": "啊" * 1_000_000,
    "a megabyte of JSON": '{"x": "' + "啊" * 1_000_000 + '"}',
    "deep": '{"a":' * 50_000,
    "wrong type": '{"new_memories": "x"}',
}
DUE = with_loop(after_turns=1)


@pytest.mark.parametrize(
    ("failing", "code"),
    [(ChatFailed("busy", "429"), "busy: 429"), (ChatFailed("gone"), "gone")],
)
async def test_a_failed_call_loses_nothing_and_is_made_again_when_it_is_time(
    tmp_path: Path, failing: ChatFailed | str, code: str
) -> None:
    chat, clock = ScriptedChat(failing, GOOD), StandingClock()
    async with running(tmp_path, chat=chat, clock=clock, settings=DUE) as rig:
        reader = rig.engine.reflection
        await say(rig, "奶奶对花生过敏")
        report = await reader.read_due()
        assert (report.read, report.waiting, report.error) == (0, 1, code)
        assert report.resting == "backoff"
        clock.forward(seconds=59)
        assert (await reader.read_due()).resting == "backoff"
        assert len(chat.calls) == 1
        assert (await rig.engine.status()).loop.error == code
        clock.forward(seconds=1)
        assert (await reader.read_due()).read == 1
        assert texts_of(rig) == {"家人": [PEANUTS]}
        status = (await rig.engine.status()).loop
        assert (status.error, status.resting) == ("", "")
        assert status.spent is not None
        assert status.spent.calls == 2


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_call_past_its_deadline_is_abandoned_and_blocks_no_other_turn(
    tmp_path: Path, stubborn: bool
) -> None:
    class Slow(ScriptedChat):
        async def complete(self, prompt: str, *, system: str, conversation: str) -> Completion:
            if self.release.is_set():
                return await super().complete(prompt, system=system, conversation=conversation)
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                if not stubborn:
                    raise
                await self.release.wait()
            return Completion("{}")

    chat = Slow(GOOD)
    chat.release.clear()
    assert QUICK.loop.call_seconds == 120.0
    async with running(tmp_path, chat=chat, settings=with_loop(call_seconds=0.02)) as rig:
        await say(rig, "奶奶对花生过敏")
        assert (await reflect(rig)).error == "timeout"
        chat.release.set()
        assert (await reflect(rig)).read == 1
        assert texts_of(rig) == {"家人": [PEANUTS]}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
async def test_an_answer_that_is_none_is_asked_for_once_more_and_then_put_aside_and_shown(
    tmp_path: Path, bad: str
) -> None:
    chat = ScriptedChat(bad, otherwise=bad)
    rich = with_loop(DUE, daily_tokens=10**8)  # a megabyte is paid for, too
    async with running(tmp_path, chat=chat, settings=rich) as rig:
        reader = rig.engine.reflection
        await say(rig, "奶奶对花生过敏")
        assert (await reader.read_due()).dead == 1
        for _ in range(3):
            await reader.read_due()
        assert len(chat.calls) == 2
        assert "上次的回答不能用" in chat.calls[1].prompt
        assert len(chat.calls[1].prompt) < len(chat.calls[0].prompt) + 2_000
        size = (await rig.engine.status()).loop.queue
        assert (size.waiting, size.dead) == (0, 1)
        for batch in rig.engine.parts.turns.batches():
            assert len(batch.reply) <= MOST_CHARS + 1
        chat.say([GOOD])
        assert await reader.retry() == 1
        assert (await reader.read_due()).read == 1
        assert (texts_of(rig), dead_letters(rig)) == ({"家人": [PEANUTS]}, [])


@pytest.mark.parametrize(
    "fine", [f"```json\n{GOOD}\n```", f"timeout: rate limit? 429! {GOOD}", f"好的：{GOOD}"]
)
async def test_words_around_the_answer_are_no_fault_whatever_they_are(
    tmp_path: Path, fine: str
) -> None:
    chat = ScriptedChat(fine)
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, f"{PEANUTS}，接口报 timeout，说 rate limit")
        assert (await reflect(rig)).read == 1
        assert len(chat.calls) == 1
        assert texts_of(rig) == {"家人": [PEANUTS]}


async def calls_of_a_day(rig: Rig, chat: ScriptedChat, clock: StandingClock) -> int:
    """A whole day, looked at again and again, with three conversations that talk on."""
    before = len(chat.calls)
    for minute in [*range(60), *range(60, 24 * 60, 10)]:
        if minute % 120 == 0:
            for where in (FAMILY, group(888), private(1002)):
                await say(rig, f"第{minute}分钟说的话", where=where)
        clock.forward(minutes=1 if minute < 60 else 10)
        await rig.engine.reflection.read_due()
    return len(chat.calls) - before


@pytest.mark.parametrize("code", ["failed", "busy"])
async def test_a_day_of_outage_makes_few_calls_and_the_day_after_loses_nothing(
    tmp_path: Path, code: str
) -> None:
    chat, clock = ScriptedChat(otherwise=ChatFailed(code)), StandingClock()
    async with running(tmp_path, chat=chat, clock=clock, settings=DUE, follow=False) as rig:
        assert await calls_of_a_day(rig, chat, clock) <= 9
        assert dead_letters(rig) == []
        chat.otherwise = "{}"
        clock.forward(hours=6)
        report = await rig.engine.reflection.read_due()
        assert (report.read, report.waiting) == (36, 0)


async def test_a_restart_does_not_ask_a_service_that_has_just_failed(tmp_path: Path) -> None:
    chat, clock = ScriptedChat(otherwise=ChatFailed("failed", "500")), StandingClock()
    for _ in range(6):
        async with running(tmp_path, chat=chat, clock=clock, settings=DUE, follow=False) as rig:
            await say(rig, "说了一句话")
            await rig.engine.reflection.read_due()
            assert (await rig.engine.status()).loop.error == "failed: 500"
    assert len(chat.calls) == 1


async def test_a_bot_that_dies_in_a_call_does_not_pay_for_it_at_each_start(
    tmp_path: Path,
) -> None:
    chat, clock = ScriptedChat(), StandingClock()
    chat.release.clear()
    for _ in range(4):  # within the minute that the service is left alone
        chat.asked.clear()
        async with running(tmp_path, chat=chat, clock=clock, settings=DUE, follow=False) as rig:
            await say(rig, "说了一句话")
            task = asyncio.create_task(rig.engine.reflection.read_due())
            asked = asyncio.create_task(chat.asked.wait())
            await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            task.cancel()
            await asyncio.gather(task, asked, return_exceptions=True)
        clock.forward(seconds=15)
    assert len(chat.calls) == 1


async def test_turns_that_fail_where_others_do_not_are_put_aside_after_three_calls(
    tmp_path: Path,
) -> None:
    def moody(call: Call) -> str:
        if call.conversation == FAMILY.umo:
            raise ChatFailed("failed", "400")
        return "{}"

    chat, clock = ScriptedChat(otherwise=moody), StandingClock()
    async with running(tmp_path, chat=chat, clock=clock, settings=DUE, follow=False) as rig:
        reader = rig.engine.reflection
        await say(rig, "惹麻烦的话")
        for _ in range(12):
            await say(rig, "普通的话", where=group(888))
            await reader.read_due()
            clock.forward(hours=7)
        assert [one.conversation for one in dead_letters(rig)] == [FAMILY.umo]
        assert sum(call.conversation == FAMILY.umo for call in chat.calls) <= 5
        assert (await reader.read_due()).waiting == 0


async def test_without_a_service_nothing_is_called_and_the_rest_works(tmp_path: Path) -> None:
    chat = ScriptedChat(GOOD)
    chat.present = False
    async with running(tmp_path, chat=chat, settings=DUE) as rig:
        reader = rig.engine.reflection
        await say(rig, "奶奶对花生过敏")
        await rig.remember("家里有一只猫", FAMILY)
        report = await reader.read_due()
        assert (report.resting, report.waiting, chat.calls) == ("no_provider", 1, [])
        assert (await rig.engine.status()).loop.resting == "no_provider"
        assert await rig.texts("家里有什么动物，猫吗", FAMILY) == ["家里有一只猫"]
        chat.present = True
        assert (await reader.read_due()).read == 1
    async with running(tmp_path, chat=None) as rig:
        await say(rig, "又说了一句")
        assert (await rig.engine.reflection.read_due()).resting == "off"
        assert (await rig.engine.status()).loop.provider == ""


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
        for number in range(2):
            await say(rig, f"叫到你的第{number}句")
        assert (await reader.read_due()).resting == "budget"  # two are not three yet
        await say(rig, "叫到你的第2句")
        report = await reader.read_due()
        assert (report.read, report.waiting, report.resting) == (3, 15, "budget")
        assert all(f"叫到你的第{number}句" in chat.calls[3].prompt for number in range(3))
        assert "闲聊" not in chat.calls[3].prompt
        clock.forward(days=1)
        assert (await reader.read_due()).read == 15
        await say(rig, "闲聊", reply="")
        await reflect(rig)
        assert "闲聊" in chat.calls[-1].prompt  # an admin asks for all of it


@pytest.mark.parametrize("told", [None, 0, -5])
async def test_tokens_that_a_service_does_not_count_or_cannot_mean_are_estimated(
    tmp_path: Path, told: int | None
) -> None:
    async with running(tmp_path, chat=ScriptedChat(Completion(GOOD, tokens=told))) as rig:
        await say(rig, "奶奶对花生过敏")
        await reflect(rig)
        spent = (await rig.engine.status()).loop.spent
        assert spent is not None
        assert LEAST_TOKENS - 200 < spent.tokens < 3_000


async def test_failed_calls_that_may_have_been_paid_are_counted_and_others_cost_nothing(
    tmp_path: Path,
) -> None:
    chat = ScriptedChat(ChatFailed("busy"), ChatFailed("failed", "500"), ChatFailed("timeout"))
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, "奶奶对花生过敏")
        tokens = []
        for _ in range(3):
            await reflect(rig)
            spent = (await rig.engine.status()).loop.spent
            assert spent is not None
            tokens.append(spent.tokens)
        assert tokens[:2] == [0, 0]
        assert tokens[2] > 0
        assert spent.failed == 3


async def test_an_answer_that_the_disk_refused_is_not_paid_for_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    chat = ScriptedChat(GOOD)
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, "奶奶对花生过敏")
        with monkeypatch.context() as patch:
            patch.setattr(files, "write_all", full)
            report = await reflect(rig)
        assert (report.read, report.waiting, report.error) == (0, 1, "not_written")
        (batch,) = rig.engine.parts.turns.batches()
        assert batch.reply == GOOD
    async with running(tmp_path, chat=chat) as rig:
        assert (await rig.engine.reflection.read_due()).read == 1
        assert texts_of(rig) == {"家人": [PEANUTS]}
        assert len(chat.calls) == 1
