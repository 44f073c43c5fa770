"""Who may do what where: commands, roles and places. The words of the answers stand on the pages
of ``tests/says``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Turn
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import PoisonedVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    Rig,
    group,
    person,
    private,
    running,
    running_on_vectors,
)
from astrbot_plugin_scoped_memory.tests.support.migrating import filled, legacy
from astrbot_plugin_scoped_memory.tests.support.panel import KEY, Panel
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk
from astrbot_plugin_scoped_memory.tests.support.reflecting import say

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

PEANUTS = "奶奶对花生过敏"
MEMBER = {"sender": "10001", "name": "小明", "admin": False}
OTHER = {"sender": "10002", "name": "小红", "admin": False}
ADMIN = {"sender": "9", "name": "站长", "admin": True}
ROLES: dict[str, tuple[int, dict[str, Any]]] = {
    "speaker": (777, MEMBER),
    "another member": (777, OTHER),
    "admin": (777, ADMIN),
    "speaker elsewhere": (888, MEMBER),
    "admin elsewhere": (888, ADMIN),
    "admin of public": (999, ADMIN),
}


async def remembered(rig: Rig) -> set[str]:
    """What the family's group has."""
    found = await rig.engine.service.newest(conversation_id=group(777))
    return {one.memory.judgment for one in found}


@pytest.mark.parametrize(
    ("words", "after_forget", "may"),
    [
        ("forget {id}", False, {"speaker", "admin"}),
        ("forget {id} 彻底", False, {"speaker", "admin"}),
        ("edit {id} 奶奶对核桃过敏", False, {"admin"}),
        ("move {id} 公司", False, {"admin"}),
        ("undo {id}", True, {"speaker", "admin"}),
        ("undo", True, {"speaker"}),  # what this person did here, and nothing else
    ],
)
async def test_whose_words_a_command_changes(
    rig: Rig, words: str, after_forget: bool, may: set[str]
) -> None:
    for role, (number, who) in ROLES.items():
        text = f"{PEANUTS}，{role}"
        memory_id = (await rig.remember(text, group(777))).memory.memory.memory_id
        desk = Desk(rig)
        if after_forget:
            await desk(f"forget {memory_id}", **MEMBER)
        await desk(words.format(id=memory_id), number, **who)
        changed = (text in await remembered(rig)) is after_forget
        assert changed is (role in may), role
        if after_forget and not changed:  # else it is the speaker's next undo
            await desk(f"undo {memory_id}", **MEMBER)


@pytest.mark.parametrize("words", ["list", "search 奶奶 花生", "why {id}", "forget 火星人"])
async def test_who_is_shown_a_memory(rig: Rig, words: str) -> None:
    stored = await rig.remember(PEANUTS, group(777))
    words = words.format(id=stored.memory.memory.memory_id)
    shows = words.startswith(("list", "search", "why"))
    for number in (777, 888, 999):
        shown = PEANUTS in await Desk(rig)(words, number)
        assert shown is (shows and number == 777), number
    for number in (1001, 1002):
        shown = PEANUTS in await Desk(rig).alone(words, number)
        assert shown is (shows and number == 1002), number


FOR_ADMINS = (
    *("sleep", "sleep now", "sleep status", "reflect", "letters", "letters retry"),
    *("migrate", "migrate start", "migrate reverse", "migrate 坏的", "yes", "export"),
    *("scope 家人", "scope public", "scope off", "scope confirm", "scope bring"),
    *("edit m-0 x", "move m-0 公司", "backup", "restore x.zip", "import x.jsonl"),
    *("decide", "decide 定 别的话", "decide 接受 m-0", "decide 否决 m-0", "decide 是"),
    *("soul 提议 短", "soul 生效", "soul 否决", "soul 退回", "soul 改动", "soul 记录"),
    *("soul 核对", "soul 收下", "soul 丢弃"),
    f"scope rebind {next(iter(MAP))} aiocqhttp:GroupMessage:7770",
)


async def test_what_is_for_admins_is_refused_to_members_and_changes_nothing(
    tmp_path: Path,
) -> None:
    chat, panel = ScriptedChat(), Panel(dict(MAP))
    async with running(tmp_path, chat=chat, legacy=filled(legacy(2)), follow=False) as rig:
        await say(rig, PEANUTS)
        desk = Desk(rig, panel=panel)
        refused = {desk.say("outcome.admins_only"), desk.say("transfer.for_the_owner")}
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.md")}
        for words in FOR_ADMINS:
            assert await desk(words, **MEMBER) in refused, words
            assert await desk.alone(words, 1001) in refused, words
        assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.md")}
        assert (panel.saved, panel[KEY], chat.calls) == ([], MAP, [])
        assert not list(tmp_path.glob("exports/*"))


async def test_members_pause_their_private_chats_and_no_group(rig: Rig) -> None:
    desk = Desk(rig)
    for words in ("pause", "resume"):
        await desk(words, 777, **MEMBER)
        await desk(words, 888)
        await desk.alone(words, 1001)
        for where, allowed in ((group(777), False), (group(888), True), (private(1001), True)):
            paused = rig.engine.service.conversations.pause_of(where) is not None
            assert paused is (allowed and words == "pause"), (words, where)


async def test_of_other_conversations_the_status_tells_admins_alone(tmp_path: Path) -> None:
    note = tmp_path / "memory" / "roles" / "猫娘" / "旅行.md"
    note.parent.mkdir(parents=True)
    note.write_text("# 京都\n\n住在四条\n\n# 大阪\n\n住在难波\n", "utf-8")
    odd = {**MAP, "aiocqhttp:GroupMessage:424242": "家 人"}
    async with running_on_vectors(tmp_path, odd, store=PoisonedVectorStore()) as rig:
        await rig.engine.scan_notes()
        for text in (PEANUTS, "奶奶喜欢豆浆"):
            await rig.remember(text, group(777))
        await rig.until_indexed()
        assert await rig.texts("奶奶能吃花生吗", group(888)) == []
        turn = Turn(person(1), "奶奶吃了花生就起疹子", "记下了")
        await rig.engine.service.observe(turn, conversation_id=group(777))
        desk = Desk(rig)
        told, plain = await desk("status", 888), await desk("status", 888, **MEMBER)
        dropped = (await rig.engine.status()).scope_check_drops
        assert dropped
        drops = desk.say("status.scope_check_drops", count=dropped)
        for words in ("424242", "roles/猫娘 2", drops, "2026-11-21 18:00"):
            assert words in told
            assert words not in plain


async def test_the_word_that_ends_a_pause_elsewhere_tells_how_this_one_ends(rig: Rig) -> None:
    desk = Desk(rig)
    assert "继续" not in await desk("undo", **MEMBER)
    await desk("pause")
    await desk.alone("pause", 1001)
    for line in ("undo", "search 花生", "add 奶奶对花生过敏", "scope"):
        assert "请管理员发 /记忆 继续" in await desk(line, **MEMBER), line
        for said in (await desk(line), await desk.alone(line, 1001)):
            assert "要继续，发 /记忆 继续" in said, line
