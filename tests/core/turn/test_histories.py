"""Which chat history the model is given in a turn, and what becomes of replies made from it;
and what was said a moment ago: whose, where, and for how long."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.turn.recent_talk import RecentTalk
from astrbot_plugin_scoped_memory.llm_memory import Actor, ConversationId, Turn
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


async def test_replies_after_a_switch_are_kept_back_until_astrbots_conversation_is_a_new_one(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, MAP) as rig:
        await turn(rig, "一", "c1", "[]")
        # A timer's agent leaves its scope in the history, too.
        plugin = FakePlugin(rig)
        plugin.histories[group(777).umo] = "c3"
        event = FakeEvent(group(777).umo, "看看冰箱", sender="777", platform="cron")
        result = await RecallTool(source=holding(plugin)).call(tool_context(event), query="冰箱")
        assert not result.startswith("error")
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
