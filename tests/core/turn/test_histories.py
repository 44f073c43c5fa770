"""Which chat history the model is given in a turn, and what becomes of replies made from it;
and what was said a moment ago: whose, where, and for how long."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.turn.events import History
from astrbot_plugin_scoped_memory.core.turn.recent_talk import PastTurn, RecentTalk
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.talk import MOST_LINES
from astrbot_plugin_scoped_memory.tests.core.turn.turns import ELSEWHERE, finish, queued, said
from astrbot_plugin_scoped_memory.tests.support.engines import MAP, Rig, group, private, running
from astrbot_plugin_scoped_memory.tests.support.plugin import (
    FakeEvent,
    FakePlugin,
    holding,
    tool_context,
)
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin
from astrbot_plugin_scoped_memory.tools.core_memory_recall import RecallTool

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


FILLED = '[{"role": "user", "content": "早"}]'


def conversation(cid: str, history: str = FILLED) -> Any:
    """AstrBot's own."""
    return SimpleNamespace(cid=cid, history=history, persona_id=None)


async def turn(rig: Rig, words: str, cid: str, history: str = FILLED) -> None:
    """A turn of the family's group; the model has this history."""
    event = FakeEvent.in_group(777, words)
    await finish(TurnPlugin(rig), event, conversation=conversation(cid, history))


async def test_astrbots_conversation_tells_its_id_and_whether_anything_is_in_it(rig: Rig) -> None:
    events, event = FakePlugin(rig).events, cast("Any", FakeEvent.in_group(777))
    for history, empty in (("[]", True), ("", True), (" [] ", True), (FILLED, False)):
        said = await events.read(event, conversation("c1", history))
        assert said.history == History("c1", empty)


async def test_where_no_conversation_is_at_hand_it_is_the_current_one(rig: Rig) -> None:
    plugin, event = FakePlugin(rig), cast("Any", FakeEvent.in_group(1))
    for current, found in (("c7", "c7"), ("", "unknown")):
        plugin.histories[event.unified_msg_origin] = current
        assert (await plugin.events.read(event)).history == History(found)
    plugin.astrbot = SimpleNamespace()
    assert (await plugin.events.read(event)).history == History("unknown")


async def test_replies_after_a_switch_are_kept_back_until_astrbots_conversation_is_a_new_one(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, MAP) as rig:
        await turn(rig, "一", "c1", "[]")
    async with running(tmp_path, ELSEWHERE) as rig:
        await turn(rig, "二", "c1")
        await turn(rig, "三", "c2", "[]")
        await turn(rig, "四", "c1")
        await turn(rig, "五", "c1", "[]")
    assert [one.history for one in queued(tmp_path)] == ["c1", "c1", "c2", "c1", "c1"]
    assert [words for words, reply in said(tmp_path) if not reply] == ["二", "四"]


async def test_a_timers_agent_leaves_its_scope_in_the_history_too(tmp_path: Path) -> None:
    umo = group(777).umo
    async with running(tmp_path, MAP) as rig:
        plugin = FakePlugin(rig)
        plugin.histories[umo] = "c1"
        event = FakeEvent(umo, "看看冰箱", sender="777", platform="cron")
        result = await RecallTool(source=holding(plugin)).call(tool_context(event), query="冰箱")
        assert not result.startswith("error")
    async with running(tmp_path, ELSEWHERE) as rig:
        await turn(rig, "一", "c1")
        await turn(rig, "二", "c2", "[]")
    assert [words for words, reply in said(tmp_path) if not reply] == ["一"]


NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SAID = PastTurn("小刚换工作了", "去哪了？", NOW, "view", "c1")


def heard(talk: RecentTalk, where: object = None, person: str = "a:1", history: str = "c1") -> str:
    place = group(777) if where is None else where
    return " ".join(line.text for line in talk.before(place, person, history))  # type: ignore[arg-type]


def test_it_is_one_persons_in_one_conversation_history_and_persona() -> None:
    talk = RecentTalk()
    talk.note(group(777), "a:1", SAID)
    assert heard(talk) == "小刚换工作了 去哪了？"
    assert heard(talk, person="a:2") == ""
    assert heard(talk, group(778)) == ""
    assert heard(talk, group(777, persona="猫娘")) == ""
    assert heard(talk, history="c2") == ""


def test_it_keeps_the_last_turns_and_lets_go_of_them_when_told() -> None:
    talk = RecentTalk()
    for number in range(MOST_LINES + 2):
        talk.note(private(1), "a:1", replace(SAID, words=f"第{number}句", reply=""))
    assert heard(talk, private(1)) == "第2句 第3句 第4句"
    talk.clear(private(1))
    assert heard(talk, private(1)) == ""


def test_it_keeps_nothing_of_nobody_and_nothing_unseen() -> None:
    talk = RecentTalk()
    talk.note(group(777), "", SAID)
    talk.note(group(777), "a:1", replace(SAID, view=""))
    assert heard(talk) == heard(talk, person="") == ""


def test_it_keeps_no_recalled_text() -> None:
    talk = RecentTalk()
    reply = "<scoped_memory>1. 秘密</scoped_memory>他在上海"
    talk.note(group(777), "a:1", replace(SAID, reply=reply))
    assert heard(talk) == "小刚换工作了 他在上海"
