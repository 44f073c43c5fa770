"""When AstrBot says that a turn is over: what is queued of it, and how often; what becomes of
replies from another scope's history; what was said a moment ago; what an admin is told once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import pytest_asyncio
from astrbot.api.provider import LLMResponse, ProviderRequest
from astrbot.core.message.components import Image, Plain
from astrbot.core.message.message_event_result import MessageChain
from astrbot.core.star.filter.command import CommandFilter

from astrbot_plugin_scoped_memory.core.latest import RecentTalk
from astrbot_plugin_scoped_memory.core.plugin import GroupChatter
from astrbot_plugin_scoped_memory.core.turn.events import notes_of
from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    EngineSettings,
    LoopSettings,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.models.turns import PAUSED_VIEW
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.asked import MOST_LINES
from astrbot_plugin_scoped_memory.tests.core.turn.turns import (
    ELSEWHERE,
    PEANUTS,
    QUESTION,
    answer,
    finish,
    queued,
    said,
)
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    Rig,
    Ticker,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, FakePlugin, used
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin
from astrbot_plugin_scoped_memory.tools.base import tool
from astrbot_plugin_scoped_memory.tools.core_memory_recall import core_memory_recall
from astrbot_plugin_scoped_memory.tools.core_memory_remember import core_memory_remember
from astrbot_plugin_scoped_memory.tools.entry_tools import expand_memory, forget_memory

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

OFF = EngineSettings(loop=LoopSettings(reads_turns=False))
ADMIN = person(9, admin=True)
REFUSAL, DUMPLINGS = "抱歉，这个我不能回答。", "奶奶今天吃了三个饺子"
PICTURE = LLMResponse("assistant", result_chain=MessageChain([Plain("看"), Image("file:///x")]))
COMMAND = {"activated_handlers": [SimpleNamespace(event_filters=[CommandFilter("吃")])]}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    """One engine for all turns that are looked at by what they add to the queue."""
    async with running(tmp_path_factory.mktemp("turns"), follow=False) as rig:
        yield rig


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("event", "response", "kept"),
    [
        ({}, answer(REFUSAL), (QUESTION, REFUSAL)),
        ({}, answer(""), (QUESTION, "")),
        ({}, answer(None), (QUESTION, "")),
        ({}, None, (QUESTION, "")),  # a tool has answered
        ({}, PICTURE, (QUESTION, "看")),
        ({}, answer("超时是 timeout"), (QUESTION, "超时是 timeout")),
        # What AstrBot says when it is stopped or has no answer is not the model's.
        ({"extras": {"agent_stop_requested": True}}, answer("[interrupted]"), (QUESTION, "")),
        ({}, answer("All chat models failed", role="err"), None),
        # A command of any plugin, and what nobody said, is no turn.
        ({"extras": COMMAND}, answer(), None),
        ({"platform": "cron", "addressed": False}, answer(), None),
        ({"sender": "999", "addressed": False}, answer(), None),
    ],
)
async def test_what_is_kept_of_a_turn(
    shared: Rig, event: dict[str, Any], response: LLMResponse | None, kept: tuple[str, str] | None
) -> None:
    plugin, before = TurnPlugin(shared, observe_groups=True), queued(shared.root)
    told = FakeEvent.in_group(777, QUESTION, **event)
    await plugin.mind.before_request(told, ProviderRequest(prompt=QUESTION))
    for _ in range(2):  # whoever says that it is over
        await plugin.finished(told, response)
        assert not plugin.mind.listens_to(told)
        if kept is not None:
            await plugin.finished(told, None)
    new = [turn for turn in queued(shared.root) if turn not in before]
    assert [(turn.user_text, turn.reply_text) for turn in new] == ([] if kept is None else [kept])
    for turn in new:
        assert (turn.scope, turn.conversation) == ("家人", str(group(777)))
        assert (turn.person, turn.who) == ("aiocqhttp:10001", "小明")


async def test_a_turn_is_queued_with_what_was_shown_and_not_what_was_stored(rig: Rig) -> None:
    @tool
    async def talkative(_: Any) -> str:
        """Say what looks like a memory."""
        return "[2026-11-21 · 妈妈 · a.md#m-01jd3q8z7kabcdef] 一条"

    stored = (await rig.remember(PEANUTS, private(1002))).memory
    await finish(TurnPlugin(rig))
    await finish(TurnPlugin(rig, runner="dify"))  # it reads no memories
    plugin, event = TurnPlugin(rig, auto_inject_topk=0), FakeEvent.in_group(777, "在吗")
    for tried, arguments in (
        (core_memory_recall, {"query": QUESTION}),
        (core_memory_remember, {"judgment": "爷爷的生日在五月初三"}),
        (expand_memory, {"pointer": stored.pointer}),
        (talkative, {}),
    ):
        assert (await used(tried, plugin, event, **arguments)).startswith("ok")
    await finish(plugin, event)
    recalled = (stored.memory.memory_id,)
    assert [turn.recalled for turn in queued(rig.root)] == [recalled, (), recalled]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("把花生那条忘了", []),
        ("把花生那条忘了。我下周去杭州！", ["我下周去杭州！"]),
        ("Forget the peanuts. I moved to Leeds.", ["I moved to Leeds."]),
    ],
)
async def test_a_wish_to_forget_goes_once_it_was_done(rig: Rig, said: str, kept: list[str]) -> None:
    stored, plugin = (await rig.remember(PEANUTS, group(777))).memory, TurnPlugin(rig)
    await finish(plugin, FakeEvent.in_group(777, "把核桃那条忘了"))  # what was not done
    event = FakeEvent.in_group(777, said)
    await used(forget_memory, plugin, event, pointer=stored.pointer)
    await finish(plugin, event)
    assert [turn.user_text for turn in queued(rig.root)] == ["把核桃那条忘了", *kept]


async def test_what_is_said_into_a_turn_is_said_in_it_and_when_it_began(tmp_path: Path) -> None:
    """However long the answer takes; but not what was off the record, or is kept already."""
    clock = Ticker(datetime(2026, 11, 21, 23, 59, 50, tzinfo=UTC))
    async with running(tmp_path, clock=clock, follow=False) as rig:
        plugin, asked = TurnPlugin(rig), FakeEvent.in_group(777, QUESTION)
        await plugin.mind.before_request(asked, ProviderRequest(prompt=QUESTION))
        into = [FakeEvent.in_group(777, words) for words in ("还有腰果", " ", "别说", "听过")]
        notes_of(cast("Any", into[2]))["view"] = PAUSED_VIEW
        notes_of(cast("Any", into[3]))["kept"] = True
        stranger = FakeEvent.in_group(777, "我也问一句", sender="10002")
        elsewhere, next_turn = FakeEvent.in_group(888, "别处"), FakeEvent.in_group(777, "那杏仁呢")
        for event in (asked, *into, stranger, elsewhere, next_turn):
            assert not plugin.mind.listens_to(event)
        for event in (*into, stranger, elsewhere):
            event.set_extra("_follow_up_captured", {"target_run_id": "1"})
        clock.now += timedelta(minutes=3)
        for event in (asked, next_turn):
            await plugin.finished(event, answer())
    first, then = queued(tmp_path)
    assert (first.user_text, then.user_text) == (f"{QUESTION}\n还有腰果", "那杏仁呢")
    assert first.observed_at.date() == date(2026, 11, 21)


@pytest.mark.parametrize(("before_it", "reply"), [(MAP, "不能吃"), ({}, "")])
async def test_a_reload_in_a_turn(tmp_path: Path, before_it: dict[str, str], reply: str) -> None:
    """It ends in the new load. Where the map has come with that, the scope is another one, and the
    reply is kept back. One that a closed engine was asked of begins in the new load."""
    event, late = FakeEvent.in_group(777, QUESTION), FakeEvent.in_group(777, QUESTION)
    async with running(tmp_path, before_it) as rig:
        before = TurnPlugin(rig).mind
        await before.before_request(event, ProviderRequest(prompt=QUESTION))
    assert not await before.finished(cast("Any", event), answer())  # closed, it queues nothing
    assert not await before.before_request(cast("Any", late), ProviderRequest(prompt=QUESTION))
    async with running(tmp_path) as rig:
        await TurnPlugin(rig).finished(event, answer())
        request = ProviderRequest(prompt=QUESTION)
        assert await TurnPlugin(rig).mind.before_request(cast("Any", late), request)
    (turn,) = queued(tmp_path)
    assert (turn.scope, turn.user_text, turn.reply_text) == ("家人", QUESTION, reply)


def listens(plugin: Any, event: Any) -> bool:
    """Whether AstrBot would wake the plugin for a message."""
    GroupChatter.use(plugin.mind)
    try:
        return GroupChatter().filter(event, cast("Any", None))
    finally:
        GroupChatter.use(None)


async def test_only_the_setting_makes_it_listen_to_what_does_not_address_the_bot(rig: Rig) -> None:
    """That is a turn without an answer, whoever answers it later."""
    chatter = FakeEvent.in_group(777, DUMPLINGS, addressed=False)
    on = TurnPlugin(rig, observe_groups=True)
    assert listens(on, chatter)
    assert not listens(TurnPlugin(rig), chatter)
    assert not listens(TurnPlugin(rig, observe_groups=True, engine=OFF), chatter)
    for event in (
        FakeEvent.in_group(777, DUMPLINGS),
        FakeEvent.in_group(777, "  ", addressed=False),
        FakeEvent.in_private(5, DUMPLINGS, addressed=False),
    ):
        assert not listens(on, event)
    assert not GroupChatter().filter(cast("Any", chatter), cast("Any", None))
    await on.finished(chatter, None)
    await on.finished(chatter, answer("真能吃"))
    command = FakeEvent.in_group(777, "吃什么", addressed=False, extras=COMMAND)
    await on.finished(command, None)
    assert said(rig.root) == [(DUMPLINGS, "")]


@pytest.mark.parametrize("moved", [True, False])
def test_what_breaks_a_listener_is_logged(moved: bool, caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: object) -> bool:
        raise RuntimeError("a bug")

    mind: Any = SimpleNamespace(**{"chat_moved" if moved else "listens_to": broken})
    chat = SimpleNamespace(chat=SimpleNamespace(id=1), migrate_to_chat_id=-1001 if moved else None)
    message = SimpleNamespace(raw_message=SimpleNamespace(message=chat))
    event: Any = SimpleNamespace(message_obj=message, get_platform_id=lambda: "telegram")
    assert not listens(SimpleNamespace(mind=mind), event)
    assert "a bug" in caplog.text


@pytest.mark.parametrize("engine", [EngineSettings(), OFF])
async def test_what_came_while_paused_is_never_kept(tmp_path: Path, engine: EngineSettings) -> None:
    async with running(tmp_path, settings=engine, follow=False) as rig:
        plugin, service = TurnPlugin(rig, observe_groups=True, engine=engine), rig.engine.service
        here, heard = group(777), FakeEvent.in_group(777, "这句也不记", addressed=False)
        begun, asked = (FakeEvent.in_group(777, words) for words in ("礼物藏在柜子里", QUESTION))
        await service.pause(conversation_id=here, actor=ADMIN)
        assert listens(plugin, heard) is engine.loop.reads_turns
        assert not listens(plugin, asked)
        await plugin.mind.before_request(begun, ProviderRequest(prompt=begun.message_str))
        await service.resume(conversation_id=here, actor=ADMIN)
        await plugin.finished(heard, None)
        await plugin.finished(begun, answer())
        for event, kept in ((asked, []), (FakeEvent.in_group(777, QUESTION), [QUESTION, "不能吃"])):
            told = cast("Any", await finish(plugin, event))
            where, history = await plugin.events.where(told), notes_of(told)["history"]
            lines = plugin.talk.before(where, "aiocqhttp:10001", history)
            assert [line.text for line in lines] == kept
    assert said(tmp_path) == [(QUESTION, "不能吃")] * engine.loop.reads_turns


FILLED = '[{"role": "user", "content": "早"}]'


def conversation(cid: str, history: str = FILLED) -> Any:
    """AstrBot's own."""
    return SimpleNamespace(cid=cid, history=history, persona_id=None)


