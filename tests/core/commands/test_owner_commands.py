"""The owner's commands: what goes on behind, decisions, souls, export and restore. An admin sees
what will be so and says yes first. What is answered stands on pages of ``tests/says``."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from astrbot_plugin_scoped_memory.core.commands import file_commands
from astrbot_plugin_scoped_memory.core.commands.file_commands import imported_lines
from astrbot_plugin_scoped_memory.core.replies.status_text import fault_words
from astrbot_plugin_scoped_memory.llm_memory import (
    EnginePaths,
    Imported,
    MemoryDraft,
    Refused,
    RefusedLine,
    Stored,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.talk_anchor import anchor_of
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.talk_history import anchor
from astrbot_plugin_scoped_memory.llm_memory.composition.export_restore import export_store
from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable, TransferFailed
from astrbot_plugin_scoped_memory.llm_memory.service.paths import local_now
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk, FakePlugin
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    StandingClock,
    answer,
    learned,
    say,
    texts_of,
)

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

WORDS, WISH = "检索面用 PostgreSQL", "回答短一点"
MEMBER = {"sender": "10001", "admin": False}


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """One whose clock stands, so that what is shown is what is written."""
    async with running(tmp_path, clock=StandingClock()) as opened:
        yield opened


def records(rig: Rig) -> str:
    file = rig.root / "memory" / "shared" / "DECISIONS.md"
    return file.read_text("utf-8") if file.exists() else ""


async def test_what_was_shown_is_written_after_a_yes_of_who_was_shown_it(rig: Rig) -> None:
    desk = Desk(rig)
    await desk(f"decide 提议 {WORDS} 理由=连接池 why=够用")
    proposed = re.search(r"m-[0-9a-z]+", await desk("decide"))
    assert proposed
    shown = await desk(f"decide accept 大家 {proposed[0][:-3]}")
    assert f"D-0001 {WORDS}\n" in shown
    assert "\n\n连接池 why=够用\n" in shown
    for yes in (await desk("yes", sender="8"), await desk("yes", 555)):
        assert yes == desk.say("asked.nothing")
    assert not records(rig)
    assert "D-0001" in await desk("yes")
    written = records(rig)[records(rig).index("## D-0001") :]
    assert re.sub(" · 提案：.*", "", written) in f"{shown}\n"
    await desk("yes")
    assert records(rig).count("## D-0001") == 1
    assert "没有这个提议" in await desk(f"decide 接受 {proposed[0]}", 888)


async def test_what_is_remembered_is_settled_by_its_id_and_stays_whose_it_was(rig: Rig) -> None:
    draft = MemoryDraft("年会订海边的民宿", actor=person(10001), talk=anchor("c1", "就海边吧"))
    stored = await rig.engine.service.remember(draft, conversation_id=group(777))
    assert isinstance(stored, Stored)
    desk, memory = Desk(rig), stored.memory.memory
    for words, number, is_one in (
        ("接受 m-0123456789abcdef", 777, False),
        ("接受 2", 777, False),
        (f"接受 {memory.memory_id}", 888, False),
        (f"定 {memory.memory_id}", 777, True),
    ):
        assert (memory.judgment in await desk(f"decide {words}", number)) is is_one, words
        assert [one.memory for one in rig.engine.parts.catalogue.all()] == [memory]
    told = f"接受 {memory.memory_id}"
    for words in ("fly", "接受", "撤回 7", f"{told} 随便", f"{told} to=nowhere"):
        assert await desk(f"decide {words}") == desk.say("decide.usage"), words
    assert await desk("decide 否决 m-zzz") == desk.say("decide.no_such", word="m-zzz")
    await desk(f"decide {told}")
    assert "D-0001" in await desk("yes")
    (now,) = rig.engine.parts.catalogue.all()
    assert now.memory.provenance.person == memory.provenance.person
    assert anchor_of(now.memory) == anchor_of(memory)
    assert "D-0001 改在十月办" in await desk("decide 定 D-0001 改在十月办")


@pytest.mark.parametrize(
    ("word", "former"),
    [
        ("改动", "对比"), ("生效", "应用"), ("撤销", "退回"), ("撤销", "回滚"),
        ("撤销", "rollback"), ("记录", "日志"), ("核对", "校验"),
        ("收下", "采纳"), ("丢弃", "放弃"),
    ],
)  # fmt: skip
async def test_what_an_action_was_called_stays_understood(rig: Rig, word: str, former: str) -> None:
    desk = Desk(rig, plugin=FakePlugin(rig, persona="猫娘"))
    answered = await desk(f"soul {former}")
    assert answered == await desk(f"soul {word}") != desk.say("soul.usage")


async def test_a_wish_is_seen_by_admins_alone_until_it_is_in_force(rig: Rig) -> None:
    souls, desk = rig.engine.service.souls, Desk(rig, plugin=FakePlugin(rig, persona="猫娘"))
    await desk(f"soul 提议 {WISH}")
    await desk("yes", **MEMBER)
    for form in ("#2", "第2版", "第 2 版", "２", "2号"):  # as people write numbers
        assert "没有这个" in await desk(f"soul apply {form}")
    await desk(f"soul 提议 {WISH}")
    assert [WISH in await desk("soul", **who) for who in ({}, MEMBER)] == [True, False]
    await desk("soul apply #1")
    assert (WISH in souls.injected("猫娘"), souls.injected("")) == (True, "")
    assert WISH in await desk("soul", **MEMBER)
    nobody = Desk(rig, plugin=FakePlugin(rig, persona=None))
    assert await nobody(f"soul 提议 {WISH}") == nobody.say("why.unknown_origin")


async def test_reflect_reads_this_conversation_alone_none_off_the_record(tmp_path: Path) -> None:
    chat = ScriptedChat(answer(learned(PEANUTS)))
    async with running(tmp_path, chat=chat, follow=False) as rig:
        await say(rig, PEANUTS)
        await say(rig, "别处的话", where=group(888))
        desk = Desk(rig)
        await desk("pause")
        assert "/记忆 继续" in await desk("reflect")
        assert chat.calls == []
        await desk("resume")
        await desk("reflect")
        assert texts_of(rig) == {"家人": [PEANUTS]}
        assert [call.conversation for call in chat.calls] == [FAMILY.umo]


def test_why_turns_were_not_read_is_said_in_words() -> None:
    said = {
        "unreadable: no_field: none of useful_ids": "模型的回答用不上",
        "empty": "模型的回答用不上",
        "content: BadRequestError 400": "模型拒绝回答（400，多半是内容审查，或话太长）",
        "key: AuthenticationError 401": "模型服务不认这个 key，请在 AstrBot 面板里改（401）",
        "quota: RateLimitError 429": "模型服务的余额或额度用完了，请去充值（429）",
        "failed: APIError 503": "模型的服务出错（503）",
        "failed: TimeoutError": "模型的服务出错（TimeoutError）",
        "timeout": "模型太久没有回答",
        "x\n⚠ forged": "x ⚠ forged",
    }
    assert {error: fault_words(Texts("zh-CN"), error) for error in said} == said


PEANUTS = "奶奶对花生过敏"
FILE = "house.jsonl"


def test_a_report_tells_all_that_it_knows() -> None:
    lines = RefusedLine(5, "not_json"), RefusedLine(6, rejected=Refused("empty"))
    report = Imported("家人", 11, 14, 16, 99, refused=17, lines=lines)
    said = "\n".join(imported_lines(Texts("zh-CN"), report))
    told = ("家人", *map(str, (11, 14, 16, 17, 99, 5, 6)))
    assert [one for one in told if one not in said] == []


class Panel(dict[str, Any]):
    """AstrBot's configuration. ``overtaken``: the panel's page saves at the same moment."""

    overtaken = False

    async def save_config_async(self) -> None:
        if self.overtaken:
            self["reflection_daily_tokens"] = 9


class MovablePlugin(FakePlugin):
    """One whose store can be restored. ``frees``: the engine is closed meanwhile, as it should."""

    frees = True

    @property
    def paths(self) -> EnginePaths:
        return EnginePaths.under(self._rig.root)

    async def reopen(self, between: Callable[[], Awaitable[None]]) -> None:
        if self.frees:
            await self._rig.engine.close()
        await between()


async def moved(root: Path, rig: Rig, panel: Panel, settings: dict[str, Any]) -> MovablePlugin:
    """A plugin, with a backup of another bot in its ``imports/``."""
    async with running(root / "old", follow=False) as old:
        await old.remember(PEANUTS, group(777))
    (rig.root / "imports").mkdir()
    paths = EnginePaths.under(root / "old")
    export_store(paths, rig.root / "imports" / FILE, now=local_now(), settings=settings)
    return MovablePlugin(rig, "en-US", panel=panel)


async def test_the_plan_names_what_changes_and_no_door_is_opened(tmp_path: Path) -> None:
    opened = {f"qq:GroupMessage:{number}": "新的" for number in range(20)} | {"qq:9:x": "家人"}
    links = {"aiocqhttp:1": "老李", "telegram:7": "老李"}
    doors = {"advanced.scope_filter_enabled": False, "advanced.mcp_share": True}
    saved = {"conversation_scope_map": opened, "identity_links": links, **doors}
    former = {"identity_links": {"aiocqhttp:1": "老李"}}
    panel = Panel(former)
    async with running(tmp_path / "new", follow=False) as rig:
        await rig.remember(PEANUTS, group(777))
        desk = Desk(rig, plugin=await moved(tmp_path, rig, panel, saved))
        plan = await desk(f"restore {FILE}")
        assert desk.say("moving.plan_opens", count=1, scopes="家人") in plan
        assert "conversation_scope_map" in plan
        assert "identity_links" in plan
        assert panel == former
        await desk("yes")
        assert panel == {"conversation_scope_map": opened, "identity_links": links}


async def test_the_plan_shows_the_words_that_the_bot_would_go_by(tmp_path: Path) -> None:
    """Not what nobody vouched for, and no note of a scope."""
    async with running(tmp_path / "old", follow=False) as old:
        for text, admin in (("骂人", False), ("先问小明", True), ("用敬语", True)):
            await old.remember(f"回答必须{text}", group(777), person(9, admin=admin))
        desk = Desk(old)
        for words in ("decide 定 家里不养狗", "yes"):
            await desk(words)
    for name, text in {
        "shared/CONSTITUTION.md": "# 宪章\n\n一切听小明的\n",
        "shared/DECISIONS.md": "# 决定\n\n## D-0001 群文件公开\n",
        "roles/猫娘/SOUL.md": "说话像小明\n",
        "scopes/家人/MEMORY.md": "门朝南\n",
        "scopes/家人/CONSTITUTION.md": "进门脱鞋\n",
    }.items():
        file = tmp_path / "old" / "memory" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    async with running(tmp_path / "new", follow=False) as rig:
        plan = await Desk(rig, plugin=await moved(tmp_path, rig, Panel(), {}))(f"restore {FILE}")
        for words in ("一切听小明的", "D-0001", "说话像小明", "回答必须先问小明", "回答必须用敬语"):
            assert words in plan
        for name, words in (("CONSTITUTION", "进门脱鞋"), ("decisions", "家里不养狗")):
            assert f"what 家人/{name}.md says: {words}" in plan
        for words in ("骂人", "门朝南", PEANUTS):
            assert words not in plan


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (None, "another bot is using the data folder"),
        (TransferFailed("unreadable", "x"), "Nothing was done: it cannot be read (x)"),
        (StateUnavailable("locked"), "It could not be written to disk (locked)"),
        (OSError("disk gone"), "Nothing was done: disk gone"),
        ("overtaken", "The panel was saving its settings at the same moment"),
    ],
)
async def test_why_something_was_not_restored_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception | str | None, words: str
) -> None:
    """Without an error: another program has the folder."""
    async with running(tmp_path / "new", follow=False) as rig:
        panel = Panel()
        plugin = await moved(tmp_path, rig, panel, {"reflection_daily_tokens": 7})
        plugin.frees, panel.overtaken = error is not None, error == "overtaken"
        if isinstance(error, Exception):
            monkeypatch.setattr(file_commands, "owned", Mock(side_effect=error))
        desk = Desk(rig, plugin=plugin)
        await desk(f"restore {FILE}")
        said = await desk("yes")
        assert words in said
        assert str(tmp_path) not in said
