"""``/memory scope``: a conversation gets its scope in chat, for good, and nothing leaks. What is
answered stands on the pages of ``tests/says``."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.commands import scope_commands
from astrbot_plugin_scoped_memory.core.commands.scope_moves import left_text
from astrbot_plugin_scoped_memory.core.plugin_context import PluginContext
from astrbot_plugin_scoped_memory.llm_memory import DmScope
from astrbot_plugin_scoped_memory.llm_memory.models.conversation import SeenSender
from astrbot_plugin_scoped_memory.llm_memory.models.resolution import Remainder
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.origins import places_of
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    QUICK,
    Rig,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.panel import KEY, Panel
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

HERE = "aiocqhttp:GroupMessage:555"
KEPT, QUESTION = "钥匙在花盆下面", "钥匙在哪"


async def test_an_admin_maps_a_conversation_for_good_and_at_once(tmp_path: Path) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        desk = Desk(rig, panel=panel)
        await rig.remember("早先在这里说的话", group(555))
        await desk("scope 家人", 555)
        await desk.alone("scope 家人", 4242, admin=True)
        assert panel.saved[-1] == {**MAP, HERE: "家人", "aiocqhttp:FriendMessage:4242": "家人"}
        await rig.remember(KEPT, group(555))
        for where, sees in ((group(777), True), (private(4242), True), (group(888), False)):
            assert await rig.texts(QUESTION, where) == [KEPT] * sees
        assert await rig.texts("早先在这里说的什么话", group(999))  # it stays where it was
    async with running(tmp_path, panel[KEY], follow=False) as rig:
        assert await rig.texts(QUESTION, group(555))
        desk = Desk(rig, panel=panel)
        for words, entry, sees in (("public", "public", False), ("取消", None, False)):
            await desk(f"scope {words}", 555)
            assert panel[KEY].get(HERE) == entry
            assert bool(await rig.texts(QUESTION, group(555))) is sees


PER_PEER = replace(QUICK, dm_scope=DmScope.PER_PEER)
LINKED = replace(PER_PEER, identity_links={"aiocqhttp:1": "小明"})
PUBLIC = replace(QUICK, dm_scope=DmScope.PUBLIC)


async def left_behind(root: Path) -> str:
    async with running(root, {}, settings=PER_PEER, follow=False) as rig:
        await rig.engine.service.meet(private(1), person(1))
        return (await rig.remember("存折在饼干盒里", private(1), person(1))).memory.scope.name


@pytest.mark.parametrize("by", [1, 9])
async def test_of_what_was_left_its_person_is_told_and_brings_it_or_an_admin_does(
    tmp_path: Path, by: int
) -> None:
    former, there = await left_behind(tmp_path), private(1).umo
    async with running(tmp_path, {}, settings=LINKED, follow=False) as rig:
        desk = Desk(rig)
        what = desk.plugin.texts.listed("counts", memories=1)
        about = {"target": desk.say("place.dm"), "id": there, "words": there, "what": what}
        told = [desk.say(code, **about) for code in ("scope.left", "status.left", "scope.brought")]
        seen = list[bool]()
        others = [("scope bring", one) for one in {2, 9} - {by}]  # nothing is left of their own
        for words, who, is_told in (
            ("scope", 1, True),
            ("scope", 2, False),
            ("status", 1, False),
            ("status", 9, True),
            *((words, one, False) for words, one in others),
            (f"scope bring {there}", 2, False),
            (f"scope 带来 {there}", by, True),
            ("scope", 1, False),
            ("undo", by, False),
            ("scope", 1, True),
        ):
            said = await desk.alone(words, who, admin=who == 9)
            assert former not in said
            assert any(one in said for one in told) is is_told, words
            seen.append("饼干盒" in await desk.alone("list", 1))
        assert seen == [False] * (len(seen) - 4) + [True, True, False, False]


def test_who_left_words_in_public_is_told_that_everybody_sees_them() -> None:
    texts, own = Texts("zh-CN"), Scope.parse("dm-1", derived=True)
    for source, everybody in (("public", True), ("dm-2", False)):
        former = Scope.parse(source, derived=True)
        left = Remainder(former, own, frozenset({HERE}), False, False, memories=1)
        assert ("谁都看得到" in left_text(texts, left)) is everybody


async def test_what_others_would_see_is_brought_after_a_yes(tmp_path: Path) -> None:
    former = await left_behind(tmp_path)
    async with running(tmp_path, {}, settings=PUBLIC, follow=False) as rig:
        desk = Desk(rig)
        for words in (f"scope bring {former} 别处", "scope bring", "yes"):
            left = (await PluginContext.status(desk.plugin))["left_behind"]  # type: ignore[arg-type]
            assert left == [{"source": former, "target": "public", "memories": 1, "turns": 0}]
            await desk.alone(words, 1, admin=True)
            assert ("饼干盒" in await desk.alone("list", 2)) is (words == "yes")


async def lost_in_a_typo(rig: Rig, panel: Panel) -> Desk:
    """What was said while a group had a name that was mistyped, and an admin in it."""
    desk = Desk(rig, panel=panel)
    await desk("scope 新建 家入", 555)
    await rig.remember(KEPT, group(555))
    return desk


async def seen_by(rig: Rig) -> set[int]:
    groups = (555, 777, 888, 999)
    return {number for number in groups if await rig.texts(QUESTION, group(number)) == [KEPT]}


TYPOS = {
    "555> scope 家人 →, 555> scope bring 家入 → 555 777, 555> undo →": "家人",
    "555> scope 家人 →, 777> scope bring 家入 家人 → 555 777, 777> undo →": "家人",
    "555> scope 家人 →, 888> scope rename 家入 家人 → 555 777, 888> undo →": "家人",
    "555> scope 家人 →, 777> scope bring 公司 →, 999> scope bring 家入 →": "家人",
    "888> scope rename 家入 小家 → 555": "小家",
    "1> scope rename 家入 家人 → 555, 1> scope rename 家入 公司 → 555, 1> yes → 555 888": "公司",
    **{
        f"555> scope rename {words} → 555": "家入"
        for words in ("家入", "家入 家入", "家入 公共", "public 家人", "没有 家人", "家入 a/b")
    },
}
"""What is said in which group → which groups see what was said under the mistyped name; and the
name that its group has then."""


@pytest.mark.parametrize("story", TYPOS)
async def test_what_was_said_under_a_mistyped_name_is_seen_where_it_should_be(
    tmp_path: Path, story: str
) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        desk = await lost_in_a_typo(rig, panel)
        await rig.remember("别处的事", group(888))
        for line in story.split(", "):
            where, words, seen = re.split("> | →", line)
            await desk(words, int(where))
            assert await seen_by(rig) == {*map(int, seen.split())}, line
    assert panel[KEY] == {**MAP, HERE: TYPOS[story]}


@pytest.mark.parametrize(
    ("renaming", "back"),
    [
        (["scope rename 家入 小家"], ["scope rename 小家 家入"]),
        (["scope 小家", "scope bring 家入"], ["undo", "scope 家入", "yes"]),
    ],
)
async def test_what_was_forgotten_goes_along_with_a_scope_and_back(
    tmp_path: Path, renaming: list[str], back: list[str]
) -> None:
    archive = tmp_path / "memory" / "scopes" / "小家" / "archive"
    async with running(tmp_path, follow=False) as rig:
        desk = await lost_in_a_typo(rig, Panel(dict(MAP)))
        memory_id = await rig.stored_id("雨伞在门后", group(555), person(1))
        for words in (f"edit {memory_id} 雨伞在门前", f"forget {memory_id}", *renaming):
            await desk(words, 555)
        assert "雨伞" in "".join(one.read_text("utf-8") for one in archive.rglob("*.md"))
        for words in back:
            await desk(words, 555)
        assert "雨伞在门前" in await desk(f"undo {memory_id}", 555)
        assert sorted(await rig.newest(group(555))) == [KEPT, "雨伞在门前"]


async def test_the_list_says_ten_places_of_a_scope_as_they_are_called(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was met is gone through once, and off the loop."""
    loop, read = threading.get_ident(), list[bool]()

    def places(met: Sequence[SeenSender]) -> Mapping[str, object]:
        read.append(threading.get_ident() == loop)
        return places_of(met)

    monkeypatch.setattr(scope_commands, "places_of", places)
    await rig.engine.service.meet(private(100), person(100, "老王"))
    panel = Panel({private(100 + number).umo: "家人" for number in range(11)})
    said = await Desk(rig, panel=panel)("scope list")
    assert (read, "老王" in said) == ([False], True)
    assert [str(109) in said, str(110) in said, "……" in said] == [True, False, True]


