"""Which chat history the model is given in a turn, and what becomes of replies made from it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from astrbot.api.provider import LLMResponse, ProviderRequest

from astrbot_plugin_scoped_memory.core.turn.histories import History, history_of
from astrbot_plugin_scoped_memory.tests.reflection.test_observe import OTHER_MAP, rows
from astrbot_plugin_scoped_memory.tests.support.engines import MAP, Rig, running
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


async def turn(rig: Rig, words: str, given: Any) -> None:
    """A turn of the family's group from request to answer; the model has this history."""
    plugin, event = TurnPlugin(rig), FakeEvent.in_group(777, words)
    await plugin.mind.before_request(event, ProviderRequest(prompt=words, conversation=given))
    await plugin.finished(event, LLMResponse("assistant", completion_text="好"))


def replies(root: Path) -> list[tuple[object, object]]:
    return [(row["user_text"], row["reply_text"]) for row in rows(root)]


async def test_astrbots_conversation_tells_its_id_and_whether_anything_is_in_it() -> None:
    for history, empty in (("[]", True), ("", True), (" [] ", True), (FILLED, False)):
        assert await history_of(None, "umo", conversation("c1", history)) == History("c1", empty)


async def test_where_no_conversation_is_at_hand_it_is_the_current_one(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        plugin = FakePlugin(rig)
        plugin.histories["qq:GroupMessage:1"] = "c7"
        assert await history_of(plugin.astrbot, "qq:GroupMessage:1") == History("c7")
        plugin.histories["qq:GroupMessage:1"] = ""
        assert await history_of(plugin.astrbot, "qq:GroupMessage:1") == History("unknown")
    assert await history_of(SimpleNamespace(), "qq:GroupMessage:1") == History("unknown")


async def test_replies_after_a_switch_are_kept_back_until_astrbots_conversation_is_a_new_one(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, MAP) as rig:
        await turn(rig, "一", conversation("c1", "[]"))
        await turn(rig, "二", conversation("c1"))
    async with running(tmp_path, OTHER_MAP) as rig:
        await turn(rig, "三", conversation("c1"))
        await turn(rig, "四", conversation("c2", "[]"))
    async with running(tmp_path, OTHER_MAP) as rig:
        await turn(rig, "五", conversation("c1"))
        await turn(rig, "六", conversation("c2"))
        await turn(rig, "七", conversation("c1", "[]"))
    told = [
        ("一", "好"),
        ("二", "好"),
        ("三", ""),
        ("四", "好"),
        ("五", ""),
        ("六", "好"),
        ("七", "好"),
    ]
    assert replies(tmp_path) == told


async def test_a_timers_agent_leaves_its_scope_in_the_history_too(tmp_path: Path) -> None:
    umo = "aiocqhttp:GroupMessage:777"
    async with running(tmp_path, MAP) as rig:
        plugin = FakePlugin(rig)
        plugin.histories[umo] = "c1"
        event = FakeEvent(umo, "看看冰箱", sender="777", platform="cron")
        result = await RecallTool(source=holding(plugin)).call(tool_context(event), query="冰箱")
        assert not result.startswith("error")
    async with running(tmp_path, OTHER_MAP) as rig:
        await turn(rig, "一", conversation("c1"))
        await turn(rig, "二", conversation("c2", "[]"))
    assert replies(tmp_path) == [("一", ""), ("二", "好")]
