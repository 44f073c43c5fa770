"""When AstrBot says that a turn is over: what is queued of it, and how often."""

from __future__ import annotations

import asyncio
import gc
import weakref
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from astrbot.api.provider import LLMResponse, ProviderRequest
from astrbot.core.message.components import Image, Plain
from astrbot.core.message.message_event_result import MessageChain
from astrbot.core.star.filter.command import CommandFilter

from astrbot_plugin_scoped_memory.core import deepmind
from astrbot_plugin_scoped_memory.core.turn.group_chatter import GroupChatter
from astrbot_plugin_scoped_memory.core.turn.turn_notes import notes_of
from astrbot_plugin_scoped_memory.core.turn.turn_reader import TurnReader
from astrbot_plugin_scoped_memory.llm_memory import CognitiveService, EngineSettings, LoopSettings
from astrbot_plugin_scoped_memory.llm_memory.models.turns import PAUSED_VIEW, QueuedTurn
from astrbot_plugin_scoped_memory.llm_memory.reflection.turn_store import SqliteTurnStore
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    Ticker,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, holding, tool_context
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin
from astrbot_plugin_scoped_memory.tools.base import MemoryTool
from astrbot_plugin_scoped_memory.tools.core_memory_recall import RecallTool
from astrbot_plugin_scoped_memory.tools.core_memory_remember import RememberTool
from astrbot_plugin_scoped_memory.tools.expand_memory import ExpandTool

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶对什么过敏，花生能吃吗"


def queued(root: Path) -> list[QueuedTurn]:
    """What lies in the queue, the oldest first."""
    file = SqliteLoopFile(root / "state" / "loop.sqlite")
    file.open()
    turns = SqliteTurnStore(file)
    found = [turn for line in turns.lines() for turn in turns.waiting(line, 99)]
    file.close()
    return found


def said(root: Path) -> list[tuple[str, str]]:
    """Both sides of each."""
    return [(turn.user_text, turn.reply_text) for turn in queued(root)]


def answer(text: str | None = "不能吃", role: str = "assistant") -> LLMResponse:
    """What AstrBot hands to its hooks."""
    return LLMResponse(role=role, completion_text=text)


async def finish(
    plugin: TurnPlugin, event: FakeEvent | None = None, response: LLMResponse | None = None
) -> FakeEvent:
    """A turn from its request to its end."""
    told = event or FakeEvent.in_group(777, QUESTION)
    await plugin.mind.before_request(told, ProviderRequest(prompt=told.message_str))
    await plugin.finished(told, response or answer())
    return told


async def test_turns_before_and_after_new_are_queued_with_their_own_history(
    rig: Rig,
) -> None:
    plugin = TurnPlugin(rig)
    for cid in ("before", "after"):
        event = FakeEvent.in_group(777, QUESTION)
        conversation = SimpleNamespace(cid=cid, history="[]", persona_id=None)
        request = ProviderRequest(prompt=QUESTION, conversation=cast("Any", conversation))
        await plugin.mind.before_request(event, request)
        await plugin.finished(event, answer())
    assert [turn.history for turn in queued(rig.root)] == ["before", "after"]


async def test_a_finished_turn_is_queued_with_what_was_injected(rig: Rig) -> None:
    stored = await rig.remember(PEANUTS, group(777))
    await finish(TurnPlugin(rig))
    (turn,) = queued(rig.root)
    assert (turn.user_text, turn.reply_text) == (QUESTION, "不能吃")
    assert (turn.scope, turn.conversation) == ("家人", str(group(777)))
    assert (turn.person, turn.who) == ("aiocqhttp:10001", "小明")
    assert turn.recalled == (stored.memory.memory.memory_id,)