async def turn(rig: Rig, words: str, cid: str, history: str = FILLED) -> None:
    """A turn of the family's group; the model has this history."""
    event = FakeEvent.in_group(777, words)
    await finish(TurnPlugin(rig), event, conversation=conversation(cid, history))


async def test_astrbots_conversation_tells_its_id_and_whether_anything_is_in_it(rig: Rig) -> None:
    plugin, event = FakePlugin(rig), cast("Any", FakeEvent.in_group(777))
    for history, empty in (("[]", True), ("", True), (" [] ", True), (FILLED, False)):
        said = await plugin.events.read(event, conversation("c1", history))
        assert (said.history, said.empty) == ("c1", empty)
    # Where none is at hand it is the current one.
    for current, found in (("c7", "c7"), ("", "unknown")):
        plugin.histories[event.unified_msg_origin] = current
        assert (await plugin.events.read(event)).history == found
    del plugin.astrbot.conversation_manager
    assert (await plugin.events.read(event)).history == "unknown"


async def test_replies_after_a_switch_wait_for_astrbots_new_conversation(tmp_path: Path) -> None:
    async with running(tmp_path, MAP) as rig:
        await turn(rig, "一", "c1", "[]")
        # A timer's agent leaves its scope in the history, too.
        plugin = FakePlugin(rig)
        plugin.histories[group(777).umo] = "c3"
        event = FakeEvent(group(777).umo, "看看冰箱", sender="777", platform="cron")
        assert not (await used(core_memory_recall, plugin, event, query="冰箱")).startswith("error")
    later = {"二": ("c1",), "三": ("c2", "[]"), "四": ("c1",), "五": ("c1", "[]"), "六": ("c3",)}
    async with running(tmp_path, ELSEWHERE) as rig:
        for words, history in later.items():
            await turn(rig, words, *history)
    assert [one.history for one in queued(tmp_path)] == ["c1", "c1", "c2", "c1", "c1", "c3"]
    assert [words for words, reply in said(tmp_path) if not reply] == ["二", "四", "六"]


NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SAID = Turn(Actor("a:1", "小明"), "小刚换工作了", "去哪了？", view="view", history="c1")
UNFENCED = replace(SAID, reply_text="<scoped_memory>1. 秘密</scoped_memory>去哪了？")


@pytest.mark.parametrize(
    ("turn", "where", "person", "history", "heard"),
    [
        (SAID, group(777), "a:1", "c1", "小刚换工作了 去哪了？"),
        (UNFENCED, group(777), "a:1", "c1", "小刚换工作了 去哪了？"),
        # It is one person's in one conversation, history and persona.
        (SAID, group(777), "a:2", "c1", ""),
        (SAID, group(778), "a:1", "c1", ""),
        (SAID, group(777, persona="猫娘"), "a:1", "c1", ""),
        (SAID, group(777), "a:1", "c2", ""),
        # Nothing is kept of nobody, and nothing unseen.
        (replace(SAID, actor=Actor("", "")), group(777), "", "c1", ""),
        (replace(SAID, view=""), group(777), "a:1", "c1", ""),
    ],
)
def test_what_was_said_a_moment_ago(
    turn: Turn, where: ConversationId, person: str, history: str, heard: str
) -> None:
    talk = RecentTalk()
    talk.note(group(777), turn, NOW)
    assert " ".join(line.text for line in talk.before(where, person, history)) == heard