@pytest.mark.parametrize("name", ["公共", "公共域", "Public"])
async def test_public_has_one_set_of_names_for_every_command(rig: Rig, name: str) -> None:
    desk = Desk(rig, panel=(panel := Panel(dict(MAP))))
    await rig.remember(KEPT, group(777))
    await desk("list")
    await desk(f"move 1 {name}")
    assert await seen_by(rig) == {555, 777, 888, 999}
    await desk(f"scope {name}")
    assert panel[KEY]["aiocqhttp:GroupMessage:777"] == "public"


@pytest.mark.parametrize(
    ("words", "then"),
    [
        *(("家入", "家人"), ("team", "Team"), ("TEAM", "Team"), ("Ｔｅａｍ", "Team")),
        *(("Tеam", "Team"), ("Taem", "Team"), ("Teamm", "Team"), ("Tem", "Team")),
        *(("家人们", "家人"), ("新建 家入", "家入"), ("new Tea", "Tea"), ("Team2", "Team2")),
        *(("二班", "二班"), ("邻居", "邻居"), ("老王", None)),
    ],
)
async def test_a_name_that_is_nearly_that_of_a_scope_or_of_a_person_is_asked_about(
    rig: Rig, words: str, then: str | None
) -> None:
    panel = Panel(
        before := {**MAP, "aiocqhttp:GroupMessage:1": "Team", "aiocqhttp:GroupMessage:2": "一班"}
    )
    await rig.engine.service.meet(group(777), person(1, "老王"))
    await rig.engine.service.change_map(
        before, conversation_id=group(1), actor=person(9, admin=True)
    )
    desk = Desk(rig, panel=panel)
    said = await desk(f"scope {words}", 555)
    asked = then is None or then not in words.split()
    assert (HERE not in panel[KEY]) is asked
    assert (f"新建 {words}" in said) is (asked and then is not None)
    await desk("yes", 555)
    assert panel[KEY][HERE] == (then or words)