async def test_what_a_tool_showed_to_the_model_is_told_and_what_it_stored_not(
    rig: Rig,
) -> None:
    stored = await rig.remember(PEANUTS, private(1002))
    plugin, event = TurnPlugin(rig, auto_inject_topk=0), FakeEvent.in_group(777, "在吗")
    for tool, arguments in (
        (RecallTool, {"query": QUESTION}),
        (RememberTool, {"judgment": "爷爷的生日在五月初三"}),
        (ExpandTool, {"pointer": stored.memory.pointer}),
    ):
        made = tool(source=holding(plugin))
        result = await made.call(tool_context(event), **arguments)
        assert result.startswith("ok"), result
    await finish(plugin, event)
    (turn,) = queued(rig.root)
    assert turn.recalled == (stored.memory.memory.memory_id,)


async def test_a_runner_that_reads_no_memories_was_shown_none(rig: Rig) -> None:
    await rig.remember(PEANUTS, group(777))
    await finish(TurnPlugin(rig, runner="dify"))
    (turn,) = queued(rig.root)
    assert turn.recalled == ()


async def test_a_tool_that_shows_no_memories_tells_of_none(tmp_path: Path) -> None:
    class Talkative(MemoryTool):
        async def answer(self, *_: Any) -> str:
            return "ok [2026-11-21 · 妈妈 · a.md#m-01jd3q8z7kabcdef] 一条"

    async with running(tmp_path) as rig:
        plugin, event = TurnPlugin(rig), FakeEvent.in_group(777, "在吗")
        await Talkative(source=holding(plugin)).call(tool_context(event))
        assert notes_of(cast("Any", event)).get("recalled", ()) == ()


async def test_a_turn_whose_engine_closes_under_it_is_queued_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event, warned = FakeEvent.in_group(777, QUESTION), list[str]()
    monkeypatch.setattr(deepmind.logger, "warning", warned.append)
    async with running(tmp_path) as rig:
        old = TurnPlugin(rig)
    async with running(tmp_path) as rig:
        old.successor = TurnPlugin(rig)
        await old.mind.finished(event, answer())
        for spawned in old.tasks:
            spawned.cancel()  # as a close does
        await asyncio.gather(*deepmind.WRITING)
    assert (said(tmp_path), warned) == ([(QUESTION, "不能吃")], [])
    old.successor = None
    lost = FakeEvent.in_group(777, "还有谁来")
    await old.mind.finished(lost, answer())
    await asyncio.gather(*deepmind.WRITING)
    assert warned == [old.texts.say("log.observe_failed")]


@pytest.mark.parametrize(
    ("sent", "response", "reply"),
    [
        ([], answer("抱歉，这个我不能回答。"), "抱歉，这个我不能回答。"),
        ([], answer(""), ""),
        ([], answer(None), ""),
        ([], None, ""),  # a tool has answered
        (
            [],
            LLMResponse("assistant", result_chain=MessageChain([Plain("看"), Image("file:///x")])),
            "看",
        ),
        ([], answer("超时是 timeout，限流是 rate limit"), "超时是 timeout，限流是 rate limit"),
        # What a tool has sent is the bot's words of that turn.
        (["不能吃，会起疹子"], answer("已经告诉他了"), "不能吃，会起疹子\n已经告诉他了"),
        (["不能吃", "要当心"], answer("要当心"), "不能吃\n要当心"),  # AstrBot sends it once
        (["不能吃"], answer("", role="err"), "不能吃"),
        (["不能吃"], None, "不能吃"),
    ],
)
async def test_whatever_the_answer_is_the_turn_is_kept(
    rig: Rig, sent: list[str], response: LLMResponse | None, reply: str
) -> None:
    plugin, event = TurnPlugin(rig), FakeEvent.in_group(777, QUESTION)
    if sent:
        event.set_extra("_send_message_to_user_current_session_plain_texts", sent)
    await plugin.finished(event, response)
    assert said(rig.root) == [(QUESTION, reply)]