def test_it_keeps_the_last_turns_and_lets_go_of_them_when_told() -> None:
    talk = RecentTalk()
    for number in range(2 * MOST_LINES + 1):
        talk.note(private(1), replace(SAID, user_text=f"第{number}句", reply_text=""), NOW)
    before = talk.before(private(1), "a:1", "c1")
    assert [line.text for line in before] == [f"第{n}句" for n in range(1, 2 * MOST_LINES + 1)]
    talk.clear(private(1))
    assert talk.before(private(1), "a:1", "c1") == ()


STRANGERS = "dm_scope"


@pytest.mark.parametrize("end", ["refused", "raised", "closed", "said"])
async def test_what_is_told_once_is_told_until_it_was_said(tmp_path: Path, end: str) -> None:
    """While it is on its way another admin writes; then it fails, or the plugin ends. Nobody else
    is told, and nobody in a group."""
    told: list[str] = []
    for start in range(3):
        async with running(tmp_path, {}, follow=False) as rig:
            plugin, goes_on = TurnPlugin(rig), asyncio.Event()

            async def send(
                _: str, chain: Any, start: int = start, goes_on: asyncio.Event = goes_on
            ) -> bool:
                if not start:
                    await goes_on.wait()
                    if end == "raised":
                        raise OSError("gone")
                if start or end == "said":
                    told.append(chain.get_plain_text())
                return bool(start) or end == "said"

            plugin.astrbot.send_message = send
            await rig.engine.service.meet(private(5), person(5))
            for event in (FakeEvent.in_private(5), FakeEvent.in_group(777, admin=True)):
                await plugin.mind.sent(event)
            writing = [
                asyncio.create_task(plugin.mind.sent(FakeEvent.in_private(n, admin=True)))
                for n in (9, 8)
            ]
            _, telling = await asyncio.wait(writing, return_when=asyncio.FIRST_COMPLETED)
            for one in telling if end == "closed" and not start else ():
                one.cancel()
            goes_on.set()
            await asyncio.wait(writing)
    assert [STRANGERS in text for text in told] == [True]