@pytest.mark.parametrize(
    "word", ["列表", "查看", "LIST", "show", "帮助", "help", "状态", "記住", "search", "确认", "否"]
)
async def test_no_word_of_a_command_becomes_a_scope(rig: Rig, word: str) -> None:
    await rig.remember(KEPT, group(777))
    desk = Desk(rig, panel=(panel := Panel(dict(MAP))))
    said = await desk(f"scope {word}", 555)
    for words in (f"scope 新建 {word}", f"scope rename 家人 {word}", f"join {word}"):
        await desk(words, 555)
    assert panel[KEY] == MAP
    lists = word in ("列表", "查看", "LIST", "show")
    assert ("“家人”（1 条）：" in said) is ("“公司”：" in said) is lists
    assert "公司" not in await desk(f"scope {word}", 777, admin=False)


async def test_a_group_is_let_into_what_a_scope_holds_after_a_yes_alone(rig: Rig) -> None:
    await rig.remember(KEPT, group(777))
    desk = Desk(rig, panel=(panel := Panel(dict(MAP))))
    asked = desk.say("scope.opens", scope="家人", count=1)
    for words in ("scope 家人", "join 家人", "scope 公司"):
        assert (asked in await desk(words, 555)) is ("家人" in words)
        assert (HERE in panel[KEY]) is ("公司" in words)
    await desk("scope 家人", 555)
    assert await seen_by(rig) == {777}
    await desk("yes", 555)
    assert await seen_by(rig) == {555, 777}
    said = await desk("scope off", 555)
    assert desk.say("scope.set_public", place=desk.say("scope.here")) in said