async def test_what_is_said_into_a_turn_that_goes_on_is_said_in_it(rig: Rig) -> None:
    plugin = TurnPlugin(rig)
    mind, asked = plugin.mind, FakeEvent.in_group(777, QUESTION)
    request = ProviderRequest(prompt=QUESTION)
    early = FakeEvent.in_group(777, "早前的一句")
    assert not mind.listens_to(early)
    await mind.before_request(asked, request)
    into = [FakeEvent.in_group(777, words) for words in ("还有腰果", " ", "和核桃")]
    stranger = FakeEvent.in_group(777, "我也问一句", sender="10002")
    elsewhere = FakeEvent.in_group(888, "别处的一句")
    next_turn = FakeEvent.in_group(777, "那杏仁呢")
    for event in (asked, *into, stranger, elsewhere, next_turn):
        assert not mind.listens_to(event)
    for event in (early, *into, stranger, elsewhere):
        event.set_extra("_follow_up_captured", {"target_run_id": "1"})
    for event in (asked, next_turn):
        await plugin.finished(event, answer())
    assert said(rig.root) == [(f"{QUESTION}\n还有腰果\n和核桃", "不能吃"), ("那杏仁呢", "不能吃")]


async def test_where_nobody_reads_turns_none_holds_what_comes_meanwhile(tmp_path: Path) -> None:
    off = EngineSettings(loop=LoopSettings(reads_turns=False))
    async with running(tmp_path) as rig:
        for engine, held in ((EngineSettings(), 20), (off, 0)):
            plugin = TurnPlugin(rig, engine=engine)
            mind, asked = plugin.mind, FakeEvent.in_group(777, QUESTION)
            await mind.before_request(asked, ProviderRequest(prompt=QUESTION))
            for number in range(30):
                mind.listens_to(FakeEvent.in_group(777, f"第{number}句"))
            assert len(notes_of(cast("Any", asked)).get("follow_ups", ())) == held
            await plugin.settled()
            kept = weakref.ref(asked)
            del asked
            gc.collect()
            assert kept() is None  # and what it held goes with it


async def test_a_turn_was_said_when_it_began_however_long_the_answer_takes(
    tmp_path: Path,
) -> None:
    clock = Ticker(datetime(2026, 11, 21, 23, 59, 50, tzinfo=UTC))
    async with running(tmp_path, clock=clock, follow=False) as rig:
        plugin, event = TurnPlugin(rig), FakeEvent.in_group(777, "我明天要去体检")
        await plugin.mind.before_request(event, ProviderRequest(prompt=event.message_str))
        clock.now += timedelta(minutes=3)
        await plugin.finished(event, answer())
    (turn,) = queued(tmp_path)
    assert turn.observed_at.date() == date(2026, 11, 21)


async def test_what_was_said_off_the_record_stays_so_though_the_answer_comes_later(
    tmp_path: Path,
) -> None:
    admin = person(9, admin=True)
    async with running(tmp_path) as rig:
        plugin, service = TurnPlugin(rig), rig.engine.service
        event = FakeEvent.in_group(777, "礼物藏在柜子里")
        await service.pause(conversation_id=group(777), actor=admin)
        await plugin.mind.before_request(event, ProviderRequest(prompt=event.message_str))
        await service.resume(conversation_id=group(777), actor=admin)
        await plugin.finished(event, answer())
        await finish(plugin)
    assert said(tmp_path) == [(QUESTION, "不能吃")]


async def test_where_astrbot_has_no_answer_there_is_no_turn(rig: Rig) -> None:
    await finish(TurnPlugin(rig), response=answer("All chat models failed", role="err"))
    assert queued(rig.root) == []


async def test_what_astrbot_says_when_it_is_stopped_is_not_the_models(rig: Rig) -> None:
    event = FakeEvent.in_group(777, QUESTION)
    event.set_extra("agent_stop_requested", True)
    await finish(TurnPlugin(rig), event, answer("[interrupted by the user]"))
    assert said(rig.root) == [(QUESTION, "")]


async def test_a_turn_is_queued_once_whoever_says_that_it_is_over(rig: Rig) -> None:
    plugin, event = TurnPlugin(rig), FakeEvent.in_group(777, QUESTION)
    for_all = (plugin.mind.finished(event, reply) for reply in (answer(), None, answer()))
    await asyncio.gather(*for_all)
    await plugin.mind.overheard(event)
    await plugin.settled()
    await finish(plugin, event)
    assert said(rig.root) == [(QUESTION, "不能吃")]


async def test_a_command_of_any_plugin_is_no_turn(rig: Rig) -> None:
    event = FakeEvent.in_group(777, QUESTION)
    command = SimpleNamespace(event_filters=[CommandFilter("吃")])
    event.set_extra("activated_handlers", [command])
    plugin = TurnPlugin(rig)
    await finish(plugin, event)
    await plugin.mind.overheard(event)
    await plugin.settled()
    assert queued(rig.root) == []


@pytest.mark.parametrize("more", [{"platform": "cron"}, {"sender": "999"}])
async def test_what_nobody_said_is_no_turn(rig: Rig, more: dict[str, str]) -> None:
    plugin = TurnPlugin(rig, observe_groups=True)
    event = FakeEvent.in_group(777, "该起床了", addressed=False, **more)
    await finish(plugin, event)
    assert not plugin.mind.listens_to(event)
    assert queued(rig.root) == []


async def test_an_engine_that_is_closed_or_fails_costs_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("whatever it was")

    async with running(tmp_path, follow=False) as rig:
        failing = TurnPlugin(rig)
        failing.feedback = cast("Any", SimpleNamespace(queue=fail))
        await finish(failing)
        await rig.engine.close()
        await finish(TurnPlugin(rig))
    assert queued(tmp_path) == []


async def test_a_slow_disk_holds_up_no_answer_and_the_turn_is_written_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = asyncio.Event()
    observe = CognitiveService.observe

    async def slow(self: CognitiveService, *arguments: Any, **named: Any) -> Any:
        await go_on.wait()
        return await observe(self, *arguments, **named)

    monkeypatch.setattr(deepmind, "_QUEUE_SECONDS", 0.01)
    monkeypatch.setattr(CognitiveService, "observe", slow)
    async with running(tmp_path) as rig:
        plugin, event = TurnPlugin(rig), FakeEvent.in_group(777, QUESTION)
        await plugin.mind.finished(event, answer())
        assert queued(tmp_path) == []
        go_on.set()
        await plugin.settled()
    assert said(tmp_path) == [(QUESTION, "不能吃")]


async def test_a_reload_in_the_middle_of_a_turn_ends_in_the_new_load(tmp_path: Path) -> None:
    async with running(tmp_path, {}) as rig:
        event = FakeEvent.in_group(777, QUESTION)
        before = TurnPlugin(rig)
        request = ProviderRequest(prompt=QUESTION)
        await before.mind.before_request(event, request)
        await before.settled()
    async with running(tmp_path) as rig:  # the map has come meanwhile, so the scope is another one
        after = TurnPlugin(rig)
        await after.finished(event, answer())
        assert await before.turns.conversation_id(event) is not await after.turns.conversation_id(
            event
        )
    (turn,) = queued(tmp_path)
    assert turn.scope == "家人"


def listens(plugin: TurnPlugin, event: FakeEvent) -> bool:
    """Whether AstrBot would wake the plugin for a message."""
    GroupChatter.use(plugin.mind.listens_to)
    try:
        return GroupChatter().filter(cast("Any", event), cast("Any", None))
    finally:
        GroupChatter.use(None)


async def test_only_the_setting_makes_it_listen_to_what_does_not_address_the_bot(
    tmp_path: Path,
) -> None:
    chatter = FakeEvent.in_group(777, "奶奶今天吃了三个饺子", addressed=False)
    async with running(tmp_path) as rig:
        on = TurnPlugin(rig, observe_groups=True)
        assert listens(on, chatter)
        assert not listens(TurnPlugin(rig), chatter)
        off = EngineSettings(loop=LoopSettings(reads_turns=False))
        assert not listens(TurnPlugin(rig, observe_groups=True, engine=off), chatter)
        for event in (
            FakeEvent.in_group(777, "奶奶今天吃了三个饺子"),
            FakeEvent.in_group(777, "  ", addressed=False),
            FakeEvent.in_private(5, "奶奶今天吃了三个饺子", addressed=False),
        ):
            assert not listens(on, event)
    assert not GroupChatter().filter(cast("Any", chatter), cast("Any", None))


def test_whatever_goes_wrong_while_it_listens_nothing_is_raised_into_the_group() -> None:
    def broken(_: object) -> bool:
        raise RuntimeError("a bug")

    GroupChatter.use(broken)
    try:
        assert GroupChatter().filter(cast("Any", None), cast("Any", None)) is False
    finally:
        GroupChatter.use(None)


async def test_what_was_overheard_is_a_turn_without_an_answer(rig: Rig) -> None:
    plugin = TurnPlugin(rig, observe_groups=True)
    event = FakeEvent.in_group(777, "奶奶今天吃了三个饺子", addressed=False)
    await plugin.mind.overheard(event)
    await plugin.settled()
    assert said(rig.root) == [("奶奶今天吃了三个饺子", "")]


async def test_what_came_while_paused_is_not_queued_though_that_is_over_by_then(
    rig: Rig,
) -> None:
    plugin, service = TurnPlugin(rig, observe_groups=True), rig.engine.service
    mind, admin = plugin.mind, person(1, admin=True)
    overheard = FakeEvent.in_group(777, "这句也不记", addressed=False)
    asked = FakeEvent.in_group(777, QUESTION)
    await service.pause(conversation_id=group(777), actor=admin)
    assert listens(plugin, overheard)
    assert not listens(plugin, asked)
    await service.resume(conversation_id=group(777), actor=admin)
    await mind.overheard(overheard)
    await finish(plugin, asked)
    await plugin.settled()
    assert queued(rig.root) == []
    again = FakeEvent.in_group(777, "又记了", addressed=False)
    assert listens(plugin, again)
    await mind.overheard(again)
    await plugin.settled()
    assert said(rig.root) == [("又记了", "")]


async def test_what_came_while_paused_is_no_talk_either_though_nothing_is_learned(
    tmp_path: Path,
) -> None:
    off = EngineSettings(loop=LoopSettings(reads_turns=False))
    async with running(tmp_path, settings=off) as rig:
        plugin, service = TurnPlugin(rig, engine=off), rig.engine.service
        admin, asked = person(1, admin=True), FakeEvent.in_group(777, QUESTION)
        await service.pause(conversation_id=group(777), actor=admin)
        assert not listens(plugin, asked)
        await service.resume(conversation_id=group(777), actor=admin)
        for event, kept in ((asked, []), (FakeEvent.in_group(777, QUESTION), [QUESTION, "不能吃"])):
            told = cast("Any", await finish(plugin, event))
            where, history = await plugin.turns.conversation_id(told), notes_of(told)["history"]
            lines = plugin.talk.before(where, "aiocqhttp:10001", history)
            assert [line.text for line in lines] == kept


def test_a_follow_up_that_came_while_paused_is_left_out() -> None:
    event, more = FakeEvent.in_group(777, QUESTION), FakeEvent.in_group(777, "还有，别说出去")
    turns = TurnReader(cast("Any", None), cast("Any", None))
    turns.note_follow_up(cast("Any", event), cast("Any", more))
    more.set_extra("_follow_up_captured", True)
    notes_of(cast("Any", more))["view"] = PAUSED_VIEW
    assert turns.take_follow_ups(cast("Any", event)) == []


async def test_an_answer_to_what_was_overheard_repeats_no_words(rig: Rig) -> None:
    plugin = TurnPlugin(rig, observe_groups=True)
    event = FakeEvent.in_group(777, "奶奶今天吃了三个饺子", addressed=False)
    await plugin.mind.overheard(event)
    await plugin.settled()
    await plugin.finished(event, answer("真能吃"))
    assert said(rig.root) == [("奶奶今天吃了三个饺子", ""), ("", "真能吃")]
